"""The figures that standings are made from: sums over the rows of recorded matches, never counters.

They are kept as long as nothing changes. When matches have been recorded since, only those are added; after a void all
are summed again, so that nothing has to be taken back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Final

from sqlalchemy import Connection, func, select

from tournament import seeds
from tournament.models import MatchState
from tournament.results import BID_LEVELS, Block, Tally, comparisons
from tournament.rules import Rules
from tournament.store_database import found
from tournament.store_games import GameReads
from tournament.store_tables import ENTRANT, MATCH, TALLY, TOURNAMENT
from tournament.store_values import EntrantTotals, Figures

_SCORES: Final = ("s01", "s02", "s12")
_TALLY: Final = ("points", "deals", "faults", *(f"{word}{level}" for word in ("bids", "made") for level in BID_LEVELS))

_FEW: Final = 500
"""So many new matches are looked up one by one, for every entrant; of more, all rows are looked at."""


@dataclass(slots=True)
class _Kept:
    """The figures of a tournament up to a record order, by what they belong to."""

    order: int = 0
    void_order: int = 0
    blocks: dict[tuple[int, ...], Block] = field(default_factory=dict)
    totals: dict[int, EntrantTotals] = field(default_factory=dict)
    figures: Figures = field(default_factory=lambda: Figures(0, (), ()))


class FigureReads(GameReads):
    """Reads with the figures of each tournament kept in memory."""

    def __init__(self, url: str) -> None:
        """Prepares the connections, with nothing kept."""
        super().__init__(url)
        self._kept: dict[int, _Kept] = {}
        self._lock = threading.Lock()

    def figures(self, tournament_id: int) -> Figures:
        """Returns the figures of all matches recorded up to now.

        Raises:
            NotFound: there is no such tournament.
        """
        with self._lock, self.read() as connection:
            query = select(TOURNAMENT.c.last_order, TOURNAMENT.c.last_void_order, TOURNAMENT.c.rules)
            row = found(connection, query.where(TOURNAMENT.c.id == tournament_id), f"no tournament {tournament_id}")
            kept = self._kept.get(tournament_id)
            # A hold can take the order back.
            if kept is None or kept.void_order != row.last_void_order or kept.order > row.last_order:
                kept = self._kept[tournament_id] = _Kept(void_order=row.last_void_order)
            if kept.order < row.last_order or not kept.figures.totals:
                for block in _blocks(connection, tournament_id, row.rules, kept.order):
                    before = kept.blocks.get(block.entrants)
                    kept.blocks[block.entrants] = block if before is None else before + block
                for entrant, total in _totals(connection, tournament_id, kept.order):
                    kept.totals[entrant] = kept.totals.get(entrant, EntrantTotals()) + total
                count = select(func.count()).select_from(ENTRANT).where(ENTRANT.c.tournament_id == tournament_id)
                entrants = connection.execute(count).scalar_one()
                kept.order = row.last_order
                kept.figures = Figures(
                    kept.order,
                    tuple(kept.blocks[key] for key in sorted(kept.blocks)),
                    tuple(kept.totals.get(entrant, EntrantTotals()) for entrant in range(entrants)),
                )
            return kept.figures


def _blocks(connection: Connection, tournament_id: int, rules: Rules, after: int) -> Iterator[Block]:
    """Yields the sums over the matches recorded after an order, one block for each set of entrants."""
    pairs = 1 if rules.side_count == 2 else 3
    scores = [func.coalesce(MATCH.c[name], 0) for name in _SCORES[:pairs]]
    products = [func.sum(one * other) for one, other in combinations_with_replacement(scores, 2)]
    who = (MATCH.c.e0, MATCH.c.e1, MATCH.c.e2)
    query = (
        select(*who, func.count(), *map(func.sum, scores), *products)
        .where(MATCH.c.tournament_id == tournament_id)
        # Both say the same of all matches; the first walks along the index by entrants and need not sort.
        .where(MATCH.c.record_order > after if after else MATCH.c.state == MatchState.DONE)
        .group_by(*who)
    )
    games = {
        count: tuple(comparisons(rules, seeds.seatings(rules, count)).values())
        for count in range(2, rules.side_count + 1)
    }
    for first, second, third, matches, *sums in connection.execute(query):
        # PostgreSQL sums whole numbers to decimals.
        numbers = tuple(map(int, sums))
        if third is None:
            yield Block((first, second), games[2], matches, numbers[:1], numbers[pairs : pairs + 1])
        else:
            yield Block((first, second, third), games[3], matches, numbers[:pairs], numbers[pairs:])


def _totals(connection: Connection, tournament_id: int, after: int) -> Iterator[tuple[int, EntrantTotals]]:
    """Yields what each entrant did in the matches recorded after an order."""
    query = (
        select(TALLY.c.entrant, func.count(), *(func.sum(TALLY.c[name]) for name in _TALLY))
        .where(TALLY.c.tournament_id == tournament_id)
        .group_by(TALLY.c.entrant)
    )
    if after:
        new = (MATCH.c.tournament_id == tournament_id, MATCH.c.record_order > after)
        query = query.where(TALLY.c.match_id.in_(select(MATCH.c.id).where(*new)))
        if connection.execute(select(func.count()).select_from(MATCH).where(*new)).scalar_one() <= _FEW:
            # Says nothing more, but lets the rows be found by their whole key instead of looking at all of them.
            everybody = select(ENTRANT.c.position).where(ENTRANT.c.tournament_id == tournament_id)
            query = query.where(TALLY.c.entrant.in_(everybody))
    for entrant, matches, *sums in connection.execute(query):
        points, deals, faults, two, three, four, made_two, made_three, made_four = map(int, sums)
        tally = Tally(points, deals, (two, three, four), (made_two, made_three, made_four))
        yield entrant, EntrantTotals(matches, faults, tally)
