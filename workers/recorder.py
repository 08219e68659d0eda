"""The recorder: a plain consumer that believes nothing. It checks what workers send, plays every game again, records.

No Celery worker: such a one runs any task that Celery itself registers, for whoever can publish. This one knows three
kinds of messages. `Recorder.accept` knows no transport.
"""

from __future__ import annotations

import json
import logging
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import redis
from kombu.connection import Connection
from kombu.entity import Queue
from kombu.exceptions import OperationalError as BrokerAway
from kombu.mixins import ConsumerMixin
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tournament.environment import LAYERS
from tournament.repeat import is_drawn
from tournament.results import MatchResult
from tournament.store import NotFound, Store
from tournament.store_cluster import COORDINATOR, active
from tournament.store_database import UNUSABLE
from tournament.store_queue import HOLDER
from tournament.store_record import storable
from tournament.store_repeats import REPEATED, answer_order, order_repeats, release_order
from tournament.store_values import Recorded
from tournament.wire import checked_result
from workers.estimates import Estimates
from workers.tickets import MAX_MESSAGE_BYTES, RESULTS, Ticket, Tickets, why_not

PREFETCH: Final = 20
RETRY_S: Final = 0.5
AWAY_S: Final = 1.0
_MOST: Final = 64
_TIMING_BYTES: Final = 5
_MAX_TEXT: Final = 70_000
"""Longest text of a fault report: the sandbox cuts a log at 65,536 characters."""

logger = logging.getLogger(__name__)


class Rejected(ValueError):
    """A message that is not believed; the text says why."""


_Name = Annotated[str, Field(pattern="^[A-Za-z0-9_.:@-]{1,100}$")]
_Short = Annotated[str, Field(pattern="^[ -~]{0,100}$")]
"""What pages and terminals show: no control characters, and no NUL, which PostgreSQL refuses."""

_Layer = Annotated[str, Field(pattern=f"^({'|'.join(LAYERS)})$")]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    worker: _Name


class _Environment(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    engine: _Short
    python: _Short
    modules: list[_Short] = Field(max_length=500)
    layers: list[_Layer] = Field(default=[], max_length=len(LAYERS))


class _Hello(_Message):
    kind: Literal["hello"]
    slots: int = Field(ge=0, le=4096)
    environment: _Environment


class _Beat(_Message):
    kind: Literal["started", "alive"]
    tickets: list[list[Any]] = Field(max_length=_MOST)


class _Result(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    ticket: list[Any]
    result: dict[str, Any]


class _Results(_Message):
    kind: Literal["result"]
    results: list[_Result] = Field(max_length=_MOST)
    failures: list[Annotated[list[Any], Field(min_length=2, max_length=2)]] = Field(max_length=_MOST)
    unplayed: list[list[Any]] = Field(max_length=_MOST)


_MESSAGES: Final[TypeAdapter[_Hello | _Beat | _Results]] = TypeAdapter(
    Annotated[_Hello | _Beat | _Results, Field(discriminator="kind")]
)


@dataclass(eq=False)
class Recorder:
    """Takes the messages of workers, from whatever carried them, and records into a store.

    Attributes:
        store: the store.
        tickets: checks whether a worker was given what it answers for.
        estimates: told how long matches took.
        beat_lease_s: how long a beat prolongs leases.
        max_losses: leases that a match may lose before it has failed.
    """

    store: Store
    tickets: Tickets
    estimates: Estimates
    beat_lease_s: float
    max_losses: int

    def accept(self, body: bytes | str) -> None:
        """Does what a message asks for, once, however often it comes.

        Raises:
            Rejected: it is too large, malformed or not from a worker that was given what it speaks of.
            OperationalError: one of `UNUSABLE`: the database is away; the message is to be kept.
        """
        if len(body) > MAX_MESSAGE_BYTES:
            raise Rejected(f"{len(body)} bytes: expected {MAX_MESSAGE_BYTES} at most")
        try:
            message = _MESSAGES.validate_python(json.loads(body))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise Rejected(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        except (ValueError, RecursionError) as error:
            raise Rejected(f"no JSON: {error}") from None
        if message.worker.startswith((COORDINATOR, HOLDER)):
            raise Rejected(f"a worker calls itself {message.worker}")
        match message:
            case _Hello():
                self._hello(message)
            case _Beat():
                leases = [ticket.lease for ticket in map(self._ticket, message.tickets)]
                self.store.renew(leases, self.beat_lease_s, worker=message.worker)
            case _Results():
                self._results(message)

    def _hello(self, message: _Hello) -> None:
        environment = message.environment.model_dump(exclude_defaults=True)
        wanted = [(each.id, each.environment) for each in active(self.store) if each.environment]
        refused = why_not(environment, wanted)
        self.store.announce(message.worker, message.slots, environment, refused=refused)

    def _ticket(self, value: list[Any]) -> Ticket:
        try:
            ticket = Ticket.from_json(value)
            self.tickets.check(ticket)
        except (ValueError, NotFound) as error:
            raise Rejected(str(error)) from None
        return ticket

    def _results(self, message: _Results) -> None:
        def about(ticket: Ticket) -> dict[str, Any]:
            return {**ticket.about, "worker": message.worker}

        unplayed = [self._ticket(value) for value in message.unplayed]
        failures = [(self._ticket(value), storable(str(reason)[:500])) for value, reason in message.failures]
        checked: list[tuple[Ticket, MatchResult]] = []
        for each in message.results:
            ticket = self._ticket(each.ticket)
            try:
                result = self._played_again(ticket, {**each.result, "worker": message.worker})
            except Rejected as error:
                logger.error("a result that cannot be: %s", error, extra=about(ticket))  # noqa: TRY400
                failures.append((ticket, f"a result that cannot be: {error}"[:500]))
                continue
            if ticket.attempt != REPEATED:
                checked.append((ticket, result))
            elif not answer_order(self.store, ticket.id, message.worker, [each.digest for each in result.games]):
                logger.warning("played again by one who was not asked to", extra=about(ticket))
        outcomes = self.store.record([result for _, result in checked])
        for (ticket, result), outcome in zip(checked, outcomes, strict=True):
            self.estimates.observe(ticket.tournament_id, ticket.entrants, result.play_s)
            level = logging.INFO if outcome in (Recorded.RECORDED, Recorded.DUPLICATE) else logging.WARNING
            logger.log(level, "result: %s", outcome, extra=about(ticket))
            if outcome is Recorded.RECORDED and is_drawn(self.tickets.tournament(ticket.tournament_id), ticket.key):
                order_repeats(self.store, ticket.tournament_id, [ticket.number])
        for ticket, reason in failures:
            logger.warning("failure: %s", reason, extra=about(ticket))
            self.store.fail(*ticket.lease, reason, max_losses=self.max_losses)
        if unplayed:
            self.store.release(ticket.lease for ticket in unplayed)
        for ticket in (*unplayed, *(ticket for ticket, _ in failures)):
            if ticket.attempt == REPEATED:
                release_order(self.store, ticket.id, message.worker)

    def _played_again(self, ticket: Ticket, data: Mapping[str, Any]) -> MatchResult:
        task = self.tickets.of(ticket)
        try:
            result = checked_result(task, data)
        except Exception as error:  # noqa: BLE001  # hostile acts may break the engine in ways that nobody has thought of
            raise Rejected(f"{type(error).__name__}: {error}"[:300]) from None
        _check_sizes(result)
        return result


def _check_sizes(result: MatchResult) -> None:
    """Refuses what cannot be played again but goes into rows: times and texts.

    Raises:
        Rejected: one of them cannot be.
    """
    if not (math.isfinite(result.play_s) and 0 <= result.play_s < 1e6):
        raise Rejected(f"play_s is {result.play_s}: expected seconds")
    for game in result.games:
        if len(game.timings) % _TIMING_BYTES or len(game.timings) > _TIMING_BYTES * (len(game.acts) + 1):
            raise Rejected(f"{len(game.timings)} bytes of timings for {len(game.acts)} of acts")
        for report in game.reports:
            if max(len(report.message), len(report.traceback), len(report.log_tail), len(report.question)) > _MAX_TEXT:
                raise Rejected(f"a fault report with a text beyond {_MAX_TEXT} characters")
            if not all(math.isfinite(each) for each in (report.measured, report.limit) if each is not None):
                raise Rejected(f"measured {report.measured}, limit {report.limit}: expected numbers")


class RecorderLoop(ConsumerMixin):
    """Feeds a recorder from the results queue; acknowledges what has been committed."""

    connect_max_retries = 1  # type: ignore[assignment]  # more are made here, where `stop` is looked at

    def __init__(self, connection: Connection, recorder: Recorder, stop: threading.Event) -> None:
        self.connection = connection
        self._recorder = recorder
        self._stop = stop

    @property
    def should_stop(self) -> bool:  # type: ignore[override]  # a plain attribute of kombu's
        """Asked by kombu about once a second."""
        return self._stop.is_set()

    def get_consumers(self, consumer: Any, channel: Any) -> list[Any]:
        """Listens to one queue, for JSON only."""
        del channel
        queue = Queue(RESULTS)  # type: ignore[no-untyped-call]
        return [consumer(queues=[queue], on_message=self.on_message, accept=["json"], prefetch_count=PREFETCH)]

    def on_message(self, message: Any) -> None:
        """Records, then acknowledges; keeps the message as long as the database is away."""
        while not self._stop.is_set():
            try:
                self._recorder.accept(message.body)
            except Rejected as error:
                logger.error("message rejected: %s", error, extra={"bytes": len(message.body)})  # noqa: TRY400
                message.reject()
            except UNUSABLE as error:
                logger.warning("the database is away: %s", str(error).partition("\n")[0])
                self._stop.wait(RETRY_S)
                continue
            except Exception:
                # Ours. The message would come again and again: its leases bring its matches back, a few times only.
                logger.exception("a message that could not be taken", extra={"bytes": len(message.body)})
                message.reject()
            else:
                message.ack()
            return

    def run_until_stopped(self) -> None:
        """Consumes, and begins again whatever the broker does, until told to stop."""
        while not self._stop.is_set():
            try:
                for _ in self.consume(limit=None):  # type: ignore[no-untyped-call]
                    pass
            except (BrokerAway, redis.RedisError, OSError) as error:
                logger.warning("the recorder has no broker: %s", error)
                self._stop.wait(AWAY_S)
            except Exception as error:  # noqa: BLE001
                # Of kombu's, which has taken out of the queue what is no message of its kind. Not its own `run`, which
                # begins again once a second: a hundred pieces of junk would hold up all results for minutes.
                logger.error("message rejected: no envelope: %s %.200s", type(error).__name__, error)  # noqa: TRY400
