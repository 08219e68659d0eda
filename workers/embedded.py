"""Coordinator and executor of a single machine, beside the site: plays whatever runs in an SQLite file."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from tournament.lock import CoordinatorLock
from tournament.store import Store
from workers.local import Executor
from workers.local_run import LocalRun
from workers.sandbox.faults import SandboxFailure

WAIT_S = 0.5

logger = logging.getLogger(__name__)


def play_while(store: Store, path: Path, executor: Callable[[], Executor], stop: threading.Event) -> None:
    """Plays what is queued, and what will be, until told to stop; waits for its turn if another process plays.

    What was being played at the end goes back to the queue. Where the sandbox is missing nothing is played.

    Args:
        store: the store.
        path: its file, whose lock makes one coordinator of many.
        executor: starts what plays; in this thread, which its children do not outlive.
        stop: ends it.
    """
    with CoordinatorLock(path) as lock:
        if not _my_turn(lock, stop):
            return
        run = LocalRun(store, executor())
        try:
            while not stop.is_set():
                for played in run.step(WAIT_S):
                    about = {"tournament": played.match.tournament_id, "match": played.match.id}
                    logger.info(
                        "played in %.3f s", played.result.play_s, extra={**about, "attempt": played.match.attempt}
                    )
                if not run.busy:
                    stop.wait(WAIT_S)
        except SandboxFailure as failure:
            logger.error("nothing is played here: %s", failure)  # noqa: TRY400  # its text says what to do
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
