"""The store as the public sees it: what ended after the standings were held is not there.

One place for everything that is shown: every connection that reads puts views of the same names before the tables, so
that no query, whoever wrote it, can read past the hold. docs/decisions/0081 says what was weighed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import Engine, create_engine, event, select

from tournament.store import Store
from tournament.store_database import Database, prepare_sqlite, read_on_sqlite
from tournament.store_tables import MATCH, TOURNAMENT, WORKER

_SHOWN: Final = ("id", "tournament_id", "number", "round", "key", "e0", "e1", "e2")
"""What the schedule says of a match; it is known anyhow."""

_BEFORE: Final = "(t.held_order IS NULL OR m.record_order <= t.held_order)"


class PublicStore(Store):
    """A store whose reads end where the standings are held; what is written is written as ever."""

    def __init__(self, url: str) -> None:
        """Prepares the connections; the tables have to be there when the first is opened."""
        super().__init__(url)
        self._reader: Engine
        if self.path is None:
            engine = create_engine(self.url, pool_pre_ping=True)
            event.listen(engine, "connect", _mask_postgresql)
            self._reader = engine.execution_options(isolation_level="REPEATABLE READ")
        else:
            self._reader = create_engine(self.url)
            event.listen(self._reader, "connect", _mask_sqlite)
            event.listen(self._reader, "begin", read_on_sqlite)

    @classmethod
    def beside(cls, store: Store) -> PublicStore:
        """Makes the public's view of a store, which is closed with it."""
        made = cls(store.url)
        store.close_too(made.close)
        return made

    def close(self) -> None:
        """Closes all connections."""
        self._writer.dispose()
        super().close()


def holds(database: Database) -> bool:
    """Tells whether the standings of any tournament are held."""
    with database.read() as connection:
        return connection.scalar(select(TOURNAMENT.c.id).where(TOURNAMENT.c.held_at.is_not(None)).limit(1)) is not None


def _mask_sqlite(connection: Any, record: object) -> None:
    prepare_sqlite(connection, record)
    cursor = connection.cursor()
    for statement in _views("main"):
        cursor.execute(statement)
    cursor.close()


def _mask_postgresql(connection: Any, _record: object) -> None:
    with connection.cursor() as cursor:
        (schema,) = cursor.execute("SELECT current_schema()").fetchone()
        for statement in _views(f'"{schema}"'):
            cursor.execute(statement)
    connection.commit()


def _views(schema: str) -> Iterator[str]:
    """Yields the statements that put a view before each table that tells of results."""

    def view(name: str, columns: str, source: str) -> str:
        return f"CREATE TEMPORARY VIEW {name} AS SELECT {columns} FROM {source}"  # noqa: S608  # our own names

    held = f"JOIN {schema}.tournament t ON t.id"
    # That a tournament has ended tells of results too.
    later = "t.held_at IS NOT NULL AND t.state = 'finished' AND t.finished_at > t.held_at"
    masked = {
        "last_order": "CASE WHEN t.held_order IS NULL THEN t.last_order ELSE t.held_order END",
        "state": f"CASE WHEN {later} THEN 'running' ELSE t.state END",
        "finished_at": f"CASE WHEN {later} THEN NULL ELSE t.finished_at END",
    }
    columns = (
        f"{masked[name]} AS {name}" if name in masked else f"t.{name}"
        for name in (column.name for column in TOURNAMENT.c)
    )
    yield view("tournament", ", ".join(columns), f"{schema}.tournament t")
    yield view("match", ", ".join(_match_columns()), f"{schema}.match m {held} = m.tournament_id")
    of_match = f"JOIN {schema}.match m ON m.id = x.match_id {held} = m.tournament_id WHERE {_BEFORE}"
    for name in ("game", "tally", "fault"):
        yield view(name, "x.*", f"{schema}.{name} x {of_match}")
    yield view(
        "void", "x.*",
        f"{schema}.void x {held} = x.tournament_id WHERE t.held_order IS NULL OR x.record_order <= t.held_order",
    )  # fmt: skip
    before = "WHERE t.held_at IS NULL OR x.created_at <= t.held_at"
    yield view("event", "x.*", f"{schema}.event x {held} = x.tournament_id {before}")
    # What a worker is busy with tells how far a tournament is.
    columns = (f"w.{column.name}" for column in WORKER.c if column.name != "task")
    held = f"SELECT 1 FROM {schema}.tournament t WHERE t.held_order IS NOT NULL"  # noqa: S608  # our own names
    task = f"CASE WHEN EXISTS ({held}) THEN NULL ELSE w.task END AS task"
    yield view("worker", ", ".join((*columns, task)), f"{schema}.worker w")


def _match_columns() -> Iterator[str]:
    hidden = f"m.state <> 'cancelled' AND NOT coalesce({_BEFORE}, false)"
    for column in MATCH.c:
        name = column.name
        if name in _SHOWN:
            yield f"m.{name}"
        else:
            instead = "'queued'" if name == "state" else "NULL" if column.nullable else "0"
            yield f"CASE WHEN {hidden} THEN {instead} ELSE m.{name} END AS {name}"
