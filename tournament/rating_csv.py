"""Anybody's results as a CSV text, rated: the pure part of `tournament rate`."""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from operator import itemgetter
from typing import Any, Final

import numpy as np

from tournament.ratings import PRIOR, Group, group_blocks
from tournament.results import Block
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
    names = sorted({name.strip() for row in seen for name in row[:2]})
    index = {name: place for place, name in enumerate(names)}
    matches: dict[str, dict[tuple[int, int], tuple[int, int]]] = {}
    blocks = []
    for row, times in seen.items():
        first, second = index[row[0].strip()], index[row[1].strip()]
        half, games = _half_points(row[2]), times * (_count(row[3]) if "count" in header else 1)
        if not (names[first] and names[second]) or first == second or half < 0 or not games:
            again = enumerate(csv.reader(lines, skipinitialspace=True), 1)
            line = next(i for i, cells in again if i > 1 and len(cells) == len(header) and wanted(cells) == row)
            raise ValueError(
                f"row {line}: expected two bots, a score of 0, 0.5 or 1 for a and a count from 1 to {MOST_COUNT:,}, "
                f"not {','.join(row)[:80]!r}"
            )
        if first > second:
            first, second, half = second, first, 2 - half
        if "match" in header and row[-1]:
            pairs = matches.setdefault(row[-1], {})
            before, points = pairs.get((first, second), (0, 0))
            pairs[first, second] = before + games, points + half * games
        else:
            blocks.append(Block((first, second), (1,), games, (half * games,), (half**2 * games,)))
    blocks.extend(map(_block, matches.values()))
    return tuple(names), group_blocks(blocks)


def _block(pairs: dict[tuple[int, int], tuple[int, int]]) -> Block:
    """Returns the sums of one match from the games of each of its pairs and the half points of the first."""
    entrants = sorted({entrant for pair in pairs for entrant in pair})
    if len(entrants) > MOST_IN_A_MATCH:
        raise ValueError(f"a match joins {len(entrants)} bots, more than {MOST_IN_A_MATCH}")
    games, points = zip(*(pairs.get(pair, (0, 0)) for pair in combinations(entrants, 2)), strict=True)
    if max(games) > MOST_GAMES:
        raise ValueError(f"a match has {max(games):,} games of one pair, more than {MOST_GAMES:,}")
    return Block.of_match(entrants, games, points)


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
