"""The page of a bot: its versions, its contracts, its decision times, its opponents and its faults."""

from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request, Response

from dashboard import queries
from dashboard.auth import sees_private
from dashboard.field import Field, StandingRow, cell_of, field_of
from dashboard.match_pages import MatchRow, match_row
from dashboard.queries import FaultGroup
from dashboard.replay_pages import parse_game
from dashboard.site import BotRef, Contest, Site, SiteDep, TournamentRow, values_of
from dashboard.web import csv_file, download
from tournament.decision import decision_at
from tournament.models import MatchState
from tournament.models_people import SubmissionState
from tournament.people import SubmissionInfo
from tournament.results import BID_LEVELS
from tournament.seeds import bot_seed
from tournament.standings import Cell
from tournament.store_values import MatchFilter

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
    cell: Cell


@dataclass(frozen=True, slots=True)
class BotPage:
    """A bot in a tournament, one version of it."""

    tournament: TournamentRow
    bot: BotRef
    standing: StandingRow
    versions: tuple[VersionRow, ...]
    contracts: tuple[ContractRow, ...]
    times: DecisionTimes | None
    opponents: tuple[OpponentRow, ...]
    latest: tuple[MatchRow, ...]
    fault_groups: tuple[FaultGroup, ...]


def find_bot(site: Site, name: str, version: int | None, tournament: int | None) -> tuple[Contest, int]:
    """Find a bot in the tournament that an address names, else in the newest that it plays in; 404 without one."""
    text = name if version is None else f"{name}:{version}"
    numbers = [tournament] if tournament is not None else [each.id for each in site.store.tournaments(limit=20)]
    for number in numbers:
        contest = site.contest(number)
        position = contest.find(text)
        if position is not None:
            return contest, position
    raise HTTPException(404, f"No bot {text[:80]} plays here.")


def bot_page(site: SiteDep, name: str, version: int | None = None, tournament: int | None = None) -> BotPage:
    """Give a bot's standing, versions, contracts, decision times, opponents and faults."""
    contest, position = find_bot(site, name, version, tournament)
    field = field_of(site, contest)
    standings = {row.entrant: row for row in field.rows}
    tally = field.figures.totals[position].tally
    which = MatchFilter(entrants=(position,), state=MatchState.DONE)
    matches = site.store.matches(contest.info.id, which, before=2**31, limit=10)
    opponents = ((other, cell_of(field, position, other)) for other in standings)
    return BotPage(
        tournament=contest.ref,
        bot=contest.bot(position),
        standing=standings[position],
        versions=_versions(contest, field, standings, name),
        contracts=tuple(map(ContractRow, BID_LEVELS, tally.bids, tally.made)),
        times=_times(site, contest, position),
        opponents=tuple(
            OpponentRow(contest.bot(other), standings[other].rank, cell) for other, cell in opponents if cell
        ),
        latest=tuple(match_row(contest, match) for match in reversed(matches)),
        fault_groups=queries.fault_groups(site.store, contest.info.id, position),
    )


def _versions(contest: Contest, field: Field, standings: dict[int, StandingRow], name: str) -> tuple[VersionRow, ...]:
    """List the versions of a bot in a tournament, newest first, each against the one before by the ladder."""
    versions = sorted((entrant for entrant in contest.entrants if entrant.name == name), key=lambda each: each.version)
    superiority = field.ladder.superiority() if len(versions) > 1 else []
    rows = []
    for index, entrant in enumerate(versions):
        words, chance = "", None
        if index:
            this, before = entrant.position, versions[index - 1].position
            chance = superiority[this][before]
            clear = field.ladder.clear
            words = "better" if clear[this, before] else "worse" if clear[before, this] else "no evidence either way"
        rows.append(VersionRow(entrant.version, entrant.sha256, standings[entrant.position], words, chance))
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


@router.get("/bots/{name}", name="bot")
@router.get("/bots/{name}/v{version}", name="bot_version")
def show_bot(request: Request, site: SiteDep, page: Annotated[BotPage, Depends(bot_page)]) -> Response:
    """Show a version of a bot, by default the newest."""
    refused = _refused(site, request, page.bot.name)
    return site.renderer.html(request, "bot.html", refused=refused, **values_of(page))


def _refused(site: Site, request: Request, name: str) -> SubmissionInfo | None:
    """Give the newest submission of a bot if it was rejected while an older one plays, to who may see it."""
    for bot in site.store.bots(name=name):
        if bot.version and sees_private(request, bot.account_id):
            newest = site.store.submissions(bot_id=bot.id, limit=1)
            return next((each for each in newest if each.state is SubmissionState.REJECTED), None)
    return None


@router.get("/bots/{name}/opponents.csv", name="bot_opponents_csv")
def opponents_csv(page: Annotated[BotPage, Depends(bot_page)]) -> Response:
    """Give what a bot took from each opponent as CSV."""
    columns = attrgetter("bot.name", "bot.version", "cell.matches", "cell.share", "cell.low", "cell.high")
    header = ("bot", "version", "matches", "share", "low", "high")
    return csv_file("opponents.csv", header, map(columns, page.opponents))


def bot_faults(
    request: Request, site: SiteDep, name: str, version: int | None = None, tournament: int | None = None
) -> dict[str, Any]:
    """Give the newest faults of a bot's version, and whether who asks may read their tracebacks and logs."""
    contest, position = find_bot(site, name, version, tournament)
    standings = field_of(site, contest).rows
    return {
        "tournament": contest.ref,
        "bot": contest.bot(position),
        "private": sees_private(request, contest.entrants[position].owner),
        "groups": queries.fault_groups(site.store, contest.info.id, position),
        "items": site.store.faults(contest.info.id, entrant=position, limit=FAULTS_SHOWN),
        "games": next(row.games for row in standings if row.entrant == position),
    }


FaultsDep = Annotated[dict[str, Any], Depends(bot_faults)]


@router.get("/bots/{name}/faults", name="bot_faults")
def show_faults(request: Request, site: SiteDep, found: FaultsDep) -> Response:
    """Show the faults of a bot; tracebacks and logs only to who may see them."""
    return site.renderer.html(request, "faults.html", **found)


@router.get("/bots/{name}/faults.csv", name="bot_faults_csv")
def faults_csv(found: FaultsDep) -> Response:
    """Give the newest faults of a bot as CSV."""
    header = ("number", "seating", "seat", "kind", "message", "deal", "attempt", "act", "measured", "limit")
    rows = ([getattr(fault, column) for column in header] for fault in found["items"])
    return csv_file("faults.csv", header, rows)


@router.get("/games/{game}/faults/{ordinal}.json", name="fault_file")
def fault_file(request: Request, site: SiteDep, game: str, ordinal: int) -> Response:
    """Give the decision at which a bot faulted as a file for `tournament reproduce`, to its owner and the organiser."""
    match_text, seating = parse_game(game)
    contest, match = site.match(match_text)
    found = site.store.faults(contest.info.id, match_id=match.id)
    fault = next((each for each in found if (each.seating, each.ordinal) == (seating, ordinal)), None)
    if fault is None or fault.act < 0:
        raise HTTPException(404, "No fault in play has this address.")
    if not sees_private(request, contest.entrants[fault.entrant].owner):
        raise HTTPException(403, "This file is for the owner of the bot and the organiser.")
    records = {record.seating: record for _, record in site.store.game_records(contest.info.id, [match.number])}
    seats = range(contest.info.rules.players)
    random_seeds = tuple(bot_seed(contest.info.secret, match.key, seating, seat) for seat in seats)
    decision = decision_at(records[seating], (fault.deal, fault.attempt, fault.act), random_seeds, contest.info.limits)
    return download(decision.to_text() + "\n", f"fault-{game}-{ordinal}.json", "application/json")
