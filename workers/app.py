"""The Celery application of play workers and of the coordinator that publishes to them: every setting with its failure.

The queue is a hint, the database the only truth: whatever is lost or doubled here, a lease brings back or the recorder
drops. `docs/decisions/0034` has the measurements behind the settings.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import redis
from celery import Celery  # type: ignore[import-untyped]
from kombu.connection import Connection

PLAY: Final = "play"
"""The one task: play a chunk of matches."""

_SOCKET_OPTIONS: Final[dict[str, Any]] = {
    "socket_timeout": 30,  # longer than any blocking read of kombu's; without it a dead peer hangs for ever
    "socket_connect_timeout": 3,  # a host that is gone is noticed before the next try, not after minutes
    "socket_keepalive": True,  # firewalls forget idle connections
    "health_check_interval": 10,  # a half-open connection is found before a message is lost in it
}

SETTINGS: Final[dict[str, Any]] = {
    "result_backend": None,  # nobody waits for a task: results are messages to the recorder
    "task_ignore_result": True,
    "task_serializer": "json",  # pickle would run whatever a stolen account publishes
    "accept_content": ["json"],
    "task_default_queue": "matches",
    "task_create_missing_queues": True,  # one queue for each environment, named by who listens
    "task_acks_late": True,  # a chunk whose worker dies is not lost with its message
    "task_reject_on_worker_lost": False,  # a match that kills its worker must not loop; its lease retries it, counted
    "task_acks_on_failure": True,  # the lease brings the match back, not the broker
    "task_acks_on_timeout": True,
    "task_time_limit": 7_200,  # backstop; each message carries its own, from the limits of its tournament
    "worker_prefetch_multiplier": 1,  # a message that waits in a worker is late for another one, and may run twice
    "worker_proc_alive_timeout": 60,  # on a busy machine a new pool process takes longer than the default 4 s to say so
    "worker_max_tasks_per_child": 200,  # contains what a referee's process may leak
    "worker_cancel_long_running_tasks_on_connection_loss": False,  # the result is still wanted after a blip
    "worker_enable_remote_control": False,  # else any client may broadcast `shutdown` to all workers
    "worker_send_task_events": False,  # half as much work again for each message, and nobody listens
    "worker_soft_shutdown_timeout": 0,  # TERM finishes the chunk by itself
    "worker_hijack_root_logger": False,  # our log lines are JSON
    "worker_redirect_stdouts": False,
    "broker_connection_retry": True,
    "broker_connection_retry_on_startup": True,  # workers may be started before Redis
    "broker_connection_max_retries": None,  # the default gives up after 100 and exits
    "broker_connection_timeout": 3,
    "broker_pool_limit": 4,
    "broker_transport_options": {
        # Longer than any lease: recovery is the lease's business, and the shortest timeout of any client wins for all.
        "visibility_timeout": 3_600,
        "priority_steps": [0],  # one list for a queue; the order is the coordinator's
        **_SOCKET_OPTIONS,
    },
    "task_publish_retry": True,  # for a stale connection; who must wait longer does so by itself
    "task_publish_retry_policy": {"max_retries": 8, "interval_start": 0.1, "interval_step": 0.5, "interval_max": 3},
}

RECORDER_OPTIONS: Final[dict[str, Any]] = {
    "visibility_timeout": 60,  # a recorder that dies gives its messages to the next one within a minute
    "unacked_restore_interval": 5,  # kombu's own sweep comes every 100 s only
    "unacked_restore_throttle": 1,
    # Its own keys: all clients that share these keys also share the shortest timeout.
    "unacked_key": "unacked_r",
    "unacked_index_key": "unacked_index_r",
    "unacked_mutex_key": "unacked_mutex_r",
    "priority_steps": [0],
    **_SOCKET_OPTIONS,
}

WORKER_OPTIONS: Final = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--pool=prefork")
"""Gossip and mingle need channels of Redis that a worker's account has no right to; prefork alone can be stopped."""


def make_app(broker_url: str) -> Celery:
    """Makes the application; nothing is connected yet."""
    app = Celery("smear", broker=broker_url, set_as_current=False)
    app.conf.update(SETTINGS)
    return app


def recorder_connection(broker_url: str) -> Connection:
    """Makes the recorder's connection, with unacked keys and timeout of its own."""
    return Connection(broker_url, transport_options=RECORDER_OPTIONS)  # type: ignore[no-untyped-call]


def redis_client(broker_url: str) -> redis.Redis:
    """Makes a client for what is no queue: sources, cancelled tournaments, the epoch."""
    client: redis.Redis = redis.Redis.from_url(
        broker_url, socket_timeout=5, socket_connect_timeout=3, socket_keepalive=True, health_check_interval=10
    )
    return client


def safe_url(broker_url: str) -> str:
    """Returns an address without its password, for logs.

    >>> safe_url("rediss://worker:secret@redis:6379/0?ssl_cert_reqs=required")
    'rediss://worker@redis:6379/0?ssl_cert_reqs=required'
    """
    parts = urlsplit(broker_url)
    user, host = parts.username, parts.netloc.rpartition("@")[2]
    query = urlencode(parse_qsl(parts.query), safe="/")
    return urlunsplit(parts._replace(netloc=f"{user}@{host}" if user else host, query=query))
