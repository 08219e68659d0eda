"""The final order of a tournament by a rule chosen before its start, and the grades that follow from it.

Pure functions of the standings. House bots are measures, not contestants: they take no place; nor do disqualified bots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from tournament.store_values import EntrantInfo

if TYPE_CHECKING:  # organising a contest shall not need numpy
    from tournament.table import TableRow

HEADER: Final = ("place", "bot", "version", "rating", "points_per_deal", "upload_order")


class FinalOrder(StrEnum):
    """How the final order is made: places shared where rank ranges overlap, or by Elo with tie-breaks."""

    SHARED = "shared"
    ELO = "elo"


@dataclass(frozen=True, slots=True)
class Contender:
    """What the final order needs to know of an entrant; in the order of the standings."""

    entrant: EntrantInfo
    rank_low: int
    rank_high: int
    rating: float
    points_per_deal: float | None

    @property
    def competes(self) -> bool:
        """Whether it takes a place."""
        return not self.entrant.house and self.entrant.disqualified is None


@dataclass(frozen=True, slots=True)
class Place:
    """An entrant with its place; None for one that takes none."""

    place: int | None
    contender: Contender

    def row(self) -> list[str]:
        """Returns the cells of the exported file, as `HEADER` names them."""
        entrant, ppd = self.contender.entrant, self.contender.points_per_deal
        cells = (self.place, entrant.name, entrant.version, self.contender.rating, ppd, entrant.upload_order)
        return ["" if cell is None else str(cell) for cell in cells]


def contenders(entrants: Sequence[EntrantInfo], rows: Iterable[TableRow]) -> tuple[Contender, ...]:
    """Pairs the rows of the standings with their entrants."""
    known = {(entrant.name, entrant.version): entrant for entrant in entrants}
    return tuple(
        Contender(known[row.bot, row.version], row.rank_low, row.rank_high, row.rating, row.points_per_deal)
        for row in rows
    )


def final_order(standings: Sequence[Contender], rule: FinalOrder) -> tuple[Place, ...]:
    """Returns the places by a rule; who takes none follows at the end.

    Args:
        standings: in the order of the standings.
        rule: `SHARED`: going down the standings, one joins the place of those before as long as its rank range
            overlaps with the range of each of them, so that no two who share a place are clearly apart. `ELO`: by
            rating, then points per deal, then the earlier upload.
    """
    competing = [each for each in standings if each.competes]
    placed: list[Place] = []
    if rule is FinalOrder.SHARED:
        group: list[Contender] = []
        for each in competing:
            if any(each.rank_low > other.rank_high or each.rank_high < other.rank_low for other in group):
                group = []
            group.append(each)
            placed.append(Place(len(placed) + 2 - len(group), each))
    else:
        competing.sort(key=lambda each: (-each.rating, -(each.points_per_deal or 0.0), each.entrant.upload_order))
        placed = [Place(number, each) for number, each in enumerate(competing, 1)]
    return (*placed, *(Place(None, each) for each in standings if not each.competes))


class Grade(StrEnum):
    """How an entrant stands to a house bot."""

    BETTER = "better"
    NOT_BETTER = "not better"
    OPEN = "open"


def grades(
    places: Sequence[Place], clear: Callable[[int, int], bool], contestant: Callable[[EntrantInfo], str]
) -> list[list[str]]:
    """Returns the rows of the grade CSV, its header first.

    Args:
        places: the final order.
        clear: whether one position is clearly stronger than another.
        contestant: who stands behind an entrant.
    """
    house = sorted((each.contender.entrant for each in places if each.contender.entrant.house), key=lambda e: e.text)
    rows = [["contestant", "bot", "version", "place", *(f"than {each.text}" for each in house)]]
    for each in places:
        entrant = each.contender.entrant
        if entrant.house:
            continue
        place = "disqualified" if each.place is None else str(each.place)
        compared = [str(_grade(clear, entrant.position, other.position)) for other in house]
        rows.append([contestant(entrant), entrant.name, str(entrant.version), place, *compared])
    return rows


def _grade(clear: Callable[[int, int], bool], one: int, house: int) -> Grade:
    return Grade.BETTER if clear(one, house) else Grade.NOT_BETTER if clear(house, one) else Grade.OPEN
