"""Is A better than B: the exact generalised sequential probability ratio test on match scores.

One match gives one score of A between 0 and 1; its games share their cards, so the match is the observation and no
normal approximation is made (near twins split almost all matches, and that approximation then decides wrongly).
Sources: Van den Bergh's notes on the GSPRT for chess engine tests; the empirical likelihood root of Owen 1988;
`docs/ratings.md` has the measured error rates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite, log, log10, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tournament.ratings import Z95, share_interval

Floats = NDArray[np.float64]

EMPTY_CLASS: Final = 0.001
"""Stands in for a score that never came, so that every mean has a likelihood from the first match on."""
NORMALIZED_PER_SIGMA: Final = 800 / log(10)
FEW_RESULTS: Final = 25
"""With fewer results that are not split, a bar follows the small-sample rule instead of the plain formula."""
REACH_KNOWN: Final = 16
"""So many matches that are not split show how far from even a match can come out (docs/decisions/0022)..."""
REACH_OVER_EDGE: Final = 3
"""...if one came out further than so many times the edge that is tested: else a rare higher score may carry it all."""
PAIR_SCORES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
GAME_SCORES: Final = (0.0, 0.5, 1.0)


MOST_ELO: Final = 2000
"""Largest bound of a test: beyond it an expected score is 0 or 1 for floating point."""

LEAST_RATE: Final = 1e-12
"""Smallest error rate of a test that is told from none."""


class Model(StrEnum):
    """What the two Elo bounds mean; the last three are for results of chess tools."""

    LOGISTIC = "logistic"
    NORMALIZED = "normalized"
    BAYESIAN = "bayesian"
    CUTECHESS = "cutechess"


class Decision(StrEnum):
    """What a test says: H1 taken, H0 taken, or neither yet."""

    BETTER = "better"
    NOT_BETTER = "not better"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """A is `elo0` (H0) against A is `elo1` stronger (H1), with the chances to be wrong that are accepted under each."""

    elo0: float = 0.0
    elo1: float = 20.0
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        """Refuses bounds that no test can tell apart.

        Raises:
            ValueError: A number is not finite, elo0 is not below elo1, or an error rate is not between 0 and 0.5.
        """
        if not all(map(isfinite, (self.elo0, self.elo1, self.alpha, self.beta))) or self.elo0 >= self.elo1:
            raise ValueError(f"elo0 must be below elo1, not {self.elo0} and {self.elo1}")
        if max(abs(self.elo0), abs(self.elo1)) > MOST_ELO:
            raise ValueError(f"elo0 and elo1 must lie between -{MOST_ELO} and {MOST_ELO}, not {self.elo0}, {self.elo1}")
        if not (LEAST_RATE <= self.alpha < 0.5 and LEAST_RATE <= self.beta < 0.5):
            raise ValueError(f"alpha and beta must lie between 0 and 0.5, not {self.alpha} and {self.beta}")

    @property
    def lower(self) -> float:
        """The log-likelihood ratio at which H0 is taken."""
        return log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """The log-likelihood ratio at which H1 is taken."""
        return log((1 - self.beta) / self.alpha)

    def decide(self, llr: float) -> Decision:
        """Return what a log-likelihood ratio says."""
        if llr >= self.upper:
            return Decision.BETTER
        return Decision.NOT_BETTER if llr <= self.lower else Decision.UNDECIDED


def expected_score(elo: float) -> float:
    """Return the chance to win at a rating difference.

    >>> round(expected_score(400), 6)
    0.909091
    """
    return float(1 / (1 + 10 ** (-elo / 400)))


def elo_of(score: float) -> float | None:
    """Return the rating difference at which `score` is expected; None at 0 and 1, where there is none.

    >>> elo_of(0.5), elo_of(1.0)
    (0.0, None)
    """
    return -400 * log10(1 / score - 1) + 0.0 if 0 < score < 1 else None


def exact_llr(
    values: Floats, counts: Floats, score0: float, score1: float, *, possible: NDArray[np.bool_] | None = None
) -> Floats:
    """Return log-likelihood ratios of mean `score1` over `score0`, each maximised over all distributions on `values`.

    Args:
        values: (classes,) rising match scores, with 0 and 1 among them.
        counts: (..., classes) how often each came.
        score0: Mean under H0, between 0 and 1.
        score1: Mean under H1.
        possible: (..., classes) the scores that the distributions may hold, 1/2 among them; all if left out.
    """
    filled = np.where(counts > 0, counts, EMPTY_CLASS)
    if possible is not None:
        values, filled = np.where(possible, values, 0.5), np.where(possible, filled, 0.0)
    ratio = np.zeros(filled.shape[:-1])
    for sign, score in ((1, score0), (-1, score1)):
        theta = tilt(values - score, filled)
        ratio += sign * (filled * np.log1p(theta[..., None] * (values - score))).sum(axis=-1)
    return ratio


def within_reach(values: Floats, counts: Floats, score0: float, score1: float) -> NDArray[np.bool_]:
    """Return which match scores can be expected, as `exact_llr` takes them.

    Once `REACH_KNOWN` matches were not split: those no further from 1/2 than a score that came, to either side. Before,
    and where they reach no further than `REACH_OVER_EDGE` times a hypothesis does: all. On many classes a few matches
    are never enough to rule out a score that has not come yet; a test would wait for them long after it has seen how
    much scores spread.
    """
    away = np.abs(values - 0.5).round(9)  # rounded, so that a score and its mirror image are equally far
    unsplit = np.where(away > 0, counts, 0).sum(axis=-1)
    farthest = np.where(counts > 0, away, 0).max(axis=-1)
    known = (unsplit >= REACH_KNOWN) & (farthest > REACH_OVER_EDGE * max(abs(score0 - 0.5), abs(score1 - 0.5)))
    return np.asarray(away <= np.where(known, farthest, 0.5)[..., None])


def tilt(offsets: Floats, weights: Floats) -> Floats:
    """Return theta with sum w·o/(1 + theta·o) = 0 where all 1 + theta·o are positive, by guarded Newton steps.

    Args:
        offsets: (..., classes) with values of both signs.
        weights: (..., classes), positive.
    """
    low = np.broadcast_to(-1 / offsets.max(axis=-1), weights.shape[:-1]).copy()
    high = np.broadcast_to(-1 / offsets.min(axis=-1), weights.shape[:-1]).copy()
    theta = np.zeros(weights.shape[:-1])
    for _ in range(200):
        share = offsets / (1 + theta[..., None] * offsets)
        value = (weights * share).sum(axis=-1)
        low, high = np.where(value > 0, theta, low), np.where(value <= 0, theta, high)
        step = theta + value / (weights * share**2).sum(axis=-1)
        step = np.where(step >= high, high - (high - theta) / 10, step)  # from the side of the pole Newton is sure
        new = np.where(step <= low, low + (theta - low) / 10, step)
        if np.abs(new - theta).max() <= 1e-12:
            break
        theta = new
    return theta


def llr_of(values: Sequence[float], counts: Sequence[int], test: Hypotheses, model: Model = Model.LOGISTIC) -> float:
    """Return the log-likelihood ratio of counted scores under a model; 0 while there is nothing to tell.

    Raises:
        ValueError: Counts and scores do not fit, the model wants single games with wins, draws and losses, or bounds
            in normalized Elo are too far out.
    """
    if len(values) != len(counts) or min(counts) < 0:
        raise ValueError(f"expected {len(values)} counts of 0 or more, not {tuple(counts)}")
    if not sum(counts):
        return 0.0
    grid, found = np.array(values, dtype=float), np.array(counts, dtype=float)
    if model is Model.NORMALIZED:
        games = (len(values) - 1) / 2
        return _normalized_llr(
            grid, found, *(elo * sqrt(games) / NORMALIZED_PER_SIGMA for elo in (test.elo0, test.elo1))
        )
    if model is Model.LOGISTIC:
        return float(exact_llr(grid, found, expected_score(test.elo0), expected_score(test.elo1)))
    if len(values) != len(GAME_SCORES):
        raise ValueError(f"the {model} model needs wins, draws and losses of single games")
    loss, draw, win = found
    if model is Model.CUTECHESS:
        loss, draw, win = loss + 0.5, draw + 0.5, win + 0.5
    if not (win and loss):
        return 0.0
    total = win + draw + loss
    draw_elo = 200 * log10((1 - loss / total) / (loss / total) * (1 - win / total) / (win / total))
    scale = 1.0
    if model is Model.CUTECHESS:  # its bounds are logistic Elo, stretched to BayesElo at the observed share of draws
        spread = 10 ** (-draw_elo / 400)
        scale = (1 + spread) ** 2 / (4 * spread)
    wins, losses = (
        [expected_score(sign * elo * scale - draw_elo) for elo in (test.elo0, test.elo1)] for sign in (1, -1)
    )
    if model is Model.BAYESIAN:
        return float(exact_llr(grid, found, *((1 + w - b) / 2 for w, b in zip(wins, losses, strict=True))))
    draws = [1 - w - b for w, b in zip(wins, losses, strict=True)]
    pairs = zip((loss, draw, win), (losses, draws, wins), strict=True)
    return float(sum(count * log(chances[1] / chances[0]) for count, chances in pairs))


def _normalized_llr(values: Floats, counts: Floats, t0: float, t1: float) -> float:
    """Return the ratio where the hypotheses fix (mean − 1/2)/SD, whose SD is linearised again at each turn."""
    filled = np.where(counts > 0, counts, EMPTY_CLASS)
    seen = filled / filled.sum()
    fits = []
    for t in (t0, t1):
        chances = np.full(len(values), 1 / len(values))
        with np.errstate(invalid="ignore"):
            for _ in range(100):
                mean = chances @ values
                sigma = np.sqrt(chances @ (values - mean) ** 2)
                bent = values - 0.5 - t / 2 * sigma * (1 + ((values - mean) / sigma) ** 2)
                new = seen / (1 + tilt(bent, seen) * bent)
                moved = np.abs(new - chances).max()
                chances = new
                if not moved >= 1e-12:
                    break
            mean = chances @ values
            off = abs(mean - 0.5 - t * np.sqrt(chances @ (values - mean) ** 2))
        if not off < 1e-6:
            raise ValueError(
                "no distribution of these results was found for so large a normalized Elo: lower the bounds"
            )
        fits.append(chances)
    return float(filled @ np.log(fits[1] / fits[0]))


@dataclass(frozen=True, slots=True)
class ScoreStats:
    """Figures of counted scores, in Elo where the name says so; None where no finite number is true.

    Attributes:
        score: Mean score.
        elo: The difference that the mean stands for.
        low: 95 % bound below.
        high: 95 % bound above.
        elo_error: Half of `high` − `low`.
        los: Likelihood of superiority, the chance that A is the stronger one.
        nelo: Normalized Elo.
        nelo_error: Half width of its 95 % bar.
    """

    score: float
    elo: float | None
    low: float | None
    high: float | None
    elo_error: float | None
    los: float
    nelo: float | None
    nelo_error: float


def score_stats(values: Sequence[float], counts: Sequence[int]) -> ScoreStats:
    """Return the figures that chess tools print; the bar follows the small-sample rule while few results are not split.

    Raises:
        ValueError: There is no result.
    """
    total, scores, came = sum(counts), np.array(values), np.array(counts)
    if total < 1:
        raise ValueError("expected at least one result")
    games = round(1 / (values[1] - values[0])) // 2 if len(values) > len(GAME_SCORES) else 1
    mean = float(came @ scores) / total
    variance = float(came @ (scores - mean) ** 2) / total
    error = sqrt(variance / total)
    if came[scores != 0.5].sum() >= FEW_RESULTS and variance > 0:
        low, high = mean - Z95 * error, mean + Z95 * error
    else:
        low, high = share_interval(games, total, mean * total, float(came @ scores**2))
    bounds = elo_of(low), elo_of(high)
    spread = sqrt(variance)
    return ScoreStats(
        score=mean,
        elo=elo_of(mean),
        low=bounds[0],
        high=bounds[1],
        elo_error=None if bounds[0] is None or bounds[1] is None else (bounds[1] - bounds[0]) / 2,
        los=float(ndtr((mean - 0.5) / (error or (high - low) / 2 / Z95)))
        if 0 < mean < 1
        else abs(mean - 0.5 ** (total + 1)),
        nelo=NORMALIZED_PER_SIGMA * (mean - 0.5) / (sqrt(games) * spread) if spread else None,
        nelo_error=NORMALIZED_PER_SIGMA * Z95 / sqrt(games * total),
    )


def sprt_report(
    wdl: Sequence[int], pairs: Sequence[int], test: tuple[float, float, float, float], model: str
) -> dict[str, str | float | None]:
    """Return what `tournament sprt` prints: the ratio, its bounds, Elo with its bar, superiority and decision.

    Args:
        wdl: Wins, draws and losses of single games, or nothing.
        pairs: Matches of two games by their points 0, 1/2, 1, 3/2, 2, or nothing; one of the two is given.
        test: elo0, elo1, alpha and beta.
        model: A `Model`.

    Raises:
        ValueError: The numbers do not fit together.
    """
    values, counts = (PAIR_SCORES, list(pairs)) if pairs else (GAME_SCORES, list(reversed(wdl)))
    if bool(wdl) == bool(pairs) or len(values) != len(counts):
        raise ValueError("expected either three counts of games (W,D,L) or five of pairs (N0,N1,N2,N3,N4)")
    if model not in set(Model):
        raise ValueError(f"a model is one of {', '.join(Model)}, not {model[:40]!r}")
    hypotheses = Hypotheses(*test)
    stats = score_stats(values, counts)
    llr = llr_of(values, counts, hypotheses, Model(model))
    return {
        "llr": llr,
        "lower": hypotheses.lower,
        "upper": hypotheses.upper,
        **{name: getattr(stats, name) for name in ("elo", "low", "high", "los")},
        "decision": hypotheses.decide(llr).value,
    }
