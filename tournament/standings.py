"""Standings from a fitted ladder: bars, rank ranges, a verdict in words, head-to-head cells, misfits and history.

Everything here is a pure function of the recorded matches' sums (`Block`), rounded where it is shown, so that any
order of the matches, any chunks and any number of workers give the same text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import isfinite
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import chdtrc, expit, ndtr, ndtri

from tournament.ratings import (
    CENTRE_ELO,
    ELO_PER_LOGIT,
    PRIOR,
    PRIOR_MATCHES,
    TAIL,
    Fit,
    Floats,
    Group,
    Ints,
    fit,
    group_blocks,
    merge_groups,
    one_sided_bounds,
    share_intervals,
)
from tournament.results import Block

HOUSE_ANCHOR: Final = "simple"
PROVISIONAL_BELOW: Final = 25
"""Matches under which a bot is provisional: its bar is honest from ten on, but nobody should act on it."""
DIGITS: Final = 4
"""Decimals of an Elo number; rounding hides the last bits, in which linear algebra libraries differ."""
SETTLING_Z: Final = 1.959963984540054 + 0.8416212335729143
"""A gap of this many standard errors is found clear in four of five cases."""
MOST_MATCHES: Final = 10_000
MISFIT_MATCHES: Final = 10
"""A pair with fewer matches is not looked at as a misfit."""


class Bound(StrEnum):
    """Whether a rating is only bounded, since the bot took, or gave, all points that it played for."""

    NONE = ""
    ABOVE = "above"
    BELOW = "below"


@dataclass(frozen=True, slots=True)
class Standing:
    """One row of the standings.

    Attributes:
        entrant: Its position.
        name: Its text.
        rating: Elo as shown; with a `bound`, a finite stand-in that the ghost games give.
        low: Lower end of the 95 % bar against the pool mean; None where the results set no lower end.
        high: Upper end, likewise.
        se: Standard error in Elo; None where the rating is only bounded, or there is no match.
        rank_low: Best rank that the results leave open.
        rank_high: Worst rank that the results leave open.
        matches: Its matches.
        comparisons: Its comparisons with other entrants, two per match at two sides, twelve per match at three a table.
        share: Share of the points it played for, 0…1; None without a match.
        provisional: It has too few matches to be ranked.
        bound: Set where the rating is only a bound.
        group: Number of its group; groups never met and are not comparable.
    """

    entrant: int
    name: str
    rating: float
    low: float | None
    high: float | None
    se: float | None
    rank_low: int
    rank_high: int
    matches: int
    comparisons: int
    share: float | None
    provisional: bool
    bound: Bound
    group: int


@dataclass(frozen=True, slots=True)
class Cell:
    """What the first entrant scored against the second: share of points with its 95 % interval."""

    first: int
    second: int
    matches: int
    share: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out an even score."""
        return self.low > 0.5 or self.high < 0.5


@dataclass(frozen=True, slots=True)
class Misfit:
    """A pair that one rating per bot does not explain: the first scored `z` standard errors more than promised."""

    first: int
    second: int
    share: float
    promised: float
    z: float


@dataclass(frozen=True, slots=True)
class LackOfFit:
    """How well one number per bot describes the field.

    Attributes:
        chi2: Sum of the squared standardised differences of all pairs.
        freedom: Its degrees of freedom.
        p: Chance of so large a sum where the ratings tell all; None without freedom.
        pairs: The pairs that stand out even among so many, worst first: rock-paper-scissors.
    """

    chi2: float
    freedom: int
    p: float | None
    pairs: tuple[Misfit, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Sums per pair, first < second, over all its matches."""

    first: Ints
    second: Ints
    matches: Floats
    games: Floats
    points: Floats
    shares: Floats
    squares: Floats
    expected: Floats
    residual: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """The ladder of one mode with its names; made by `rate`.

    Attributes:
        names: One per entrant, by position.
        fit: The fitted ratings.
        groups: The sums it was fitted to.
        shift: What is added to a centred rating to show it.
        clear: (n, n) whether the row is clearly stronger than the column.
        rows: The standings: established bots by falling rating, then the provisional ones.
    """

    names: tuple[str, ...]
    fit: Fit
    groups: tuple[Group, ...]
    shift: float
    clear: NDArray[np.bool_]
    rows: tuple[Standing, ...]

    def superiority(self) -> list[list[float | None]]:
        """Return the chance that the row is stronger than the column; None where they are not comparable."""
        se, _ = self.fit.gap_bars()
        same = self.fit.component[:, None] == self.fit.component[None, :]
        one_way = 1 - 0.5 ** (self.fit.meetings + 1)  # all of so many matches won: Laplace's rule on a fair coin
        across = np.where(self.fit.points > 0, one_way, np.where(self.fit.points.T > 0, 1 - one_way, np.nan))
        chance = np.where(same, ndtr(self.fit.gaps() / np.maximum(se, 1e-9)), across)
        np.fill_diagonal(chance, np.nan)
        return [[None if value != value else value for value in row] for row in chance.round(DIGITS).tolist()]

    def cells(self) -> tuple[Cell, ...]:
        """Return the head-to-head cells of all pairs that met, the first entrant before the second."""
        p = _pairs(self.fit, self.groups)
        low, high = share_intervals(p.games / p.matches, p.matches, p.shares, p.squares)
        rounded = (column.round(6).tolist() for column in (p.shares / p.matches, low, high))
        counts = (column.astype(int).tolist() for column in (p.first, p.second, p.matches))
        return tuple(Cell(*values) for values in zip(*counts, *rounded, strict=True))

    def lack_of_fit(self) -> LackOfFit:
        """Check whether one rating per bot explains the score of every pair."""
        p = _pairs(self.fit, self.groups)
        enough = (p.matches >= MISFIT_MATCHES) & (self.fit.component[p.first] == self.fit.component[p.second])
        information = p.expected * (1 - p.expected / p.games) / p.matches
        z = (p.points - p.expected) / np.sqrt(p.residual + PRIOR_MATCHES * np.maximum(information, 1e-9))
        chi2 = float((z[enough] ** 2).sum())
        bots = np.unique(np.concatenate((p.first[enough], p.second[enough])))
        freedom = int(enough.sum()) - len(bots) + len(np.unique(self.fit.component[bots]))
        if freedom < 1:
            return LackOfFit(0.0, 0, None, ())
        far = ndtri(1 - TAIL / enough.sum())
        found = tuple(
            Misfit(
                int(p.first[k]),
                int(p.second[k]),
                share=_shown(p.points[k] / p.games[k]),
                promised=_shown(p.expected[k] / p.games[k]),
                z=_shown(z[k]),
            )
            for k in sorted(np.flatnonzero(enough & (np.abs(z) > far)).tolist(), key=lambda k: -abs(float(z[k])))
        )
        return LackOfFit(_shown(chi2), freedom, _shown(float(chdtrc(freedom, chi2))), found)

    def matches_to_settle(self, one: int, other: int) -> int | None:
        """Return about how many more matches against each other would tell two bots apart; None if over 10,000."""
        se, _ = self.fit.gap_bars()
        gap, now = abs(self.fit.gaps()[one, other]), se[one, other]
        p = _pairs(self.fit, self.groups)
        found = np.flatnonzero((p.first == min(one, other)) & (p.second == max(one, other)))
        chance = float(expit(gap / ELO_PER_LOGIT))
        if len(found):
            k = found[0]
            games, matches, residual = p.games[k] / p.matches[k], p.matches[k], p.residual[k]
        else:
            games, matches, residual = p.games.sum() / p.matches.sum(), 0.0, 0.0
        information = games * chance * (1 - chance)
        spread = (residual + PRIOR_MATCHES * information) / (matches + PRIOR_MATCHES)
        per_match = spread / information**2 * ELO_PER_LOGIT**2  # variance of the gap in Elo that one match alone leaves
        wanted = (gap / SETTLING_Z) ** 2
        missing = per_match * (1 / max(wanted, 1e-12) - 1 / now**2)
        return None if missing > MOST_MATCHES else max(1, round(missing))

    def verdict(self) -> str:
        """Say in words who leads, which two neighbours cannot be told apart, and what would settle it."""
        ranked = [row for row in self.rows if not row.provisional]
        if not any(row.matches for row in self.rows):
            return "No finished match yet."
        groups = len({row.group for row in self.rows if row.matches})
        tail = f"; {groups} groups never met and are not comparable" if groups > 1 else ""
        if not ranked:
            return f"All ratings are provisional: no bot has {PROVISIONAL_BELOW} matches yet{tail}."
        text = f"{ranked[0].name} leads"
        for above, below in pairwise(ranked):
            if not self.clear[above.entrant, below.entrant]:
                other = "it" if above is ranked[0] else above.name
                text += f"; {below.name} cannot be told apart from {other} yet"
                if self.fit.component[above.entrant] == self.fit.component[below.entrant]:
                    text += f"; {_about(self.matches_to_settle(above.entrant, below.entrant))} would settle it"
                break
        else:
            text += "; every place is settled" if len(ranked) > 1 else ""
        return text + tail + "."


def rate(
    names: Sequence[str], blocks: Iterable[Block], anchor: str | None = HOUSE_ANCHOR, prior: float = PRIOR
) -> Ladder:
    """Rate the entrants of one mode.

    Args:
        names: One text per entrant, by position.
        blocks: The sums over the recorded matches, in any order and in any chunks.
        anchor: The name that shows 1500 where it takes part; a text `name:version` fits its bare name as well. Else
            the mean is 1500.
        prior: Weight of the ghost per bot.

    Raises:
        ValueError: As `ratings.fit` says.
    """
    return rate_groups(names, group_blocks(blocks), anchor, prior)


def rate_groups(names: Sequence[str], groups: Sequence[Group], anchor: str | None, prior: float) -> Ladder:
    """Rate entrants whose blocks have been grouped already."""
    found = fit(len(names), groups, prior)
    centred = ELO_PER_LOGIT * found.strengths
    fixed = [i for i, name in enumerate(names) if found.matches[i] and anchor in (name, name.split(":")[0])]
    shift = CENTRE_ELO - (float(centred[fixed[-1]]) if fixed else 0.0)
    lows, highs = one_sided_bounds(found)
    se, quantile = found.bars()
    alone = np.bincount(found.component)[found.component] == 1
    # A strong prior pulls the stand-in rating of a bound past it: a bar always holds its own rating.
    low = np.where(alone, np.minimum(lows, centred), centred - quantile * se)
    high = np.where(alone, np.maximum(highs, centred), centred + quantile * se)
    clear = _clear(found, np.where(alone, centred, low), np.where(alone, centred, high))
    _, weak = connected_components(found.meetings > 0, directed=False)
    order = sorted(
        range(len(names)),
        key=lambda i: (found.matches[i] < PROVISIONAL_BELOW, -round(float(centred[i]), DIGITS), names[i]),
    )
    numbers: dict[int, int] = {}
    played = found.points + found.points.T
    rows = tuple(
        Standing(
            entrant=i,
            name=names[i],
            rating=_shown(centred[i] + shift),
            low=_end(low[i] + shift),
            high=_end(high[i] + shift),
            se=None if alone[i] else _shown(se[i]),
            rank_low=1 + int(clear[:, i].sum()),
            rank_high=len(names) - int(clear[i].sum()),
            matches=int(found.matches[i]),
            comparisons=int(played[i].sum()),
            share=_shown(found.points[i].sum() / played[i].sum()) if played[i].any() else None,
            provisional=bool(found.matches[i] < PROVISIONAL_BELOW),
            bound=_bound(isfinite(low[i]), isfinite(high[i])),
            group=numbers.setdefault(int(weak[i]), len(numbers)),
        )
        for i in order
    )
    return Ladder(tuple(names), found, tuple(groups), shift, clear, rows)


def _bound(low: bool, high: bool) -> Bound:
    return Bound.NONE if low == high else Bound.ABOVE if low else Bound.BELOW


def _clear(found: Fit, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Tell which bots are clearly stronger: by the bar of the difference, or across one-way meetings by the bounds."""
    se, quantile = found.gap_bars()
    same = found.component[:, None] == found.component[None, :]
    lows, highs = one_sided_bounds(found)
    one_way = (lows[:, None] > high[None, :]) | (low[:, None] > highs[None, :])
    return np.where(same, found.gaps() > quantile * se, one_way & (found.points > 0))


def history(
    names: Sequence[str], buckets: Sequence[Iterable[Block]], anchor: str | None = HOUSE_ANCHOR
) -> tuple[tuple[Standing, ...], ...]:
    """Return the standings at checkpoints: each bucket holds the sums of the matches recorded since the one before."""
    seen: tuple[Group, ...] = ()
    rows = []
    for bucket in buckets:
        seen = merge_groups((*seen, *group_blocks(bucket)))
        rows.append(rate_groups(names, seen, anchor, PRIOR).rows)
    return tuple(rows)


def _pairs(found: Fit, groups: Sequence[Group]) -> _Pairs:
    """Sum the groups up per pair."""
    count = len(found.strengths)
    columns = [[np.zeros(0)] for _ in range(7)]
    keys = [np.zeros(0, dtype=np.int64)]
    for group in groups:
        rows, cols = np.triu_indices(group.games.shape[1])
        products = group.products[:, rows == cols] / 4
        for k in range(group.games.shape[1]):
            games, played = group.games[:, k], group.games[:, k] > 0
            i, j = group.firsts[:, k][played], group.seconds[:, k][played]
            games, matches = games[played], group.matches[played]
            sums, squares = group.sums[played, k] / 2, products[played, k]
            mean = games * expit(found.strengths[i] - found.strengths[j])
            residual = np.maximum(squares - 2 * mean * sums + matches * mean**2, 0)
            keys.append(i * count + j)
            values = (matches, games * matches, sums, sums / games, squares / games**2, mean * matches, residual)
            for column, value in zip(columns, values, strict=True):
                column.append(value.astype(float))
    unique, place = np.unique(np.concatenate(keys), return_inverse=True)
    totals = [np.bincount(place, np.concatenate(column), len(unique)).astype(float) for column in columns]
    return _Pairs(unique // count, unique % count, *totals)


def _about(matches: int | None) -> str:
    if matches is None:
        return f"more than {MOST_MATCHES:,} more matches"
    if matches == 1:
        return "about one more match"
    digits = len(str(matches))
    return f"about {round(matches, min(0, 2 - digits)) if digits > 2 else matches:,} more matches"


def _shown(value: float) -> float:
    return round(float(value), DIGITS) + 0.0


def _end(value: float) -> float | None:
    return _shown(value) if isfinite(value) else None
