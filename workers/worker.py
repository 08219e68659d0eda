"""Runs a play worker: a Celery worker that knows one task, listens to one queue and announces itself."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from typing import Any, Final

import redis
from celery import bootsteps, signals  # type: ignore[import-untyped]

from tournament.environment import Environment, served
from workers.app import PLAY, WORKER_OPTIONS, make_app, redis_client, safe_url
from workers.heartbeat import beat
from workers.tasks import Broker, Player, SeatHere, end_unless_told_again, leave_worker
from workers.tickets import WANTED, match_queue, why_not, worker_queue

HELLO_S: Final = 20.0

logger = logging.getLogger(__name__)


class Announcer:
    """Says who is here and with how many slots, and finds out whether anybody wants this environment."""

    def __init__(self, name: str, slots: int, environment: Environment, broker: Broker, client: redis.Redis) -> None:
        self._hello = {"kind": "hello", "worker": name, "slots": slots, "environment": environment}
        self._environment = environment
        self._broker = broker
        self._client = client
        self._told: str | None = None

    def hello(self) -> None:
        """Sends the announcement; a difference that leaves this worker without work is logged once."""
        self._broker.tell(self._hello)
        try:
            raw: Any = self._client.get(WANTED)
        except redis.RedisError:
            return
        beat()
        reason = why_not(self._environment, json.loads(raw or b"[]"))
        if reason != self._told:
            self._told = reason
            logger.warning(reason or "this environment is wanted now", extra={"worker": self._hello["worker"]})


def announcing(hello: Callable[[], None]) -> type[Any]:
    """Makes the part of a Celery worker that calls `hello` whenever it has connected, and every `HELLO_S`.

    On the timer of the worker's own loop, so that a worker which does nothing any more is silent.
    """

    class Announce(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery ships no types
        """Announces the worker."""

        requires = {"celery.worker.consumer.tasks:Tasks"}  # noqa: RUF012  # Celery's own way

        def __init__(self, parent: Any, **options: Any) -> None:
            self._timer: Any = None
            super().__init__(parent, **options)

        def start(self, parent: Any) -> None:
            hello()
            self._timer = parent.timer.call_repeatedly(HELLO_S, hello)

        def stop(self, parent: Any) -> None:
            del parent
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        shutdown = stop

    return Announce


def run_worker(broker_url: str, *, name: str, hostname: str, slots: int, environment: Environment) -> None:
    """Plays what the queue of this environment brings until TERM comes, then finishes what it plays.

    Args:
        broker_url: the address of Redis, with this worker's account.
        name: how the worker is called among all others.
        hostname: of this machine or container.
        slots: matches played side by side.
        environment: what this machine offers, as its sandbox says.
    """
    app = make_app(broker_url)
    client = redis_client(broker_url)
    broker = Broker(app, client)
    player = Player(name, broker, SeatHere(hostname), leave_worker, end_unless_told_again)
    announcer = Announcer(name, slots, environment, broker, client)

    def play(message: list[dict[str, Any]]) -> None:
        player.play(message)

    def begin(**_: Any) -> None:
        os.setpgrp()  # a hard time limit kills the group, and with it the sandbox

    def end(**_: Any) -> None:
        player.close()

    def leave_logging_alone(**_: Any) -> None:
        """Keeps Celery from setting up its own: it asks whether anybody listens to this signal."""

    app.task(name=PLAY)(play)
    app.steps["consumer"].add(announcing(announcer.hello))
    # Not weakly: these functions live no longer than this one, which is as long as the worker.
    signals.worker_process_init.connect(begin, weak=False)
    signals.worker_process_shutdown.connect(end, weak=False)
    signals.setup_logging.connect(leave_logging_alone, weak=False)
    queue = ",".join([*map(match_queue, served(environment)), worker_queue(name)])
    logger.info("worker with %d slots on %s, queue %s", slots, safe_url(broker_url), queue, extra={"worker": name})
    app.worker_main(
        ["--quiet", "worker", f"--hostname={name}", f"--concurrency={slots}", f"--queues={queue}", *WORKER_OPTIONS]
    )
