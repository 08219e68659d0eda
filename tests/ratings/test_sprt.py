"""The sequential test: its root, its order, its error rates."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from tests.ratings import bench
from tournament.comparison import Comparison, expected_matches
from tournament.sprt import (
    GAME_SCORES,
    PAIR_SCORES,
    Decision,
    Hypotheses,
    Model,
    elo_of,
    exact_llr,
    expected_score,
    llr_of,
    score_stats,
    tilt,
    within_reach,
)

TWO = 4


def comparison(top: int = TWO, cap: int = 1000, test: Hypotheses | None = None) -> Comparison:
    return Comparison(test or Hypotheses(), top, cap)


@given(st.lists(st.integers(0, 500), min_size=5, max_size=5), st.floats(0.05, 0.95))
def test_the_tilt_solves_its_equation_inside_its_interval(counts: list[int], mean: float) -> None:
    offsets = np.arange(5) / 4 - mean
    weights = np.maximum(np.array(counts, dtype=float), 0.001)
    theta = tilt(offsets, weights)
    assert (1 + theta * offsets > 0).all()
    assert (weights * offsets / (1 + theta * offsets)).sum() == pytest.approx(0, abs=1e-6 * weights.sum())


def test_the_ratio_is_that_of_two_constrained_maxima() -> None:
    values, counts = np.arange(5) / 4, np.array([3.0, 5.0, 60.0, 9.0, 6.0])

    def best(mean: float) -> float:
        found = minimize(
            lambda p: -(counts * np.log(p)).sum(),
            counts / counts.sum(),
            bounds=[(1e-9, 1)] * 5,
            constraints=[
                {"type": "eq", "fun": lambda p: p.sum() - 1},
                {"type": "eq", "fun": lambda p: p @ values - mean},
            ],
            options={"ftol": 1e-14, "maxiter": 500},
        )
        return float(-found.fun)

    low, high = expected_score(0), expected_score(40)
    assert float(exact_llr(values, counts, low, high)) == pytest.approx(best(high) - best(low), abs=1e-4)


def test_split_matches_alone_never_prove_much() -> None:
    """The normal approximation decides here after a handful of matches."""
    running = comparison()
    for number in range(1, 41):
        running.add(number, 2)
    assert running.decision is Decision.UNDECIDED


@settings(max_examples=20)
@given(st.permutations(range(1, 21)), st.lists(st.integers(0, TWO), min_size=20, max_size=20))
def test_one_job_or_many_decide_alike(order: list[int], scores: list[int]) -> None:
    straight, scattered = comparison(), comparison()
    for number, score in enumerate(scores, 1):
        if not straight.over:
            straight.add(number, score)
    for number in order:
        scattered.add(number, scores[number - 1])
    assert (straight.matches, straight.llr, straight.decision) == (scattered.matches, scattered.llr, scattered.decision)
    assert straight.line() == scattered.line()


def test_nothing_counts_after_the_decision() -> None:
    running = comparison()
    number = 0
    while not running.over:
        number += 1
        running.add(number, TWO)
    assert running.decision is Decision.BETTER
    line = running.line()
    running.add(number + 1, 0)
    assert running.line() == line


def test_it_gives_up_at_the_cap() -> None:
    running = comparison(cap=7)
    for number in range(1, 12):
        running.add(number, 2)
    assert (running.over, running.matches, running.decision) == (True, 7, Decision.UNDECIDED)


def test_a_match_is_counted_once_and_its_score_is_checked() -> None:
    running = comparison()
    running.add(1, 2)
    for number, score in ((1, 2), (0, 2), (2, 5), (2, -1)):
        with pytest.raises(ValueError, match="match"):
            running.add(number, score)


@pytest.mark.parametrize(
    ("unsplit", "score1", "reach"),
    [(15, 0.53, (0, 24)), (16, 0.53, (7, 17)), (16, 0.569, (7, 17)), (16, 0.57, (0, 24)), (16, 0.75, (0, 24))],
)
def test_scores_beyond_those_that_came_count_until_enough_matches_were_not_split(
    unsplit: int, score1: float, reach: tuple[int, int]
) -> None:
    counts = np.zeros(25)
    counts[[7, 12, 14]] = 1, 90, unsplit - 1
    possible = np.flatnonzero(within_reach(np.arange(25) / 24, counts, 0.5, score1))
    assert (possible[0], possible[-1], len(possible)) == (*reach, reach[1] - reach[0] + 1)


def test_scores_out_of_reach_leave_the_ratio_of_those_within() -> None:
    values, counts = np.arange(25) / 24, np.zeros(25)
    counts[8:17] = 1, 0, 9, 2, 40, 3, 12, 0, 2
    found = exact_llr(values, counts, 0.5, 0.53, possible=within_reach(values, counts, 0.5, 0.53))
    assert float(found) == pytest.approx(float(exact_llr(values[8:17], counts[8:17], 0.5, 0.53)), abs=1e-9)
    assert float(found) != pytest.approx(float(exact_llr(values, counts, 0.5, 0.53)), abs=0.01)


@pytest.mark.parametrize(("elo", "wrong"), [(0.0, 1), (20.0, -1)])
def test_the_duel_of_similar_bots_is_decided_in_sixty_percent_of_the_fixed_test(elo: float, wrong: int) -> None:
    """40 % of the matches split; decision 0022."""
    noise = bench.noise_for(bench.DUEL, 0.4)
    gap = bench.gap_for(bench.DUEL, noise, expected_score(elo))
    play = bench.scores_of(np.random.default_rng(7), bench.DUEL, gap, noise)
    decided, taken = bench.sprt_runs(play, 24, 600, 600, Hypotheses())
    assert (decided == wrong).mean() < 0.08
    assert taken.mean() < 0.6 * 139


@pytest.mark.parametrize(
    ("chances", "elo", "wrong"),
    [
        ({0: 0.02, 4: 0.06, 12: 0.5, 13: 0.42}, 0.0, 1),  # small wins, rare high losses
        ({0: 0.015, 11: 0.185, 12: 0.6, 13: 0.185, 24: 0.015}, 20.0, -1),
        ({0: 0.005, 11: 0.195, 12: 0.6, 13: 0.195, 24: 0.005}, 20.0, -1),
    ],
)
def test_an_edge_that_lies_in_rare_high_scores_is_not_overlooked(
    chances: dict[int, float], elo: float, wrong: int
) -> None:
    """Decision 0022: without `REACH_OVER_EDGE` these err in 16, 9 and 13 % of the runs."""
    scores, weights = np.array(list(chances)), np.array(list(chances.values()))

    def tilted(power: float) -> bench.Floats:
        bent = weights * np.exp(power * scores / 24)
        return np.asarray(bent / bent.sum())

    power = brentq(lambda at: float(tilted(at) @ scores) / 24 - expected_score(elo), -30, 30)
    rng = np.random.default_rng(7)
    decided, _ = bench.sprt_runs(lambda n: rng.choice(scores, n, p=tilted(power)), 24, 1000, 600, Hypotheses())
    assert (decided == wrong).mean() < 0.08


def test_normalized_bounds_are_refused_where_no_distribution_is_found_and_right_up_to_there() -> None:
    far = Hypotheses(0, 200)
    # From a constrained maximisation (SLSQP) by hand.
    assert llr_of(GAME_SCORES, (5, 5, 5), far, Model.NORMALIZED) == pytest.approx(-2.22252, abs=1e-4)
    assert llr_of(PAIR_SCORES, (3, 4, 5, 6, 7), far, Model.NORMALIZED) == pytest.approx(-1.44961, abs=1e-4)
    for scores, counts in ((GAME_SCORES, (5, 5, 5)), (GAME_SCORES, (0, 0, 5)), (PAIR_SCORES, (3, 4, 5, 6, 7))):
        with pytest.raises(ValueError, match="lower the bounds"):
            llr_of(scores, counts, Hypotheses(-1999, 2000), Model.NORMALIZED)


@pytest.mark.parametrize(("elo", "wrong"), [(0.0, 1), (20.0, -1)])
def test_it_errs_about_as_often_as_it_says(elo: float, wrong: int) -> None:
    """Similar bots, 88 % of the matches split; docs/ratings-simulation.md has the full table."""
    noise = bench.noise_for(bench.TWO, 0.88)
    gap = bench.gap_for(bench.TWO, noise, expected_score(elo))
    play = bench.scores_of(np.random.default_rng(7), bench.TWO, gap, noise)
    decided, taken = bench.sprt_runs(play, 4, 1000, 400, Hypotheses())
    assert (decided == wrong).mean() < 0.08
    assert (decided == -wrong).mean() > 0.9
    assert taken.mean() < 0.6 * 422  # what a test of fixed length takes


def test_a_gauntlet_tests_the_gain_of_one_version_over_the_other() -> None:
    running = Comparison(Hypotheses(), 8, 500, stretch=2)
    for number in range(1, 101):
        running.add(number, 4 + (number % 5 == 0))
    elo, low, high = running.estimate()
    assert elo == pytest.approx(elo_of(0.5 + 0.2 / 4))
    assert low is not None
    assert high is not None
    assert low < 17.5 < high


def test_more_noise_and_closer_bounds_take_more_matches() -> None:
    assert 180 < expected_matches(Hypotheses(), 0.03) < 210
    lengths = [expected_matches(Hypotheses(0, elo), 0.03) for elo in (40, 20, 10, 5)]
    assert all(short < long for short, long in pairwise(lengths))
    assert expected_matches(Hypotheses(), 0.03, stretch=2) == pytest.approx(
        4 * expected_matches(Hypotheses(), 0.03), rel=0.01
    )


@pytest.mark.parametrize("model", Model)
@pytest.mark.parametrize("counts", [(0, 0, 1), (1, 0, 0), (0, 1, 0), (10, 0, 10), (0, 0, 0), (0, 5, 900)])
def test_every_model_gives_finite_ratios(model: Model, counts: tuple[int, ...]) -> None:
    assert math.isfinite(llr_of(GAME_SCORES, counts, Hypotheses(), model))


@pytest.mark.parametrize("counts", [(0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 30, 0), (0, 0, 400), (0, 1, 1)])
def test_no_figure_is_infinite_and_no_bar_has_width_zero(counts: tuple[int, ...]) -> None:
    found = score_stats(GAME_SCORES, counts)
    for value in (found.elo, found.low, found.high, found.los, found.nelo, found.nelo_error):
        assert value is None or math.isfinite(value)
    assert found.low is None or found.low != found.high
    assert 0 < found.los <= 1


@pytest.mark.parametrize(
    "bad",
    [
        *((20, 0, 0.05, 0.05), (0, 20, 0, 0.05), (0, 20, 0.05, 0.5), (0, math.nan, 0.05, 0.05)),
        *((0, 100_000, 0.05, 0.05), (-3000, 0, 0.05, 0.05), (0, 20, 1e-320, 0.05), (0, 20, 0.05, 0.0)),
    ],
)
def test_hypotheses_that_cannot_be_told_apart_are_refused(bad: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="must"):
        Hypotheses(*bad)
