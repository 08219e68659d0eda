"""The coordinator: leases matches, commits, then publishes; takes back what is lost; keeps the broker short of work.

Everything it knows is in the database, so that it may be killed at any time, and two may run: every transition of a
match is one conditional statement. A crash between commit and publish costs one lease time, never a match.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import redis
from celery import Celery  # type: ignore[import-untyped]
from kombu.exceptions import OperationalError as BrokerAway

from tournament.environment import Environment, difference, fingerprint, is_pinned, served
from tournament.repeat import assign
from tournament.store import Store
from tournament.store_cluster import (
    ALIVE_S,
    COORDINATOR,
    Active,
    active,
    cancelled_since,
    never_started,
    pin_environment,
)
from tournament.store_database import UNUSABLE
from tournament.store_repeats import open_orders, take_order
from tournament.store_values import LeasedMatch
from workers.app import PLAY
from workers.estimates import Estimates
from workers.heartbeat import beat
from workers.referee import match_wall_limit_s
from workers.tickets import (
    CANCELLED,
    CHUNK_LIMIT_S,
    EPOCH,
    RESULTS,
    WANTED,
    Chunk,
    Ticket,
    Tickets,
    match_queue,
    source_key,
    worker_queue,
)

ANNOUNCE_S: Final = 20.0
FORGET_S: Final = 86_400.0
CANCELLED_S: Final = 3_600
SOURCE_S: Final = 7_200
GRACE_S: Final = 30.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is handed out, for how long, and how often the coordinator looks.

    Attributes:
        queue_lease_s: the lease of a match that waits in the queue.
        beat_lease_s: the lease of a match after a beat; the next beat and a reconnect fit in.
        max_losses: leases that a match may lose before it has failed.
        chunk_s: expected time of the matches in one message.
        chunk_matches: most matches in one message.
        chunks_per_slot: messages in flight for each slot.
        least_chunks: messages in flight however few slots there are.
        results_waiting: messages in the results queue beyond which nothing more is handed out.
        tick_s: time between two looks.
    """

    queue_lease_s: float = 600.0
    beat_lease_s: float = 60.0
    max_losses: int = 5
    chunk_s: float = 2.0
    chunk_matches: int = 20
    chunks_per_slot: int = 3
    least_chunks: int = 8
    results_waiting: int = 500
    tick_s: float = 0.5


class Publisher:
    """What a coordinator needs of the broker, with its own account there."""

    def __init__(self, app: Celery, client: redis.Redis) -> None:
        self._app = app
        self._client: Any = client

    def _run_id(self) -> bytes:
        return str(self._client.info("server")["run_id"]).encode()

    def remembers(self) -> bool:
        """Tells whether this is the Redis that `remember` marked: another run, or one that was emptied, is not."""
        return bool(self._client.get(EPOCH) == self._run_id())

    def remember(self) -> None:
        """Marks this run of Redis."""
        self._client.set(EPOCH, self._run_id())

    def results_waiting(self) -> int:
        """Returns the length of the results queue."""
        return int(self._client.llen(RESULTS))

    def want(self, environments: Sequence[tuple[int, Environment]]) -> None:
        """Tells workers which tournaments run under which environments."""
        self._client.set(WANTED, json.dumps(environments), ex=CANCELLED_S)

    def cancel(self, tournaments: Sequence[int], running: Sequence[int]) -> None:
        """Tells workers which tournaments need not be played any more: they look before each match.

        What runs is taken out: it may have the number of one that was cancelled before the database was restored.
        """
        if tournaments:
            self._client.sadd(CANCELLED, *map(str, tournaments))
            self._client.expire(CANCELLED, CANCELLED_S)
        if running:
            self._client.srem(CANCELLED, *map(str, running))

    def keep_source(self, sha256: str, packed: Callable[[], bytes]) -> None:
        """Keeps a bot's source there for a while; `packed` is asked only if it is not there."""
        if not self._client.expire(source_key(sha256), SOURCE_S):
            self._client.set(source_key(sha256), packed(), ex=SOURCE_S)

    def publish(self, queue: str, chunk: Chunk, *, expires_s: float, time_limit_s: float) -> None:
        """Sends the chunk as the task `play`; what is not taken in time is dropped by the worker."""
        self._app.send_task(
            PLAY, args=[chunk.to_json()], queue=queue, expires=expires_s, time_limit=time_limit_s, ignore_result=True,
            retry=True, retry_policy={"max_retries": 1, "interval_start": 0.1},  # for a stale connection
        )  # fmt: skip


@dataclass(eq=False)
class Coordinator:
    """Decides what is handed out and when; one `tick` is one look at everything.

    Attributes:
        store: the truth.
        tickets: signs the leases.
        publisher: the broker.
        estimates: how long matches take.
        environment: of this process; tournaments that name none are played under it.
        name: of this coordinator, among several.
        pace: how much and how often.
        clock: monotonic seconds.
    """

    store: Store
    tickets: Tickets
    publisher: Publisher
    estimates: Estimates
    environment: Environment
    name: str
    pace: Pace = field(default_factory=Pace)
    clock: Callable[[], float] = time.monotonic
    _announced_s: float | None = None
    _told: dict[int, str] = field(default_factory=dict)

    def run(self, stop: threading.Event, *, drain: bool = False) -> None:
        """Looks again and again until told to stop, whatever database and broker do.

        Args:
            stop: ends it.
            drain: hand out nothing, and end when nothing is out any more.
        """
        away = False
        while not stop.is_set():
            try:
                self.tick(hand_out=not drain)
                beat()
                if drain and not any(each.leased for each in active(self.store)):
                    return
            except (*UNUSABLE, redis.RedisError, BrokerAway, OSError) as error:
                if not away:
                    logger.warning("database or broker is away: %s", str(error).partition("\n")[0])
                away = True
            else:
                if away:
                    logger.info("database and broker are back")
                away = False
            stop.wait(self.pace.tick_s)

    def tick(self, *, hand_out: bool = True) -> int:
        """Takes back what is lost and hands out what is wanted. Returns how many matches were published."""
        self._announce()
        self._take_back()
        cancelled = cancelled_since(self.store, CANCELLED_S)
        running = self._pinned(active(self.store))
        self.publisher.cancel(cancelled, [each.id for each in running])
        self.publisher.want([(each.id, each.environment) for each in running])
        if not hand_out or self.publisher.results_waiting() > self.pace.results_waiting:
            return 0
        slots = self._slots()
        self._hand_out_repeats()
        published = 0
        for mark in dict.fromkeys(fingerprint(each.environment) for each in running):
            group = [each for each in running if fingerprint(each.environment) == mark]
            if self._can_judge(group[0]):
                published += self._top_up(group, slots.get(mark, 0))
        return published

    def _announce(self) -> None:
        now_s = self.clock()
        if self._announced_s is None or now_s - self._announced_s > ANNOUNCE_S:
            self.store.announce(COORDINATOR + self.name, 0, self.environment)
            self.store.forget_workers(silent_s=FORGET_S)
            self._announced_s = now_s

    def _take_back(self) -> None:
        if lost := never_started(self.store):
            logger.warning("%d matches waited too long in the queue", self.store.release(lost))
        if count := self.store.take_back(max_losses=self.pace.max_losses):
            logger.warning("%d leases ran out", count)
        if not self.publisher.remembers():
            count = self.store.take_back_all(started_too=False)
            self.publisher.remember()
            logger.warning("Redis has no memory of before: %d matches go back to the queue", count)

    def _pinned(self, running: Sequence[Active]) -> list[Active]:
        return [
            each if is_pinned(each.environment) else pin_environment(self.store, each, self.environment)
            for each in running
        ]

    def _slots(self) -> Mapping[str, int]:
        """Returns the slots of living workers for each environment."""
        since = self.store.now() - ALIVE_S
        slots: dict[str, int] = {}
        for worker in self.store.workers():
            if worker.seen_at > since:
                for mark in map(fingerprint, served(worker.environment)):
                    slots[mark] = slots.get(mark, 0) + worker.slots
        return slots

    def _can_judge(self, tournament: Active) -> bool:
        """Tells whether this process plays games again by the tournament's rules engine."""
        if tournament.environment.get("engine") == self.environment.get("engine"):
            return True
        reason = difference(tournament.environment, self.environment) or ""
        if self._told.get(tournament.id) != reason:
            self._told[tournament.id] = reason
            logger.error("not coordinated here: %s", reason, extra={"tournament": tournament.id})
        return False

    def _top_up(self, group: Sequence[Active], slots: int) -> int:
        """Leases and publishes until enough is in flight; nothing where nobody plays, or it would wait to no end."""
        if not slots:
            return 0
        pace = self.pace
        mean_s = min(self.estimates.mean_s(each.id) for each in group)
        per_chunk = max(1, min(pace.chunk_matches, int(pace.chunk_s / mean_s)))
        want = max(pace.least_chunks, pace.chunks_per_slot * slots) * per_chunk - sum(each.leased for each in group)
        if want <= 0:
            return 0
        matches = self.store.lease(want, pace.queue_lease_s, tournaments=[each.id for each in group])
        self._publish(matches, match_queue(group[0].environment))
        return len(matches)

    def _hand_out_repeats(self) -> None:
        """Sends what is to be played again to another worker than the one that played it, by a queue of its own."""
        orders = open_orders(self.store)
        if not orders:
            return
        for order, worker in assign(orders, self.store.workers(), self.store.now() - ALIVE_S):
            if take_order(self.store, order, worker, self.pace.queue_lease_s):
                self._send([order.match], worker_queue(worker))

    def _packed(self, sha256: str) -> bytes:
        return self.store.source(sha256).pack()

    def _publish(self, matches: Sequence[LeasedMatch], queue: str) -> None:
        waiting = [(match.id, match.attempt) for match in matches]
        try:
            for part in chunks(matches, self.estimates, self.pace):
                for ticket in self._send(part, queue):
                    waiting.remove(ticket.lease)
                    logger.debug("published", extra=ticket.about)
        except (redis.RedisError, BrokerAway, OSError):
            self.store.release(waiting)
            raise

    def _send(self, matches: Sequence[LeasedMatch], queue: str) -> list[Ticket]:
        chunk = Chunk(tuple(self.tickets.issue(match) for match in matches))
        for sha256 in {player.sha256 or "" for _, task in chunk.matches for player in task.players} - {""}:
            self.publisher.keep_source(sha256, partial(self._packed, sha256))
        limit_s = CHUNK_LIMIT_S + max(match_wall_limit_s(task) for _, task in chunk.matches) + GRACE_S
        self.publisher.publish(queue, chunk, expires_s=self.pace.queue_lease_s, time_limit_s=limit_s)
        return [ticket for ticket, _ in chunk.matches]


def chunks(matches: Sequence[LeasedMatch], estimates: Estimates, pace: Pace) -> list[list[LeasedMatch]]:
    """Cuts matches, in their order, into messages of about `chunk_s`.

    A match that was leased before travels alone: if it kills its worker, no other match loses its lease with it.
    """
    parts: list[list[LeasedMatch]] = []
    current: list[LeasedMatch] = []
    room_s = 0.0
    for match in matches:
        expected_s = estimates.match_s(match.tournament_id, match.entrants)
        if match.attempt > 1:
            parts.append([match])
        elif current and expected_s <= room_s and len(current) < pace.chunk_matches:
            current.append(match)
            room_s -= expected_s
        else:
            current = [match]
            parts.append(current)
            room_s = pace.chunk_s - expected_s
    return parts
