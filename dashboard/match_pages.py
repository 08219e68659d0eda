"""The list of matches with its filters, and the page of one match with its games side by side."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, ClassVar

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import HTMLResponse, Response

from dashboard.match_view import DealRow, deal_rows
from dashboard.recorded import load_games, match_id, seating_words
from dashboard.replay_words import FAULT_WORDS, result_words
from dashboard.site import BotRef, Contest, Site, SiteDep, TournamentRef
from dashboard.web import csv_text, download, fraction
from tournament import seeds
from tournament.models import MatchState
from tournament.replay import to_line
from tournament.results import comparisons
from tournament.store_values import MatchFilter

if TYPE_CHECKING:
    from dashboard.recorded import LoadedGame
    from tournament.store_values import GameInfo, MatchInfo

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
    return MatchRow(
        id=match_id(match),
        number=match.number,
        round=match.round,
        state=STATE_WORDS[match.state],
        bots=tuple(contest.bot(position) for position in match.entrants),
        taken=taken(contest, match),
        games=match.games,
        faults=match.faults,
        recorded_at=moment(match.recorded_at),
        play_s=match.play_s,
    )


Round = Annotated[str, Query(alias="round", description="only matches of this round")]


def list_filter(
    bot: str = "", versus: str = "", state: str = "finished", round_number: Round = "", faults: bool = False
) -> ListFilter:
    """Read the filters of an address; what makes no sense means the default, since forms send empty fields too."""
    state = state if state in ("all", *STATE_WORDS.values()) else "finished"
    number = int(round_number) if round_number.isdecimal() and len(round_number) < 10 else None
    return ListFilter(bot[:80], versus[:80], state, number, faults)


FilterDep = Annotated[ListFilter, Depends(list_filter)]


def match_list(
    site: Site, chosen: ListFilter, tournament_id: int | None, after: int | None, before: int | None
) -> MatchList:
    """Make one page of the list: what the page and the API show."""
    contest = site.contest(tournament_id)
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


def match_page(site: Site, text: str) -> MatchPage:
    """Make the page of a match."""
    contest, match = site.match(text)
    info = contest.info
    done = match.state is MatchState.DONE
    loaded = load_games(site, contest, match) if done else {}
    faults = site.store.faults(info.id, match_id=match.id) if match.faults else []
    points = taken(contest, match)
    winner = points.index(max(points)) if points and points.count(max(points)) == 1 else None
    documents = {seating: game.document for seating, game in loaded.items()}
    rows = deal_rows(info.rules, len(match.entrants), documents, winner)
    return MatchPage(
        tournament=contest.ref,
        match=match_row(contest, match),
        key=match.key,
        commitment=info.commitment,
        seed=seeds.deal_seed(info.secret, match.key) if done else None,
        secret=info.secret if info.secret_is_out else None,
        worker=match.worker,
        attempt=match.attempt,
        error=match.error,
        started_at=moment(match.started_at),
        columns=tuple(_column(contest, match, game, loaded.get(game.seating)) for game in site.store.games(match.id)),
        deals=rows,
        deciding=next((row for row in rows if row.deciding), None),
        verified=sum(not game.problem for game in loaded.values()),
        faults=tuple(
            MatchFault(
                contest.bot(fault.entrant),
                fault.seating,
                fault.seat,
                str(fault.kind),
                FAULT_WORDS[str(fault.kind)],
                fault.deal,
                fault.attempt,
                fault.act,
            )
            for fault in reversed(faults)
        ),
        voids=tuple(
            VoidLine(datetime.fromtimestamp(void.voided_at, UTC), void.reason)
            for void in site.store.voids(info.id)
            if void.match_id == match.id
        ),
    )


def _column(contest: Contest, match: MatchInfo, game: GameInfo, loaded: LoadedGame | None) -> GameColumn:
    return GameColumn(
        game_id=f"{match_id(match)}-{game.seating}",
        seating=game.seating,
        seats=seating_words(contest, match, game.seating),
        end=str(game.end),
        scores=game.scores,
        deals=game.deals,
        digest=game.digest,
        replay=loaded is not None,
        words=result_words(loaded.document) if loaded else "",
        problem=loaded.problem if loaded else "",
    )


@router.get("/matches", name="matches")
def show_matches(
    request: Request,
    site: SiteDep,
    chosen: FilterDep,
    tournament: int | None = None,
    after: int | None = None,
    before: int | None = None,
) -> HTMLResponse:
    """Show a page of the list of matches."""
    return site.renderer.html(request, match_list(site, chosen, tournament, after, before))


@router.get("/matches.csv", name="matches_csv")
def matches_csv(
    site: SiteDep, chosen: FilterDep, tournament: int | None = None, after: int | None = None, before: int | None = None
) -> Response:
    """Give the same page of matches as CSV."""
    listed = match_list(site, chosen, tournament, after, before)
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
            row.recorded_at.isoformat() if row.recorded_at else None,
        )
        for row in listed.items
    )
    return download(csv_text(header, rows), "matches.csv", "text/csv; charset=utf-8")


@router.get("/matches/{match_id}.jsonl", name="match_documents")
def match_documents(site: SiteDep, match_id: str) -> Response:
    """Give the replay documents of a match, a line each."""
    loaded = load_games(site, *site.match(match_id))
    lines = "".join(to_line(loaded[seating].document) for seating in sorted(loaded))
    return download(lines, f"match-{match_id}.jsonl", "application/jsonl")


@router.get("/matches/{match_id}", name="match")
def show_match(request: Request, site: SiteDep, match_id: str) -> HTMLResponse:
    """Show one match."""
    return site.renderer.html(request, match_page(site, match_id))
