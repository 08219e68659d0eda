"""Standings, head to head and the history of ratings."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Response

from dashboard import queries
from dashboard.field import Field, StandingRow, anchor_of, cell_of, checkpoint_step, field_of
from dashboard.site import BotRef, ChosenContestDep, Contest, Site, SiteDep, TournamentRow, empty_as, shown
from dashboard.web import csv_file
from tournament.standings import Cell, Standing, history
from tournament.store_values import value_of

router = APIRouter()
MATRIX_SIZE = 20
CHART_LINES = 5


@dataclass(frozen=True, slots=True)
class MisfitLine:
    """A pair whose result one number per bot does not explain."""

    first: BotRef
    second: BotRef
    share: float
    promised: float


@dataclass(frozen=True, slots=True)
class StandingsPage:
    """The leaderboard; filters hide rows and move nobody."""

    tournament: TournamentRow
    verdict: str
    anchor: str
    q: str
    house: bool
    ranked: tuple[StandingRow, ...]
    provisional: tuple[StandingRow, ...]
    entrant_count: int
    groups: int
    misfits: tuple[MisfitLine, ...]


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """What a bot took from each of the columns; nothing from itself and from those that it never met."""

    bot: BotRef
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class HeadToHeadPage:
    """The matrix of some bots in the order of the standings."""

    tournament: TournamentRow
    show: str
    chosen: str
    bots: tuple[BotRef, ...]
    rows: tuple[MatrixRow, ...]
    entrant_count: int
    pairs_met: int
    pairs: int
    three_at_a_table: bool


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """The ratings of one bot at the checkpoints."""

    bot: BotRef
    points: tuple[Standing, ...]


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Ratings at checkpoints, which are numbers of recorded matches of the whole tournament."""

    tournament: TournamentRow
    chosen: str
    checkpoints: tuple[int, ...]
    lines: tuple[HistoryLine, ...]
    bots: tuple[BotRef, ...]


def standings_page(
    site: SiteDep, contest: ChosenContestDep, q: str = "", house: Annotated[bool, empty_as(True)] = True
) -> StandingsPage:
    """Give the standings of a tournament, by default the newest; without the house bots if these are not wanted."""
    field = field_of(site, contest)
    left = [row for row in field.rows if q.lower() in row.bot and (house or not row.house)]
    return StandingsPage(
        tournament=contest.ref,
        verdict=field.verdict,
        anchor=anchor_of(contest),
        q=q,
        house=house,
        ranked=tuple(row for row in left if not row.provisional),
        provisional=tuple(row for row in left if row.provisional),
        entrant_count=len(field.rows),
        groups=len({row.group for row in field.rows}),
        misfits=tuple(
            value_of(MisfitLine, pair, first=contest.bot(pair.first), second=contest.bot(pair.second))
            for pair in field.misfits[:5]
        ),
    )


def chosen_entrants(contest: Contest, field: Field, names: str, most: int) -> list[int]:
    """Give the entrants that an address names, or the first of the standings, in the order of the standings."""
    order = [row.entrant for row in field.ladder.rows]
    wanted = {contest.find(name.strip()) for name in names.replace(",", " ").split()} - {None}
    return [entrant for entrant in order if entrant in wanted or not wanted][: most if not wanted else 2 * most]


def head_to_head_page(
    site: SiteDep,
    contest: ChosenContestDep,
    bots: str = "",
    show: Annotated[Literal["share", "matches"], empty_as("share")] = "share",
) -> HeadToHeadPage:
    """Give the matrix of some bots (names, or name:version, with commas), by default the first 20."""
    field = field_of(site, contest)
    chosen = chosen_entrants(contest, field, bots, MATRIX_SIZE)
    count = len(contest.entrants)
    return HeadToHeadPage(
        tournament=contest.ref,
        show=show,
        chosen=bots,
        bots=tuple(map(contest.bot, chosen)),
        rows=tuple(
            MatrixRow(contest.bot(one), tuple(cell_of(field, one, other) for other in chosen)) for one in chosen
        ),
        entrant_count=count,
        pairs_met=len(field.cells),
        pairs=count * (count - 1) // 2,
        three_at_a_table=contest.info.rules.side_count == 3 and count > 2,
    )


def history_page(site: SiteDep, contest: ChosenContestDep, bots: str = "") -> HistoryPage:
    """Give ratings at checkpoints, for up to five bots, by default the first of the standings."""
    field = field_of(site, contest)
    last = contest.info.last_order
    step = checkpoint_step(last, len(contest.entrants))
    full = max(0, last // step - (last % step == 0))
    # Old checkpoints stay as they are until a match is made void.
    key = (contest.info.id, step, full, len(site.store.voids(contest.info.id)))
    made = site.checkpoints.get(key, lambda: _checkpoints(site, contest, step, full))
    tables = [{row.entrant: row for row in table} for table in (*made, field.ladder.rows)]
    return HistoryPage(
        tournament=contest.ref,
        chosen=bots,
        checkpoints=(*(step * (number + 1) for number in range(len(made))), last),
        lines=tuple(
            HistoryLine(contest.bot(entrant), tuple(table[entrant] for table in tables))
            for entrant in chosen_entrants(contest, field, bots, CHART_LINES)[:CHART_LINES]
        ),
        bots=tuple(contest.bot(row.entrant) for row in field.ladder.rows),
    )


def _checkpoints(site: Site, contest: Contest, step: int, full: int) -> tuple[tuple[Standing, ...], ...]:
    """Rate the field at every full checkpoint; the results since the last one are left to the standings."""
    names = [entrant.text for entrant in contest.entrants]
    return history(names, queries.buckets(site.store, contest, step)[:full], anchor_of(contest))


def standings_csv(page: Annotated[StandingsPage, Depends(standings_page)]) -> Response:
    """Give the leaderboard as CSV."""
    header = (
        "bot version rating low high rank_low rank_high matches games share points_per_deal contracts contracts_made"
        " faults provisional"
    ).split()
    rows = ([getattr(row, name) for name in header] for row in page.ranked + page.provisional)
    return csv_file("standings.csv", header, rows)


def head_to_head_csv(page: Annotated[HeadToHeadPage, Depends(head_to_head_page)]) -> Response:
    """Give the matrix as CSV, a line for each pair that met."""
    rows = (
        (row.bot.name, row.bot.version, other.name, other.version, cell.matches, cell.share, cell.low, cell.high)
        for row in page.rows
        for other, cell in zip(page.bots, row.cells, strict=True)
        if cell is not None
    )
    header = ("bot", "version", "versus", "versus_version", "matches", "share", "low", "high")
    return csv_file("head-to-head.csv", header, rows)


def history_csv(page: Annotated[HistoryPage, Depends(history_page)]) -> Response:
    """Give the history as CSV, a line for each bot and checkpoint."""
    rows = (
        (at, line.bot.name, line.bot.version, point.rating, point.low, point.high, point.matches)
        for line in page.lines
        for at, point in zip(page.checkpoints, line.points, strict=True)
    )
    header = ("after_matches", "bot", "version", "rating", "low", "high", "matches")
    return csv_file("history.csv", header, rows)


for name, page, table in (
    ("standings", standings_page, standings_csv),
    ("head_to_head", head_to_head_page, head_to_head_csv),
    ("history", history_page, history_csv),
):
    address = f"/{name.replace('_', '-')}"
    router.add_api_route(address, shown(page, f"{name}.html"), name=name)
    router.add_api_route(address + ".csv", table, name=f"{name}_csv")
