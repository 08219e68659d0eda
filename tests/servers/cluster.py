"""A cluster of real processes for tests: Redis with its users, a database, coordinators and workers by command."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from tests.servers.finder import PrivateRedis, missing, redis_program
from tournament.rules import Rules
from tournament.source import BotSource
from tournament.store import Store
from tournament.store_values import Counts, NewEntrant, NewTournament

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0
POLL_S = 0.05
SIGNING_KEY = "not a secret of any tournament"
PASSWORDS = {"coordinator": "c0ffee", "worker": "decade"}

QUICK = Rules.make("cutthroat", players=2, target=2, deal_limit=3)

BOT = """
import random


class Bot:
    def bid(self, view):
        return random.choice(view.legal)

    def play(self, view):
        return random.choice(view.legal)
"""

BURNING_BOT = """
import time


class Bot:
    def bid(self, view):
        return self.burn(view)

    def play(self, view):
        return self.burn(view)

    def burn(self, view):
        end = time.process_time() + {seconds}
        while time.process_time() < end:
            pass
        return view.legal[-1]
"""


def access_list() -> list[str]:
    """Returns the Redis users as `.ci/compose_secrets.py` writes them for a real cluster."""
    spec = importlib.util.spec_from_file_location("compose_secrets", ROOT / ".ci" / "compose_secrets.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text: str = module.make("database", PASSWORDS["coordinator"], PASSWORDS["worker"], SIGNING_KEY)["redis_users"]
    return text.splitlines()


def redis_with_users() -> PrivateRedis:
    return PrivateRedis(redis_program() or missing("redis"), access_list())


def wait_for(thing: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
    """Waits until `thing` is true; the deadline only ends a test that has failed."""
    deadline = time.monotonic() + patience_s
    while not thing():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {patience_s:.0f} s for {what}", pytrace=False)
        time.sleep(POLL_S)


def entrants(count: int, text: str = BOT) -> list[NewEntrant]:
    return [
        NewEntrant(f"bot{n}", 1, BotSource.of_file(f"{text}\nNUMBER = {n}\n".encode()), owner=n, upload_order=n)
        for n in range(1, count + 1)
    ]


def make_tournament(
    store: Store,
    bots: int,
    rounds: int,
    rules: Rules = QUICK,
    *,
    text: str = BOT,
    environment: Mapping[str, object] | None = None,
) -> int:
    new = NewTournament("trial", rules, rounds, "demo", environment=environment or {})
    return store.create_running(new, entrants(bots, text))


def add_up(counts: Counts, planned: int) -> bool:
    parts = counts.finished + counts.running + counts.queued + counts.failed + counts.cancelled
    return planned == counts.planned == parts


COMMAND = ("-c", "from tournament.cli import main; main()")


class Program:
    """A command of ours that runs, or another program in Python; its output goes to a file."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], log: Path, program: Sequence[str] = COMMAND
    ) -> None:
        self.log = log
        with log.open("ab") as stream:
            self.process = subprocess.Popen(
                [sys.executable, *program, *arguments],
                env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                cwd=log.parent,
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """Ends the program itself by SIGKILL, and nobody else: what it leaves behind must end by itself."""
        self.process.kill()
        self.process.wait()

    def term(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def text(self) -> str:
        return self.log.read_text("utf-8", "replace")


class Cluster:
    """Redis, a store, and programs that may be killed."""

    def __init__(self, database_url: str, folder: Path, redis: PrivateRedis) -> None:
        self.store = Store(database_url)
        self.store.migrate()
        self.folder = folder
        self.redis = redis
        self.programs: list[Program] = []

    def _run(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str], program: Sequence[str] = COMMAND
    ) -> Program:
        started = Program(arguments, environment, self.folder / f"{name}.log", program)
        self.programs.append(started)
        return started

    def coordinator(self, *options: str) -> Program:
        return self._run(
            "coordinator",
            ["coordinator", *options],
            {
                "TOURNAMENT_DATABASE_URL": self.store.url,
                "TOURNAMENT_BROKER_URL": self.redis.url_of("coordinator", PASSWORDS["coordinator"]),
                "TOURNAMENT_SIGNING_KEY": SIGNING_KEY,
            },
        )

    def worker(self, name: str = "worker", slots: int = 1) -> Program:
        url = self.redis.url_of("worker", PASSWORDS["worker"])
        return self._run(name, ["worker", "--slots", str(slots), "--name", name], {"TOURNAMENT_BROKER_URL": url})

    def cheat(self) -> Program:
        """Starts a worker, `cheat`, that plays other cards than the bots would."""
        url = self.redis.url_of("worker", PASSWORDS["worker"])
        return self._run("cheat", [url], {}, ("-m", "tests.servers.cheat"))

    def finished(self, tournament: int) -> bool:
        return self.store.counts(tournament).open == 0

    def wait_until_finished(self, tournament: int, patience_s: float = PATIENCE_S) -> None:
        wait_for(lambda: self.finished(tournament), f"the end of tournament {tournament}", patience_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for program in self.programs:
            program.kill()
        self.store.close()
        if kind is not None:
            for log in sorted(self.folder.glob("*.log")):
                print(f"== {log.name}\n{log.read_text('utf-8', 'replace')[-3000:]}")
