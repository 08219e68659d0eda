"""The games of one match side by side: deals as rows, seatings as columns, and where the match was decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tournament import seeds
from tournament.results import side_entrants

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboard.replay_steps import Document
    from tournament.rules import Rules


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
