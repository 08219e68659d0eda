"""Coordinator and executor of a single machine, beside the site: plays whatever runs in an SQLite file."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from tournament.environment import Environment, difference, is_pinned
from tournament.lock import CoordinatorLock
from tournament.repeat import is_drawn
from tournament.store import Store
from tournament.store_cluster import Active, active, pin_environment
from tournament.store_repeats import order_repeats
from workers.local import LocalExecutor
from workers.local_run import LocalRun
from workers.repeat import environment_here, left_to_us, settle
from workers.sandbox.faults import SandboxFailure

WAIT_S: Final = 0.5
FAILURE_S: Final = 5.0
REPEATS: Final = 4
"""Matches that are played again at a time, between two looks for matches that are to be played."""

logger = logging.getLogger(__name__)


def why_not_here(store: Store, tournament: Active, here: Environment) -> str | None:
    """Says how a tournament's environment differs from the one here; pins it to this one if it has none yet."""
    if not is_pinned(tournament.environment):
        tournament = pin_environment(store, tournament, here)
    return difference(tournament.environment, here)


class Fitting:
    """Finds the running tournaments that are played under the environment of this process."""

    def __init__(self, store: Store, here: Callable[[], Environment] = environment_here) -> None:
        """Compares with what `here` finds out, once something runs."""
        self._store = store
        self._find_out = here
        self._told: set[int] = set()

    @cached_property
    def here(self) -> Environment:
        """The environment of this process."""
        return self._find_out()

    def __call__(self) -> list[int]:
        """Returns those that fit, and pins those that nobody has pinned yet; the log says once why others do not."""
        fitting = []
        for each in active(self._store):
            reason = why_not_here(self._store, each, self.here)
            if reason is None:
                fitting.append(each.id)
            elif each.id not in self._told:
                self._told.add(each.id)
                logger.error("not played here: %s", reason, extra={"tournament": each.id})
        return fitting


def play_while(
    database: Path,
    executor: Callable[[], LocalExecutor],
    stop: threading.Event,
    beside: Sequence[Callable[[threading.Event], None]] = (),
    here: Callable[[], Environment] = environment_here,
) -> None:
    """Plays what is queued, and what will be, until told to stop; waits for its turn if another process plays.

    What was being played at the end goes back to the queue. Where the sandbox is missing nothing is played.

    Args:
        database: the SQLite file, whose lock makes one coordinator of many.
        executor: starts what plays; in this thread, which its children do not outlive.
        stop: ends it.
        beside: what else runs while the lock is held, each in a thread of its own, until told to stop.
        here: finds out the environment of this process.
    """
    with CoordinatorLock(database) as lock, Store(str(database)) as store:
        fitting = Fitting(store, here)
        if not _my_turn(lock, stop):
            return
        threads = [threading.Thread(target=each, args=(stop,), name="beside") for each in beside]
        for thread in threads:
            thread.start()
        while not stop.is_set():
            try:
                _play(store, fitting, executor(), stop)
            except SandboxFailure as failure:
                logger.error("nothing is played here: %s", failure)  # noqa: TRY400  # its text says what to do
                stop.wait()
            except Exception:  # a full disk, a database that was locked for too long: it may pass
                logger.exception("playing was interrupted")
                stop.wait(FAILURE_S)
        for thread in threads:
            thread.join()


def _play(store: Store, fitting: Fitting, executor: LocalExecutor, stop: threading.Event) -> None:
    run = LocalRun(store, executor, fitting=fitting)
    try:
        while not stop.is_set():
            for played in run.step(WAIT_S):
                about = {"tournament": played.match.tournament_id, "match": played.match.id}
                logger.info("played in %.3f s", played.result.play_s, extra={**about, "attempt": played.match.attempt})
                if is_drawn(store.tournament(played.match.tournament_id), played.match.key):
                    order_repeats(store, played.match.tournament_id, [played.match.number])
            if not run.busy:
                orders = left_to_us(store)[:REPEATS]
                for found in settle(store, orders, executor, fitting.here) if orders else ():
                    logger.info("match %d played again: %s %s", found.number, found.verdict, found.text)
                stop.wait(WAIT_S)
    finally:
        run.stop()


def _my_turn(lock: CoordinatorLock, stop: threading.Event) -> bool:
    told = False
    while not lock.acquire():
        if not told:
            logger.info("process %s plays the matches of this database; waiting for its end", lock.holder())
            told = True
        if stop.wait(WAIT_S):
            return False
    return not stop.is_set()
