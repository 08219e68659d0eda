"""The rated field of a tournament: standings, head to head, and history, worked out from grouped sums and kept."""

from dataclasses import dataclass, replace

from dashboard.site import Contest, Site
from tournament.schedule import games_per_match
from tournament.standings import HOUSE_ANCHOR, Bound, Cell, Ladder, Misfit, Standing, rate
from tournament.store_values import Figures, value_of

CHECKPOINTS = 32  # at most so many points in a history
MANY_BOTS = 60
CHECKPOINTS_OF_MANY = 12  # a fit of 200 bots takes 0.15 s


@dataclass(frozen=True, slots=True)
class StandingRow(Standing):
    """A row of the standings as the page and the API show it; contracts and faults are counts."""

    rank: str
    bot: str
    version: int
    house: bool
    disqualified: str | None
    games: int
    points_per_deal: float | None
    contracts: int
    contracts_made: int
    faults: int

    @property
    def plus_minus(self) -> str:
        """The half width of the interval, or what the rating is known to be beyond."""
        if self.low is None or self.high is None:
            end = self.low if self.bound == Bound.ABOVE else self.high
            return (
                "unknown" if end is None else f"{'>' if self.bound == Bound.ABOVE else '<'}\N{NO-BREAK SPACE}{end:.0f}"
            )
        return f"±\N{NO-BREAK SPACE}{(self.high - self.low) / 2:.0f}"


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """The ladder of a tournament at a moment, with its figures, the cells by pair of positions, and what pages show."""

    ladder: Ladder
    figures: Figures
    cells: dict[tuple[int, int], Cell]
    rows: tuple[StandingRow, ...]
    verdict: str
    misfits: tuple[Misfit, ...]


def field_of(site: Site, contest: Contest) -> Field:
    """Give the rated field of a tournament, worked out anew only when something was recorded or made void."""
    key = (contest.info.id, contest.info.last_order, contest.info.last_void_order, contest.entrants)
    return site.fields.get(key, lambda: _field(site, contest))


def _field(site: Site, contest: Contest) -> Field:
    figures = site.store.figures(contest.info.id)
    names = [entrant.text for entrant in contest.entrants]
    if names:
        ladder = rate(names, figures.blocks, anchor_of(contest))
    else:  # it has not started
        ladder = replace(rate(["nobody"], ()), names=(), rows=())
    cells = {(cell.first, cell.second): cell for cell in ladder.cells()}
    rows = _standing_rows(contest, ladder, figures)
    misfits = ladder.lack_of_fit().pairs if len(names) > 2 else ()
    return Field(ladder, figures, cells, rows, ladder.verdict(), misfits)


def anchor_of(contest: Contest) -> str:
    """Name the bot that shows 1500."""
    return contest.info.anchor or HOUSE_ANCHOR


def cell_of(field: Field, one: int, other: int) -> Cell | None:
    """Give what one entrant scored against another, whichever way the pair is kept."""
    if (one, other) in field.cells:
        return field.cells[one, other]
    cell = field.cells.get((other, one))
    if cell is None:
        return None
    return Cell(one, other, cell.matches, 1 - cell.share, 1 - cell.high, 1 - cell.low)


def _standing_rows(contest: Contest, ladder: Ladder, figures: Figures) -> tuple[StandingRow, ...]:
    """Make the rows of the standings in their order: ranked bots, then the provisional ones."""
    rules = contest.info.rules
    per_match = games_per_match(rules, min(max(2, len(contest.entrants)), rules.side_count))
    rows = []
    for row in ladder.rows:
        entrant, totals = contest.entrants[row.entrant], figures.totals[row.entrant]
        tally = totals.tally
        span = str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"
        rows.append(
            value_of(
                StandingRow,
                row,
                rank="" if row.provisional else span,
                bot=entrant.name,
                version=entrant.version,
                house=entrant.house,
                disqualified=entrant.disqualified,
                games=row.matches * per_match,
                points_per_deal=tally.points / tally.deals if tally.deals else None,
                contracts=sum(tally.bids),
                contracts_made=sum(tally.made),
                faults=totals.faults,
            )
        )
    return tuple(rows)


def checkpoint_step(last_order: int, entrant_count: int) -> int:
    """Give how many results lie between two checkpoints: a power of two, so that old checkpoints stay where they are.

    >>> checkpoint_step(20, 5), checkpoint_step(100_000, 5), checkpoint_step(100_000, 200)
    (1, 4096, 8192)
    """
    most = CHECKPOINTS if entrant_count <= MANY_BOTS else CHECKPOINTS_OF_MANY
    step = 1
    while last_order // step > most:
        step *= 2
    return step
