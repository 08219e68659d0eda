"""Who meets whom at tables of three when all triples would be too many.

For one round: as few triples of entrants as can be had so that every pair of different owners meets once or twice.
The method is told step by step in docs/schedule.md, so that anybody can work out the same triples again.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import Final

Pair = tuple[int, int]
Triple = tuple[int, int, int]

_CLIMBS: Final = 2
_CLIMB_STEPS: Final = 20
_MEND_STEPS: Final = 5
# Steps for each pair of entrants. Where a perfect answer exists a climb needs about 1.5 of them (measured, 13 to 200
# entrants); a second climb, from other doubled pairs, found one in a few cases in a hundred with very unlike owners.


class Draw:
    """Whole numbers drawn from a key and a label, the same in every language."""

    def __init__(self, key: str, label: str) -> None:
        self._key = key.encode()
        self._label = label
        self._block = 0
        self._numbers: list[int] = []

    def below(self, limit: int) -> int:
        """Returns the next number, modulo `limit`."""
        if not self._numbers:
            block = hmac.digest(self._key, f"{self._label}/{self._block}".encode(), "sha256")
            self._block += 1
            self._numbers = [int.from_bytes(block[place : place + 4], "big") for place in range(28, -1, -4)]
        return self._numbers.pop() % limit


def cover(owners: Sequence[int], draw: Draw, doubled_before: dict[Pair, int]) -> list[Triple]:
    """Returns one round's triples, sorted.

    Args:
        owners: the owner of each entrant; three or more different ones.
        draw: where chance comes from.
        doubled_before: how often each pair met twice in earlier rounds; brought up to date with this round.
    """
    best: tuple[list[Triple], int] | None = None
    for _ in range(_CLIMBS):
        triples, left_over = _climb(owners, _pairs_to_double(owners, draw, doubled_before), draw)
        if best is None or left_over < best[1]:
            best = triples, left_over
        if not left_over:
            break
    assert best is not None
    triples, left_over = best
    if left_over:
        # No more than two meetings where that can be had, else as many as it takes: with owners of 30, 1 and 1
        # entrants the two single ones sit at all thirty tables.
        mended = _mend(owners, triples, 2, draw) or _mend(owners, triples, len(owners), draw)
        assert mended is not None
        triples = mended
    met = _Meetings(triples).tables
    for pair, tables in met.items():
        if len(tables) > 1:
            doubled_before[pair] = doubled_before.get(pair, 0) + 1
    return sorted(triples)


class _Meetings:
    """A set of triples, and the tables at which each pair meets."""

    def __init__(self, triples: Sequence[Triple] = ()) -> None:
        self.triples: dict[Triple, None] = {}
        self.tables: dict[Pair, list[Triple]] = {}
        for triple in triples:
            self.add(triple)

    def add(self, triple: Triple) -> None:
        self.triples[triple] = None
        for pair in combinations(triple, 2):
            self.tables.setdefault(pair, []).append(triple)

    def drop(self, triple: Triple) -> None:
        del self.triples[triple]
        for pair in combinations(triple, 2):
            self.tables[pair].remove(triple)

    def count(self, one: int, other: int) -> int:
        return len(self.tables.get(_pair(one, other), ()))


def _pair(one: int, other: int) -> Pair:
    return (one, other) if one < other else (other, one)


def _triple(*entrants: int) -> Triple:
    one, two, three = sorted(entrants)
    return one, two, three


# Step 1: which pairs shall meet twice -------------------------------------------------------------------------------


def _pairs_to_double(owners: Sequence[int], draw: Draw, doubled_before: dict[Pair, int]) -> set[Pair]:
    """Returns pairs to meet twice, so that each entrant's meetings are even in number and all meetings divide by three.

    Without both, no set of triples can hold every meeting exactly once.
    """
    order = list(range(len(owners)))
    for place in range(len(order) - 1, 0, -1):
        other = draw.below(place + 1)
        order[place], order[other] = order[other], order[place]
    opponents = [sum(owner != other for other in owners) for owner in owners]
    odd = sorted((entrant for entrant in order if opponents[entrant] % 2), key=opponents.__getitem__)
    paths: list[tuple[int, int, int]] = []  # how many pairs long, from whom, to whom
    while odd:
        one = odd.pop(0)
        direct = [other for other in odd if owners[other] != owners[one]]
        other = min(direct, key=lambda other: doubled_before.get(_pair(one, other), 0)) if direct else odd[0]
        odd.remove(other)
        paths.append((1 if direct else 2, one, other))
    missing = -(sum(opponents) // 2 + sum(length for length, _, _ in paths)) % 3
    if missing and paths:
        length, one, other = paths[0]
        paths[0] = length + missing, one, other
    elif missing:
        paths.append((3 + missing, order[0], order[0]))
    doubled: set[Pair] = set()

    def free(one: int, other: int) -> bool:
        return owners[one] != owners[other] and _pair(one, other) not in doubled

    for length, one, other in sorted(paths, key=lambda path: path[0]):
        inner = _path(one, other, length, order, free)
        if inner is not None:
            doubled.update(_pair(*step) for step in pairwise([one, *inner]))
    return doubled


def _path(
    start: int, end: int, length: int, order: Sequence[int], free: Callable[[int, int], bool]
) -> list[int] | None:
    """Returns the first way in `order` from `start` to `end` over so many free pairs, without `start`."""
    if length == 1:
        return [end] if free(start, end) else None
    for through in order:
        if through not in (start, end) and free(start, through):
            rest = _path(through, end, length - 1, [each for each in order if each not in (start, through)], free)
            if rest is not None:
                return [through, *rest]
    return None


# Step 2: triples that hold every meeting exactly once ---------------------------------------------------------------


def _climb(owners: Sequence[int], doubled: set[Pair], draw: Draw) -> tuple[list[Triple], int]:
    """Returns triples and how many meetings they leave out (hill climbing after D. R. Stinson, 1985).

    Every step seats three entrants of whom one misses both others; if those two have met as often as they shall, a
    table of theirs is given up. So the number of tables never falls.
    """
    count = len(owners)
    missing: list[list[int]] = [[] for _ in range(count)]
    for one in range(count):
        for other in range(count):
            if owners[one] != owners[other]:
                missing[one].extend([other] * (1 + (_pair(one, other) in doubled)))
    limit = _CLIMB_STEPS * sum(map(len, missing)) // 2
    live = [entrant for entrant in range(count) if missing[entrant]]
    meetings = _Meetings()
    for _ in range(limit):
        if not live:
            break
        one = live[draw.below(len(live))]
        if len(missing[one]) < 2:  # only where a path of step 1 could not be laid
            continue
        place = draw.below(len(missing[one]))
        second = draw.below(len(missing[one]) - 1)
        two, three = _pair(missing[one][place], missing[one][second + (second >= place)])
        triple = _triple(one, two, three)
        if owners[two] == owners[three] or triple in meetings.triples:
            continue
        if three not in missing[two]:
            tables = meetings.tables[two, three]
            given_up = tables[draw.below(len(tables))]
            meetings.drop(given_up)
            for pair in combinations(given_up, 2):
                _reopen(pair, missing, live)
        meetings.add(triple)
        for pair in combinations(triple, 2):
            _close(pair, missing, live)
    return list(meetings.triples), sum(map(len, missing)) // 2


def _close(pair: Pair, missing: list[list[int]], live: list[int]) -> None:
    for one, other in (pair, pair[::-1]):
        missing[one].remove(other)
        if not missing[one]:
            live.remove(one)


def _reopen(pair: Pair, missing: list[list[int]], live: list[int]) -> None:
    for one, other in (pair, pair[::-1]):
        if not missing[one]:
            live.append(one)
        missing[one].append(other)


# Step 3, where owners are too unlike for that -----------------------------------------------------------------------


def _mend(owners: Sequence[int], triples: Sequence[Triple], most: int, draw: Draw) -> list[Triple] | None:
    """Adds tables until all pairs of different owners have met, at most `most` times; None if it finds no way."""
    meetings = _Meetings(triples)
    allowed = [pair for pair in combinations(range(len(owners)), 2) if owners[pair[0]] != owners[pair[1]]]
    unmet = [pair for pair in allowed if not meetings.count(*pair)]
    for _ in range(_MEND_STEPS * len(allowed)):
        if not unmet:
            break
        one, two = unmet[draw.below(len(unmet))]
        three = _best_third(owners, meetings, one, two, most, draw.below(len(owners)))
        if three is None:
            return None
        given_up: set[Triple] = set()
        for pair in (_pair(one, three), _pair(two, three)):
            tables = meetings.tables.get(pair, [])
            if len(tables) >= most:
                given_up.add(tables[draw.below(len(tables))])
        for triple in sorted(given_up):
            meetings.drop(triple)
        meetings.add(_triple(one, two, three))
        unmet = [pair for pair in unmet if not meetings.count(*pair)]
        again = sorted({pair for triple in given_up for pair in combinations(triple, 2)})
        unmet += [pair for pair in again if not meetings.count(*pair)]
    if unmet:
        return None
    for triple in sorted(meetings.triples):
        if all(meetings.count(*pair) > 1 for pair in combinations(triple, 2)):
            meetings.drop(triple)
    return list(meetings.triples)


def _best_third(owners: Sequence[int], meetings: _Meetings, one: int, two: int, most: int, start: int) -> int | None:
    """Returns who joins two that have not met: breaking up fewest tables, then repeating fewest meetings."""
    best: tuple[tuple[int, int], int] | None = None
    for step in range(len(owners)):
        three = (start + step) % len(owners)
        if owners[three] in (owners[one], owners[two]) or _triple(one, two, three) in meetings.triples:
            continue
        counts = meetings.count(one, three), meetings.count(two, three)
        cost = sum(count >= most for count in counts), sum(count > 0 for count in counts)
        if best is None or cost < best[0]:
            best = cost, three
    return None if best is None else best[1]
