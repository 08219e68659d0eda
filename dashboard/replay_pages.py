"""The replay of one game: the page, its fragment for each step, and the document as JSON and text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from fastapi import APIRouter, HTTPException, Query, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dashboard.auth import signed_in
from dashboard.charts import LineChart
from dashboard.recorded import LoadedGame, load_games, seating_names
from dashboard.replay_jumps import Place, deal_position, fault_places
from dashboard.replay_steps import DECISIONS, Document, StepKind, notation, steps_of
from dashboard.replay_text import to_text
from dashboard.replay_view import GameView, StepLink, game_view
from dashboard.replay_words import FAULT_WORDS, bot_names, result_words
from dashboard.site import Site, SiteDep
from dashboard.submit_pages import visible_submission
from dashboard.web import download, unchanged
from tournament.models import MatchState
from tournament.replay import to_line
from tournament.store import NotFound

router = APIRouter()
PROBE = "s"  # begins the names of probes, which belong to submissions and not to matches
FINISHED_AGE_S = 600  # a recorded game changes only when it is made void, which is rare and shown soon enough


@dataclass(frozen=True, slots=True)
class ReplayPart:
    """The part of the page that changes from step to step.

    ``seatings`` says who sits where in each game of the match, and where the same deal is in it. ``rival`` is the same
    deal in the seating to compare with as kind and token of each step, which begins to differ at the index ``differs``.
    """

    template: ClassVar[str] = "_replay.html"
    title: str
    match_id: str
    seating: int
    v: GameView
    seatings: tuple[tuple[str, Place], ...]
    compare: int
    rival: tuple[tuple[str, str], ...]
    differs: int | None
    rows: tuple[StepLink, ...]
    has_times: bool
    slowest_first: bool
    chart: LineChart | None
    act: int


@dataclass(frozen=True, slots=True)
class FaultLine:
    """A fault of the game in words, with its place if a deal had begun."""

    bot: str
    seat: int
    words: str
    place: Place | None


@dataclass(frozen=True, slots=True)
class ReplayPage:
    """The whole page around the part."""

    template: ClassVar[str] = "replay.html"
    title: str
    result: str
    game_id: str
    heading: str
    match_id: str
    submission_id: str
    verified: bool
    problem: str
    faults: tuple[FaultLine, ...]
    part: Markup


def parse_game(game: str) -> tuple[str, int]:
    """Split an address ``tournament-number-seating`` into match and seating; 404 for anything else."""
    match, _, seating = game.rpartition("-")
    if not seating.isdecimal() or len(seating) > 4:
        raise HTTPException(404, "A game is named by its tournament, match and seating, like 1-17-2.")
    return match, int(seating)


def parse_view(hands: str, players: int) -> int | None:
    """Read whose hands are shown; 404 for a seat that the game does not have."""
    if hands in ("", "all"):
        return None
    if not hands.isdecimal() or int(hands) >= players:
        raise HTTPException(404, f"hands is {hands[:20]!r}: expected all, or a seat from 0 to {players - 1}.")
    return int(hands)


def make_part(
    match_id: str,
    loaded: Mapping[int, LoadedGame],
    seating: int,
    place: Place,
    names: tuple[str, ...] = (),
    *,
    compare: int = 0,
    slowest_first: bool = False,
) -> ReplayPart | None:
    """Make the context of a step; None for a game in which no card was dealt.

    Raises:
        HTTPException: 404, the game has no such deal.
    """
    game = loaded[seating]
    document = game.document
    if not document["deals"]:
        return None
    view = game_view(document, place, game.times)
    if view is None:
        last = document["deals"][-1]["deal"]
        raise HTTPException(404, f"This game has no deal {place.deal}, attempt {place.attempt}; deals 1 to {last}.")
    rival: tuple[tuple[str, str], ...] = ()
    if place.view is None and compare != seating and compare in loaded:
        rival = _tokens(loaded[compare].document, place)
    pairs = enumerate(zip(_tokens(document, place), rival, strict=False) if rival else ())
    return ReplayPart(
        title=f"Deal {place.deal}, step {view.place.step}: {' – '.join(dict.fromkeys(bot_names(document)))}",
        match_id=match_id,
        seating=seating,
        v=view,
        seatings=tuple((words, _same_deal(loaded, number, view.place)) for number, words in enumerate(names, start=1)),
        compare=compare if rival else 0,
        rival=rival,
        differs=next((index for index, (mine, other) in pairs if mine != other), None),
        rows=tuple(sorted(view.strip, key=lambda row: -(row.ms or 0))) if slowest_first else view.strip,
        has_times=bool(game.times),
        slowest_first=slowest_first,
        chart=game.chart,
        act=view.strip[view.place.step].act or 0,
    )


def _same_deal(loaded: Mapping[int, LoadedGame], seating: int, place: Place) -> Place:
    """Find a place in another game of the match: in its first attempt, or at the start, where it had no such deal."""
    for there in (place, replace(place, attempt=1)):
        if seating in loaded and deal_position(loaded[seating].document, there.deal, there.attempt) is not None:
            return there
    return Place(view=place.view)


def _tokens(document: Document, place: Place) -> tuple[tuple[str, str], ...]:
    """Give kind and token of every step of a deal; nothing for a deal that the game does not have."""
    position = deal_position(document, place.deal, place.attempt)
    return () if position is None else tuple((step.kind, notation(step)) for step in steps_of(document, position))


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
    match_text, seating = parse_game(game)
    names: tuple[str, ...] = ()
    if game.startswith(PROBE):
        loaded, heading = {seating: one_probe(request, site, match_text, seating)}, f"Probe {seating}"
    else:
        contest, match = site.match(match_text)
        if match.state is not MatchState.DONE:
            return RedirectResponse(site.renderer.url_for("match", match_id=match_text), 303)
        loaded, heading = load_games(site, contest, match), f"Match {match.number}, seating {seating}"
        names = seating_names(contest, match)
    if seating not in loaded:
        raise HTTPException(404, f"There is no replay of seating {seating} of match {match_text}.")
    written = loaded[seating].document
    step = step if act is None else step_at_act(written, deal, attempt, act)
    place = Place(deal, attempt, step, parse_view(hands, len(written["players"])))
    made = make_part(match_text, loaded, seating, place, names, compare=compare, slowest_first=sort == "time")
    markup = site.renderer.text(request, made) if made else "<p>No card was dealt in this game.</p>"
    if part:
        # Owners see logs that others do not: what is kept is not for who signs in next on the same browser.
        kept = {"cache-control": f"private, max-age={FINISHED_AGE_S}", "vary": "Cookie, Authorization"}
        return HTMLResponse(markup, headers=kept)
    page = ReplayPage(
        title=made.title if made else "Replay",
        result=result_words(written),
        game_id=game,
        heading=heading,
        match_id="" if game.startswith(PROBE) else match_text,
        submission_id=match_text.removeprefix(PROBE) if game.startswith(PROBE) else "",
        verified=not loaded[seating].problem,
        problem=loaded[seating].problem,
        faults=tuple(
            FaultLine(bot_names(written)[fault["seat"]], fault["seat"], FAULT_WORDS[fault["kind"]], where)
            for fault, where in fault_places(written)
        ),
        part=Markup(markup),  # noqa: S704  # our own template made it, autoescaped
    )
    return site.renderer.html(request, page)


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


def one_probe(request: Request, site: Site, submission: str, number: int) -> LoadedGame:
    """Give the document of a probe, as ``s`` and the submission's number name it; for who may see it only."""
    text = submission.removeprefix(PROBE)
    if not text.isdecimal() or len(text) > 15:
        raise HTTPException(404, "A probe is named by its submission and number, like s17-1.")
    visible_submission(site, signed_in(request), int(text))
    try:
        return LoadedGame(site.store.probe(int(text), number), "", b"")
    except NotFound as error:
        raise HTTPException(404, f"There is {error}.") from error


def one_game(request: Request, site: Site, game: str) -> LoadedGame:
    """Give the checked document of a game; 404 and 409 where there is none yet."""
    match_text, seating = parse_game(game)
    if game.startswith(PROBE):
        return one_probe(request, site, match_text, seating)
    loaded = load_games(site, *site.match(match_text))
    if seating not in loaded:
        raise HTTPException(404, f"There is no replay of seating {seating} of match {match_text}.")
    return loaded[seating]


@router.get("/games/{game}/replay.json", name="replay_json")
def download_json(request: Request, site: SiteDep, game: str) -> Response:
    """Give the replay document of a game as a file."""
    written = one_game(request, site, game).document
    return unchanged(request, written["digest"]) or download(
        to_line(written), f"game-{game}.json", "application/json", etag=written["digest"]
    )


@router.get("/games/{game}/replay.txt", name="replay_text")
def download_text(request: Request, site: SiteDep, game: str) -> Response:
    """Give the text form of a game as a file."""
    written = one_game(request, site, game).document
    etag = written["digest"] + "-text"
    return unchanged(request, etag) or download(
        to_text(written), f"game-{game}.txt", "text/plain; charset=utf-8", etag=etag
    )
