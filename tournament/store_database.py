"""Connections and transactions: one kind for reading and one for writing, on SQLite and on PostgreSQL.

SQLite runs with the settings that lost nothing in the measurements (docs/decisions/0031): write-ahead log, writers that
take their lock when they begin, and a long wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Self

from sqlalchemy import ColumnElement, Connection, Engine, Executable, Table, create_engine, event, insert, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import InterfaceError, InternalError, OperationalError

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

    @contextmanager
    def write_at(self, now: float | None) -> Iterator[tuple[Connection, float]]:
        """One transaction that writes, with its time: `now`, or what the database's clock says."""
        with self.write() as connection:
            yield connection, clock(connection) if now is None else now

    def rows(self, query: Executable) -> Sequence[Any]:
        """Returns the rows of a query that stands alone."""
        with self.read() as connection:
            return connection.execute(query).all()

    def one(self, query: Executable, otherwise: str) -> Any:
        """Returns the one row of a query that stands alone.

        Raises:
            NotFound: there is none; `otherwise` says so.
        """
        with self.read() as connection:
            return found(connection, query, otherwise)

    def scalar(self, query: Executable) -> Any:
        """Returns the first value of a query that stands alone, None without any."""
        with self.read() as connection:
            return connection.scalar(query)

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


def found(connection: Connection, statement: Executable, otherwise: str) -> Any:
    """Returns the one row that a statement reads or changes.

    Raises:
        NotFound: there is none; `otherwise` says so.
    """
    row = connection.execute(statement).one_or_none()
    if row is None:
        raise NotFound(otherwise)
    return row


def add_row(connection: Connection, table: Table, **values: Any) -> int:
    """Writes a row and returns its id."""
    return int(connection.execute(insert(table).values(values).returning(table.c.id)).scalar_one())


def put_row(connection: Connection, table: Table, values: Mapping[str, Any], *, replace: bool = True) -> None:
    """Writes a row; where there is one with its key, that is changed, or is left as it is."""
    keys = [column.name for column in table.primary_key]
    new = (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(table).values(values)
    others = {name: new.excluded[name] for name in values if name not in keys}
    if replace:
        connection.execute(new.on_conflict_do_update(index_elements=keys, set_=others))
    else:
        connection.execute(new.on_conflict_do_nothing(index_elements=keys))


def change_row(connection: Connection, table: Table, id_: int, **values: Any) -> None:
    """Changes the row with an id."""
    connection.execute(update(table).where(table.c.id == id_).values(values))


def change_where(connection: Connection, table: Table, *which: ColumnElement[bool], **values: Any) -> Sequence[Any]:
    """Changes the rows to which all conditions apply, and returns them as they are now."""
    return connection.execute(update(table).where(*which).values(values).returning(table)).all()


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
