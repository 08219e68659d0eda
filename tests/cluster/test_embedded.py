"""Coordinator and executor in one program."""

import json
import logging
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cluster.fakes import HERE
from tests.store.play import play, started
from tournament.environment import Environment, demanding
from tournament.lock import CoordinatorLock
from tournament.results import MatchResult
from tournament.source import BotSource
from tournament.store import Store
from tournament.store_values import LeasedMatch
from tournament.wire import MatchTask
from workers import repeat
from workers.embedded import Fitting, play_while
from workers.local import LocalExecutor, MatchFailure
from workers.local_run import LEASE_S, LocalRun
from workers.sandbox.faults import SandboxFailure

PATIENCE_S = 60


class Here(LocalExecutor):
    """An executor that plays at random in this thread; it stops the program after so many matches."""

    def __init__(
        self, store: Store, stop: threading.Event, matches: int = 10**6, error: Exception | None = None
    ) -> None:
        self.store = store
        self.stop = stop
        self.left = matches
        self.error = error
        self.tasks: list[MatchTask] = []
        self.closed = False

    @property
    def free(self) -> int:
        return 2 - len(self.tasks)

    def submit(self, task: MatchTask, sources: Mapping[str, BotSource]) -> None:
        assert {player.sha256 for player in task.players} <= set(sources)
        self.tasks.append(task)

    def poll(self, timeout_s: float) -> list[MatchResult | MatchFailure]:
        assert timeout_s > 0
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        if self.left == 0:
            self.stop.set()
            return []
        self.left -= 1
        task = self.tasks.pop(0)
        match = next(m for m in self.store.matches(1) if m.id == task.match_id)
        leased = LeasedMatch(match.id, 1, match.number, match.round, match.key, match.entrants, task.attempt)
        return [play(self.store, leased)]

    def close(self) -> None:
        self.closed = True


def stop_when_over(store: Store, stop: threading.Event) -> threading.Thread:
    def watch() -> None:
        while store.counts(1).open and not stop.wait(0.02):
            pass
        stop.set()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def path_of(store: Store) -> Path:
    assert store.path is not None
    return store.path


def test_it_plays_what_is_there_and_notes_the_environment(store: Store) -> None:
    tournament, stop = started(store), threading.Event()
    watch = stop_when_over(store, stop)
    play_while(path_of(store), lambda: Here(store, stop), stop, here=lambda: {**HERE, "layers": ["landlock"]})
    watch.join()
    assert store.counts(tournament).finished == 3
    assert store.tournament(tournament).environment == {**HERE, "layers": ["landlock"]}


def test_at_the_end_what_was_being_played_goes_back_and_costs_nothing(store: Store) -> None:
    tournament, stop = started(store), threading.Event()
    executor = Here(store, stop, matches=1)
    play_while(path_of(store), lambda: executor, stop, here=lambda: HERE)
    assert executor.closed
    assert (store.counts(tournament).finished, store.counts(tournament).queued) == (1, 2)
    assert {match.losses for match in store.matches(tournament)} == {0}


def test_a_match_whose_lease_ran_out_meanwhile_and_that_was_played_twice_counts_once(store: Store) -> None:
    class AllAtOnce(Here):
        def poll(self, timeout_s: float) -> list[MatchResult | MatchFailure]:
            return [ended for _ in range(self.left) for ended in super(AllAtOnce, self).poll(timeout_s)]

    tournament, executor = started(store, count=2), AllAtOnce(store, threading.Event(), matches=0)
    run = LocalRun(store, executor)
    assert run.step(1) == []
    assert store.take_back(now=store.now() + LEASE_S + 1) == 1
    assert run.step(1) == []
    first, second = executor.tasks
    assert (first.match_id, first.attempt, second.attempt) == (second.match_id, 1, 2)
    executor.left = 2
    assert len(run.step(1)) == 1
    assert store.counts(tournament).finished == 1


def test_who_comes_second_plays_when_the_first_is_gone(store: Store) -> None:
    tournament, stop = started(store), threading.Event()
    watch = stop_when_over(store, stop)
    with CoordinatorLock(path_of(store)) as first:
        assert first.acquire()
        store.lease(1, 600)
        arguments = (path_of(store), lambda: Here(store, stop), stop)
        second = threading.Thread(target=play_while, args=arguments, kwargs={"here": lambda: HERE})
        second.start()
        assert store.counts(tournament).finished == 0
    second.join(PATIENCE_S)
    watch.join(PATIENCE_S)
    assert store.counts(tournament).finished == 3, "what the first had leased is played too"


class SoonOver(threading.Event):
    """Stops whoever waits for the second time."""

    waits = 0

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.waits += 1
        if self.waits > 1:
            self.set()
        return self.is_set()


def no_sandbox() -> Environment:
    pytest.fail("nothing is to be played, and a sandbox is started")


def test_where_nothing_is_to_be_played_no_sandbox_is_started(store: Store) -> None:
    stop = SoonOver()
    executor = Here(store, stop)
    play_while(path_of(store), lambda: executor, stop, here=no_sandbox)
    assert executor.closed


def test_where_nothing_is_to_be_played_again_no_sandbox_is_started(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeat, "environment_here", no_sandbox)
    repeat.watch_repeats(store, SoonOver())


def test_who_waits_for_its_turn_can_be_stopped(store: Store) -> None:
    stop = threading.Event()
    with CoordinatorLock(path_of(store)) as first:
        assert first.acquire()
        stop.set()
        play_while(path_of(store), lambda: pytest.fail("it is not its turn"), stop)


def test_without_a_sandbox_nothing_is_played_and_the_rest_goes_on(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    tournament, stop, beside = started(store), threading.Event(), threading.Event()

    def other(told: threading.Event) -> None:
        beside.set()
        told.wait(PATIENCE_S)

    executor = Here(store, stop, error=SandboxFailure("no seccomp here"))
    with caplog.at_level(logging.ERROR):
        thread = threading.Thread(
            target=play_while, args=(path_of(store), lambda: executor, stop, [other]), kwargs={"here": lambda: HERE}
        )
        thread.start()
        assert beside.wait(PATIENCE_S)
        while not executor.closed:
            stop.wait(0.01)
        stop.set()
        thread.join(PATIENCE_S)
    assert "nothing is played here: no seccomp here" in caplog.text
    assert store.counts(tournament).queued == 3


def test_a_tournament_of_another_environment_is_left_alone_and_the_log_says_why(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = started(store), started(store)
    assert Fitting(store, lambda: {**HERE, "python": "CPython 3.12.1"})() == [first, second]
    with caplog.at_level(logging.ERROR):
        assert Fitting(store, lambda: HERE)() == []
    assert "not played here: CPython 3.11.9, expected CPython 3.12.1" in caplog.text


def test_a_tournament_that_demands_a_layer_is_played_where_it_is_and_the_log_says_why_not_elsewhere(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    tournament = started(store)
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE tournament SET environment = ?", (json.dumps(demanding(["own-uid"])),))
    with caplog.at_level(logging.ERROR):
        assert Fitting(store, lambda: {**HERE, "layers": ["landlock"]})() == []
    assert "not played here: without own-uid, which is demanded of the sandbox" in caplog.text
    assert Fitting(store, lambda: {**HERE, "layers": ["own-uid"]})() == [tournament]
