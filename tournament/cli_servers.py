"""The commands of servers: serve, coordinator, workers, migrate, doctor; `worker` is in `cli_worker`."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from sqlalchemy.exc import SQLAlchemyError

from tournament import contest
from tournament.cli_common import (
    SERVERS,
    Db,
    Json,
    Refused,
    core_count,
    house_bot,
    house_entrants,
    notes,
    opened,
    out,
    print_json,
    without_password,
)
from tournament.cli_people import claim_line
from tournament.cli_worker import broker_url
from tournament.environment import LAYERS, environment, fingerprint
from tournament.lock import CoordinatorLock
from tournament.metrics import CONTENT_TYPE, exposition
from tournament.settings import Settings
from tournament.store import Store
from tournament.store_cluster import ALIVE_S, COORDINATOR
from workers.embedded import play_while
from workers.local import LocalExecutor
from workers.logs import log_to
from workers.repeat import watch_repeats
from workers.sandbox import doctor as sandbox_doctor
from workers.sandbox.doctor import Check

if TYPE_CHECKING:
    from fastapi import FastAPI


app = typer.Typer()
logger = logging.getLogger(__name__)

CLOCK_S: Final = 1.0
"""How often somebody looks whether a contest is to open, close or begin."""

READY_S: Final = 60.0
"""How long a server waits for its database: one that starts or recovers says so for a while."""


@app.command(rich_help_panel=SERVERS)
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8000,
    web_only: Annotated[bool, typer.Option("--web-only", help="Play nothing: others do, as in a cluster.")] = False,
    lan: Annotated[
        bool, typer.Option("--lan", help="Listen for the whole local network, and print the address.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(help="Matches side by side.", min=1, show_default="one a core")] = None,
    db: Db = None,
) -> None:
    """Serve the site, and play what runs in its SQLite file on this machine's cores."""
    from dashboard.app import serve as serve_site

    if lan:
        host = "0.0.0.0"  # noqa: S104  # that is what was asked for
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        raise Refused(f"the site has no place: {error.strerror}: expected another --port, or --host") from None
    log_to()
    with opened(db, wait_s=READY_S) as store:
        if store.path is None and not web_only:
            raise Refused("serve plays on SQLite only: with PostgreSQL use --web-only, a coordinator and workers")
        site = make_site(store)
        stop = threading.Event()
        player: threading.Thread | None = None
        if sys.platform != "linux" and not web_only:
            notes.print("Matches are played on Linux only: this shows what is there and plays nothing.")
        elif store.path is not None and not web_only:
            beside = [partial(_check, store), partial(_watch_clock, store)]
            arguments = (store.path, lambda: LocalExecutor(jobs or core_count()), stop, beside)
            player = threading.Thread(target=play_while, args=arguments, name="play")
            player.start()
        # The site's server raises the signal again that ended it: then what plays is to be stopped in good order.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            if lan:
                base = _say_address(port)
            else:
                base = f"http://{host}:{port}"
                notes.print(f"The site is at {base}/")
            if claim := claim_line(store, Settings.from_environment(os.environ).public_url or base):
                notes.print(claim)
            serve_site(site, host, port)
        finally:
            stop.set()
            if player is not None:
                player.join()


def _check(store: Store, stop: threading.Event) -> None:
    """Checks the bots that are handed in until told to stop."""
    from workers.checker import Checker, ChildJudge

    house = house_bot("simple")
    Checker(store, (house.player, house.source), ChildJudge(stop)).run(stop)


def _watch_clock(store: Store, stop: threading.Event) -> None:
    """Opens and closes entries and begins practice rounds until told to stop."""
    while not stop.wait(CLOCK_S):
        try:
            for line in contest.tick(store, store.now(), house_entrants):
                logger.info("%s", line)
        except SQLAlchemyError:  # a database that is away for a while must not end this for good
            logger.warning("the clock of the contests finds no database")


def make_site(store: Store) -> FastAPI:
    """Makes the site with `/metrics`."""
    from fastapi import Response

    from dashboard.app import create_app
    from dashboard.auth import Door

    settings = Settings.from_environment(os.environ)
    site = create_app(store, house=house_entrants, door=Door(settings.public_url or "", settings.proxies))

    def metrics() -> Response:
        return Response(exposition(store), media_type=CONTENT_TYPE)

    site.add_api_route("/metrics", metrics, include_in_schema=False)
    return site


@app.command(rich_help_panel=SERVERS)
def coordinator(
    drain: Annotated[bool, typer.Option("--drain", help="Hand out nothing; end when nothing is being played.")] = False,
    queue_lease: Annotated[float, typer.Option(help="Seconds a match may wait in the queue.", min=1)] = 600.0,
    beat_lease: Annotated[float, typer.Option(help="Seconds a worker may be silent.", min=1)] = 60.0,
    attempts: Annotated[int, typer.Option(help="Leases a match may lose before it has failed.", min=1)] = 5,
    db: Db = None,
) -> None:
    """Hand out matches to workers through Redis, record what they send, take back what is lost."""
    from workers.app import make_app, recorder_connection, redis_client
    from workers.coordinator import Coordinator, Pace, Publisher
    from workers.estimates import Estimates
    from workers.recorder import Recorder, RecorderLoop
    from workers.tickets import Tickets

    settings = Settings.from_environment(os.environ, db)
    broker, key = broker_url(settings), settings.signing_key
    if not key:
        raise Refused("TOURNAMENT_SIGNING_KEY is not set: expected a long random text, the same for all coordinators")
    log_to()
    stop = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stop.set())
    with opened(db, wait_s=READY_S) as store:
        if store.path is not None and not CoordinatorLock(store.path).acquire():
            raise Refused(f"another process plays the matches of {store.path}")
        tickets, estimates = Tickets(store, key), Estimates(store.match_seconds)
        recorder = Recorder(store, tickets, estimates, beat_lease_s=beat_lease, max_losses=attempts)
        loop = RecorderLoop(recorder_connection(broker), recorder, stop)
        threads = [
            threading.Thread(target=loop.run_until_stopped, name="recorder"),
            threading.Thread(target=_check, args=(store, stop), name="checks"),
            threading.Thread(target=_watch_clock, args=(store, stop), name="clock"),
            threading.Thread(target=watch_repeats, args=(store, stop), name="repeats"),
        ]
        for thread in threads:
            thread.start()
        try:
            Coordinator(
                store,
                tickets,
                Publisher(make_app(broker), redis_client(broker)),
                estimates,
                environment(),
                f"{socket.gethostname()}:{os.getpid()}",
                Pace(queue_lease_s=queue_lease, beat_lease_s=beat_lease, max_losses=attempts),
            ).run(stop, drain=drain)
        finally:
            stop.set()
            for thread in threads:
                thread.join()


@app.command(rich_help_panel=SERVERS)
def workers(db: Db = None, json: Json = False) -> None:
    """Show who plays: workers, their slots, what they play, and why some get no work."""
    with opened(db, wait_s=READY_S) as store:
        now = store.now()
        playing: dict[str, int] = {}
        for match in store.running_matches(limit=10_000):
            playing[match.worker or ""] = playing.get(match.worker or "", 0) + 1
        rows = [
            {
                "worker": each.name,
                "alive": each.seen_at > now - ALIVE_S,
                "silent_s": round(max(0.0, now - each.seen_at), 1),
                "slots": each.slots,
                "matches": playing.get(each.name, 0),
                "python": each.environment.get("python"),
                "environment": fingerprint(each.environment),
                "refused": each.refused,
            }
            for each in store.workers()
        ]
    if json:
        print_json(rows)
        return
    shown = Table("name", "", "slots", "matches", "environment", box=None, pad_edge=False)
    for row in rows:
        alive = "alive" if row["alive"] else f"silent {row['silent_s']:.0f} s"
        slots = "–" if str(row["worker"]).startswith(COORDINATOR) else row["slots"]
        values = (row["worker"], alive, slots, row["matches"], row["environment"])
        shown.add_row(*map(str, values))
    out.print(shown)
    for row in rows:
        if row["refused"]:
            out.print(f"{row['worker']}: {row['refused']}")


@app.command(rich_help_panel=SERVERS)
def migrate(db: Db = None) -> None:
    """Make the tables of a database, or bring them up to date."""
    with opened(db, wait_s=READY_S) as store:
        out.print(f"The tables of {without_password(store.url)} are up to date.")


@app.command(rich_help_panel=SERVERS)
def doctor(db: Db = None) -> None:
    """Say what works on this machine: sandbox, environment, database, broker; status 1 if something does not.

    A layer of the sandbox that not every machine has may be missing.
    """
    settings = Settings.from_environment(os.environ, db)
    here = environment()
    out.print(f"environment {fingerprint(here)}: {here['python']}, rules engine {here['engine'][:12]}")
    checks = [*sandbox_doctor.doctor(), _check_database(settings), _check_broker(settings)]
    for name, good, text in checks:
        mark = "ok  " if good else "none" if name in LAYERS else "BAD "
        out.print(f"{mark} {name}: {text}")
    if not all(good or name in LAYERS for name, good, _ in checks):
        raise typer.Exit(1)


def _check_database(settings: Settings) -> Check:
    store = Store(settings.database_url)
    if store.path is not None and not store.path.exists():
        return Check("database", True, f"{store.path} does not exist yet")
    with closing(store):
        try:
            count = len(store.tournaments())
        except SQLAlchemyError as error:
            return Check("database", False, f"{without_password(store.url)}: {str(error).partition(chr(10))[0]}")
    return Check("database", True, f"{without_password(store.url)} answers, {count} tournaments on its first page")


def _check_broker(settings: Settings) -> Check:
    if settings.broker_url is None:
        return Check("broker", True, "none: TOURNAMENT_BROKER_URL is not set")
    try:
        import redis

        from workers.app import redis_client, safe_url
    except ImportError:
        return Check("broker", False, "this needs Celery and Redis: install the extra `distributed`")
    with closing(redis_client(settings.broker_url)) as client:
        try:
            client.ping()
        except redis.RedisError as error:
            return Check("broker", False, f"{safe_url(settings.broker_url)}: {error}")
    return Check("broker", True, f"{safe_url(settings.broker_url)} answers")


def _say_address(port: int) -> str:
    """Prints the address in the local network and its QR code, and returns it."""
    import segno

    url = f"http://{lan_address()}:{port}/"
    notes.print(f"The site is at {url} for everybody in this network, over plain HTTP.")
    segno.make(url).terminal(out=sys.stderr, compact=True)
    return url.rstrip("/")


def lan_address() -> str:
    """Returns the address under which others in the network reach this machine; the name of this host failing that."""
    # No packet is sent: a UDP socket only picks the way that it would take (192.0.2.1 belongs to nobody).
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])
    return socket.gethostname()
