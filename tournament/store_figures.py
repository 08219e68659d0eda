"""The figures that standings are made from: sums over the rows of recorded matches, never counters.

They are kept as long as nothing changes. When matches have been recorded since, only those are added; after a void all
are summed again, so that nothing has to be taken back.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Final

from sqlalchemy import Connection, func, select

from tournament import seeds
from tournament.results import BID_LEVELS, Tally, comparisons
from tournament.rules import Rules
from tournament.store_database import ENTRANT, MATCH, TALLY, TOURNAMENT, NotFound
from tournament.store_games import GameReads
from tournament.store_values import EntrantTotals, Figures, ScoreBlock

_SCORES: Final = ("s01", "s02", "s12")
_TALLY: Final = ("points", "deals", "faults", *(f"{word}{level}" for word in ("bids", "made") for level in BID_LEVELS))

_SQUARES: Final = (("points", "points"), ("points", "deals"), ("deals", "deals"))

_Sums = dict[tuple[int, ...], list[int]]


@dataclass(slots=True)
class _Kept:
    """The sums of a tournament up to a record order: blocks by entrants, totals by (position,)."""

    order: int = 0
    blocks: _Sums = field(default_factory=dict)
    totals: _Sums = field(default_factory=dict)


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
            row = connection.execute(query.where(TOURNAMENT.c.id == tournament_id)).one_or_none()
            if row is None:
                raise NotFound(f"no tournament {tournament_id}")
            kept = self._kept.get(tournament_id)
            if kept is None or kept.order < row.last_void_order:
                kept = self._kept[tournament_id] = _Kept()
            if kept.order < row.last_order:
                _add(kept.blocks, _block_sums(connection, tournament_id, kept.order))
                _add(kept.totals, _total_sums(connection, tournament_id, kept.order))
                kept.order = row.last_order
            count = select(func.count()).select_from(ENTRANT).where(ENTRANT.c.tournament_id == tournament_id)
            entrants = int(connection.scalar(count) or 0)
            rules = Rules.from_dict(json.loads(row.rules))
            nothing = [0] * (1 + len(_TALLY) + len(_SQUARES))
            totals = tuple(_totals(kept.totals.get((position,), nothing)) for position in range(entrants))
            return Figures(kept.order, _blocks(rules, kept.blocks), totals)

    def blocks(self, tournament_id: int, *, after: int = 0, until: int | None = None) -> tuple[ScoreBlock, ...]:
        """Returns the sums over the matches whose record order is above `after` and at most `until`, for histories."""
        rules = self.tournament(tournament_id).rules
        with self.read() as connection:
            return _blocks(rules, _block_sums(connection, tournament_id, after, until))


def _add(sums: _Sums, more: _Sums) -> None:
    for key, numbers in more.items():
        before = sums.get(key)
        sums[key] = numbers if before is None else [one + other for one, other in zip(before, numbers, strict=True)]


def _block_sums(connection: Connection, tournament_id: int, after: int, until: int | None = None) -> _Sums:
    """Returns for each set of entrants: matches, then sums of scores, then sums of their products."""
    scores = [func.coalesce(MATCH.c[name], 0) for name in _SCORES]
    products = [func.sum(one * other) for one, other in combinations_with_replacement(scores, 2)]
    who = (MATCH.c.e0, MATCH.c.e1, MATCH.c.e2)
    query = (
        select(*who, func.count(), *map(func.sum, scores), *products)
        .where(MATCH.c.tournament_id == tournament_id, MATCH.c.record_order > after)
        .group_by(*who)
    )
    if until is not None:
        query = query.where(MATCH.c.record_order <= until)
    return {
        tuple(entrant for entrant in row[:3] if entrant is not None): [int(number) for number in row[3:]]
        for row in connection.execute(query)
    }


def _total_sums(connection: Connection, tournament_id: int, after: int) -> _Sums:
    """Returns for each entrant: matches, then the sums of its tallies and of the products of points and deals."""
    products = [func.sum(TALLY.c[one] * TALLY.c[other]) for one, other in _SQUARES]
    query = (
        select(TALLY.c.entrant, func.count(), *(func.sum(TALLY.c[name]) for name in _TALLY), *products)
        .where(TALLY.c.tournament_id == tournament_id)
        .group_by(TALLY.c.entrant)
    )
    if after:
        recorded = select(MATCH.c.id).where(MATCH.c.tournament_id == tournament_id, MATCH.c.record_order > after)
        query = query.where(TALLY.c.match_id.in_(recorded))
    return {(row[0],): [int(number) for number in row[1:]] for row in connection.execute(query)}


def _blocks(rules: Rules, sums: _Sums) -> tuple[ScoreBlock, ...]:
    games = {
        count: tuple(comparisons(rules, seeds.seatings(rules, count)).values()) for count in {len(key) for key in sums}
    }
    blocks = []
    for entrants, numbers in sorted(sums.items()):
        pair = len(entrants) == 2
        matches, scores, products = numbers[0], numbers[1:4], numbers[4:]
        blocks.append(
            ScoreBlock(
                entrants,
                games[len(entrants)],
                matches,
                tuple(scores[:1] if pair else scores),
                tuple(products[:1] if pair else products),
            )
        )
    return tuple(blocks)


def _totals(numbers: list[int]) -> EntrantTotals:
    matches, points, deals, faults, two, three, four, made_two, made_three, made_four, *products = numbers
    tally = Tally(points, deals, (two, three, four), (made_two, made_three, made_four))
    return EntrantTotals(matches, faults, tally, *products)
