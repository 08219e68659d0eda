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
from dashboard.recorded import load_games, match_id
from dashboard.replay_jumps import Place
from dashboard.replay_pages import make_part, other_games
from dashboard.site import BotRef, Contest, Site, SiteDep, TournamentRef
from tournament.environment import layer_lines
from tournament.models import TournamentState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.field import Field
    from tournament.store_values import MatchInfo

router = APIRouter()
STALLED_S = 180.0
WORKER_SILENT_S = 60.0
UPSET_WINDOW = 100


@dataclass(frozen=True, slots=True)
class Progress:
    """How many matches stand where; planned is always the sum of the others."""

    planned: int
    finished: int
    running: int
    queued: int
    failed: int
    cancelled: int

    @property
    def share(self) -> float:
        """Finished matches as a share of all, 0 without any."""
        return self.finished / self.planned if self.planned else 0.0


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


def progress_of(site: Site, contest: Contest) -> Progress:
    """Count the matches, all at one moment."""
    counts = site.store.counts(contest.info.id)
    return Progress(counts.planned, counts.finished, counts.running, counts.queued, counts.failed, counts.cancelled)


def live_part(site: Site, contest: Contest) -> LivePart:
    """Make what moves on the page of a tournament."""
    store, info = site.store, contest.info
    now = site.clock()
    progress = progress_of(site, contest)
    field = field_of(site, contest)
    latest = store.latest_matches(info.id, 10)
    last = moment(latest[0].recorded_at) if latest else moment(info.started_at)
    open_matches = progress.running + progress.queued
    waiting = (now - last).total_seconds() if last and open_matches else 0.0
    going = info.state is TournamentState.RUNNING
    started = moment(info.started_at)
    elapsed = (now - started).total_seconds() if started else 0.0
    return LivePart(
        tournament=contest.ref,
        progress=progress,
        verdict=field.verdict,
        top=field.rows[:10],
        latest=tuple(match_row(contest, match) for match in latest),
        running=tuple(_running(contest, match) for match in store.running_matches(info.id, 20)),
        workers=tuple(
            WorkerRow(
                worker.name,
                worker.slots,
                worker.task or "",
                datetime.fromtimestamp(worker.seen_at, now.tzinfo),
                now.timestamp() - worker.seen_at > WORKER_SILENT_S,
                worker.refused or "",
            )
            for worker in store.workers()
        ),
        fault_count=sum(totals.faults for totals in field.figures.totals),
        void_count=len(store.voids(info.id)),
        last_result_at=moment(latest[0].recorded_at) if latest else None,
        stalled_s=waiting if going and info.held_at is None and waiting > STALLED_S else None,
        left_s=elapsed / progress.finished * open_matches
        if going and progress.finished >= 5 and info.held_at is None
        else None,
        now=now,
    )


def _running(contest: Contest, match: MatchInfo) -> RunningRow:
    bots = tuple(contest.bot(position) for position in match.entrants)
    return RunningRow(match_id(match), match.number, bots, match.worker or "", moment(match.started_at), match.attempt)


def tournament_row(contest: Contest) -> TournamentRow:
    """Make the row of a tournament."""
    info = contest.info
    created = moment(info.created_at)
    assert created is not None
    return TournamentRow(
        info.id,
        info.name,
        str(info.state),
        info.rules.mode,
        info.rounds,
        created,
        moment(info.started_at),
        moment(info.finished_at),
    )


def tournament_list(site: Site, before: int | None) -> TournamentList:
    """Make the list: what the page and the API show."""
    found = site.store.tournaments(before=before)
    rows = tuple(tournament_row(Contest(info, ())) for info in found)
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


@router.get("/", name="overview")
def show_overview(request: Request, site: SiteDep) -> HTMLResponse:
    """Show the start page."""
    try:
        contest = site.contest(None)
    except HTTPException:
        return site.renderer.html(request, OverviewPage(None, None, "", (), (), 0))
    field = field_of(site, contest)
    page = OverviewPage(
        contest.ref,
        progress_of(site, contest),
        field.verdict,
        field.rows[:10],
        tuple(match_row(contest, match) for match in site.store.latest_matches(contest.info.id, 8)),
        len(contest.entrants),
    )
    return site.renderer.html(request, page)


@router.get("/tournaments", name="tournaments")
def show_tournaments(request: Request, site: SiteDep, before: int | None = None) -> HTMLResponse:
    """Show the list of tournaments."""
    return site.renderer.html(request, tournament_list(site, before))


@router.get("/tournaments/{tournament_id}", name="tournament")
def show_tournament(request: Request, site: SiteDep, tournament_id: int, part: bool = False) -> HTMLResponse:
    """Show a tournament, or only the part of the page that moves."""
    contest = site.contest(tournament_id)
    last_event = site.store.last_event(tournament_id)  # read first: what happens meanwhile is told again, not lost
    markup = site.renderer.text(request, live_part(site, contest))
    if part:
        return HTMLResponse(markup)
    page = TournamentPage(
        tournament=tournament_row(contest),
        live=contest.info.state in (TournamentState.RUNNING, TournamentState.PAUSED),
        entrants=tuple(contest.bot(entrant.position) for entrant in contest.entrants),
        commitment=contest.info.commitment,
        secret=contest.info.secret if contest.info.secret_is_out else None,
        last_event=last_event,
        sandbox=tuple(layer_lines(contest.info.environment, [each.environment for each in site.store.workers()])),
        part=Markup(markup),  # noqa: S704  # our own template made it, autoescaped
    )
    return site.renderer.html(request, page)


@router.get("/tournaments/{tournament_id}/screen", name="screen")
def show_screen(request: Request, site: SiteDep, tournament_id: int) -> HTMLResponse:
    """Show the big screen of a tournament."""
    contest = site.contest(tournament_id)
    last_event = site.store.last_event(tournament_id)
    field = field_of(site, contest)
    latest = site.store.latest_matches(tournament_id, UPSET_WINDOW)
    part = Markup()
    if latest:
        try:
            loaded = load_games(site, contest, latest[0])
        except HTTPException:  # made void between the two reads
            loaded = {}
        first = min(loaded, default=0)
        others = other_games(contest, latest[0], first) if loaded else ()
        made = make_part(f"{match_id(latest[0])}-{first}", loaded, first, Place(), others) if loaded else None
        part = Markup(site.renderer.text(request, made)) if made else part  # noqa: S704
    page = ScreenPage(
        tournament=contest.ref,
        progress=progress_of(site, contest),
        verdict=field.verdict,
        top=field.rows[:10],
        upset=newest_upset(contest, field, latest),
        last_event=last_event,
        match=match_row(contest, latest[0]) if latest else None,
        part=part,
    )
    return site.renderer.html(request, page)
