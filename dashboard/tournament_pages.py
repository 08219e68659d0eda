"""The start page, the list of tournaments, the live page of one, and its screen for a projector."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from markupsafe import Markup

from dashboard.field import Field, field_of
from dashboard.match_pages import MatchRow, match_row, taken
from dashboard.recorded import load_games, match_id, seating_names
from dashboard.replay_pages import step_values
from dashboard.replay_steps import Place
from dashboard.site import (
    Contest,
    ContestDep,
    Site,
    SiteDep,
    TournamentRow,
    shown,
    tournament_row,
)
from tournament.environment import layer_lines
from tournament.models import TournamentState
from tournament.store_values import MatchInfo

router = APIRouter()
STALLED_S = 180.0
WORKER_SILENT_S = 60.0
UPSET_WINDOW = 100


@dataclass(frozen=True, slots=True)
class TournamentList:
    """All tournaments, newest first."""

    items: tuple[TournamentRow, ...]
    older: int | None


def live_values(site: Site, contest: Contest) -> dict[str, Any]:
    """Give what moves on the page of a tournament."""
    store, about, now = site.store, contest.info, site.clock().timestamp()
    progress, field = store.counts(about.id), field_of(site, contest)
    latest = store.latest_matches(about.id, 10)
    since = latest[0].recorded_at if latest else about.started_at
    open_matches = progress.open
    going = about.state is TournamentState.RUNNING and about.held_at is None
    silent_s = now - since if since and open_matches and going else 0.0
    pace_s = (now - about.started_at) / progress.finished if about.started_at and progress.finished >= 5 else None
    return {
        "tournament": contest.ref,
        "progress": progress,
        "verdict": field.verdict,
        "top": field.rows[:10],
        "latest": [match_row(contest, match) for match in latest],
        "running": [match_row(contest, match) for match in store.running_matches(about.id, 20)],
        "workers": [(worker, now - worker.seen_at > WORKER_SILENT_S) for worker in store.workers()],
        "fault_count": sum(totals.faults for totals in field.figures.totals),
        "void_count": len(store.voids(about.id)),
        "stalled_s": silent_s if silent_s > STALLED_S else None,
        "left_s": pace_s * open_matches if going and pace_s is not None else None,
    }


def tournament_list(site: SiteDep, before: int | None = None) -> TournamentList:
    """List tournaments, newest first, in pages of 50; `before` is the cursor."""
    rows = tuple(map(tournament_row, site.store.tournaments(before=before)))
    return TournamentList(rows, rows[-1].id if len(rows) == 50 else None)


def newest_upset(contest: Contest, field: Field, latest: Sequence[MatchInfo]) -> tuple[MatchRow, int, int] | None:
    """Find the newest match of two in which the clearly weaker bot took more than half, and the places of both."""
    for match in latest:
        points = taken(contest, match)
        if len(points) != 2 or points[0] == points[1]:
            continue
        won, lost = (0, 1) if points[0] > points[1] else (1, 0)
        if field.ladder.clear[match.entrants[lost], match.entrants[won]]:
            return match_row(contest, match), won, lost
    return None


@router.get("/", name="overview")
def show_overview(request: Request, site: SiteDep) -> Response:
    """Show the newest tournament, if there is one, and the ways to everything else."""
    try:
        contest = site.contest(None)
    except HTTPException:
        return site.renderer.html(request, "welcome.html")
    field = field_of(site, contest)
    return site.renderer.html(
        request,
        "overview.html",
        tournament=contest.ref,
        progress=site.store.counts(contest.info.id),
        verdict=field.verdict,
        top=field.rows[:10],
        latest=[match_row(contest, match) for match in site.store.latest_matches(contest.info.id, 8)],
        entrant_count=len(contest.entrants),
    )


@router.get("/tournaments/{tournament_id}/screen", name="screen")
def show_screen(request: Request, site: SiteDep, contest: ContestDep) -> Response:
    """Show the big screen of a tournament, read from ten metres, with a replay of the newest match."""
    last_event = site.store.last_event(contest.info.id)
    field = field_of(site, contest)
    latest = site.store.latest_matches(contest.info.id, UPSET_WINDOW)
    return site.renderer.html(
        request,
        "screen.html",
        tournament=contest.ref,
        progress=site.store.counts(contest.info.id),
        verdict=field.verdict,
        top=field.rows[:10],
        upset=newest_upset(contest, field, latest),
        last_event=last_event,
        match=match_row(contest, latest[0]) if latest else None,
        part=_first_game(request, site, contest, latest[0]) if latest else "",
    )


def _first_game(request: Request, site: Site, contest: Contest, match: MatchInfo) -> Markup:
    """Render the first game of a match that was kept; nothing if none was, or no card was dealt in it."""
    try:
        loaded = load_games(site, contest, match)
    except HTTPException:  # made void between the two reads
        loaded = {}
    if not loaded:
        return Markup()
    values = step_values(match_id(match), loaded, min(loaded), Place(), seating_names(contest, match))
    return site.renderer.markup(request, "_replay.html", **values) if values else Markup()


@router.get("/tournaments/{tournament_id}", name="tournament")
def show_tournament(request: Request, site: SiteDep, contest: ContestDep, part: bool = False) -> Response:
    """Show a tournament, or only the part of the page that moves."""
    about = contest.info
    last_event = site.store.last_event(about.id)  # read first: what happens meanwhile is told again, not lost
    moving = live_values(site, contest)
    if part:
        return site.renderer.html(request, "_live.html", **moving)
    return site.renderer.html(
        request,
        "tournament.html",
        tournament=contest.ref,
        live=about.state in (TournamentState.RUNNING, TournamentState.PAUSED),
        entrants=[contest.bot(entrant.position) for entrant in contest.entrants],
        commitment=about.commitment,
        secret=about.secret if about.secret_is_out else None,
        last_event=last_event,
        sandbox=layer_lines(about.environment, [each.environment for each in site.store.workers()]),
        part=site.renderer.markup(request, "_live.html", **moving),
    )


router.add_api_route("/tournaments", shown(tournament_list, "tournaments.html"), name="tournaments")
