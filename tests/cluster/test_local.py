"""The executor of one machine: what it does with children that make no progress."""

import base64
import json
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cluster.fakes import Table
from tournament.replay import Player
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from tournament.wire import MatchTask
from workers import referee
from workers.child import serve
from workers.local import LocalExecutor, MatchFailure
from workers.referee import match_wall_limit_s, silence_limit_s

SOURCE = BotSource.of_file(b"class Bot:\n    bid = play = lambda self, view: view.legal[0]\n")
PLAYERS = (Player("a", 1, SOURCE.sha256), Player("b", 1, SOURCE.sha256))


def task(**options: int) -> MatchTask:
    rules = Rules.make("cutthroat", players=2, **options)
    return MatchTask.of("demo", "cutthroat/a:1,b:1/1", rules, Limits(), PLAYERS, match_id=7)


@dataclass
class Clock:
    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def executor(clock: Clock) -> Iterator[LocalExecutor]:
    with closing(LocalExecutor(1, plain=True, clock=clock)) as made:
        yield made


def test_a_child_that_hangs_is_replaced_and_its_match_played_again(executor: LocalExecutor, clock: Clock) -> None:
    child = executor._children[0].process.pid
    os.kill(child, signal.SIGSTOP)
    executor.submit(task(), {SOURCE.sha256: SOURCE})
    clock.now_s += silence_limit_s(Limits())
    assert executor.poll(0) == []
    clock.now_s += 1
    (failure,) = executor.poll(0)
    assert isinstance(failure, MatchFailure) and failure.begun and "no progress" in failure.reason
    assert executor._children[0].process.pid != child
    executor.submit(task(target=1, deal_limit=1), {SOURCE.sha256: SOURCE})
    while not (ended := executor.poll(1)):
        pass
    assert not isinstance(ended[0], MatchFailure)


def test_a_sign_of_life_gives_a_match_more_time(executor: LocalExecutor, clock: Clock) -> None:
    child = executor._children[0]
    os.kill(child.process.pid, signal.SIGSTOP)
    executor.submit(task(), {SOURCE.sha256: SOURCE})
    for _ in range(3):
        clock.now_s += silence_limit_s(Limits())
        assert executor.poll(0) == []
        assert executor._result(child, {"alive": True}) is None


def test_a_child_gives_a_sign_of_life_when_a_bot_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referee, "BEAT_S", -1.0)
    order = {"match": task(target=1).to_json(), "sources": [base64.b64encode(SOURCE.pack()).decode()]}
    answers: list[None] = []
    told: list[Mapping[str, Any]] = []
    serve(Table(lambda: answers.append(None)), 0, [json.dumps(order)], told.append)  # type: ignore[arg-type]
    assert told.count({"alive": True}) == len(answers) + 4, "four bots were loaded"
    assert told[-1]["done"]["match_id"] == 7


def test_the_longest_match_counts_the_deals_that_are_thrown_in() -> None:
    limits = Limits()
    longest = task(deal_limit=3, redeal_limit=5)
    assert match_wall_limit_s(longest) == 2 * 2 * 5 * (limits.load_cpu_s + limits.game_cpu_allowance_s(18)) + 60
    assert match_wall_limit_s(longest, deals=3) < match_wall_limit_s(longest)
