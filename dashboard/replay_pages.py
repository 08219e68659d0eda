"""The replay of one game: the page, its fragment for each step, and the document as JSON and text."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Request, Response
from markupsafe import Markup
from starlette.responses import HTMLResponse

from dashboard.auth import signed_in
from dashboard.recorded import LoadedGame, load_games, seating_names
from dashboard.replay_steps import DECISIONS, Document, Place, StepKind, deal_position, fault_places, notation, steps_of
from dashboard.replay_text import bot_names, result_words, to_text
from dashboard.replay_view import StepView
from dashboard.site import Site, SiteDep
from dashboard.submit_pages import visible_submission
from dashboard.web import download, unchanged
from tournament.replay import to_line

router = APIRouter()
PROBE = "s"  # begins the names of probes, which belong to submissions and not to matches
FINISHED_AGE_S = 600  # a recorded game changes only when it is made void, which is rare and shown soon enough


def parse_game(game: str) -> tuple[str, int]:
    """Split an address ``tournament-number-seating`` into match and seating; 404 for anything else."""
    match, _, seating = game.rpartition("-")
    if not seating.isdecimal() or len(seating) > 4:
        raise HTTPException(404, "A game is named by its tournament, match and seating, like 1-17-2.")
    return match, int(seating)


def parse_view(hands: str, players: int) -> int | None:
    """Read whose hands are shown; 404 for a seat that the game does not have, 422 for what numbers no seat."""
    if hands in ("", "all"):
        return None
    if hands.isdecimal() and len(hands) > 1:
        raise HTTPException(422, f"hands is {hands[:20]!r}: expected all, or a seat, which has one digit.")
    if not hands.isdecimal() or int(hands) >= players:
        raise HTTPException(404, f"hands is {hands[:20]!r}: expected all, or a seat from 0 to {players - 1}.")
    return int(hands)


def step_values(
    match_id: str,
    loaded: Mapping[int, LoadedGame],
    seating: int,
    place: Place,
    names: tuple[str, ...] = (),
    *,
    compare: int = 0,
    slowest_first: bool = False,
) -> dict[str, Any] | None:
    """Give what `_replay.html` shows of a step; None for a game in which no card was dealt.

    Args:
        match_id: how addresses name the match, or the probe's submission.
        loaded: its games by seating.
        seating: the one that is shown.
        place: the step in it.
        names: who sits where in each game of the match.
        compare: the seating in which the same deal stands beside this one, 0 for none.
        slowest_first: whether the table of the steps is sorted by time.

    Raises:
        HTTPException: 404, the game has no such deal.
    """
    game = loaded[seating]
    document = game.document
    if not document["deals"]:
        return None
    try:
        view = StepView(document, place, game.times)
    except LookupError as error:
        raise HTTPException(404, f"This game has {error}; deals 1 to {document['deals'][-1]['deal']}.") from error
    rival: list[tuple[str, str]] = []
    if place.view is None and compare != seating and compare in loaded:
        rival = _tokens(loaded[compare].document, place)
    pairs = enumerate(zip(_tokens(document, place), rival, strict=False) if rival else ())
    return {
        "title": f"Deal {place.deal}, step {view.place.step}: {' – '.join(dict.fromkeys(view.names))}",
        "match_id": match_id,
        "seating": seating,
        "v": view,
        "seatings": [(words, _same_deal(loaded, number, view.place)) for number, words in enumerate(names, start=1)],
        "compare": compare if rival else 0,
        "rival": rival,
        "differs": next((index for index, (mine, other) in pairs if mine != other), None),
        "rows": sorted(view.strip, key=lambda row: -(row.ms or 0)) if slowest_first else view.strip,
        "has_times": bool(game.times),
        "slowest_first": slowest_first,
        "chart": game.chart,
        "act": view.strip[view.place.step].act or 0,
    }


def _same_deal(loaded: Mapping[int, LoadedGame], seating: int, place: Place) -> Place:
    """Find a place in another game of the match: in its first attempt, or at the start, where it had no such deal."""
    for there in (place, replace(place, attempt=1)):
        if seating in loaded and deal_position(loaded[seating].document, there.deal, there.attempt) is not None:
            return there
    return Place(view=place.view)


def _tokens(document: Document, place: Place) -> list[tuple[str, str]]:
    """Give kind and token of every step of a deal; nothing for a deal that the game does not have."""
    position = deal_position(document, place.deal, place.attempt)
    return [] if position is None else [(step.kind, notation(step)) for step in steps_of(document, position)]


@router.get("/games/{game}/replay", name="replay")
def show_replay(
    request: Request,
    site: SiteDep,
    game: str,
    deal: int = 1,
    attempt: int = 1,
    step: int = 0,
    act: int | None = None,
    hands: str = "all",
    compare: int = 0,
    sort: str = "",
    part: Annotated[bool, Query(description="only the part that changes from step to step")] = False,
) -> Response:
    """Show a step of a game, as a page or as the page's part."""
    match_id, seating = parse_game(game)
    try:
        loaded, names = games_of(request, site, match_id, seating)
    except HTTPException as error:
        if error.status_code == 409:  # the page of the match says how far it is
            return site.renderer.lead_to("match", match_id=match_id)
        raise
    written = loaded[seating].document
    step = step if act is None else step_at_act(written, deal, attempt, act)
    place = Place(deal, attempt, step, parse_view(hands, len(written["players"])))
    values = step_values(match_id, loaded, seating, place, names, compare=compare, slowest_first=sort == "time")
    markup = Markup("<p>No card was dealt in this game.</p>")
    if values:
        markup = site.renderer.markup(request, "_replay.html", **values)
    if part:
        # Owners see logs that others do not: what is kept is not for who signs in next on the same browser.
        kept = {"cache-control": f"private, max-age={FINISHED_AGE_S}", "vary": "Cookie, Authorization"}
        return HTMLResponse(markup, headers=kept)
    return site.renderer.html(
        request,
        "replay.html",
        title=values["title"] if values else "Replay",
        result=result_words(written),
        game_id=game,
        match_id=match_id,
        seating=seating,
        probe_of=match_id.removeprefix(PROBE) if match_id.startswith(PROBE) else None,
        problem=loaded[seating].problem,
        names=bot_names(written),
        faults=fault_places(written),
        part=markup,
    )


def step_at_act(document: Document, deal: int, attempt: int, act: int) -> int:
    """Find the step that a fault or decision before which so many acts were done is shown at; 0 without one."""
    position = deal_position(document, deal, attempt)
    steps = steps_of(document, position) if position is not None else []
    here = [
        index
        for index, step in enumerate(steps)
        if step.before == max(act, 0) and (step.kind in DECISIONS or step.kind is StepKind.FAULT)
    ]
    return next((index for index in here if steps[index].kind is StepKind.FAULT), here[0] if here else 0)


def games_of(
    request: Request, site: Site, match_id: str, seating: int
) -> tuple[Mapping[int, LoadedGame], tuple[str, ...]]:
    """Give the games of a match by seating and who sits where, or a probe, to who may see it, as the only game.

    Raises:
        HTTPException: 404, there is no such game; 409, there is none yet.
    """
    if match_id.startswith(PROBE):
        text = match_id.removeprefix(PROBE)
        if not text.isdecimal() or len(text) > 15:
            raise HTTPException(404, "A probe is named by its submission and number, like s17-1.")
        visible_submission(site, signed_in(request), int(text))
        return {seating: LoadedGame(site.store.probe(int(text), seating), "", b"")}, ()
    contest, match = site.match(match_id)
    loaded = load_games(site, contest, match)
    if seating not in loaded:
        raise HTTPException(404, f"There is no replay of seating {seating} of match {match_id}.")
    return loaded, seating_names(contest, match)


def one_game(request: Request, site: Site, game: str) -> Document:
    """Give the document of a game; 404 and 409 where there is none yet."""
    match_id, seating = parse_game(game)
    return games_of(request, site, match_id, seating)[0][seating].document


@router.get("/games/{game}/replay.{form}", name="replay_file")
def download_replay(request: Request, site: SiteDep, game: str, form: Literal["json", "txt"]) -> Response:
    """Give the replay document of a game, or its text form, as a file."""
    written = one_game(request, site, game)
    etag = f"{written['digest']}-{form}"
    name = f"game-{game}.{form}"
    return unchanged(request, etag) or (
        download(to_line(written), name, "application/json", etag)
        if form == "json"
        else download(to_text(written), name, "text/plain; charset=utf-8", etag)
    )
