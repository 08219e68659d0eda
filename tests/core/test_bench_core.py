"""What the figures of the core are made of; no outcome here depends on a clock."""

from itertools import count

import pytest

from tests.core.table import MODES
from tournament import bench_core
from tournament.rules import Rules


@pytest.mark.parametrize("rules", MODES, ids=lambda rules: f"{rules.mode}/{rules.bidder_takes}")
def test_every_kind_of_round_counts_its_decisions(rules: Rules) -> None:
    games = bench_core.games(rules)
    views = bench_core.views(rules, bench_core.LOOK_AT_ALL)
    assert [next(games) for _ in range(2)] == [next(views) for _ in range(2)], "the same games, looked at or not"
    assert next(bench_core.deals(rules)) >= rules.players


def test_a_rate_is_decisions_by_the_clock_s_seconds_after_one_round_for_warmth() -> None:
    ticks = count(start=100.0, step=0.5)
    rate = bench_core.measure(iter([999, 10, 10, 10, 10, 10]), 2.0, lambda: next(ticks))
    assert rate == bench_core.Rate(30, 2.0)
    assert rate.per_s == 15.0
    assert next(bench_core.fixed_loop()) == 100_000


def test_a_slow_round_is_measured_too() -> None:
    ticks = iter([0.0, 0.0, 9.0])
    assert bench_core.measure(iter([1, 7]), 2.0, lambda: next(ticks)) == bench_core.Rate(7, 9.0)
