"""Bradley–Terry ratings with honest bars, from sums over matches.

A match (all games of one set of entrants over one seed) is one cluster: its games share the cards, so they are never
treated as independent. The fit needs no games, only sums per set of entrants (`Block`), which one grouped query over
match rows gives. All sums are integers and the blocks are put into one order first, so the result is a pure function
of the set of recorded matches.

Source of the formulas: Bradley and Terry 1952; Liang and Zeger 1986 (sandwich); the small-sample rule is explained in
`docs/ratings.md`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, log_expit, stdtrit

from tournament.results import Block

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ELO_PER_LOGIT = 400 / log(10)
CENTRE_ELO = 1500.0
PRIOR = 1.0  # half a ghost win and half a ghost loss per bot
SMALLEST_PRIOR, LARGEST_PRIOR = 1e-3, 1e3  # beyond, the ghost does nothing but harm to the arithmetic
TAIL = 0.025  # each side of a 95 % bar
Z95 = 1.959963984540054
PRIOR_MATCHES = 4.0  # the small-sample rule: matches of independent games mixed in (docs/ratings.md)
NEWTON_STEPS = 100
LONGEST_STEP = 3.0  # logits; keeps Newton from leaping over the flat ends of the logistic curve
CONVERGED = 1e-11  # logits


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """All blocks with the same number of entrants as integer arrays, sorted, each set of entrants and games once.

    Attributes:
        entrants: (blocks, entrants) positions.
        games: (blocks, pairs) comparisons of each pair in one match.
        matches: (blocks,) number of matches.
        sums: (blocks, pairs) half points.
        products: (blocks, upper triangle of pairs × pairs) quarter points.
    """

    entrants: Ints
    games: Ints
    matches: Ints
    sums: Ints
    products: Ints

    def rows(self) -> Ints:
        """Return the rows from which `group_rows` makes this group."""
        return np.column_stack((self.entrants, self.games, self.matches, self.sums, self.products))

    @property
    def firsts(self) -> Ints:
        """The first bot of each pair, (blocks, pairs)."""
        return self.entrants[:, [i for i, _ in combinations(range(self.entrants.shape[1]), 2)]]

    @property
    def seconds(self) -> Ints:
        """The second bot of each pair, (blocks, pairs)."""
        return self.entrants[:, [j for _, j in combinations(range(self.entrants.shape[1]), 2)]]


def group_rows(rows: Ints, size: int) -> Group:
    """Sort and merge rows of blocks of `size` entrants; any chunks of them give the same group.

    Args:
        rows: One per block: entrants, games, matches, sums, products.
        size: Entrants of each block.
    """
    pairs = size * (size - 1) // 2
    keys = size + pairs
    rows = rows[np.lexsort(rows[:, keys - 1 :: -1].T)]
    new = np.concatenate(([True], np.any(rows[1:, :keys] != rows[:-1, :keys], axis=1)))
    starts = np.flatnonzero(new)
    sums = np.add.reduceat(rows[:, keys:], starts, axis=0)
    return Group(rows[starts, :size], rows[starts, size:keys], sums[:, 0], sums[:, 1 : 1 + pairs], sums[:, 1 + pairs :])


def group_blocks(blocks: Iterable[Block]) -> tuple[Group, ...]:
    """Collect blocks into one group per number of entrants.

    Raises:
        ValueError: If a block's entrants do not rise or its numbers do not fit their number.
    """
    rows: dict[int, list[tuple[int, ...]]] = {}
    for block in blocks:
        size = len(block.entrants)
        row = (*block.entrants, *block.games, block.matches, *block.sums, *block.products)
        rows.setdefault(size, []).append(row)
    groups = []
    for size, found in sorted(rows.items()):
        pairs = size * (size - 1) // 2
        if size < 2 or {len(row) for row in found} != {size + 2 * pairs + 1 + pairs * (pairs + 1) // 2}:
            raise ValueError(
                f"a block of {size} entrants has numbers for {pairs} pairs, or there are fewer than two entrants"
            )
        group = group_rows(np.array(found, dtype=np.int64), size)
        if np.any(group.entrants[:, 1:] <= group.entrants[:, :-1]):
            raise ValueError("a block names its entrants in rising order, each once")
        groups.append(group)
    return tuple(groups)


def merge_groups(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Merge groups of several chunks of matches into one per number of entrants."""
    rows: dict[int, list[Ints]] = {}
    for group in groups:
        rows.setdefault(group.entrants.shape[1], []).append(group.rows())
    return tuple(group_rows(np.concatenate(found), size) for size, found in sorted(rows.items()))


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The fitted ladder of `n` bots on the logit scale, with what its bars need.

    Attributes:
        prior: Weight of the ghost per bot (1: half a win and half a loss).
        strengths: (n,) log strengths, mean 0.
        points: (n, n) points that the row took from the column.
        meetings: (n, n) matches in which both took part.
        matches: (n,) matches of each bot.
        plain: (n, n) inverse of the Hessian: the covariance if all games were independent.
        robust: (n, n) sandwich with matches as clusters, without any correction.
        leverage: (n, n) `plain` weighted by the leverage of a match; see `docs/ratings.md`.
        component: (n,) label of the strongly connected group of "took at least half a point from".
    """

    prior: float
    strengths: Floats
    points: Floats
    meetings: Floats
    matches: Floats
    plain: Floats
    robust: Floats
    leverage: Floats
    component: NDArray[np.int32]

    def gaps(self) -> Floats:
        """Return the rating differences row − column in Elo."""
        return np.asarray(ELO_PER_LOGIT * (self.strengths[:, None] - self.strengths[None, :]))

    def gap_bars(self) -> tuple[Floats, Floats]:
        """Return standard error in Elo and 95 % quantile of every difference; true inside one component only."""
        plain, robust, leverage = (_differences(v) for v in (self.plain, self.robust, self.leverage))
        se, quantile = corrected(plain, robust, leverage)
        return ELO_PER_LOGIT * se, quantile

    def bars(self) -> tuple[Floats, Floats]:
        """Return standard error in Elo and 95 % quantile of each bot against the mean of its component."""
        same = (self.component[:, None] == self.component[None, :]).astype(float)
        contrast = np.eye(len(self.strengths)) - same / same.sum(axis=1, keepdims=True)
        plain, robust, leverage = (
            ((contrast @ v) * contrast).sum(axis=1) for v in (self.plain, self.robust, self.leverage)
        )
        se, quantile = corrected(plain, robust, leverage)
        return ELO_PER_LOGIT * se, quantile


def corrected(plain: Floats, robust: Floats, leverage: Floats) -> tuple[Floats, Floats]:
    """Apply the small-sample rule to variances of contrasts: standard errors and Student quantiles.

    The mean leverage 1/G of a match along a contrast says how many matches G the contrast really hangs on. The
    sandwich gets `PRIOR_MATCHES` matches' worth of independent games mixed in, the factor G/(G−1), and Student's t on
    G−1 degrees of freedom.
    """
    share = np.clip(leverage / np.maximum(plain, 1e-300), 1e-12, 0.5)
    variance = (np.maximum(robust, 0) + PRIOR_MATCHES * share * plain) / (1 - share)
    return np.asarray(np.sqrt(variance)), np.asarray(stdtrit(1 / share - 1, 1 - TAIL), dtype=np.float64)


def fit(bot_count: int, groups: Sequence[Group], prior: float = PRIOR) -> Fit:
    """Fit the ladder of bots 0…bot_count−1.

    Raises:
        ValueError: If there is no bot, the prior is out of range, or it is 0 and no finite ratings follow from the
            results alone.
    """
    if bot_count < 1 or not (prior == 0 or SMALLEST_PRIOR <= prior <= LARGEST_PRIOR):
        raise ValueError(f"a fit needs a bot and a prior of 0 or from 0.001 to 1,000, not {bot_count} bots and {prior}")
    size = bot_count * bot_count
    half_points, met, matches = np.zeros(size), np.zeros(size), np.zeros(bot_count)
    for group in groups:
        there, back = (
            (i * bot_count + j).ravel() for i, j in ((group.firsts, group.seconds), (group.seconds, group.firsts))
        )
        half_points += np.bincount(there, group.sums.ravel(), size)
        half_points += np.bincount(back, (2 * group.games * group.matches[:, None] - group.sums).ravel(), size)
        together = ((group.games > 0) * group.matches[:, None]).ravel()
        met += np.bincount(there, together, size) + np.bincount(back, together, size)
        matches += np.bincount(group.entrants.ravel(), np.repeat(group.matches, group.entrants.shape[1]), bot_count)
    points, meetings = half_points.reshape(bot_count, -1) / 2, met.reshape(bot_count, -1)
    components, label = connected_components(points > 0, directed=True, connection="strong")
    if prior == 0 and components > 1:
        raise ValueError("with a prior of 0 every bot must be joined to every other by points taken in both directions")
    strengths, hessian = maximise(points, prior)
    plain = np.linalg.inv(hessian)
    plain = (plain + plain.T) / 2
    if prior == 0:
        plain -= plain.mean()  # takes the pin out again
    meat, weights = _meat(groups, strengths, plain)
    robust, leverage = plain @ meat @ plain, plain @ weights @ plain
    return Fit(prior, strengths - strengths.mean(), points, meetings, matches, plain, robust, leverage, label)


def maximise(points: Floats, prior: float) -> tuple[Floats, Floats]:
    """Climb to the maximum of the log-likelihood by Newton steps; return strengths and the negative Hessian there."""
    total = points + points.T
    count = len(points)
    x = np.zeros(count)
    pin = (total.sum() or 1.0) / count**2 if prior == 0 else 0.0  # fixes the mean, which the results leave open

    def height(at: Floats) -> float:
        return float(
            (points * log_expit(at[:, None] - at[None, :])).sum() + prior / 2 * (log_expit(at) + log_expit(-at)).sum()
        )

    best = height(x)
    for _ in range(NEWTON_STEPS):
        chance = expit(x[:, None] - x[None, :])
        ghost = expit(x)
        gradient = (points - total * chance).sum(axis=1) + prior * (0.5 - ghost)
        weight = total * chance * chance.T
        hessian = np.diag(weight.sum(axis=1) + prior * ghost * (1 - ghost)) - weight + pin
        step = cho_solve(cho_factor(hessian), gradient)
        longest = float(np.abs(step).max(initial=0))
        step *= min(1.0, LONGEST_STEP / max(longest, 1e-300))
        if longest < CONVERGED:
            break
        while (reached := height(x + step)) < best - 1e-9 * abs(best):
            step /= 2
        x, best = x + step, reached
    return x, hessian


def _meat(groups: Sequence[Group], x: Floats, plain: Floats) -> tuple[Floats, Floats]:
    """Return the sandwich's meat and the Hessian with every match weighted by its leverage."""
    meat = np.zeros((len(x), len(x)))
    weights = np.zeros_like(meat)
    for group in groups:
        first, second = group.firsts, group.seconds
        chance = expit(x[first] - x[second])
        expected = group.games * chance
        size = expected.shape[1]
        upper = np.triu_indices(size)
        products = np.empty((len(first), size, size))
        products[:, upper[0], upper[1]] = group.products / 4
        products[:, upper[1], upper[0]] = group.products / 4
        cross = expected[:, :, None] * (group.sums[:, None, :] / 2)
        spread = (
            products
            - cross
            - cross.transpose(0, 2, 1)
            + group.matches[:, None, None] * expected[:, :, None] * expected[:, None, :]
        )
        for a in range(size):
            for b in range(size):
                _add_edges(meat, first[:, a], second[:, a], first[:, b], second[:, b], spread[:, a, b])
        information = expected * (1 - chance)
        heavy = _match_leverage(group, information, plain) * group.matches
        for a in range(size):
            _add_edges(weights, first[:, a], second[:, a], first[:, a], second[:, a], heavy * information[:, a])
    return meat, weights


def _add_edges(into: Floats, i: Ints, j: Ints, k: Ints, m: Ints, value: Floats) -> None:
    """Add value × (e_i − e_j)(e_k − e_m)' for each row to `into`."""
    count = len(into)
    flat = np.concatenate((i * count + k, j * count + m, i * count + m, j * count + k))
    into += np.bincount(flat, np.concatenate((value, value, -value, -value)), count * count).reshape(count, count)


def _match_leverage(group: Group, information: Floats, plain: Floats) -> Floats:
    """Return the largest leverage of one match of each block: how much of some contrast hangs on this match alone."""
    size = group.entrants.shape[1]
    if size == 2:
        i, j = group.entrants.T
        return np.asarray(information[:, 0] * (plain[i, i] + plain[j, j] - 2 * plain[i, j]))
    laplacian = np.zeros((len(information), size, size))
    for pair, (a, b) in enumerate(combinations(range(size), 2)):
        laplacian[:, [a, b], [a, b]] += information[:, pair, None]
        laplacian[:, [a, b], [b, a]] -= information[:, pair, None]
    product = laplacian @ plain[group.entrants[:, :, None], group.entrants[:, None, :]]
    if size == 3:  # two eigenvalues that are not 0, from the traces of the product and of its square
        trace = np.trace(product, axis1=1, axis2=2)
        square = np.einsum("bij,bji->b", product, product)
        return np.asarray((trace + np.sqrt(np.maximum(2 * square - trace**2, 0))) / 2)
    return np.asarray(np.linalg.eigvals(product).real.max(axis=1))


def _differences(covariance: Floats) -> Floats:
    diagonal = np.diag(covariance)
    return diagonal[:, None] + diagonal[None, :] - 2 * covariance


def one_sided_bounds(ladder: Fit) -> tuple[Floats, Floats]:
    """Return 97.5 % lower and upper bounds in Elo (mean 0) from the meetings that went one way only.

    A bot that took every point from the bots of other components has no finite rating of its own; its bound is the
    rating at which all those clean matches would have had a chance of 2.5 % (Clopper–Pearson where there is one
    opponent). Minus and plus infinity where there is no such match.
    """
    other = ladder.component[:, None] != ladder.component[None, :]
    ends = []
    for sign, won in ((1.0, ladder.points), (-1.0, ladder.points.T)):
        found = np.full(len(won), -sign * np.inf)
        for bot in np.flatnonzero((other & (won > 0)).any(axis=1)):
            beaten = other[bot] & (won[bot] > 0)
            found[bot] = ELO_PER_LOGIT * _bound(sign, ladder.strengths[beaten], ladder.meetings[bot][beaten])
        ends.append(found)
    return ends[0], ends[1]


def _bound(sign: float, opponents: Floats, matches: Floats) -> float:
    def excess(at: float) -> float:
        return float((matches * log_expit(sign * at - sign * opponents)).sum() - log(TAIL))

    ends = (opponents.min() - 10, opponents.max() + 50) if sign > 0 else (opponents.min() - 50, opponents.max() + 10)
    return float(brentq(excess, *ends))


def share_intervals(games: Floats, matches: Floats, total: Floats, squares: Floats) -> tuple[Floats, Floats]:
    """Return the 95 % intervals of mean match scores between 0 and 1, by the same rule as the ladder's bars.

    Args:
        games: Comparisons in one match.
        matches: Number of matches, 1 or more.
        total: Sum of the match scores, each between 0 and 1.
        squares: Sum of their squares.
    """
    mean = total / matches
    plain = mean * (1 - mean) / games / matches
    se, quantile = corrected(plain, (squares / matches - mean**2) / matches, plain / matches)
    clean = TAIL ** (1 / matches)  # Clopper and Pearson's bound where all matches went one way
    low = np.where(mean <= 0, 0.0, np.where(mean >= 1, clean, mean - se * quantile))
    high = np.where(mean >= 1, 1.0, np.where(mean <= 0, 1 - clean, mean + se * quantile))
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def share_interval(games: float, matches: int, total: float, squares: float) -> tuple[float, float]:
    """Return `share_intervals` of one mean."""
    low, high = share_intervals(*(np.array(float(value)) for value in (games, matches, total, squares)))
    return float(low), float(high)
