"""Anybody's results as a CSV text, rated: the pure part of `tournament rate`."""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from operator import itemgetter
from typing import Any, Final

import numpy as np

from tournament.ratings import PRIOR, Group, Ints, group_rows
from tournament.standings import PROVISIONAL_BELOW, Ladder, rate_groups

MOST_IN_A_MATCH: Final = 12
"""Bots that one match may join; the products of their pair scores grow with the fourth power of it."""

MOST_GAMES: Final = 10**6
"""Games of a pair in one match; keeps the sums of squares in 64 bits."""
MOST_COUNT: Final = 10**9
"""The same for the count of one line."""


def rate_csv(lines: Sequence[str], prior: float, anchor: str | None) -> tuple[list[dict[str, Any]], list[str]]:
    """Rate the results in the lines of a CSV file.

    Args:
        lines: With their line ends, as a quoted name may hold one: a header with the columns a, b, score (of a: 0, 0.5
            or 1) and optionally count and match, then the results. Rows with the same text in `match` are one match
            whose games share their cards; without it every game stands alone.
        prior: Weight of the ghost per bot.
        anchor: The bot that shows 1500, if it takes part.

    Returns:
        The bots by falling rating, each with bot, rating, low and high (the 95 % bar), se (all Elo) and games, None
        where the results set no such number; and remarks for the reader.

    Raises:
        ValueError: A line makes no sense; the message names it.
    """
    names, groups = read_results(lines)
    remarks = []
    try:
        ladder = rate_groups(names, groups, anchor, prior)
    except ValueError:
        if prior != 0 or not names:
            raise
        ladder = rate_groups(names, groups, anchor, PRIOR)
        remarks.append(f"No finite ratings follow from the results alone ({_unjoined(ladder)}): rated with --prior 1.")
    remarks.extend(_remarks(ladder))
    ordered = sorted(ladder.rows, key=lambda row: (-row.rating, row.name))
    columns = ("bot", "rating", "low", "high", "se", "games")
    rows = [(row.name, row.rating, row.low, row.high, row.se, row.comparisons) for row in ordered]
    return [dict(zip(columns, row, strict=True)) for row in rows], remarks


def _unjoined(ladder: Ladder) -> str:
    """Say why results do not join all bots by points taken in both directions."""
    groups = len({row.group for row in ladder.rows})
    reasons = ["groups that never met"] if groups > 1 else []
    if len(np.unique(ladder.fit.component)) > groups:
        reasons.append("a side that took every point from another")
    return " and ".join(reasons)


def _remarks(ladder: Ladder) -> list[str]:
    found = []
    groups = {row.group for row in ladder.rows}
    if len(groups) > 1:
        texts = (" ".join(sorted(r.name for r in ladder.rows if r.group == group)) for group in sorted(groups))
        found.append("Never met, not comparable: " + " | ".join(texts))
    if thin := sorted(row.name for row in ladder.rows if row.provisional):
        found.append(f"Provisional, under {PROVISIONAL_BELOW} matches: {' '.join(thin)}")
    return found


def read_results(lines: Sequence[str]) -> tuple[tuple[str, ...], tuple[Group, ...]]:
    """Read results into names in sorted order and the sums over their matches.

    Raises:
        ValueError: A line makes no sense; the message names it.
    """
    reader = csv.reader(lines, skipinitialspace=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        if not {"a", "b", "score"} <= set(header) or len(set(header)) < len(header):
            raise ValueError(
                "line 1: expected the columns a,b,score and maybe count,match, each once and with commas between them; "
                f"not {','.join(header)[:60]!r}"
            )
        columns = [name for name in ("a", "b", "score", "count", "match") if name in header]
        wanted = itemgetter(*map(header.index, columns))
        seen = Counter(map(wanted, _rows(reader, len(header))))
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: cannot be read as CSV: {error}") from None
    if not seen:
        raise ValueError("expected at least one result after the header")
    first, second, scores, *rest = zip(*seen, strict=True)
    counts = rest[0] if "count" in header else ("1",) * len(seen)
    names = sorted({name.strip() for name in {*first, *second}})
    index = {name: i for i, name in enumerate(names)}
    place = {name: index[name.strip()] for name in {*first, *second}}
    read_score, read_count = (
        {text: _half_points(text) for text in set(scores)},
        {text: _count(text) for text in set(counts)},
    )
    table = np.array(
        [
            [place[name] for name in first],
            [place[name] for name in second],
            [read_score[text] for text in scores],
            [read_count[text] for text in counts],
        ],
        dtype=np.int64,
    )
    nameless = (table[:2] == index.get("", -1)).any(axis=0)
    miscounted = table[3] < 1
    wrong = np.flatnonzero(nameless | (table[0] == table[1]) | (table[2] < 0) | miscounted)
    if len(wrong):
        bad = list(seen)[wrong[0]]
        rows = enumerate(csv.reader(lines, skipinitialspace=True), 1)
        line = next(i for i, row in rows if i > 1 and len(row) == len(header) and wanted(row) == bad)
        raise ValueError(
            f"row {line}: expected two bots, a score of 0, 0.5 or 1 for a and a count from 1 to {MOST_COUNT:,}, "
            f"not {','.join(bad)[:80]!r}"
        )
    i, j, half, n = table
    n *= np.fromiter(seen.values(), np.int64, len(seen))
    half, i, j = np.where(i < j, half, 2 - half), np.minimum(i, j), np.maximum(i, j)
    if "match" not in header:
        return tuple(names), (group_rows(np.column_stack((i, j, n**0, n, half * n, half**2 * n)), 2),)
    return tuple(names), _matches(rest[-1], i, j, half, n)


def _matches(texts: Sequence[str], i: Ints, j: Ints, half: Ints, n: Ints) -> tuple[Group, ...]:
    """Make one block per match; a result without one is a match of its own."""
    number: dict[str, int] = {}
    match = np.array([number.setdefault(text, len(number)) for text in texts])
    alone = match == number.get("", -1)
    rows = {2: [np.column_stack((i, j, n**0, n, half * n, half**2 * n))[alone]]}
    i, j, match, half, n = (column[~alone] for column in (i, j, match, half, n))
    order = np.lexsort((j, i, match))
    keys = np.column_stack((match, i, j))[order]
    starts = np.flatnonzero(np.any(np.diff(keys, axis=0, prepend=-1), axis=1))
    if len(starts):
        games, points = (np.add.reduceat(column[order], starts) for column in (n, half * n))
        match, i, j = keys[starts].T
        if games.max() > MOST_GAMES:
            raise ValueError(f"a match has {games.max():,} games of one pair, more than {MOST_GAMES:,}")
        first = np.flatnonzero(np.diff(match, prepend=-1))
        last = np.append(first[1:], len(match))
        single = first[last - first == 1]
        i1, j1, games1, points1 = (column[single] for column in (i, j, games, points))
        rows[2].append(np.column_stack((i1, j1, games1, games1**0, points1, points1**2)))
        for start, end in zip(first, last, strict=True):
            if end - start > 1:
                pairs = zip(i[start:end].tolist(), j[start:end].tolist(), strict=True)
                found = dict(
                    zip(pairs, zip(games[start:end].tolist(), points[start:end].tolist(), strict=True), strict=True)
                )
                row = _block(found)
                rows.setdefault(row[0], []).append(np.array([row[1:]], dtype=np.int64))
    return tuple(group_rows(np.concatenate(rows[size]), size) for size in sorted(rows) if sum(map(len, rows[size])))


def _block(pairs: dict[tuple[int, int], tuple[int, int]]) -> tuple[int, ...]:
    """Return the number of entrants of a match of several pairs and the row of its block."""
    entrants = sorted({i for pair in pairs for i in pair})
    if len(entrants) > MOST_IN_A_MATCH:
        raise ValueError(f"a match joins {len(entrants)} bots, more than {MOST_IN_A_MATCH}")
    found = [pairs.get(pair, (0, 0)) for pair in combinations(entrants, 2)]
    sums = [points for _, points in found]
    products = (x * y for k, x in enumerate(sums) for y in sums[k:])
    return (len(entrants), *entrants, *(games for games, _ in found), 1, *sums, *products)


def _half_points(text: str) -> int:
    try:
        value = float(text) * 2
    except ValueError:
        return -1
    return int(value) if value in (0, 1, 2) else -1


def _count(text: str) -> int:
    value = int(text) if text.strip().isdecimal() and len(text) < 20 else 0
    return value if value <= MOST_COUNT else 0


def _rows(reader: Any, width: int) -> Iterator[list[str]]:
    """Yield the rows that are not blank; a value too many may be half of a score such as 0,5."""
    for row in reader:
        if len(row) != width:
            if not any(map(str.strip, row)):
                continue
            raise ValueError(f"line {reader.line_num}: expected {width} values, as the header has, not {len(row)}")
        yield row
