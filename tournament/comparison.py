"""A running comparison: match scores go in by their numbers, the exact test of `tournament.sprt` says when to stop."""

from typing import Final

import numpy as np

from tournament.ratings import share_interval
from tournament.sprt import Decision, Hypotheses, elo_of, exact_llr, expected_score, within_reach
from tournament.wording import counted

CAP_FACTOR: Final = 4
"""A comparison gives up after this many times the length that it expects for unlike bots."""
ASSUMED_VARIANCE: Final = {"cutthroat/2": (0.030, 0.078), "cutthroat/3": (0.009, 0.026), "wisconsin/4": (0.041, 0.1)}
"""Variance of a match score between similar and between unlike bots, measured: only what is announced (for similar
bots) and the default cap (`CAP_FACTOR` times the length for unlike ones) hang on it."""


def expected_matches(test: Hypotheses, variance: float, stretch: float = 1.0) -> int:
    """Return how many matches the test takes on average at the worse of its two hypotheses.

    Args:
        test: The hypotheses.
        variance: Variance of one match score.
        stretch: As in `Comparison`.
    """
    s0, s1 = (0.5 + (expected_score(elo) - 0.5) / stretch for elo in (test.elo0, test.elo1))
    drift = (s1 - s0) ** 2 / 2 / variance
    up = (1 - test.beta) * test.upper + test.beta * test.lower
    down = -(1 - test.alpha) * test.lower - test.alpha * test.upper
    return max(1, round(max(up, down) / drift))


class Comparison:
    """A running test of A against B (or of two versions against the same gauntlet), fed with match scores.

    Scores may come in any order; they are taken in the order of match numbers from 1, so that one job or many decide
    alike, and nothing counts after the decision.
    """

    def __init__(self, test: Hypotheses, top: int, cap: int, *, stretch: int = 1) -> None:
        """Start with no match.

        Args:
            test: The hypotheses.
            top: The highest score of a match in the unit that is fed: half points, so twice the comparisons of a
                match (4 for two at a table, 24 for the three-handed duel); in a gauntlet twice that, with `top/2`
                added to A's half points less B's.
            cap: Matches after which the test gives up.
            stretch: 2 in a gauntlet, where a score is the mean of 1/2 and the gain, else 1.
        """
        self.test, self.top, self.cap, self.stretch = test, top, cap, stretch
        self.counts = [0] * (top + 1)
        self.llr = 0.0
        self.decision = Decision.UNDECIDED
        self._waiting: dict[int, int] = {}
        self._scores = tuple(0.5 + (expected_score(elo) - 0.5) / stretch for elo in (test.elo0, test.elo1))
        self._values = np.arange(top + 1) / top

    @property
    def matches(self) -> int:
        """The number of matches that the test has taken."""
        return sum(self.counts)

    @property
    def over(self) -> bool:
        """Whether no further match is wanted: decided, or given up at the cap."""
        return self.decision is not Decision.UNDECIDED or self.matches >= self.cap

    def add(self, number: int, score: int) -> None:
        """Hand in the score of match `number`; it waits until all before it are in.

        Raises:
            ValueError: The score lies outside 0…top, or this match has been handed in before.
        """
        if not 0 <= score <= self.top:
            raise ValueError(f"a match score lies between 0 and {self.top}, not {score}")
        if number in self._waiting or (number <= self.matches and not self.over) or number < 1:
            raise ValueError(f"match {number} has been counted before, or is none")
        self._waiting[number] = score
        while not self.over and (self.matches + 1) in self._waiting:
            self.counts[self._waiting.pop(self.matches + 1)] += 1
            counts = np.array(self.counts, dtype=float)
            possible = within_reach(self._values, counts, *self._scores)
            self.llr = float(exact_llr(self._values, counts, *self._scores, possible=possible))
            self.decision = self.test.decide(self.llr)

    def estimate(self) -> tuple[float | None, float | None, float | None]:
        """Return Elo, low and high of A over B, biased outward after an early stop; None where no number is true."""
        if not self.matches:
            return None, None, None
        first = sum(count * score for score, count in enumerate(self.counts))
        second = sum(count * score**2 for score, count in enumerate(self.counts))
        ends = share_interval(self.top // 2 // self.stretch, self.matches, first / self.top, second / self.top**2)
        mean, low, high = (0.5 + self.stretch * (p - 0.5) for p in (first / self.top / self.matches, *ends))
        return elo_of(mean), elo_of(low), elo_of(high)

    def line(self) -> str:
        """Return the live line: matches, Elo with its bar, the ratio between its bounds."""
        elo, low, high = self.estimate()
        if elo is not None and low is not None and high is not None:
            gap = f"Elo {elo:+.1f} ± {(high - low) / 2:.1f}"
        else:
            gap = f"Elo {_bound_text(elo)} ({_bound_text(low)} to {_bound_text(high)})"
        stopped = " at stopping" if self.decision is not Decision.UNDECIDED else ""
        bounds = f"{self.test.lower:.2f} … {self.test.upper:.2f}"
        return f"{counted(self.matches, 'match')}, {gap}{stopped}, LLR {self.llr:+.2f} in {bounds}: {self.decision}"


def _bound_text(elo: float | None) -> str:
    return "open" if elo is None else f"{elo:+.1f}"
