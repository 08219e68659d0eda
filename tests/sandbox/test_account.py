"""CPU time is charged exactly enough, and never to the wrong side."""

from __future__ import annotations

import pytest

from tournament.game import FaultKind
from tournament.rules import Limits
from workers.sandbox.account import OFF_TURN_CPU_S, UNREAD_S, Account
from workers.sandbox.clocks import ProcessProbe, WallMeter

LIMITS = Limits(decision_cpu_s=1.0, game_cpu_s=3.0, deal_cpu_s=0.5, load_cpu_s=5.0)


def loaded(cpu_s: float = 0.1, now_s: float = 10.0) -> Account:
    account = Account(LIMITS)
    assert account.loaded(cpu_s, now_s) is None
    account.deals_begun = 1
    return account


def test_loading_has_a_limit_of_its_own() -> None:
    assert Account(LIMITS).loaded(5.0, 10.0) is None
    fault = Account(LIMITS).loaded(5.01, 10.0)
    assert fault is not None
    assert (fault.kind, fault.limit) == (FaultKind.TIMEOUT_CPU, 5.0)
    assert fault.message == "5.01 s CPU in loading, limit 5.00 s"


def test_a_decision_of_exactly_the_limit_is_in_time() -> None:
    account = loaded()
    assert account.answered(1.1, 10.0, 20.0) is None
    assert account.slowest_s == pytest.approx(1.0)


def test_a_decision_over_the_limit_is_late_whatever_the_wall_says() -> None:
    fault = loaded().answered(1.12, 10.0, 11.5)
    assert fault is not None
    assert fault.kind is FaultKind.TIMEOUT_CPU
    assert fault.message == "1.02 s CPU in one decision, limit 1.00 s"


def test_what_was_not_read_before_a_question_counts_for_the_bot() -> None:
    account = loaded()
    assert account.over(1.1 + UNREAD_S / 2, 10.0 + UNREAD_S) is None


def test_decisions_add_up_to_the_limit_of_the_game_which_grows_with_its_deals() -> None:
    account = loaded()
    now_s, cpu_s = 10.0, 0.1
    for _ in range(3):
        assert account.before_question(cpu_s, now_s) is None
        now_s, cpu_s = now_s + 0.9, cpu_s + 0.9
        assert account.answered(cpu_s, now_s - 0.9, now_s) is None
    account.deals_begun = 1
    fault = account.over(cpu_s + 0.9, now_s)
    assert fault is not None
    assert fault.message == "3.60 s CPU in a game of 1 deals, limit 3.50 s"
    account.deals_begun = 2
    assert account.over(cpu_s + 0.9, now_s) is None


def test_short_decisions_add_up_too() -> None:
    account = loaded()
    now_s = 10.0
    for _ in range(4_000):
        account.thought_s += 0.0009
        now_s += 0.0011
        fault = account.before_question(0.1 + (now_s - 10.0) * 0.9 / 1.1, now_s)
        if fault is not None:
            break
    assert fault is not None
    assert fault.kind is FaultKind.TIMEOUT_CPU
    assert now_s - 10.0 == pytest.approx(3.5 * 1.1 / 0.9, rel=0.01)


def test_cpu_time_between_two_questions_is_a_fault() -> None:
    account = loaded()
    account.thought_s = 0.0005
    fault = account.before_question(0.1 + 0.0005 + OFF_TURN_CPU_S + 0.001, 10.5)
    assert fault is not None
    assert fault.kind is FaultKind.OFF_TURN
    assert fault.message == "0.031 s CPU between two questions, limit 0.030 s"


def test_a_little_of_it_is_none_but_counts_as_time_of_the_game() -> None:
    account = loaded()
    steps = 0
    while (fault := account.before_question(0.1 + 0.02 * steps, 10.0 + steps)) is None:
        steps += 1
    assert fault.kind is FaultKind.TIMEOUT_CPU
    assert fault.limit is not None
    assert 0.02 * steps == pytest.approx(fault.limit, abs=0.021)


class FakeProbe(ProcessProbe):
    """A process that does as it is told."""

    def __init__(self, *, delay: bool = True) -> None:
        self.used, self.waited, self.letter = 0.0, 0.0, "R"
        self.delay = delay

    def cpu_s(self) -> float | None:
        return self.used

    def queue_delay_s(self) -> float | None:
        return self.waited if self.delay else None

    def state(self) -> str:
        return self.letter


def test_waiting_for_a_processor_does_not_count() -> None:
    probe = FakeProbe()
    meter = WallMeter(probe, 0.0, 0.1)
    for step in range(1, 101):
        probe.used += 0.004
        probe.waited += 0.016
        meter.feed(step * 0.02)
    assert meter.effective_s == pytest.approx(0.4)


def test_a_wait_that_is_not_over_does_not_count_either() -> None:
    probe = FakeProbe()
    meter = WallMeter(probe, 0.0, 0.1)
    for step in range(1, 101):
        meter.feed(step * 0.02)
    assert meter.effective_s == 0.0


def test_sleeping_counts_in_full() -> None:
    probe = FakeProbe()
    probe.letter = "S"
    meter = WallMeter(probe, 0.0, 0.1)
    for step in range(1, 101):
        meter.feed(step * 0.02)
    assert meter.effective_s == pytest.approx(2.0)


def test_our_own_stall_counts_as_one_short_interval() -> None:
    probe = FakeProbe()
    probe.letter = "S"
    meter = WallMeter(probe, 0.0, 0.1)
    meter.feed(60.0)
    assert meter.effective_s == pytest.approx(0.1)


def test_where_the_kernel_does_not_tell_the_wait_all_time_counts() -> None:
    meter = WallMeter(FakeProbe(delay=False), 0.0, 0.1)
    assert not meter.exact
    for step in range(1, 11):
        meter.feed(step * 0.02)
    assert meter.effective_s == pytest.approx(0.2)
