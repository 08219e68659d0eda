"""The page of a bot: its versions, its contracts, its decision times, its opponents and its faults."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import HTMLResponse, Response

from dashboard import queries
from dashboard.field import StandingRow, cell_of, field_of
from dashboard.match_pages import MatchRow, match_row, moment
from dashboard.replay_pages import parse_game
from dashboard.replay_words import FAULT_WORDS
from dashboard.site import BotRef, Contest, Site, SiteDep, TournamentRef
from dashboard.web import csv_text, download
from tournament.decision import decision_at
from tournament.models import MatchState
from tournament.models_people import SubmissionState
from tournament.results import BID_LEVELS
from tournament.seeds import bot_seed
from tournament.store_tokens import info
from tournament.store_values import MatchFilter

if TYPE_CHECKING:
    from dashboard.field import Field
    from tournament.people import SubmissionInfo
    from tournament.store_values import FaultInfo

router = APIRouter()
FAULTS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version in this tournament and what it brought against the one before."""

    version: int
    sha256: str | None
    standing: StandingRow
    against_previous: str
    superiority: float | None


@dataclass(frozen=True, slots=True)
class ContractRow:
    """How often a bot held a contract of a level and made it."""

    level: int
    bid: int
    made: int

    @property
    def share(self) -> float | None:
        """The share it made, None without any."""
        return self.made / self.bid if self.bid else None


@dataclass(frozen=True, slots=True)
class DecisionTimes:
    """Processor milliseconds of the decisions in the newest games."""

    decisions: int
    median_ms: float
    p95_ms: float
    largest_ms: float
    limit_ms: float


@dataclass(frozen=True, slots=True)
class OpponentRow:
    """What a bot took from another."""

    bot: BotRef
    rank: str
    matches: int
    share: float
    low: float
    high: float
    verdict: str


@dataclass(frozen=True, slots=True)
class FaultRow:
    """A fault with its place; traceback and log only for who may see them."""

    match: str
    number: int
    game: str
    version: int
    seat: int
    kind: str
    words: str
    message: str
    deal: int
    attempt: int
    act: int
    measured: float | None
    limit: float | None
    recorded_at: datetime | None
    ordinal: int
    traceback: str
    log_tail: str


@dataclass(frozen=True, slots=True)
class FaultGroupRow:
    """Faults with the same message."""

    version: int
    kind: str
    words: str
    message: str
    count: int


@dataclass(frozen=True, slots=True)
class BotPage:
    """A bot in a tournament, one version of it."""

    template: ClassVar[str] = "bot.html"
    tournament: TournamentRef
    bot: BotRef
    standing: StandingRow
    games: int
    versions: tuple[VersionRow, ...]
    contracts: tuple[ContractRow, ...]
    times: DecisionTimes | None
    opponents: tuple[OpponentRow, ...]
    latest: tuple[MatchRow, ...]
    fault_groups: tuple[FaultGroupRow, ...]


@dataclass(frozen=True, slots=True)
class ShownBot(BotPage):
    """The page as its owner and the organiser see it: with the newest upload, if that was not accepted."""

    refused: SubmissionInfo | None


@dataclass(frozen=True, slots=True)
class FaultsPage:
    """The newest faults of a bot's version."""

    template: ClassVar[str] = "faults.html"
    tournament: TournamentRef
    bot: BotRef
    private: bool
    groups: tuple[FaultGroupRow, ...]
    items: tuple[FaultRow, ...]
    games: int


def find_bot(site: Site, name: str, version: int | None, tournament: int | None) -> tuple[Contest, int]:
    """Find a bot in the tournament that an address names, else in the newest that it plays in; 404 without one."""
    text = name if version is None else f"{name}:{version}"
    if tournament is not None:
        contest = site.contest(tournament)
        position = contest.find(text)
        if position is not None:
            return contest, position
    else:
        for each in site.store.tournaments(limit=20):
            contest = site.contest(each.id)
            position = contest.find(text)
            if position is not None:
                return contest, position
    raise HTTPException(404, f"No bot {text[:80]} plays here.")


def bot_page(site: Site, name: str, version: int | None, tournament: int | None) -> BotPage:
    """Make the page of a bot: what the page and the API show."""
    contest, position = find_bot(site, name, version, tournament)
    field = field_of(site, contest)
    standings = {(row.bot, row.version): row for row in field.rows}
    entrant = contest.entrants[position]
    standing = standings[entrant.name, entrant.version]
    tally = field.figures.totals[position].tally
    which = MatchFilter(entrants=(position,), state=MatchState.DONE)
    matches = site.store.matches(contest.info.id, which, before=2**31, limit=10)
    return BotPage(
        tournament=contest.ref,
        bot=contest.bot(position),
        standing=standing,
        games=standing.games,
        versions=_versions(contest, field, standings, name),
        contracts=tuple(
            ContractRow(level, bid, made) for level, bid, made in zip(BID_LEVELS, tally.bids, tally.made, strict=True)
        ),
        times=_times(site, contest, position),
        opponents=_opponents(contest, field, standings, position),
        latest=tuple(match_row(contest, match) for match in reversed(matches)),
        fault_groups=_groups(site, contest, position),
    )


def _versions(
    contest: Contest, field: Field, standings: dict[tuple[str, int], StandingRow], name: str
) -> tuple[VersionRow, ...]:
    """List the versions of a bot in a tournament, newest first, each against the one before by the ladder."""
    versions = sorted((entrant for entrant in contest.entrants if entrant.name == name), key=lambda each: each.version)
    superiority = field.ladder.superiority() if len(versions) > 1 else []
    rows = []
    for index, entrant in enumerate(versions):
        before = versions[index - 1] if index else None
        words, chance = "", None
        if before is not None:
            chance = superiority[entrant.position][before.position]
            better = field.ladder.clear[entrant.position, before.position]
            worse = field.ladder.clear[before.position, entrant.position]
            words = "better" if better else "worse" if worse else "no evidence either way"
        standing = standings[entrant.name, entrant.version]
        rows.append(VersionRow(entrant.version, entrant.sha256, standing, words, chance))
    return tuple(reversed(rows))


def _times(site: Site, contest: Contest, position: int) -> DecisionTimes | None:
    micros = queries.decision_micros(site.store, contest, position)
    if not micros:
        return None
    last = len(micros) - 1
    return DecisionTimes(
        decisions=len(micros),
        median_ms=micros[last // 2] / 1000,
        p95_ms=micros[round(last * 0.95)] / 1000,
        largest_ms=micros[-1] / 1000,
        limit_ms=contest.info.limits.decision_cpu_s * 1000,
    )


def _opponents(
    contest: Contest, field: Field, standings: dict[tuple[str, int], StandingRow], position: int
) -> tuple[OpponentRow, ...]:
    rows = []
    for row in field.ladder.rows:
        cell = cell_of(field, position, row.entrant) if row.entrant != position else None
        if cell is None:
            continue
        ref = contest.bot(row.entrant)
        verdict = "" if not cell.clear else "ahead" if cell.share > 0.5 else "behind"
        rank = standings[ref.name, ref.version].rank
        rows.append(OpponentRow(ref, rank, cell.matches, cell.share, cell.low, cell.high, verdict))
    return tuple(rows)


def _groups(site: Site, contest: Contest, position: int) -> tuple[FaultGroupRow, ...]:
    return tuple(
        FaultGroupRow(
            contest.entrants[group.entrant].version, group.kind, FAULT_WORDS[group.kind], group.message, group.count
        )
        for group in queries.fault_groups(site.store, contest.info.id, [position])
    )


def _fault(contest: Contest, fault: FaultInfo, private: bool) -> FaultRow:
    match = f"{contest.info.id}-{fault.number}"
    return info(
        FaultRow,
        fault,
        match=match,
        game=f"{match}-{fault.seating}",
        version=contest.entrants[fault.entrant].version,
        kind=str(fault.kind),
        words=FAULT_WORDS[str(fault.kind)],
        recorded_at=moment(fault.recorded_at),
        **({} if private else {"traceback": "", "log_tail": ""}),
    )


def faults_page(site: Site, request: Request, name: str, version: int | None, tournament: int | None) -> FaultsPage:
    """Make the list of the newest faults of a bot's version."""
    contest, position = find_bot(site, name, version, tournament)
    private = site.sees_private(request, contest.entrants[position].owner)
    found = site.store.faults(contest.info.id, entrant=position, limit=FAULTS_SHOWN)
    field = field_of(site, contest)
    return FaultsPage(
        tournament=contest.ref,
        bot=contest.bot(position),
        private=private,
        groups=_groups(site, contest, position),
        items=tuple(_fault(contest, fault, private) for fault in found),
        games=next(row.games for row in field.rows if (row.bot, row.version) == _key(contest, position)),
    )


def _key(contest: Contest, position: int) -> tuple[str, int]:
    return contest.entrants[position].name, contest.entrants[position].version


@router.get("/bots/{name}", name="bot")
def show_bot(request: Request, site: SiteDep, name: str, tournament: int | None = None) -> HTMLResponse:
    """Show the newest version of a bot."""
    return show_version(request, site, name, None, tournament)


@router.get("/bots/{name}/v{version}", name="bot_version")
def show_version(
    request: Request, site: SiteDep, name: str, version: int | None, tournament: int | None = None
) -> HTMLResponse:
    """Show one version of a bot."""
    page = bot_page(site, name, version, tournament)
    return site.renderer.html(request, info(ShownBot, page, refused=_refused(site, request, name)))


def _refused(site: Site, request: Request, name: str) -> SubmissionInfo | None:
    """Give the newest submission of a bot if it was rejected while an older one plays, to who may see it."""
    for bot in site.store.bots(name=name):
        if bot.version and site.sees_private(request, bot.account_id):
            newest = site.store.submissions(bot_id=bot.id, limit=1)
            return next((each for each in newest if each.state is SubmissionState.REJECTED), None)
    return None


@router.get("/bots/{name}/faults", name="bot_faults")
def show_faults(
    request: Request, site: SiteDep, name: str, version: int | None = None, tournament: int | None = None
) -> HTMLResponse:
    """Show the faults of a bot."""
    return site.renderer.html(request, faults_page(site, request, name, version, tournament))


@router.get("/games/{game}/faults/{ordinal}.json", name="fault_file")
def fault_file(request: Request, site: SiteDep, game: str, ordinal: int) -> Response:
    """Give the decision at which a bot faulted as a file for `tournament reproduce`, to its owner and the organiser."""
    match_text, seating = parse_game(game)
    contest, match = site.match(match_text)
    found = site.store.faults(contest.info.id, match_id=match.id)
    fault = next((each for each in found if (each.seating, each.ordinal) == (seating, ordinal)), None)
    if fault is None or fault.act < 0:
        raise HTTPException(404, "No fault in play has this address.")
    if not site.sees_private(request, contest.entrants[fault.entrant].owner):
        raise HTTPException(403, "This file is for the owner of the bot and the organiser.")
    records = {record.seating: record for _, record in site.store.game_records(contest.info.id, [match.number])}
    seats = range(contest.info.rules.players)
    random_seeds = tuple(bot_seed(contest.info.secret, match.key, seating, seat) for seat in seats)
    decision = decision_at(records[seating], (fault.deal, fault.attempt, fault.act), random_seeds, contest.info.limits)
    return download(decision.to_text() + "\n", f"fault-{game}-{ordinal}.json", "application/json")


@router.get("/bots/{name}/faults.csv", name="bot_faults_csv")
def faults_csv(
    request: Request, site: SiteDep, name: str, version: int | None = None, tournament: int | None = None
) -> Response:
    """Give the newest faults of a bot as CSV."""
    page = faults_page(site, request, name, version, tournament)
    header = ("number", "game", "version", "seat", "kind", "message", "deal", "attempt", "act", "measured", "limit")
    rows = ([getattr(row, column) for column in header] for row in page.items)
    return download(csv_text(header, rows), "faults.csv", "text/csv; charset=utf-8")


@router.get("/bots/{name}/opponents.csv", name="bot_opponents_csv")
def opponents_csv(site: SiteDep, name: str, version: int | None = None, tournament: int | None = None) -> Response:
    """Give what a bot took from each opponent as CSV."""
    page = bot_page(site, name, version, tournament)
    rows = ((row.bot.name, row.bot.version, row.matches, row.share, row.low, row.high) for row in page.opponents)
    header = ("bot", "version", "matches", "share", "low", "high")
    return download(csv_text(header, rows), "opponents.csv", "text/csv; charset=utf-8")
