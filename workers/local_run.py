"""Plays what a store has queued with an executor of this machine: lease, play, record, until nothing is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from tournament.results import MatchResult
from tournament.source import BotSource
from tournament.store import Store
from tournament.store_queue import Holder
from tournament.store_values import LeasedMatch, Recorded
from tournament.wire import MatchTask
from workers.local import LocalExecutor, MatchFailure
from workers.tickets import Tasks

WORKER: Final = "local"
LEASE_S: Final = 120.0
RENEW_S: Final = 30.0
"""Leases are renewed long before they end."""


@dataclass(frozen=True, slots=True)
class Played:
    """A match that was recorded, for whoever shows progress."""

    match: LeasedMatch
    task: MatchTask
    result: MatchResult


class LocalRun:
    """Hands a store's matches to an executor and records what comes back.

    On SQLite whoever makes one holds the coordinator's lock; on a server several may share the matches.
    """

    def __init__(
        self,
        store: Store,
        executor: LocalExecutor,
        tournament_id: int | None = None,
        fitting: Callable[[], Collection[int]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Takes back what an earlier holder left leased.

        Args:
            store: where the matches are.
            executor: who plays them.
            tournament_id: only the matches of this tournament; by default of all that run.
            fitting: says which tournaments those are, if not all.
            clock: monotonic seconds.
        """
        self._clock = clock
        self._store = store
        self._executor = executor
        self._fitting = fitting if tournament_id is None else lambda: [tournament_id]
        self._leased: dict[int, tuple[LeasedMatch, MatchTask]] = {}
        self._tasks = Tasks(store)
        self._sources: dict[str, BotSource] = {}
        self._renewed_s = self._clock()
        self._holder = None if store.is_sqlite else Holder(store)
        self._name = self._holder.name if self._holder else WORKER
        if store.is_sqlite:
            store.take_back_all(tournament_id=tournament_id)

    def step(self, timeout_s: float) -> list[Played]:
        """Hands out as much as the executor takes, waits for results at most `timeout_s`, records them.

        Raises:
            SandboxFailure: matches cannot be played here at all.
        """
        if self._clock() - self._renewed_s > RENEW_S:
            self._renewed_s = self._clock()
            if self._holder is not None:
                self._holder.stay()
            self._store.renew(self._leases(), LEASE_S, worker=self._name)
        if not self._leased and self._holder is not None:
            self._store.take_back()  # what a run left behind that was killed
        self._hand_out()
        if not self._leased:
            return []
        return self._record(self._executor.poll(timeout_s))

    @property
    def busy(self) -> bool:
        """Whether matches are being played."""
        return bool(self._leased)

    def stop(self) -> None:
        """Stops at once: what is being played goes back to the queue."""
        self._executor.close()
        self._store.release(self._leases())
        self._leased.clear()

    def _hand_out(self) -> None:
        free = self._executor.free
        if free <= 0:
            return
        wanted = self._fitting() if self._fitting else None
        for match in self._store.lease(free, LEASE_S, worker=self._name, tournaments=wanted):
            task = self._tasks.of(match)
            for sha256 in {player.sha256 for player in task.players} - {None, *self._sources}:
                self._sources[str(sha256)] = self._store.source(str(sha256))
            self._leased[match.id] = match, task
            self._executor.submit(task, self._sources)

    def _leases(self) -> list[tuple[int, int]]:
        return [(match.id, match.attempt) for match, _ in self._leased.values()]

    def _record(self, ended: Sequence[MatchResult | MatchFailure]) -> list[Played]:
        results = [result for result in ended if isinstance(result, MatchResult)]
        played = []
        recorded = self._store.record(results) if results else []
        for result, what in zip(results, recorded, strict=True):
            # None: its lease ran out while this process was held up, and it was leased and played here once more.
            held = self._leased.pop(result.match_id, None)
            if held is not None and what is Recorded.RECORDED:
                played.append(Played(*held, result))
        for failure in ended:
            if isinstance(failure, MatchFailure):
                self._leased.pop(failure.match_id, None)
                if failure.begun:
                    self._store.fail(failure.match_id, failure.attempt, failure.reason)
                else:
                    self._store.release([(failure.match_id, failure.attempt)])
        return played
