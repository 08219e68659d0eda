"""What a play worker does: takes a chunk of matches, plays them in the sandbox, says that it lives, sends the results.

The body is an ordinary class over a small `Broker`, tested without Celery. Delivering a chunk twice equals delivering
it once: whoever records takes the first result of a match.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import redis
from celery import Celery  # type: ignore[import-untyped]
from kombu.exceptions import OperationalError

from tournament.results import MatchResult
from tournament.source import BotSource
from tournament.wire import MatchTask, result_to_json
from workers.referee import Pulse, Referee, Seating, collect_seldom, silence_limit_s
from workers.sandbox.faults import SandboxFailure
from workers.sandbox.host import Sandbox
from workers.tickets import CANCELLED, CHUNK_LIMIT_S, MAX_MESSAGE_BYTES, RESULTS, Chunk, Ticket, source_key

ANSWER_WAITS_S: Final = (0.1, 0.5, 1.0, 2.0, *[3.0] * 15)
"""Between tries to send a result: together about as long as a lease after a beat."""

SLOTS_PER_PLACE: Final = 8
MAX_FAILURES_IN_A_ROW: Final = 3
"""A worker on which nothing works would fail every match there is within minutes: it leaves instead."""

_AWAY: Final = (OperationalError, redis.RedisError, OSError)
"""A connection that cannot be made, and one that breaks, in kombu's words and in redis-py's."""

_FLUSH_BYTES: Final = 1 << 20
_CACHE_BYTES: Final = 64 << 20
_PLACES: Final = 4_096

logger = logging.getLogger(__name__)


class Broker:
    """What a worker needs of the world, as its account of Redis sees it."""

    def __init__(self, app: Celery, client: redis.Redis) -> None:
        self._app = app
        self._client = client

    def tell(self, message: dict[str, Any]) -> None:
        """Sends what may be lost; does not wait for a Redis that is away."""
        with suppress(*_AWAY):
            self._publish(json.dumps(message))

    def answer(self, text: str) -> None:
        """Sends what must arrive; waits for a Redis that restarts, as long as the leases last, which then take over.

        Raises:
            Exception: one of kombu's or redis-py's, if Redis is away for longer.
        """
        for wait_s in ANSWER_WAITS_S:
            # Celery's own retries give up within seconds when the connection itself cannot be made.
            with suppress(*_AWAY):
                self._publish(text)
                return
            time.sleep(wait_s)
        self._publish(text)

    def _publish(self, text: str) -> None:
        kind = {"content_type": "application/json", "content_encoding": "utf-8"}
        with self._app.producer_pool.acquire(block=True) as producer:
            producer.publish(text, exchange="", routing_key=RESULTS, retry=False, **kind)

    def is_cancelled(self, tournament: int) -> bool:
        """Tells whether a tournament was cancelled; no, as long as Redis cannot say."""
        with suppress(redis.RedisError):
            return bool(self._client.sismember(CANCELLED, str(tournament)))
        return False

    def packed_source(self, sha256: str) -> bytes | None:
        """Returns a bot's packed source, or None if it is not there."""
        with suppress(redis.RedisError):
            found: Any = self._client.get(source_key(sha256))
            return found if isinstance(found, bytes) else None
        return None


def claim_place() -> tuple[int, socket.socket]:
    """Takes the lowest number that no other worker process of this machine has, for as long as the socket is open.

    The number is a name in the abstract namespace: the kernel frees it however its process ends.
    """
    for number in range(_PLACES):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0smear-place-{number}")
        except OSError:
            claim.close()
        else:
            return number, claim
    raise OSError(f"no free place among {_PLACES} on this machine")


@dataclass(eq=False)
class Player:
    """Plays chunks, in a process of its own with a sandbox of its own.

    Attributes:
        name: the worker's.
        broker: the world.
        seat: starts a sandbox and says from which slot on its guests are numbered.
        leave: called when nothing works here.
        watchdog: told in how many seconds this process is to be ended if it is not told again; 0 is never.
        clock: monotonic seconds.
    """

    name: str
    broker: Broker
    seat: Callable[[], tuple[Seating, int]]
    leave: Callable[[], None]
    watchdog: Callable[[float], None]
    clock: Callable[[], float] = time.monotonic
    _sandbox: Any = None
    _referee: Referee | None = None
    _sources: OrderedDict[str, BotSource] = field(default_factory=OrderedDict)
    _waiting: list[tuple[Ticket, MatchTask]] = field(default_factory=list)
    _failures_in_a_row: int = 0

    def __post_init__(self) -> None:
        self._pulse = Pulse(lambda: self._beat("alive"), self.clock)

    def play(self, message: Sequence[dict[str, Any]]) -> None:
        """Plays a chunk and answers with results, failures, and what it did not get to."""
        begun_s = self.clock()
        self._waiting = list(Chunk.from_json(message).matches)
        self._beat("started")
        answer = _Answer(self.name, self.broker)
        try:
            self._play_all(begun_s, answer)
        finally:
            self.watchdog(0)
            answer.send()  # what was played counts, whatever went wrong after it
        if self._failures_in_a_row >= MAX_FAILURES_IN_A_ROW:
            logger.error("nothing can be played here: this worker leaves", extra={"worker": self.name})
            self.leave()

    def _play_all(self, begun_s: float, answer: _Answer) -> None:
        while self._waiting:
            ticket, task = self._waiting[0]
            late = answer.played and self.clock() - begun_s > CHUNK_LIMIT_S
            if (
                late
                or self.broker.is_cancelled(ticket.tournament_id)
                or not self._has_sources(task)
                or not self._ready()
            ):
                answer.unplayed(ticket)
            else:
                self._play(ticket, task, answer)
            self._waiting.pop(0)

    def close(self) -> None:
        """Ends the sandbox."""
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = self._referee = None

    def _play(self, ticket: Ticket, task: MatchTask, answer: _Answer) -> None:
        assert self._referee is not None
        begun_s = self.clock()
        try:
            games = self._referee.play_match(task)
        except SandboxFailure as failure:
            logger.warning("a match failed through our fault: %s", failure, extra=ticket.about)
            self.close()
            self._failures_in_a_row += 1
            answer.failed(ticket, str(failure)[:500])
        else:
            self._failures_in_a_row = 0
            played_s = self.clock() - begun_s
            logger.info("played in %.3f s", played_s, extra=ticket.about)
            answer.result(ticket, MatchResult(task.match_id, task.attempt, games, self.name, played_s))

    def _ready(self) -> bool:
        if self._referee is None and self._failures_in_a_row < MAX_FAILURES_IN_A_ROW:
            try:
                self._sandbox, first_slot = self.seat()
            except (SandboxFailure, OSError) as failure:
                # Nothing has happened to the match: it is given back, and this worker goes.
                logger.error("the sandbox does not start: %s", failure, extra={"worker": self.name})  # noqa: TRY400
                self._failures_in_a_row = MAX_FAILURES_IN_A_ROW
            else:
                self._referee = Referee(self._sandbox, self._sources, first_slot=first_slot, watcher=self._pulse)
        return self._referee is not None

    def _beat(self, kind: str) -> None:
        self._pulse.beaten_s = self.clock()
        self.watchdog(max((silence_limit_s(task.limits) for _, task in self._waiting), default=0))
        tickets = [ticket.to_json() for ticket, _ in self._waiting]
        self.broker.tell({"kind": kind, "worker": self.name, "tickets": tickets})

    def _has_sources(self, task: MatchTask) -> bool:
        """Gets the sources of a match that are not here yet; believes a hash and nothing else."""
        for sha256 in {player.sha256 for player in task.players if player.sha256 is not None}:
            if sha256 in self._sources:
                self._sources.move_to_end(sha256)
                continue
            try:
                source = BotSource.unpack(self.broker.packed_source(sha256) or b"")
            except ValueError:
                source = None
            if source is None or source.sha256 != sha256:
                # Redis has lost its memory; the coordinator puts it there again before it sends the match again.
                logger.warning("the source %s… is not in Redis", sha256[:12], extra={"match": task.match_id})
                return False
            self._sources[sha256] = source
        while sum(source.size_bytes for source in self._sources.values()) > _CACHE_BYTES and len(self._sources) > 3:
            self._sources.popitem(last=False)
        return True


class _Answer:
    """What became of a chunk; large parts are sent at once, the rest at the end."""

    def __init__(self, worker: str, broker: Broker) -> None:
        self.played = False
        self._worker = worker
        self._broker = broker
        self._clear()

    def _clear(self) -> None:
        self._bytes = 0
        self._results: list[str] = []
        self._failures: list[list[Any]] = []
        self._unplayed: list[list[Any]] = []

    def result(self, ticket: Ticket, result: MatchResult) -> None:
        self.played = True
        text = json.dumps({"ticket": ticket.to_json(), "result": result_to_json(result)})
        if len(text) > MAX_MESSAGE_BYTES - _FLUSH_BYTES:
            self.failed(ticket, f"the result has {len(text)} bytes: more than fit into a message")
            return
        self._results.append(text)
        self._bytes += len(text)
        if self._bytes > _FLUSH_BYTES:
            self.send()

    def failed(self, ticket: Ticket, reason: str) -> None:
        self.played = True
        self._failures.append([ticket.to_json(), reason])

    def unplayed(self, ticket: Ticket) -> None:
        self._unplayed.append(ticket.to_json())

    def send(self) -> None:
        if self._results or self._failures or self._unplayed:
            head = {
                "kind": "result", "worker": self._worker, "failures": self._failures, "unplayed": self._unplayed,
            }  # fmt: skip
            # The results are JSON already: written once, however long their acts are.
            self._broker.answer(f'{json.dumps(head)[:-1]}, "results": [{",".join(self._results)}]}}')
        self._clear()


class SeatHere:
    """Starts the sandbox of a worker process, pinned with it to one core: a match is quick only if both share it."""

    def __init__(self, hostname: str) -> None:
        """Begins to look for a core at another place on each host: containers do not see each other's numbers."""
        self._offset = random.Random(hostname).randrange(_PLACES)
        self._place: tuple[int, socket.socket] | None = None

    def __call__(self) -> tuple[Sandbox, int]:
        """Returns the sandbox and its first slot.

        Raises:
            SandboxFailure: a layer that must hold does not.
        """
        if self._place is None:
            self._place = claim_place()
            cores = sorted(os.sched_getaffinity(0))
            self._core = cores[(self._place[0] + self._offset) % len(cores)]
            os.sched_setaffinity(0, {self._core})
            collect_seldom()
        return Sandbox(cpu=self._core).start(), self._place[0] * SLOTS_PER_PLACE


def leave_worker() -> None:
    """Ends the worker that this process of its pool belongs to, once it has finished what it plays."""
    os.kill(os.getppid(), signal.SIGTERM)


def end_unless_told_again(seconds: float) -> None:
    """Has the kernel end this process after so many seconds: a match that hangs holds no slot for ever."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
