"""The start page, the list of tournaments, the live page of one, and its screen for a projector."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from fastapi import APIRouter, HTTPException, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from dashboard.field import StandingRow, field_of
from dashboard.match_pages import MatchRow, match_row, moment, taken
from dashboard.recorded import load_games, match_id, seating_names
from dashboard.replay_jumps import Place
from dashboard.replay_pages import make_part
from dashboard.site import BotRef, Contest, Progress, Site, SiteDep, TournamentRef, shown
from tournament.environment import layer_lines
from tournament.models import TournamentState
from tournament.store_tokens import info

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.field import Field
    from tournament.store_values import MatchInfo, TournamentInfo

router = APIRouter()
STALLED_S = 180.0
WORKER_SILENT_S = 60.0
UPSET_WINDOW = 100


@dataclass(frozen=True, slots=True)
class TournamentRow:
    """A tournament in the list."""

    id: int
    name: str
    state: str
    mode: str
    rounds: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class TournamentList:
    """All tournaments, newest first."""

    template: ClassVar[str] = "tournaments.html"
    items: tuple[TournamentRow, ...]
    older: int | None


@dataclass(frozen=True, slots=True)
class RunningRow:
    """A match being played."""

    id: str
    number: int
    bots: tuple[BotRef, ...]
    worker: str
    started_at: datetime | None
    attempt: int


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker as it last announced itself."""

    name: str
    slots: int
    task: str
    seen_at: datetime
    silent: bool
    refused: str


@dataclass(frozen=True, slots=True)
class LivePart:
    """What moves on the page of a tournament."""

    template: ClassVar[str] = "_live.html"
    tournament: TournamentRef
    progress: Progress
    verdict: str
    top: tuple[StandingRow, ...]
    latest: tuple[MatchRow, ...]
    running: tuple[RunningRow, ...]
    workers: tuple[WorkerRow, ...]
    fault_count: int
    void_count: int
    last_result_at: datetime | None
    stalled_s: float | None
    left_s: float | None
    now: datetime


@dataclass(frozen=True, slots=True)
class TournamentPage:
    """The page of a tournament around the part that moves."""

    template: ClassVar[str] = "tournament.html"
    tournament: TournamentRow
    live: bool
    entrants: tuple[BotRef, ...]
    commitment: str
    secret: str | None
    last_event: int
    sandbox: tuple[str, ...]
    part: Markup


@dataclass(frozen=True, slots=True)
class Upset:
    """A match in which a bot took more than half from one that is clearly stronger."""

    id: str
    winner: BotRef
    loser: BotRef
    taken: float
    lost: float


@dataclass(frozen=True, slots=True)
class ScreenPage:
    """The big screen: read from ten metres."""

    template: ClassVar[str] = "screen.html"
    tournament: TournamentRef
    progress: Progress
    verdict: str
    top: tuple[StandingRow, ...]
    upset: Upset | None
    last_event: int
    match: MatchRow | None
    part: Markup


@dataclass(frozen=True, slots=True)
class OverviewPage:
    """The start page."""

    template: ClassVar[str] = "overview.html"
    tournament: TournamentRef | None
    progress: Progress | None
    verdict: str
    top: tuple[StandingRow, ...]
    latest: tuple[MatchRow, ...]
    entrant_count: int


def live_part(site: Site, contest: Contest) -> LivePart:
    """Make what moves on the page of a tournament."""
    store, about, now = site.store, contest.info, site.clock()
    progress = site.progress(about.id)
    field = field_of(site, contest)
    latest = store.latest_matches(about.id, 10)
    last_result, started = moment(latest[0].recorded_at) if latest else None, moment(about.started_at)
    since = last_result or started
    open_matches = progress.running + progress.queued
    going = about.state is TournamentState.RUNNING and about.held_at is None
    stalled_s = (now - since).total_seconds() if since and open_matches and going else 0.0
    return LivePart(
        tournament=contest.ref,
        progress=progress,
        verdict=field.verdict,
        top=field.rows[:10],
        latest=tuple(match_row(contest, match) for match in latest),
        running=tuple(
            info(
                RunningRow,
                match,
                id=match_id(match),
                bots=tuple(map(contest.bot, match.entrants)),
                worker=match.worker or "",
                started_at=moment(match.started_at),
            )
            for match in store.running_matches(about.id, 20)
        ),
        workers=tuple(
            info(
                WorkerRow,
                worker,
                task=worker.task or "",
                seen_at=moment(worker.seen_at),
                silent=now.timestamp() - worker.seen_at > WORKER_SILENT_S,
                refused=worker.refused or "",
            )
            for worker in store.workers()
        ),
        fault_count=sum(totals.faults for totals in field.figures.totals),
        void_count=len(store.voids(about.id)),
        last_result_at=last_result,
        stalled_s=stalled_s if stalled_s > STALLED_S else None,
        left_s=(now - started).total_seconds() / progress.finished * open_matches
        if going and started and progress.finished >= 5
        else None,
        now=now,
    )


def tournament_row(about: TournamentInfo) -> TournamentRow:
    """Make the row of a tournament."""
    times = {name: moment(getattr(about, name)) for name in ("created_at", "started_at", "finished_at")}
    return info(TournamentRow, about, mode=about.rules.mode, **times)


def tournament_list(site: SiteDep, before: int | None = None) -> TournamentList:
    """List tournaments, newest first, in pages of 50; `before` is the cursor."""
    rows = tuple(map(tournament_row, site.store.tournaments(before=before)))
    return TournamentList(rows, rows[-1].id if len(rows) == 50 else None)


def newest_upset(contest: Contest, field: Field, latest: Sequence[MatchInfo]) -> Upset | None:
    """Find the newest match of two in which the clearly weaker bot took more than half."""
    for match in latest:
        points = taken(contest, match)
        if len(points) != 2 or points[0] == points[1]:
            continue
        won, lost = (0, 1) if points[0] > points[1] else (1, 0)
        winner, loser = match.entrants[won], match.entrants[lost]
        if field.ladder.clear[loser, winner]:
            return Upset(match_id(match), contest.bot(winner), contest.bot(loser), points[won], points[lost])
    return None


def overview_page(site: SiteDep) -> OverviewPage:
    """Make the start page: the newest tournament, if there is one."""
    try:
        contest = site.contest(None)
    except HTTPException:
        return OverviewPage(None, None, "", (), (), 0)
    field = field_of(site, contest)
    return OverviewPage(
        contest.ref,
        site.progress(contest.info.id),
        field.verdict,
        field.rows[:10],
        tuple(match_row(contest, match) for match in site.store.latest_matches(contest.info.id, 8)),
        len(contest.entrants),
    )


def screen_page(request: Request, site: SiteDep, tournament_id: int) -> ScreenPage:
    """Make the big screen of a tournament, with a replay of the newest match."""
    contest = site.contest(tournament_id)
    last_event = site.store.last_event(tournament_id)
    field = field_of(site, contest)
    latest = site.store.latest_matches(tournament_id, UPSET_WINDOW)
    try:
        loaded = load_games(site, contest, latest[0]) if latest else {}
    except HTTPException:  # made void between the two reads
        loaded = {}
    first = min(loaded, default=0)
    made = make_part(match_id(latest[0]), loaded, first, Place(), seating_names(contest, latest[0])) if loaded else None
    return ScreenPage(
        tournament=contest.ref,
        progress=site.progress(tournament_id),
        verdict=field.verdict,
        top=field.rows[:10],
        upset=newest_upset(contest, field, latest),
        last_event=last_event,
        match=match_row(contest, latest[0]) if latest else None,
        part=site.renderer.markup(request, made) if made else Markup(),
    )


@router.get("/tournaments/{tournament_id}", name="tournament")
def show_tournament(request: Request, site: SiteDep, tournament_id: int, part: bool = False) -> HTMLResponse:
    """Show a tournament, or only the part of the page that moves."""
    contest = site.contest(tournament_id)
    about = contest.info
    last_event = site.store.last_event(tournament_id)  # read first: what happens meanwhile is told again, not lost
    moving = live_part(site, contest)
    if part:
        return site.renderer.html(request, moving)
    page = TournamentPage(
        tournament=tournament_row(about),
        live=about.state in (TournamentState.RUNNING, TournamentState.PAUSED),
        entrants=tuple(contest.bot(entrant.position) for entrant in contest.entrants),
        commitment=about.commitment,
        secret=about.secret if about.secret_is_out else None,
        last_event=last_event,
        sandbox=tuple(layer_lines(about.environment, [each.environment for each in site.store.workers()])),
        part=site.renderer.markup(request, moving),
    )
    return site.renderer.html(request, page)


router.add_api_route("/", shown(overview_page), name="overview")
router.add_api_route("/tournaments", shown(tournament_list), name="tournaments")
router.add_api_route("/tournaments/{tournament_id}/screen", shown(screen_page), name="screen")
