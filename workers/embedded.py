"""Coordinator and executor of a single machine, beside the site: plays whatever runs in an SQLite file."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tournament.environment import Environment, difference, environment, is_pinned
from tournament.lock import CoordinatorLock
from tournament.repeat import is_drawn
from tournament.store import Store
from tournament.store_cluster import active, pin_environment
from tournament.store_repeats import order_repeats
from workers.local import LocalExecutor
from workers.local_run import LocalRun
from workers.repeat import left_to_us, settle
from workers.sandbox.doctor import layers_here
from workers.sandbox.faults import SandboxFailure

WAIT_S: Final = 0.5
FAILURE_S: Final = 5.0
REPEATS: Final = 4
"""Matches that are played again at a time, between two looks for matches that are to be played."""

logger = logging.getLogger(__name__)


class Fitting:
    """Finds the running tournaments that are played under the environment of this process."""

    def __init__(self, store: Store, here: Environment, layers: Callable[[], frozenset[str]] = layers_here) -> None:
        """Compares with `here`; `layers` is asked for those of the sandbox when a tournament demands some."""
        self._store = store
        self._here = here
        self._layers = layers
        self._found: frozenset[str] | None = None
        self._told: set[int] = set()

    def __call__(self) -> list[int]:
        """Returns those that fit, and pins those that nobody has pinned yet; the log says once why others do not."""
        fitting = []
        for each in active(self._store):
            if not is_pinned(each.environment):
                each = pin_environment(self._store, each, self.here())  # noqa: PLW2901  # the same one, as it is now
            here = self.here() if each.environment.get("demands") else self._here
            reason = difference(each.environment, here)
            if reason is None:
                fitting.append(each.id)
            elif each.id not in self._told:
                self._told.add(each.id)
                logger.error("not played here: %s", reason, extra={"tournament": each.id})
        return fitting

    def here(self) -> Environment:
        """Returns the environment of this process, with the layers of its sandbox."""
        if self._found is None:
            self._found = self._layers()
        return {**self._here, "layers": sorted(self._found)}


def play_while(
    database: Path,
    executor: Callable[[], LocalExecutor],
    stop: threading.Event,
    beside: Sequence[Callable[[threading.Event], None]] = (),
    here: Environment | None = None,
    layers: Callable[[], frozenset[str]] = layers_here,
) -> None:
    """Plays what is queued, and what will be, until told to stop; waits for its turn if another process plays.

    What was being played at the end goes back to the queue. Where the sandbox is missing nothing is played.

    Args:
        database: the SQLite file, whose lock makes one coordinator of many.
        executor: starts what plays; in this thread, which its children do not outlive.
        stop: ends it.
        beside: what else runs while the lock is held, each in a thread of its own, until told to stop.
        here: the environment of this process.
        layers: finds out which optional layers the sandbox has.
    """
    with CoordinatorLock(database) as lock, Store(str(database)) as store:
        fitting = Fitting(store, here or environment(), layers)
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
                for found in settle(store, orders, lambda: executor, socket.gethostname(), fitting.here):
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
