"""The list of matches with its filters, and the page of one match with its games side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, Field

from dashboard.recorded import load_games, match_id, seating_names
from dashboard.replay_steps import Document
from dashboard.replay_text import result_words
from dashboard.site import BotRef, Contest, SiteDep, TournamentRow, empty_as, moment, shown
from dashboard.web import csv_file, download, fraction
from tournament import seeds
from tournament.models import MatchState
from tournament.replay import to_line
from tournament.results import comparisons, side_entrants
from tournament.rules import Rules
from tournament.store_values import GameInfo, MatchFilter, MatchInfo, value_of

PAGE = 50
STATE_WORDS = {
    MatchState.DONE: "finished",
    MatchState.LEASED: "running",
    MatchState.QUEUED: "queued",
    MatchState.FAILED: "failed",
    MatchState.CANCELLED: "cancelled",
}
router = APIRouter()


@dataclass(frozen=True, slots=True)
class MatchRow:
    """A match in a list; ``taken`` is what each bot took from the others, in points as for chess."""

    id: str
    number: int
    round: int
    state: str
    bots: tuple[BotRef, ...]
    taken: tuple[float, ...]
    games: int
    faults: int
    worker: str | None
    attempt: int
    started_at: datetime | None
    recorded_at: datetime | None
    play_s: float | None


class MatchQuery(BaseModel):
    """Which matches are listed, as the address says it; `after` and `before` are numbers of matches."""

    tournament: Annotated[int | None, empty_as(None)] = None
    bot: str = Field("", max_length=80)
    versus: str = Field("", max_length=80)
    state: Annotated[Literal["finished", "running", "queued", "failed", "cancelled", "all"], empty_as("finished")] = (
        "finished"
    )
    round: Annotated[int | None, empty_as(None)] = None
    faults: Annotated[bool, empty_as(False)] = False
    after: int | None = None
    before: int | None = None


@dataclass(frozen=True, slots=True)
class MatchList:
    """A page of matches; ``earlier`` and ``later`` are cursors, None at the ends."""

    tournament: TournamentRow
    filter: MatchQuery
    items: tuple[MatchRow, ...]
    total: int
    earlier: int | None
    later: int | None
    bots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GameColumn(GameInfo):
    """A game of a match; empty words while its acts were not kept."""

    game_id: str
    seats: str
    replay: bool
    words: str
    problem: str


@dataclass(frozen=True, slots=True)
class MatchFault:
    """A fault of the match in one line."""

    bot: BotRef
    seating: int
    seat: int
    kind: str
    deal: int
    attempt: int
    act: int


@dataclass(frozen=True, slots=True)
class VoidLine:
    """A result that does not count any more, and why."""

    number: int
    reason: str
    voided_at: datetime


@dataclass(frozen=True, slots=True)
class DealCell:
    """What a deal brought in one seating: the change of score of each entrant, and the contract."""

    seating: int
    attempt: int
    changes: tuple[int, ...]
    bidder: int
    bid: int
    trump: str | None
    made: bool


@dataclass(frozen=True, slots=True)
class DealRow:
    """A deal in all seatings; None where a game had ended before it or was cut off in it."""

    deal: int
    cells: tuple[DealCell | None, ...]
    totals: tuple[int, ...]
    swing: int
    deciding: bool


@dataclass(frozen=True, slots=True)
class MatchPage:
    """One match."""

    tournament: TournamentRow
    match: MatchRow
    key: str
    commitment: str
    seed: str | None
    secret: str | None
    error: str | None
    columns: tuple[GameColumn, ...]
    deals: tuple[DealRow, ...]
    verified: int
    faults: tuple[MatchFault, ...]
    voids: tuple[VoidLine, ...]


def taken(contest: Contest, match: MatchInfo) -> tuple[float, ...]:
    """Give the points that each entrant of a recorded match took from the others."""
    if not match.scores:
        return ()
    compared = comparisons(contest.info.rules, seeds.seatings(contest.info.rules, len(match.entrants)))
    points = [0.0] * len(match.entrants)
    for ((one, other), count), half_points in zip(compared.items(), match.scores, strict=True):
        points[one] += half_points / 2
        points[other] += count - half_points / 2
    return tuple(points)


def match_row(contest: Contest, match: MatchInfo) -> MatchRow:
    """Make the row of a match."""
    return value_of(
        MatchRow,
        match,
        id=match_id(match),
        state=STATE_WORDS[match.state],
        bots=tuple(map(contest.bot, match.entrants)),
        taken=taken(contest, match),
        started_at=moment(match.started_at),
        recorded_at=moment(match.recorded_at),
    )


def match_list(site: SiteDep, query: Annotated[MatchQuery, Query()]) -> MatchList:
    """List matches in the order of the schedule, 50 at a time; `earlier` goes back as `before`, `later` as `after`."""
    contest = site.contest(query.tournament)
    named = [contest.find(name) for name in (query.bot, query.versus) if name]
    found: list[MatchInfo] = []
    total = 0
    if None not in named:
        entrants = tuple(dict.fromkeys(position for position in named if position is not None))
        state = next((state for state, word in STATE_WORDS.items() if word == query.state), None)
        which = MatchFilter(entrants, state, query.round, query.faults)
        found = site.store.matches(contest.info.id, which, after=query.after, before=query.before, limit=PAGE + 1)
        if which == MatchFilter(state=state):
            counts = site.store.counts(contest.info.id)
            total = counts.planned if state is None else getattr(counts, query.state)
        else:
            total = site.store.count_matches(contest.info.id, which)
    back, more = query.before is not None, len(found) > PAGE
    found = found[-PAGE:] if back else found[:PAGE]
    return MatchList(
        tournament=contest.ref,
        filter=query,
        items=tuple(match_row(contest, match) for match in found),
        total=total,
        earlier=found[0].number if found and (more if back else query.after is not None) else None,
        later=found[-1].number if found and (back or more) else None,
        bots=tuple(dict.fromkeys(entrant.name for entrant in contest.entrants)),
    )


def match_page(site: SiteDep, match_id: str) -> MatchPage:
    """Give a match with its games deal by deal, by tournament and number, like 1-17."""
    contest, match = site.match(match_id)
    about = contest.info
    done = match.state is MatchState.DONE
    loaded = load_games(site, contest, match) if done else {}
    faults = site.store.faults(about.id, match_id=match.id) if match.faults else []
    row, names = match_row(contest, match), seating_names(contest, match)
    best = [entrant for entrant, points in enumerate(row.taken) if points == max(row.taken)]
    documents = {seating: game.document for seating, game in loaded.items()}
    return value_of(
        MatchPage,
        match,
        tournament=contest.ref,
        match=row,
        commitment=about.commitment,
        seed=seeds.deal_seed(about.secret, match.key) if done else None,
        secret=about.secret if about.secret_is_out else None,
        columns=tuple(
            value_of(
                GameColumn,
                game,
                game_id=f"{row.id}-{game.seating}",
                seats=names[game.seating - 1],
                replay=game.seating in loaded,
                words=result_words(loaded[game.seating].document) if game.seating in loaded else "",
                problem=loaded[game.seating].problem if game.seating in loaded else "",
            )
            for game in site.store.games(match.id)
        ),
        deals=deal_rows(about.rules, len(match.entrants), documents, best[0] if len(best) == 1 else None),
        verified=sum(not game.problem for game in loaded.values()),
        faults=tuple(value_of(MatchFault, fault, bot=contest.bot(fault.entrant)) for fault in reversed(faults)),
        voids=tuple(
            value_of(VoidLine, void, voided_at=moment(void.voided_at))
            for void in site.store.voids(about.id)
            if void.match_id == match.id
        ),
    )


def deal_rows(
    rules: Rules, entrant_count: int, documents: Mapping[int, Document], winner: int | None = None
) -> tuple[DealRow, ...]:
    """Compare the deals of a match's games.

    Args:
        rules: the rules of the games.
        entrant_count: how many entrants the match has.
        documents: the replay document of each seating that is at hand.
        winner: the entrant that took most of the match, None if several did.

    Returns:
        One row per deal. Its swing is what the winner gained on the best of the others over all seatings, without a
        winner the distance between best and worst; the first deal with the largest decided the match, if it is any.
    """
    all_seatings = seeds.seatings(rules, entrant_count)
    columns: list[dict[int, DealCell]] = []
    for seating, seats in enumerate(all_seatings, start=1):
        document = documents.get(seating)
        columns.append(_cells(rules, seats, seating, document, entrant_count) if document else {})
    last = max((deal for column in columns for deal in column), default=0)
    rows = []
    for deal in range(1, last + 1):
        cells = tuple(column.get(deal) for column in columns)
        totals = tuple(sum(cell.changes[entrant] for cell in cells if cell) for entrant in range(entrant_count))
        others = [total for entrant, total in enumerate(totals) if entrant != winner]
        swing = max(totals) - min(totals) if winner is None else totals[winner] - max(others)
        rows.append((deal, cells, totals, swing))
    largest = max((row[3] for row in rows), default=0)
    decided = next((row[0] for row in rows if row[3] == largest > 0), None)
    return tuple(DealRow(*row, deciding=row[0] == decided) for row in rows)


def _cells(
    rules: Rules, seats: Sequence[int], seating: int, document: Document, entrant_count: int
) -> dict[int, DealCell]:
    owners = side_entrants(rules, seats)
    before = [0] * rules.side_count
    cells = {}
    for entry in document["deals"]:
        if "scores" not in entry:
            continue
        changes = [0] * entrant_count
        for side, (new, old) in enumerate(zip(entry["scores"], before, strict=True)):
            changes[owners[side]] += new - old
        bidding = rules.side_of(entry["bidder"])
        made = list(entry["points"].values()).count(bidding) >= entry["bid"]
        cells[entry["deal"]] = DealCell(
            seating, entry["attempt"], tuple(changes), seats[entry["bidder"]], entry["bid"], entry["trump"], made
        )
        before = entry["scores"]
    return cells


def matches_csv(listed: Annotated[MatchList, Depends(match_list)]) -> Response:
    """Give the same page of matches as CSV."""
    header = ("match", "round", "state", "bots", "taken", "games", "faults", "recorded_at")
    rows = (
        (
            row.number,
            row.round,
            row.state,
            " ".join(f"{bot.name}:{bot.version}" for bot in row.bots),
            " ".join(map(fraction, row.taken)),
            row.games,
            row.faults,
            row.recorded_at and row.recorded_at.isoformat(),
        )
        for row in listed.items
    )
    return csv_file("matches.csv", header, rows)


def match_documents(site: SiteDep, match_id: str) -> Response:
    """Give the replay documents of a match, a line each."""
    loaded = load_games(site, *site.match(match_id))
    lines = "".join(to_line(loaded[seating].document) for seating in sorted(loaded))
    return download(lines, f"match-{match_id}.jsonl", "application/jsonl")


router.add_api_route("/matches", shown(match_list, "matches.html"), name="matches")
router.add_api_route("/matches.csv", matches_csv, name="matches_csv")
router.add_api_route("/matches/{match_id}.jsonl", match_documents, name="match_documents")
router.add_api_route("/matches/{match_id}", shown(match_page, "match.html"), name="match")
