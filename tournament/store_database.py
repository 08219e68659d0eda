"""Connections and transactions: one kind for reading and one for writing, on SQLite and on PostgreSQL.

SQLite runs with the settings that lost nothing in the measurements (docs/decisions/0031): write-ahead log, writers that
take their lock when they begin, and a long wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

from sqlalchemy import Connection, Engine, Table, create_engine, event, text
from sqlalchemy.exc import InterfaceError, InternalError, OperationalError
from sqlmodel import SQLModel

from tournament import models
from tournament.settings import database_url, sqlite_path

BUSY_MS: Final = 15_000
CONNECT_S: Final = 3
READY_POLL_S: Final = 0.2

UNUSABLE: Final = (OperationalError, InterfaceError, InternalError)
"""What a database raises that is away, restarts, is full, or can only be read: it may pass."""


class StoreError(Exception):
    """The store says no: `NotFound`, or `WrongState`."""


class NotFound(StoreError):
    """There is no such tournament, match, game or source."""


class WrongState(StoreError):
    """The thing is there, but not in a state in which this can be done."""


def table_of(model: type[SQLModel]) -> Table:
    """Returns the table of a model, for statements."""
    return SQLModel.metadata.tables[str(model.__tablename__)]


SOURCE: Final = table_of(models.Source)
TOURNAMENT: Final = table_of(models.Tournament)
ENTRANT: Final = table_of(models.Entrant)
MATCH: Final = table_of(models.Match)
GAME: Final = table_of(models.GameRow)
TALLY: Final = table_of(models.TallyRow)
FAULT: Final = table_of(models.FaultRow)
VOID: Final = table_of(models.Void)
EVENT: Final = table_of(models.Event)
WORKER: Final = table_of(models.Worker)


class Database:
    """An SQLite file or a PostgreSQL database."""

    def __init__(self, url: str) -> None:
        """Prepares the connections; none is opened yet.

        Args:
            url: an SQLAlchemy address, or the path of an SQLite file.
        """
        self.url = database_url(url)
        self.path = sqlite_path(self.url)
        self._with_it: list[Callable[[], None]] = []
        self._reader: Engine
        self._writer: Engine
        if self.path is None:
            self._writer = create_engine(self.url, pool_pre_ping=True, connect_args={"connect_timeout": CONNECT_S})
            self._reader = self._writer.execution_options(isolation_level="REPEATABLE READ")
        else:
            self._reader = create_engine(self.url)
            event.listen(self._reader, "connect", prepare_sqlite)
            event.listen(self._reader, "begin", read_on_sqlite)
            self._writer = self._reader.execution_options(sqlite_begin="IMMEDIATE")

    @property
    def is_sqlite(self) -> bool:
        """Whether this is an SQLite file, with this process's machine as its only one."""
        return self.path is not None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One transaction that reads; all statements in it see the same data."""
        with self._reader.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction that writes, committed at the end unless something is raised."""
        with self._writer.begin() as connection:
            yield connection

    def now(self) -> float:
        """Returns the time by the database's clock, in seconds since 1970: leases are compared by no other."""
        with self.read() as connection:
            return clock(connection)

    def wait_until_ready(self, timeout_s: float, sleep: Callable[[float], None] = time.sleep) -> None:
        """Waits until the database answers, as a server that starts or recovers does not for a while.

        Raises:
            OperationalError: it has not answered within the time.
        """
        for left in range(round(timeout_s / READY_POLL_S), -1, -1):
            try:
                self.now()
            except OperationalError:
                if not left:
                    raise
                sleep(READY_POLL_S)
            else:
                return

    def close(self) -> None:
        """Closes all connections; a forked child calls it too, since connections are not shared."""
        self._reader.dispose()
        for close in self._with_it:
            close()

    def close_too(self, close: Callable[[], None]) -> None:
        """Calls `close` when this one is closed."""
        self._with_it.append(close)

    def session(self) -> Connection:
        """Opens a connection outside of transactions, which ends when it is closed or its process dies."""
        connection = self._writer.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()  # back in the pool it would keep what is locked in it
        return connection

    def __enter__(self) -> Self:
        """Returns the store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes all connections."""
        self.close()


def clock(connection: Connection) -> float:
    """Returns the time by the database's clock, in seconds since 1970."""
    if connection.dialect.name == "sqlite":
        return float(connection.scalar(text("SELECT (julianday('now') - 2440587.5) * 86400.0")))
    return float(connection.scalar(text("SELECT extract(epoch FROM clock_timestamp())")))


def prepare_sqlite(connection: Any, _record: object) -> None:
    """Sets up a new connection to an SQLite file."""
    # The driver shall begin nothing by itself: it would do so late, and never with a lock.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (
        f"busy_timeout={BUSY_MS}",  # first: the next line may have to wait already
        "journal_mode=WAL",  # readers and the writer do not wait for each other
        "synchronous=NORMAL",  # a power cut may cost the last commits, whose matches are then played again
        "foreign_keys=ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def read_on_sqlite(connection: Connection) -> None:
    """Begins a transaction on SQLite; one that reads takes no lock."""
    mode = connection.get_execution_options().get("sqlite_begin", "DEFERRED")
    connection.exec_driver_sql(f"BEGIN {mode}")
