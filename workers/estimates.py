"""How long matches take, from those that were played: what chunks are cut by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

FIRST_GUESS_S: Final = 1.0
_WEIGHT: Final = 0.2
_MOST_PAIRS: Final = 100_000
_SHORTEST_S: Final = 0.001


class Estimates:
    """Running means for each tournament and each set of entrants in it; fed by one thread, read by another."""

    def __init__(self, before: Callable[[int], float | None] = lambda _: None) -> None:
        """Begins with what `before` says of a tournament, the mean of its last matches, or None."""
        self._before = before
        self._tournaments: dict[int, float] = {}
        self._sets: dict[tuple[int, tuple[int, ...]], float] = {}

    def observe(self, tournament: int, entrants: tuple[int, ...], seconds: float) -> None:
        """Takes the time of a match into the means."""
        if len(self._sets) >= _MOST_PAIRS:
            self._sets.clear()  # ten megabytes, and the tournament's mean stays
        self._tournaments[tournament] = _moved(self._tournaments.get(tournament), seconds)
        self._sets[tournament, entrants] = _moved(self._sets.get((tournament, entrants)), seconds)

    def mean_s(self, tournament: int) -> float:
        """Returns the mean of a tournament's matches."""
        known = self._tournaments.get(tournament)
        if known is None:
            before = self._before(tournament)
            if before is None:
                return FIRST_GUESS_S
            known = self._tournaments.setdefault(tournament, before)
        return max(known, _SHORTEST_S)

    def match_s(self, tournament: int, entrants: tuple[int, ...]) -> float:
        """Returns how long a match of these entrants takes, as far as is known."""
        known = self._sets.get((tournament, entrants))
        return self.mean_s(tournament) if known is None else max(known, _SHORTEST_S)


def _moved(mean: float | None, seconds: float) -> float:
    return seconds if mean is None else mean + _WEIGHT * (seconds - mean)
