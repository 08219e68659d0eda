"""The final order of a tournament by a rule chosen before its start, and the grades that follow from it.

Pure functions of the standings. House bots are measures, not contestants: they take no place; nor do disqualified bots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
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
class Place:
    """An entrant with its row of the standings and its place; None for one that takes none."""

    place: int | None
    entrant: EntrantInfo
    row: TableRow

    def cells(self) -> list[str]:
        """Returns the cells of the exported file, as `HEADER` names them."""
        row = self.row
        cells = (self.place, row.bot, row.version, row.rating, row.points_per_deal, self.entrant.upload_order)
        return ["" if cell is None else str(cell) for cell in cells]


def final_order(entrants: Sequence[EntrantInfo], standings: Iterable[TableRow], rule: FinalOrder) -> tuple[Place, ...]:
    """Returns the places by a rule; who takes none follows at the end.

    Args:
        entrants: all of them.
        standings: their rows, in the order of the standings.
        rule: `SHARED`: going down the standings, one joins the place of those before as long as its rank range
            overlaps with the range of each of them, so that no two who share a place are clearly apart. `ELO`: by
            rating, then points per deal, then the earlier upload.
    """
    known = {(entrant.name, entrant.version): entrant for entrant in entrants}
    listed = [Place(None, known[row.bot, row.version], row) for row in standings]
    competing = [each for each in listed if each.entrant.competes]
    placed: list[Place] = []
    if rule is FinalOrder.SHARED:
        group: list[TableRow] = []
        for each in competing:
            if any(each.row.rank_low > other.rank_high or each.row.rank_high < other.rank_low for other in group):
                group = []
            group.append(each.row)
            placed.append(replace(each, place=len(placed) + 2 - len(group)))
    else:
        competing.sort(
            key=lambda each: (-each.row.rating, -(each.row.points_per_deal or 0.0), each.entrant.upload_order)
        )
        placed = [replace(each, place=number) for number, each in enumerate(competing, 1)]
    return (*placed, *(each for each in listed if not each.entrant.competes))


def grades(
    places: Sequence[Place], clear: Callable[[int, int], bool], contestant: Callable[[EntrantInfo], str]
) -> list[list[str]]:
    """Returns the rows of the grade CSV, its header first.

    Args:
        places: the final order.
        clear: whether one position is clearly stronger than another.
        contestant: who stands behind an entrant.
    """
    house = sorted((each.entrant for each in places if each.entrant.house), key=lambda entrant: entrant.text)
    rows = [["contestant", "bot", "version", "place", *(f"than {each.text}" for each in house)]]
    for each in places:
        entrant = each.entrant
        if entrant.house:
            continue
        place = "disqualified" if each.place is None else str(each.place)
        compared = [
            "better" if clear(entrant.position, other.position)
            else "not better" if clear(other.position, entrant.position) else "open"
            for other in house
        ]  # fmt: skip
        rows.append([contestant(entrant), entrant.name, str(entrant.version), place, *compared])
    return rows
