"""The standings table of a tournament: rating, rank range, matches, games, points per deal and faults of each entrant.

The one place where figures from the store and the ladder meet; the terminal, the exports and the site show its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from tournament.rules import Rules
from tournament.seeds import seatings
from tournament.standings import HOUSE_ANCHOR, Ladder, rate
from tournament.store_values import EntrantInfo, Figures, value_of


@dataclass(frozen=True, slots=True)
class TableRow:
    """One entrant's row.

    Attributes:
        bot: its name.
        version: its version.
        rating: Elo.
        low: lower end of its 95 % interval; None where the results set none.
        high: upper end, likewise.
        rank_low: best rank that the results leave open.
        rank_high: worst rank, likewise.
        matches: its recorded matches.
        games: their games.
        points_per_deal: its points per deal; None before its first deal.
        faults: its faults.
        provisional: whether it has too few matches to be ranked.
    """

    bot: str
    version: int
    rating: float
    low: float | None
    high: float | None
    rank_low: int
    rank_high: int
    matches: int
    games: int
    points_per_deal: float | None
    faults: int
    provisional: bool

    def to_dict(self) -> dict[str, Any]:
        """Returns the row as JSON values, in the order of `COLUMNS`."""
        return asdict(self)


COLUMNS: Final = tuple(field.name for field in fields(TableRow))


def ladder_of(entrants: Sequence[EntrantInfo], figures: Figures, anchor: str | None = None) -> Ladder:
    """Rates the entrants of a tournament by its figures; `anchor` shows 1500, by default the house bot `simple`."""
    return rate([entrant.text for entrant in entrants], figures.blocks, anchor or HOUSE_ANCHOR)


def table(rules: Rules, entrants: Sequence[EntrantInfo], figures: Figures, ladder: Ladder) -> tuple[TableRow, ...]:
    """Returns the rows in the order of the standings."""
    games_per_match = len(seatings(rules, min(len(entrants), rules.side_count)))
    rows = []
    for standing in ladder.rows:
        entrant, totals = entrants[standing.entrant], figures.totals[standing.entrant]
        deals = totals.tally.deals
        rows.append(
            value_of(
                TableRow,
                standing,
                bot=entrant.name,
                version=entrant.version,
                matches=totals.matches,
                games=totals.matches * games_per_match,
                points_per_deal=round(totals.tally.points / deals, 4) if deals else None,
                faults=totals.faults,
            )
        )
    return tuple(rows)
