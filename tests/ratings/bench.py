"""Simulate what the ratings promise and time them; writes docs/ratings-simulation.md.

    OPENBLAS_NUM_THREADS=1 python -m tests.ratings.bench [--quick] [--only speed|gain|compare|coverage]

Luck of the seat + strength + a bot's own noise decide a game, so the games of a match cancel the luck as real ones do.
The noise sets how many matches are split.
"""

import argparse
import platform
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Final

import choix
import numpy as np
import scipy
from scipy.optimize import brentq
from scipy.stats import norm

from bots.simple_bot import Bot
from tournament.bot import Card, View
from tournament.comparison import ASSUMED_VARIANCE, CAP_FACTOR, expected_matches
from tournament.play import play_game
from tournament.ratings import (
    ELO_PER_LOGIT,
    Floats,
    Group,
    Ints,
    fit,
    group_blocks,
    group_rows,
    maximise,
    share_intervals,
)
from tournament.results import Block, pair_scores
from tournament.rules import Rules
from tournament.seeds import seatings
from tournament.sprt import (
    Hypotheses,
    exact_llr,
    expected_score,
    within_reach,
)

DOCUMENT = Path(__file__).parents[2] / "docs" / "ratings-simulation.md"
SPLITS = (0.69, 0.88, 0.96)
FIELDS = {2: 4000, 4: 1500, 8: 800, 30: 100}  # entrants and repetitions: large fields hold many pairs
MATCHES = (10, 25, 100)
DUEL_SPLITS = (0.2, 0.3, 0.4, 0.5)  # twelve comparisons seldom come out even: similar bots split 40 to 45 %
WIDEST = 0.35  # the strongest takes 0.5 + 0.35·(1 − split) of the points from the weakest
SEED = 20_240_601


@dataclass(frozen=True)
class Mode:
    """Who sits where: one row per game of a match, the side's entrant at each place of it."""

    name: str
    seatings: tuple[tuple[int, ...], ...]
    tails: bool = False  # long-tailed luck

    @property
    def sides(self) -> int:
        return len(self.seatings[0])

    def scores(self, rng: np.random.Generator, strengths: Floats, noise: float) -> Ints:
        """Play one match per row of strengths; return half points per pair of entrants."""
        rows, bots = strengths.shape
        luck = rng.standard_t(4, (rows, self.sides)) if self.tails else rng.standard_normal((rows, self.sides))
        pairs = list(combinations(range(bots), 2))
        points = np.zeros((rows, len(pairs)), dtype=np.int64)
        for seating in self.seatings:
            shown = luck + strengths[:, seating] + noise * rng.standard_normal((rows, self.sides))
            for s, t in combinations(range(self.sides), 2):
                a, b = seating[s], seating[t]
                if a != b:
                    ahead = (shown[:, s] > shown[:, t]) == (a < b)
                    points[:, pairs.index((min(a, b), max(a, b)))] += 2 * ahead
        return points


TWO = Mode("two", ((0, 1), (1, 0)))
PARTNERS = Mode("partners", ((0, 1), (1, 0)), tails=True)
THREE = Mode("three", tuple(permutations(range(3))))
DUEL = Mode("three", ((0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1), (1, 1, 0)))


def comparisons(mode: Mode) -> int:
    """Return how often one pair is compared in a match."""
    return {TWO: 2, PARTNERS: 2, THREE: 6, DUEL: 12}[mode]


@cache
def noise_for(mode: Mode, split: float) -> float:
    """Find the noise at which equal bots split so many matches."""
    zeros = np.zeros((40_000, 3 if mode is THREE else 2))

    def excess(log_noise: float) -> float:
        points = mode.scores(np.random.default_rng(1), zeros, float(np.exp(log_noise)))
        return float((points == comparisons(mode)).mean()) - split

    return float(np.exp(brentq(excess, -9, 2.5, xtol=1e-4)))


@cache
def gap_for(mode: Mode, noise: float, score: float) -> float:
    """Find the gap in strength at which the stronger of two takes so much of the points."""
    if score == 0.5:
        return 0.0
    rows = 200_000

    def excess(gap: float) -> float:
        strengths = np.tile([gap, 0.0], (rows, 1))
        return float(mode.scores(np.random.default_rng(2), strengths, noise).mean()) / comparisons(mode) / 2 - score

    return float(brentq(excess, -0.2, 3, xtol=1e-5))


def design(rng: np.random.Generator, mode: Mode, bots: int, matches: int, newcomer: int = 0) -> Ints:
    """Return the entrants of every match; the last bot has `newcomer` matches if given."""
    size = 3 if mode is THREE else 2
    settled = bots - 1 if newcomer else bots
    sets = np.array(list(combinations(range(settled), size)))
    total = round(matches * settled * (settled - 1) / size / (size - 1))
    found = np.concatenate((np.repeat(sets, total // len(sets), axis=0), rng.permutation(sets)[: total % len(sets)]))
    if newcomer:
        new = sets if size == 2 else np.array(list(combinations(range(settled), 2)))
        others = rng.permutation(np.arange(settled)[:, None] if size == 2 else new)
        others = np.tile(others, (newcomer // len(others) + 1, 1))[:newcomer]
        found = np.concatenate((found, np.column_stack((others, np.full(newcomer, bots - 1)))))
    return found


def groups_of(entrants: Ints, scores: Ints, games: int) -> list[Group]:
    """Sum matches up as the grouped query does."""
    pairs = scores.shape[1]
    upper = np.triu_indices(pairs)
    products = scores[:, upper[0]] * scores[:, upper[1]]
    rows = np.column_stack(
        (entrants, np.full((len(entrants), pairs), games), np.ones(len(entrants), int), scores, products)
    )
    return [group_rows(rows, entrants.shape[1])]


def coverage(mode: Mode, bots: int, matches: int, split: float, repeats: int, newcomer: int = 0) -> tuple[float, ...]:
    """Play a field again and again: shares of differences, bars and cells that hold the truth, and of split matches."""
    rng = np.random.default_rng([SEED, bots, matches, round(100 * split), newcomer, mode.sides])
    playing = DUEL if mode is THREE and bots == 2 else mode
    noise = noise_for(playing, split)
    strengths = np.linspace(1, 0, bots) * gap_for(DUEL if mode is THREE else mode, noise, 0.5 + WIDEST * (1 - split))
    if newcomer:
        strengths[-1] = strengths[: bots - 1].mean() + strengths[0] / 4
    chance = pair_chances(np.random.default_rng(SEED), mode, strengths, noise)
    upper = np.triu_indices(bots, 1)
    shares = []
    for _ in range(repeats):
        entrants = design(rng, playing, bots, matches, newcomer)
        scores = playing.scores(rng, strengths[entrants], noise)
        ladder = fit(bots, groups_of(entrants, scores, comparisons(playing)))
        truth = ELO_PER_LOGIT * maximise(chance * (ladder.points + ladder.points.T), 0.0)[0]
        se, quantile = ladder.gap_bars()
        gaps = np.abs(ladder.gaps() - truth[:, None] + truth[None, :]) <= se * quantile
        se, quantile = ladder.bars()
        bars = np.abs(ELO_PER_LOGIT * ladder.strengths - truth) <= se * quantile
        cells, met = cells_held(entrants, scores, comparisons(playing), chance)
        if newcomer:
            gaps, bars, cells = gaps[-1, :-1], bars[-1:], cells[met[:, 1] == bots - 1]
        else:
            gaps = gaps[upper]
        shares.append((gaps.mean(), bars.mean(), cells.mean(), (scores == comparisons(playing)).mean()))
    return tuple(np.mean(shares, axis=0).tolist())


def cells_held(entrants: Ints, scores: Ints, games: int, chance: Floats) -> tuple[Floats, Ints]:
    """Return whether each pair's head-to-head interval holds its true share, and the pairs."""
    bots = len(chance)
    pairs = list(combinations(range(entrants.shape[1]), 2))
    first, second = (entrants[:, [pair[k] for pair in pairs]].ravel() for k in (0, 1))
    key, share = first * bots + second, scores.ravel() / 2 / games
    met, count = np.unique(key, return_counts=True)
    total, squares = (np.bincount(key, value)[met] for value in (share, share**2))
    low, high = share_intervals(np.full(len(met), float(games)), count.astype(float), total, squares)
    held = (low - 1e-12 <= chance.ravel()[met]) & (chance.ravel()[met] <= high + 1e-12)
    return held.astype(float), np.column_stack((met // bots, met % bots))


def pair_chances(rng: np.random.Generator, mode: Mode, strengths: Floats, noise: float) -> Floats:
    """Return the true share of points of every pair."""
    bots = len(strengths)
    gap = strengths[:, None] - strengths[None, :]
    if not mode.tails:
        return norm.cdf(gap / np.sqrt(2 + 2 * noise**2))
    steps = np.linspace(0, gap.max(), 30)
    luck = np.diff(rng.standard_t(4, (200_000, 2)))[:, 0] if bots else np.zeros(0)
    seen = [
        (norm.cdf((luck + d) / noise / np.sqrt(2)) + norm.cdf((d - luck) / noise / np.sqrt(2))).mean() / 2
        for d in steps
    ]
    half = np.interp(np.abs(gap), steps, seen)
    return np.where(gap >= 0, half, 1 - half)


def coverage_tables(quick: bool) -> list[str]:
    """Return the tables of coverage, with the lowest and the highest entry that are held to a bound."""
    heads = " | ".join(f"{100 * split:.0f} % split" for split in SPLITS)
    lines = [
        "## Coverage of the 95 % intervals",
        "",
        "Each entry: differences of two bots / the ladder's bars / head-to-head cells, in percent. Asked: at least 93;",
        "at most 97 where a pair is expected to have 25 or more matches that are not split (marked *).",
        "",
        f"| mode | entrants | matches a pair | {heads} |",
        "|---|---|---|" + "---|" * len(SPLITS),
    ]
    low, high = 1.0, 0.0
    for mode in (TWO, THREE, PARTNERS):
        for (bots, repeats), matches in product(FIELDS.items(), MATCHES):
            texts = []
            for split in SPLITS:
                *found, seen = coverage(mode, bots, matches, split, repeats // (10 if quick else 1))
                marked = (1 - seen) * matches >= 25
                low, high = min(low, *found), max(high, *found) if marked else high
                texts.append(entry(found) + "*" * marked)
            lines.append(f"| {mode.name} | {bots} | {matches} | {' | '.join(texts)} |")
            print(lines[-1], flush=True)
    lines += [
        "",
        f"Lowest {100 * low:.1f}, highest marked {100 * high:.1f}.",
        "",
        "## A newcomer in a settled field of eight that has 100 matches a pair",
        "",
        "The newcomer's differences to all others / its bar / its cells.",
        "",
        f"| mode | its matches | {heads} |",
        "|---|---|" + "---|" * len(SPLITS),
    ]
    for mode, newcomer in product((TWO, THREE, PARTNERS), (10, 25)):
        texts = [entry(coverage(mode, 9, 100, split, 100 if quick else 1000, newcomer)[:3]) for split in SPLITS]
        lines.append(f"| {mode.name} | {newcomer} | {' | '.join(texts)} |")
        print(lines[-1], flush=True)
    return [*lines, ""]


def entry(found: Sequence[float]) -> str:
    """Return one entry of a table of coverage."""
    return " / ".join(f"{100 * share:.1f}" for share in found)


def compare_table(quick: bool) -> list[str]:
    """Return error rates and lengths of `tournament compare`."""
    lines = [
        "## Error rates and length of `tournament compare`",
        "",
        "0 against 20 Elo (the default) or 10, 5 %/5 %, given up at four times the length that unlike bots are",
        "expected to take. Asked: each error at most 6.5 %, length at most 60 % of the test of a fixed number of",
        "matches with the same error rates.",
        "",
        "| mode | split | Elo | false better | false not better | undecided | matches under H0, H1 | fixed | share |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    kinds = [(TWO, "two", "cutthroat/2", split, 20.0) for split in SPLITS]
    kinds += [(DUEL, "three, duel", "cutthroat/3", split, 20.0) for split in DUEL_SPLITS]
    kinds += [(DUEL, "three, duel", "cutthroat/3", 0.4, 10.0)]
    kinds += [(PARTNERS, "partners", "wisconsin/4", split, 20.0) for split in SPLITS]
    for mode, name, key, split, elo1 in kinds:
        test, noise = Hypotheses(elo1=elo1), noise_for(mode, split)
        cap = CAP_FACTOR * expected_matches(test, ASSUMED_VARIANCE[key][1])
        wrong, lengths, open_ends, variances = [], [], [], []
        for elo, bad in ((test.elo0, 1), (test.elo1, -1)):
            rng = np.random.default_rng([SEED, round(split * 100), mode.sides, int(elo)])
            gap = gap_for(mode, noise, expected_score(elo))
            sample = mode.scores(rng, np.tile([gap, 0.0], (20_000, 1)), noise)[:, 0] / 2 / comparisons(mode)
            play = scores_of(rng, mode, gap, noise)
            decided, taken = sprt_runs(play, 2 * comparisons(mode), cap, 300 if quick else 3000, test)
            wrong.append(f"{100 * (decided == bad).mean():.1f} %")
            open_ends.append((decided == 0).mean())
            lengths.append(taken.mean())
            variances.append(sample.var())
        fixed = (2 * norm.ppf(0.95) / (expected_score(elo1) - 0.5)) ** 2 * max(variances)
        lines.append(
            f"| {name} | {100 * split:.0f} % | {elo1:.0f} | {' | '.join(wrong)} | {100 * max(open_ends):.1f} % "
            f"| {lengths[0]:.0f}, {lengths[1]:.0f} | {fixed:.0f} | {100 * max(lengths) / fixed:.0f} % |"
        )
        print(lines[-1], flush=True)
    return [*lines, ""]


def scores_of(rng: np.random.Generator, mode: Mode, gap: float, noise: float) -> Callable[[int], Ints]:
    """Return what plays so many matches of two bots and gives the half points of the first."""
    return lambda matches: mode.scores(rng, np.tile([gap, 0.0], (matches, 1)), noise)[:, 0]


def sprt_runs(play: Callable[[int], Ints], top: int, cap: int, runs: int, test: Hypotheses) -> tuple[Ints, Ints]:
    """Run many tests side by side on scores from 0 to `top`; return 1, −1 or 0 for each and the matches it took."""
    values, scores = np.arange(top + 1) / top, (expected_score(test.elo0), expected_score(test.elo1))
    counts = np.zeros((runs, top + 1))
    decided, taken, active = np.zeros(runs, dtype=np.int64), np.full(runs, cap), np.arange(runs)
    for number in range(1, cap + 1):
        counts[active, play(len(active))] += 1
        possible = within_reach(values, counts[active], *scores)
        llr = exact_llr(values, counts[active], *scores, possible=possible)
        verdict = (llr >= test.upper).astype(np.int64) - (llr <= test.lower)
        over = verdict != 0
        decided[active[over]], taken[active[over]] = verdict[over], number
        active = active[~over]
        if not len(active):
            break
    return decided, taken


def gain_table(quick: bool) -> list[str]:
    """Play a house bot against a copy that plays one card in ten at random: what matches save over fresh deals."""
    lines = [
        "## What matches save, on the real engine",
        "",
        "The house bot `simple` against a copy that plays one card in ten at random. Games on fresh deals over games",
        "in matches for the same bar; asked: at least 3.5 (two), 3.0 (three), 2.5 (partners).",
        "",
        "| mode | matches | score | split | variance of a match score | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for rules, count in (
        (Rules.make("cutthroat", players=2), 1000),
        (Rules.make("cutthroat", players=3), 500),
        (Rules.make("wisconsin"), 1000),
    ):
        bots, names, scores = (Bot, weakened(random.Random(SEED))), ("a:1", "b:1"), []
        for number in range(count // (10 if quick else 1)):
            for seats in seatings(rules, 2):
                seated, named = [bots[i] for i in seats], [names[i] for i in seats]
                played = play_game(seated, rules, f"match {number}", names=named, own_random=False)
                scores.append(pair_scores(rules, seats, played.outcome.places)[0, 1])
        games = np.array(scores).reshape(-1, len(seatings(rules, 2))) / (4 if rules.side_count == 3 else 2)
        matches = games.mean(axis=1)
        variance = matches.var(ddof=1)
        lines.append(
            f"| {rules.mode} | {len(matches)} | {100 * matches.mean():.1f} % | {100 * (matches == 0.5).mean():.0f} % "
            f"| {variance:.4f} | {games.var() / games.shape[1] / variance:.1f} |"
        )
        print(lines[-1], flush=True)
    return [*lines, ""]


def weakened(rng: random.Random) -> type[Bot]:
    """Make a copy of the house bot that now and then plays at random."""

    class Weakened(Bot):
        def play(self, view: View) -> Card:
            return rng.choice(view.legal) if rng.random() < 0.1 else super().play(view)

    return Weakened


def speed_table(quick: bool) -> list[str]:
    """Time the fit with bars beside choix and a cluster bootstrap."""
    lines = [
        "## Speed",
        "",
        "Processor time on one thread, from blocks to ratings, bars and the bars of all differences; choix fits only",
        "(`ilsr_pairwise_dense`); the bootstrap refits 200 times from Poisson weights per match (timed on 10).",
        "",
        "| bots | results | fit with bars | choix, fit only | cluster bootstrap |",
        "|---|---|---|---|---|",
    ]
    rng = np.random.default_rng(SEED)
    for bots, matches in ((100, 100), (1000, 1)):
        first, second = np.triu_indices(bots, 1)
        chance = 1 / (1 + np.exp(np.diff(rng.normal(0, 0.5, bots)[np.stack((first, second))], axis=0)[0]))
        scores = 2 * rng.binomial(2, chance[:, None], (len(first), matches))
        blocks = [
            Block((i, j), (2,), matches, (int(s.sum()),), (int(s @ s),))
            for i, j, s in zip(first.tolist(), second.tolist(), scores, strict=True)
        ]
        ours = []
        for _ in range(1 if quick else 5):
            began = time.process_time()
            ladder = fit(bots, group_blocks(blocks))
            ladder.bars()
            ladder.gap_bars()
            ours.append(time.process_time() - began)
        began = time.process_time()
        choix.ilsr_pairwise_dense(ladder.points, alpha=1e-3)
        peer = time.process_time() - began
        began = time.process_time()
        for _ in range(10):
            weights = rng.poisson(1.0, scores.shape)
            drawn = np.zeros((bots, bots))
            drawn[first, second] = (weights * scores).sum(axis=1) / 2
            drawn[second, first] = 2 * weights.sum(axis=1) - drawn[first, second]
            maximise(drawn, 1.0)
        bootstrap = 20 * (time.process_time() - began)
        results = 2 * matches * len(first)
        lines.append(f"| {bots:,} | {results:,} | {min(ours):.3f} s | {peer:.2f} s | {bootstrap:.1f} s |")
        print(lines[-1], flush=True)
    return [*lines, ""]


TABLES: Final[dict[str, Callable[[bool], list[str]]]] = {
    "speed": speed_table,
    "gain": gain_table,
    "compare": compare_table,
    "coverage": coverage_tables,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the tables and write them into the document, each in the place of the one before."""
    parser = argparse.ArgumentParser(description="simulate the ratings and write docs/ratings-simulation.md")
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions, prints only")
    parser.add_argument("--only", choices=TABLES, help="run one table, and leave the others in the document")
    given = parser.parse_args(arguments)
    intro = [
        "# Ratings: what the simulation shows",
        "",
        "Written by `python -m tests.ratings.bench`; the rules are explained in `ratings.md`.",
        "",
    ]
    sections = dict(re.findall(r"^(## .+?)\n(.*?)(?=^## |\Z)", DOCUMENT.read_text("utf-8"), re.DOTALL | re.MULTILINE))
    for name in [given.only] if given.only else TABLES:
        began = time.perf_counter()
        text = "\n".join(TABLES[name](given.quick))
        said = (
            f"Run on {time.strftime('%Y-%m-%d')} in {(time.perf_counter() - began) / 60:.0f} minutes, Python "
            f"{platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, {platform.machine()}.\n\n"
        )
        found = re.findall(r"^(## .+?)\n(.*?)(?=^## |\Z)", text + "\n" + said, re.DOTALL | re.MULTILINE)
        sections.update(found)
    if not given.quick:
        body = "".join(f"{title}\n{text}" for title, text in sections.items())
        DOCUMENT.write_text("\n".join(intro) + "\n" + body.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
