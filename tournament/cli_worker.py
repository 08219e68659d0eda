"""The command `worker`. It loads no store and no ratings: a worker knows no database, and starts in half the time."""

from __future__ import annotations

import os
import socket
from contextlib import closing
from typing import Annotated

import typer

from tournament.cli_common import SERVERS, Refused, core_count
from tournament.settings import Settings
from workers.logs import log_to
from workers.sandbox.host import Sandbox

app = typer.Typer()


@app.command(rich_help_panel=SERVERS)
def worker(
    slots: Annotated[int | None, typer.Option(help="Matches side by side.", min=1, show_default="one a core")] = None,
    name: Annotated[str | None, typer.Option(help="Name among the workers.", show_default="host:process")] = None,
) -> None:
    """Play matches that come through Redis (TOURNAMENT_BROKER_URL); TERM ends it after what it plays."""
    from tournament.environment import environment
    from workers.worker import run_worker

    url = broker_url(Settings.from_environment(os.environ))
    log_to()
    # Refuses to start where a layer is missing, and tells which modules bots find here.
    with Sandbox() as sandbox:
        found = sandbox.confinement
    offered = {**environment(found.modules), "layers": sorted(found.layers)}
    hostname = socket.gethostname()
    run_worker(
        url,
        name=name or f"{hostname}:{os.getpid()}",
        hostname=hostname,
        slots=slots or core_count(),
        environment=offered,
    )


def broker_url(settings: Settings) -> str:
    """Returns the broker's address.

    Raises:
        Refused: it is not set, or Redis does not take its user and password. A Redis that is away comes back.
    """
    import redis

    from workers.app import redis_client, safe_url

    if not settings.broker_url:
        raise Refused("TOURNAMENT_BROKER_URL is not set: expected redis://USER:PASSWORD@HOST:PORT/0, or its _FILE")
    try:
        with closing(redis_client(settings.broker_url)) as client:
            client.ping()
    except redis.AuthenticationError as error:
        raise Refused(f"{safe_url(settings.broker_url)}: {error}: expected another user or password") from None
    except (redis.RedisError, OSError):
        pass
    return settings.broker_url
