"""Forecasts: sizes are those of the schedule, and the rounds fit the time."""

import pytest

from tournament.planning import MOST_ROUNDS, duration_of, forecast, game_s
from tournament.rules import Limits, Rules
from tournament.schedule import Entry, schedule

TWO, THREE = (Rules.make("cutthroat", players=players) for players in (2, 3))
ENTRIES = [Entry(f"bot{number:02}:1", number) for number in range(8)]


@pytest.mark.parametrize("rules", [TWO, THREE, Rules.make("wisconsin")], ids=["two", "three", "partners"])
@pytest.mark.parametrize("count", [2, 8])
def test_a_forecast_counts_the_matches_and_games_of_the_schedule(rules: Rules, count: int) -> None:
    found = forecast(rules, Limits(), ENTRIES[:count], [None] * count, 2, rounds=3)
    assert found.matches == sum(1 for _ in schedule(rules, ENTRIES[:count], 3, "any"))
    assert found.games == found.matches * (6 if rules is THREE else 2)


def test_as_many_rounds_are_played_as_fit_the_time_and_at_least_one() -> None:
    one = forecast(TWO, Limits(), ENTRIES, [0.01] * 8, 2, rounds=1)
    for budget_s in (one.expected_s * 7.5, one.expected_s * 1000.2):
        found = forecast(TWO, Limits(), ENTRIES, [0.01] * 8, 2, budget_s=budget_s)
        assert found.rounds == budget_s // one.expected_s
        assert found.expected_s <= budget_s < found.expected_s + one.expected_s
    assert forecast(TWO, Limits(), ENTRIES, [0.01] * 8, 2, budget_s=0.001).rounds == 1
    assert forecast(TWO, Limits(), ENTRIES, [0.01] * 8, 2, budget_s=1e9).rounds == MOST_ROUNDS


def test_the_expected_time_follows_the_probes_and_the_cores_and_the_worst_the_clocks() -> None:
    one = forecast(THREE, Limits(), ENTRIES, [0.1] * 8, 1)
    assert forecast(THREE, Limits(), ENTRIES, [0.1] * 8, 4).expected_s == pytest.approx(one.expected_s / 4)
    assert game_s(THREE, [0.1] * 8) == pytest.approx(3 * (0.008 + 13.2 * 0.1012))
    assert game_s(TWO, [0.2, None, None, 0.2]) == game_s(TWO, [0.2] * 4)
    assert one.worst_s == one.games * 3 * (5.0 + 3.0 + 0.5 * 100)
    assert one.worst_s > one.expected_s


@pytest.mark.parametrize("text", ["", "2", "h", "two hours", "1h 2", "-1h", "0s"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no length of time"):
        duration_of(text)


def test_without_cores_or_time_nothing_is_planned() -> None:
    for cores, budget_s in ((0, None), (1, 0.0)):
        with pytest.raises(ValueError, match="expected at least one core and some time"):
            forecast(TWO, Limits(), ENTRIES, [None] * 8, cores, budget_s=budget_s)
    with pytest.raises(ValueError, match="expected at least two"):
        forecast(TWO, Limits(), ENTRIES[:1], [None], 1)
