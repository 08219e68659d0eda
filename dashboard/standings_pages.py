"""Standings, head to head and the history of ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from dashboard import queries
from dashboard.charts import Line, LineChart, line_chart
from dashboard.field import StandingRow, anchor_of, cell_of, checkpoint_step, field_of
from dashboard.site import BotRef, Contest, Site, SiteDep, TournamentRef
from dashboard.web import csv_text, download
from tournament.standings import Standing, history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.field import Field

router = APIRouter()
MATRIX_SIZE = 20
CHART_LINES = 5


@dataclass(frozen=True, slots=True)
class StandingsPage:
    """The leaderboard; filters hide rows and move nobody."""

    template: ClassVar[str] = "standings.html"
    tournament: TournamentRef
    verdict: str
    anchor: str
    q: str
    house: str
    ranked: tuple[StandingRow, ...]
    provisional: tuple[StandingRow, ...]
    entrant_count: int
    groups: int
    misfits: tuple[MisfitLine, ...]


@dataclass(frozen=True, slots=True)
class MisfitLine:
    """A pair whose result one number per bot does not explain."""

    first: BotRef
    second: BotRef
    share: float
    promised: float


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """What the row took from the column; no share where they never met or are the same bot."""

    same: bool
    matches: int
    share: float | None
    low: float
    high: float
    clear: str


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A bot of the matrix with its cells in the order of the columns."""

    bot: BotRef
    cells: tuple[MatrixCell, ...]


@dataclass(frozen=True, slots=True)
class HeadToHeadPage:
    """The matrix of some bots in the order of the standings."""

    template: ClassVar[str] = "head_to_head.html"
    tournament: TournamentRef
    show: str
    chosen: str
    bots: tuple[BotRef, ...]
    rows: tuple[MatrixRow, ...]
    entrant_count: int
    pairs_met: int
    pairs: int
    three_at_a_table: bool


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """A bot's rating at a checkpoint."""

    matches: int
    rating: float
    low: float | None
    high: float | None
    provisional: bool


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """The ratings of one bot over the checkpoints."""

    bot: BotRef
    points: tuple[HistoryPoint, ...]


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Ratings at checkpoints, which are numbers of recorded matches of the whole tournament."""

    template: ClassVar[str] = "history.html"
    tournament: TournamentRef
    chosen: str
    checkpoints: tuple[int, ...]
    lines: tuple[HistoryLine, ...]
    chart: LineChart | None
    bots: tuple[BotRef, ...]


def standings_page(site: Site, tournament: int | None, q: str = "", house: str = "") -> StandingsPage:
    """Make the leaderboard: what the page and the API show."""
    contest = site.contest(tournament)
    field = field_of(site, contest)
    rows = field.rows
    shown = tuple(row for row in rows if q.lower() in row.bot and not (house == "no" and row.house))
    return StandingsPage(
        tournament=contest.ref,
        verdict=field.verdict,
        anchor=anchor_of(contest),
        q=q,
        house="no" if house == "no" else "",
        ranked=tuple(row for row in shown if not row.provisional),
        provisional=tuple(row for row in shown if row.provisional),
        entrant_count=len(rows),
        groups=len({row.group for row in rows}),
        misfits=tuple(
            MisfitLine(contest.bot(pair.first), contest.bot(pair.second), pair.share, pair.promised)
            for pair in field.misfits[:5]
        ),
    )


def chosen_entrants(contest: Contest, field: Field, names: str, most: int) -> list[int]:
    """Give the entrants that an address names, or the first of the standings, in the order of the standings."""
    order = [row.entrant for row in field.ladder.rows]
    wanted = {contest.find(name.strip()) for name in names.replace(",", " ").split()} - {None}
    return [entrant for entrant in order if entrant in wanted or not wanted][: most if not wanted else 2 * most]


def head_to_head_page(site: Site, tournament: int | None, bots: str = "", show: str = "") -> HeadToHeadPage:
    """Make the matrix: what the page and the API show."""
    contest = site.contest(tournament)
    field = field_of(site, contest)
    chosen = chosen_entrants(contest, field, bots, MATRIX_SIZE)
    rows = tuple(
        MatrixRow(
            contest.bot(one),
            tuple(_matrix_cell(field, one, other) for other in chosen),
        )
        for one in chosen
    )
    count = len(contest.entrants)
    return HeadToHeadPage(
        tournament=contest.ref,
        show="matches" if show == "matches" else "share",
        chosen=bots,
        bots=tuple(contest.bot(one) for one in chosen),
        rows=rows,
        entrant_count=count,
        pairs_met=len(field.cells),
        pairs=count * (count - 1) // 2,
        three_at_a_table=contest.info.rules.side_count == 3 and count > 2,
    )


def _matrix_cell(field: Field, one: int, other: int) -> MatrixCell:
    cell = cell_of(field, one, other) if one != other else None
    if cell is None:
        return MatrixCell(one == other, 0, None, 0.0, 0.0, "")
    clear = ("above" if cell.share > 0.5 else "below") if cell.clear else ""
    return MatrixCell(False, cell.matches, cell.share, cell.low, cell.high, clear)


def history_page(site: Site, tournament: int | None, bots: str = "") -> HistoryPage:
    """Make the history of the chosen bots, by default the first of the standings."""
    contest = site.contest(tournament)
    field = field_of(site, contest)
    last = contest.info.last_order
    step = checkpoint_step(last, len(contest.entrants))
    full = max(0, last // step - (last % step == 0))
    # Old checkpoints stay as they are until a match is made void.
    key = (contest.info.id, step, full, len(site.store.voids(contest.info.id)))
    made = site.checkpoints.get(key, lambda: _checkpoints(site, contest, step, full))
    tables = [*made, field.ladder.rows]
    at = [*(step * (number + 1) for number in range(len(made))), last]
    chosen = chosen_entrants(contest, field, bots, CHART_LINES)[:CHART_LINES]
    lines = tuple(
        HistoryLine(contest.bot(entrant), tuple(_point(table, entrant) for table in tables)) for entrant in chosen
    )
    drawn = [
        Line(
            f"{line.bot.name} v{line.bot.version}",
            tuple(
                (float(x), point.rating, point.low or point.rating, point.high or point.rating)
                for x, point in zip(at, line.points, strict=True)
                if not point.provisional
            ),
        )
        for line in lines
    ]
    chart = line_chart(
        "Ratings over the tournament",
        "Elo at checkpoints with the 95 % interval as a band; placement left out; the same numbers stand below.",
        "matches",
        drawn,
    )
    return HistoryPage(
        tournament=contest.ref,
        chosen=bots,
        checkpoints=tuple(at),
        lines=lines,
        chart=chart,
        bots=tuple(contest.bot(row.entrant) for row in field.ladder.rows),
    )


def _checkpoints(site: Site, contest: Contest, step: int, full: int) -> tuple[tuple[Standing, ...], ...]:
    """Rate the field at every full checkpoint; the results since the last one are left to the standings."""
    names = [entrant.text for entrant in contest.entrants]
    return history(names, queries.buckets(site.store, contest, step)[:full], anchor_of(contest))


def _point(table: Sequence[Standing], entrant: int) -> HistoryPoint:
    row = next(row for row in table if row.entrant == entrant)
    return HistoryPoint(row.matches, row.rating, row.low, row.high, row.provisional)


@router.get("/standings", name="standings")
def show_standings(
    request: Request, site: SiteDep, tournament: int | None = None, q: str = "", house: str = ""
) -> HTMLResponse:
    """Show the leaderboard."""
    return site.renderer.html(request, standings_page(site, tournament, q, house))


@router.get("/standings.csv", name="standings_csv")
def standings_csv(site: SiteDep, tournament: int | None = None) -> Response:
    """Give the leaderboard as CSV."""
    page = standings_page(site, tournament)
    header = (
        "bot version rating low high rank_low rank_high matches games share points_per_deal contracts contracts_made"
    )
    names = [*header.split(), "faults", "provisional"]
    rows = ([getattr(row, name) for name in names] for row in page.ranked + page.provisional)
    return download(csv_text(names, rows), "standings.csv", "text/csv; charset=utf-8")


@router.get("/head-to-head", name="head_to_head")
def show_head_to_head(
    request: Request, site: SiteDep, tournament: int | None = None, bots: str = "", show: str = ""
) -> HTMLResponse:
    """Show the matrix."""
    return site.renderer.html(request, head_to_head_page(site, tournament, bots, show))


@router.get("/head-to-head.csv", name="head_to_head_csv")
def head_to_head_csv(site: SiteDep, tournament: int | None = None, bots: str = "") -> Response:
    """Give the matrix as CSV, a line for each pair that met."""
    page = head_to_head_page(site, tournament, bots)
    rows = (
        (row.bot.name, row.bot.version, other.name, other.version, cell.matches, cell.share, cell.low, cell.high)
        for row in page.rows
        for other, cell in zip(page.bots, row.cells, strict=True)
        if cell.share is not None
    )
    header = ("bot", "version", "versus", "versus_version", "matches", "share", "low", "high")
    return download(csv_text(header, rows), "head-to-head.csv", "text/csv; charset=utf-8")


@router.get("/history", name="history")
def show_history(request: Request, site: SiteDep, tournament: int | None = None, bots: str = "") -> HTMLResponse:
    """Show the history of ratings."""
    return site.renderer.html(request, history_page(site, tournament, bots))


@router.get("/history.csv", name="history_csv")
def history_csv(site: SiteDep, tournament: int | None = None, bots: str = "") -> Response:
    """Give the history as CSV, a line for each bot and checkpoint."""
    page = history_page(site, tournament, bots)
    rows = (
        (at, line.bot.name, line.bot.version, point.rating, point.low, point.high, point.matches)
        for line in page.lines
        for at, point in zip(page.checkpoints, line.points, strict=True)
    )
    header = ("after_matches", "bot", "version", "rating", "low", "high", "matches")
    return download(csv_text(header, rows), "history.csv", "text/csv; charset=utf-8")
