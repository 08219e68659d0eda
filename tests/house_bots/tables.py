"""The table of the house bots' order, from exports: ``python -m tests.house_bots.tables EXPORT…``.

Every pair's share with a 95 % interval over whole matches, as the block in which the same cards were played in all
seatings. One match won and one lost are added to each pair, so that a share of all matches has an interval too.
"""

import csv
import json
import sys
from itertools import combinations
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

from bots import NAMES


def pair_shares(export: Path) -> dict[tuple[str, str], list[float]]:
    """Returns for each pair, the stronger by name first, what it took of each match; in exports' order."""
    shares: dict[tuple[str, str], list[float]] = {}
    with (export / "matches.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for one, other in combinations([letter for letter in "abc" if row.get(f"bot_{letter}")], 2):
                share = float(row[f"score_{one}{other}"]) / int(row["games"])
                names = [row[f"bot_{letter}"].partition(":")[0] for letter in (one, other)]
                if NAMES.index(names[0]) < NAMES.index(names[1]):
                    names, share = names[::-1], 1 - share
                shares.setdefault((names[0], names[1]), []).append(share)
    return shares


def interval(shares: list[float]) -> tuple[float, float, float]:
    """Returns the mean share of a pair's matches, and its 95 % interval."""
    guarded = [*shares, 0.0, 1.0]
    middle, half = fmean(guarded), 1.96 * stdev(guarded) / sqrt(len(guarded))
    return fmean(shares), middle - half, min(1.0, middle + half)


def lines(exports: list[Path]) -> list[str]:
    """Returns the table, a row for each export, a column for each pair."""
    pairs = list(combinations(NAMES[::-1], 2))
    found = [
        "| mode | rounds | " + " | ".join(f"{one} – {other}" for one, other in pairs) + " |",
        "| --- " * (len(pairs) + 2) + "|",
    ]
    for export in exports:
        about = json.loads((export / "tournament.json").read_text("utf-8"))
        rules, shares = about["rules"], pair_shares(export)
        mode = f"{rules['game']}, {rules['players']} seats"
        if rules["game"] == "wisconsin":
            mode = f"wisconsin, {rules['bidder_takes']} taken"
        cells = ["{:.1%} ({:.0%}–{:.0%})".format(*interval(shares[pair])) for pair in pairs]
        found.append(f"| {mode} | {about['rounds']} | " + " | ".join(cells) + " |")
    return found


if __name__ == "__main__":
    print("\n".join(lines([Path(argument) for argument in sys.argv[1:]])))
