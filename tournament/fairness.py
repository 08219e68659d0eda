"""Whether a tournament was fair, as anybody may see: who met whom how often, where, and what became of it.

Pure functions of what is public; the page and the command show what they return.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist, fmean, variance
from typing import Final

MIN_TABLES: Final = 10
"""A pair with fewer matches at tables of three is not judged: chance alone makes it look odd."""

TAIL: Final = 0.05


def results_digest(digests: Iterable[str]) -> str:
    """Returns the SHA-256 over the games' digests, each followed by LF, in order of match number and seating.

    >>> results_digest([])[:8]
    'e3b0c442'
    """
    whole = hashlib.sha256()
    for digest in digests:
        whole.update(digest.encode() + b"\n")
    return whole.hexdigest()


@dataclass(frozen=True, slots=True)
class FairMatch:
    """A recorded match as fairness looks at it.

    Attributes:
        number: its number in the schedule.
        entrants: positions, ascending.
        worker: who played it.
        games: how many.
        faults: of all bots in it.
        scores: what the first of each pair took from the second, in half points: (0,1), (0,2), (1,2).
        promised: what the ratings promise for the same; empty until somebody has worked it out.
    """

    number: int
    entrants: tuple[int, ...]
    worker: str
    games: int
    faults: int
    scores: tuple[int, ...]
    promised: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkerShare:
    """What one worker played."""

    worker: str
    matches: int
    games: int
    faults: int
    voids: int


@dataclass(frozen=True, slots=True)
class OddPair:
    """Two entrants at whose tables the third seats do unusually badly, by `z` standard errors."""

    first: int
    second: int
    matches: int
    lost: float
    z: float


def pair_counts(matches: Iterable[FairMatch]) -> dict[tuple[int, int], int]:
    """Returns how many matches every pair has played."""
    return dict(sorted(Counter(pair for match in matches for pair in combinations(match.entrants, 2)).items()))


def seating_counts(matches: Iterable[FairMatch], seatings: Sequence[Sequence[int]]) -> dict[tuple[int, ...], int]:
    """Returns how many games were played in every order of seats, given by places among a match's entrants.

    Since a match counts only with all its seatings, every order is there equally often.
    """
    count = sum(match.games == len(seatings) for match in matches)
    return {tuple(seats): count for seats in seatings}


def worker_shares(matches: Iterable[FairMatch], voids: Iterable[str]) -> tuple[WorkerShare, ...]:
    """Returns what each worker played, with the faults in it and its results that do not count any more."""
    counts, games, faults, gone = Counter[str](), Counter[str](), Counter[str](), Counter(voids)
    for match in matches:
        counts[match.worker] += 1
        games[match.worker] += match.games
        faults[match.worker] += match.faults
    names = sorted({*counts, *gone})
    return tuple(WorkerShare(name, counts[name], games[name], faults[name], gone[name]) for name in names)


def odd_pairs(matches: Iterable[FairMatch]) -> tuple[OddPair, ...]:
    """Returns the pairs at whose tables of three the third entrant scores less than its rating promises.

    For each pair the differences over its matches, whoever the third was, are tested for a mean below zero, on one
    side and with the level shared among all pairs that were looked at: two bots that help each other stand out, and in
    nineteen of twenty fair tournaments no pair does.
    """
    losses: dict[tuple[int, int], list[float]] = {}
    for match in matches:
        if len(match.entrants) != 3:
            continue
        one, two, three = (score - promised for score, promised in zip(match.scores, match.promised, strict=True))
        # What entrant 0, 1 and 2 took beyond the promise from the other two.
        beyond = (one + two, three - one, -two - three)
        for third in range(3):
            pair = tuple(match.entrants[place] for place in range(3) if place != third)
            losses.setdefault((pair[0], pair[1]), []).append(beyond[third])
    judged = {pair: values for pair, values in losses.items() if len(values) >= MIN_TABLES}
    if not judged:
        return ()
    level = -NormalDist().inv_cdf(TAIL / len(judged))
    found = []
    for (first, second), values in judged.items():
        mean = fmean(values)
        # A floor for matches that all went one way: half a point each.
        z = -mean / math.sqrt(max(variance(values, mean), 0.25) / len(values))
        if z > level:
            found.append(OddPair(first, second, len(values), -mean / 2, round(z, 2)))
    return tuple(sorted(found, key=lambda each: -each.z))
