"""The list of matches with its filters, and the page of one match with its games side by side."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, ClassVar

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from dashboard.match_view import DealRow, deal_rows
from dashboard.recorded import load_games, match_id, seating_names
from dashboard.replay_words import FAULT_WORDS, result_words
from dashboard.site import BotRef, Contest, SiteDep, TournamentRef, shown
from dashboard.web import csv_file, download, fraction
from tournament import seeds
from tournament.models import MatchState
from tournament.replay import to_line
from tournament.results import comparisons
from tournament.store_tokens import info
from tournament.store_values import MatchFilter

if TYPE_CHECKING:
    from tournament.store_values import MatchInfo

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
    recorded_at: datetime | None
    play_s: float | None


@dataclass(frozen=True, slots=True)
class ListFilter:
    """The filters of a match list as the address has them."""

    bot: str = ""
    versus: str = ""
    state: str = "finished"
    round: int | None = None
    faults: bool = False


@dataclass(frozen=True, slots=True)
class MatchList:
    """A page of matches; ``earlier`` and ``later`` are cursors, None at the ends."""

    template: ClassVar[str] = "matches.html"
    tournament: TournamentRef
    filter: ListFilter
    items: tuple[MatchRow, ...]
    total: int
    earlier: int | None
    later: int | None
    bots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GameColumn:
    """A game of a match; empty words while its acts were not kept."""

    game_id: str
    seating: int
    seats: str
    end: str
    scores: tuple[int, ...]
    deals: int
    digest: str
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
    words: str
    deal: int
    attempt: int
    act: int


@dataclass(frozen=True, slots=True)
class VoidLine:
    """A result that does not count any more."""

    voided_at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class MatchPage:
    """One match."""

    template: ClassVar[str] = "match.html"
    tournament: TournamentRef
    match: MatchRow
    key: str
    commitment: str
    seed: str | None
    secret: str | None
    worker: str | None
    attempt: int
    error: str | None
    started_at: datetime | None
    columns: tuple[GameColumn, ...]
    deals: tuple[DealRow, ...]
    deciding: DealRow | None
    verified: int
    faults: tuple[MatchFault, ...]
    voids: tuple[VoidLine, ...]


def moment(seconds: float | None) -> datetime | None:
    """Turn a stored time into an aware one."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


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
    return info(
        MatchRow,
        match,
        id=match_id(match),
        state=STATE_WORDS[match.state],
        bots=tuple(map(contest.bot, match.entrants)),
        taken=taken(contest, match),
        recorded_at=moment(match.recorded_at),
    )


Round = Annotated[str, Query(alias="round", description="only matches of this round")]


def list_filter(
    bot: str = "", versus: str = "", state: str = "finished", round_number: Round = "", faults: bool = False
) -> ListFilter:
    """Read the filters of an address; what makes no sense means the default, since forms send empty fields too."""
    state = state if state in ("all", *STATE_WORDS.values()) else "finished"
    number = int(round_number) if round_number.isdecimal() and len(round_number) < 10 else None
    return ListFilter(bot[:80], versus[:80], state, number, faults)


def match_list(
    site: SiteDep,
    chosen: Annotated[ListFilter, Depends(list_filter)],
    tournament: int | None = None,
    after: int | None = None,
    before: int | None = None,
) -> MatchList:
    """List matches in the order of the schedule, 50 at a time; `earlier` goes back as `before`, `later` as `after`."""
    contest = site.contest(tournament)
    named = [contest.find(name) for name in (chosen.bot, chosen.versus) if name]
    found: list[MatchInfo] = []
    total = 0
    if None not in named:
        entrants = tuple(dict.fromkeys(position for position in named if position is not None))
        state = next((state for state, word in STATE_WORDS.items() if word == chosen.state), None)
        which = MatchFilter(entrants, state, chosen.round, chosen.faults)
        found = site.store.matches(contest.info.id, which, after=after, before=before, limit=PAGE + 1)
        if which == MatchFilter(state=state):
            counts = site.store.counts(contest.info.id)
            total = counts.planned if state is None else getattr(counts, chosen.state)
        else:
            total = site.store.count_matches(contest.info.id, which)
    more = len(found) > PAGE
    found = found[-PAGE:] if before is not None else found[:PAGE]
    earlier = more if before is not None else after is not None
    later = True if before is not None else more
    return MatchList(
        tournament=contest.ref,
        filter=chosen,
        items=tuple(match_row(contest, match) for match in found),
        total=total,
        earlier=found[0].number if found and earlier else None,
        later=found[-1].number if found and later else None,
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
    deals = deal_rows(about.rules, len(match.entrants), documents, best[0] if len(best) == 1 else None)
    return info(
        MatchPage,
        match,
        tournament=contest.ref,
        match=row,
        commitment=about.commitment,
        seed=seeds.deal_seed(about.secret, match.key) if done else None,
        secret=about.secret if about.secret_is_out else None,
        started_at=moment(match.started_at),
        columns=tuple(
            info(
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
        deals=deals,
        deciding=next((deal for deal in deals if deal.deciding), None),
        verified=sum(not game.problem for game in loaded.values()),
        faults=tuple(
            info(MatchFault, fault, bot=contest.bot(fault.entrant), words=FAULT_WORDS[fault.kind])
            for fault in reversed(faults)
        ),
        voids=tuple(
            VoidLine(datetime.fromtimestamp(void.voided_at, UTC), void.reason)
            for void in site.store.voids(about.id)
            if void.match_id == match.id
        ),
    )


def matches_csv(listed: Annotated[MatchList, Depends(match_list)]) -> Response:
    """Give the same page of matches as CSV."""
    header = ("match", "round", "state", "bots", "taken", "games", "faults", "recorded_at")
    rows = (
        (
            row.number,
            row.round,
            row.state,
            " ".join(f"{bot.name}:{bot.version}" for bot in row.bots),
            " ".join(fraction(points) for points in row.taken),
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


router.add_api_route("/matches", shown(match_list), name="matches")
router.add_api_route("/matches.csv", matches_csv, name="matches_csv")
router.add_api_route("/matches/{match_id}.jsonl", match_documents, name="match_documents")
router.add_api_route("/matches/{match_id}", shown(match_page), name="match")
