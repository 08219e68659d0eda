"""The store: every transaction of the project. `Store` is what all others use.

Its parts: `store_database` (connections, and the statements that everybody needs), `store_tables`, `store_queue` (the
life of a match), `store_reads` and `store_figures` (what is read); here tournaments are made and started and the schema
is brought up to date.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, insert, select, text, update

from tournament import seeds
from tournament.models import MatchState, TournamentState
from tournament.schedule import Entry, PlannedMatch, schedule
from tournament.source import BotSource
from tournament.store_contest import Contests
from tournament.store_database import NotFound, StoreError, WrongState, add_row, change_row, clock, found, put_row
from tournament.store_figures import FigureReads
from tournament.store_people import People
from tournament.store_queue import Queue
from tournament.store_state import lock_tournament, reason_of, set_state, tell
from tournament.store_tables import ENTRANT, MATCH, SOURCE, TOURNAMENT, WORKER
from tournament.store_tokens import note
from tournament.store_values import NewEntrant, NewTournament, Topic, columns_of
from tournament.wording import counted

__all__ = ["NotFound", "Store", "StoreError", "WrongState"]

_MIGRATIONS: Final = Path(__file__).with_name("migrations")
_MIGRATION_LOCK: Final = 7_652_384_190
"""Any number, always the same: who migrates a PostgreSQL database holds the advisory lock of this number."""

_BATCH: Final = 5_000


class Store(Queue, FigureReads, People, Contests):
    """One database with all that is done to it.

    A store may be shared by threads; a forked child makes its own, or calls `close` first.
    """

    def migrate(self) -> None:
        """Makes the tables or brings them up to date, in one transaction; a second process waits and finds it done.

        Where they are up to date nothing is written, so that a command that reads does not wait for one that writes.
        """
        config = Config()
        config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
        head = ScriptDirectory.from_config(config).get_current_head()
        with self.read() as connection:
            if MigrationContext.configure(connection).get_current_revision() == head:
                return
        with self.write() as connection:
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _MIGRATION_LOCK})
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    # Tournaments -------------------------------------------------------------------------------------------------

    def create(self, new: NewTournament, *, by: int | None = None, now: float | None = None) -> int:
        """Makes a tournament that has not started and returns its id; its commitment can be shown from now on."""
        with self.write_at(now) as (connection, moment):
            tournament_id = _create(connection, new, moment)
            note(connection, by, "make", f"tournament {tournament_id}")
            return tournament_id

    def start(
        self,
        tournament_id: int,
        entrants: Sequence[NewEntrant],
        *,
        rounds: int | None = None,
        by: int | None = None,
        now: float | None = None,
    ) -> None:
        """Enters the bots with their sources, makes all matches, and lets the tournament run: all or nothing.

        Args:
            tournament_id: which.
            entrants: who takes part.
            rounds: how often the round robin is played, where that was left to the start.
            by: the organiser; None is the command line.
            now: for tests.

        Raises:
            NotFound: there is no such tournament.
            WrongState: it has started already, or has ended.
            ValueError: there is no schedule for these entrants.
        """
        with self.write_at(now) as (connection, moment):
            if rounds is not None:
                lock_tournament(connection, tournament_id)
                change_row(connection, TOURNAMENT, tournament_id, rounds=rounds)
            _start(connection, tournament_id, entrants, moment)
            note(connection, by, "start", f"tournament {tournament_id}", counted(len(entrants), "bot"))

    def create_running(self, new: NewTournament, entrants: Sequence[NewEntrant], *, now: float | None = None) -> int:
        """Makes a tournament and starts it at once, in one transaction; returns its id.

        Raises:
            ValueError: there is no schedule for these entrants.
        """
        with self.write_at(now) as (connection, moment):
            tournament_id = _create(connection, new, moment)
            _start(connection, tournament_id, entrants, moment)
        return tournament_id

    def set_state(
        self, tournament_id: int, state: TournamentState, *, by: int | None = None, now: float | None = None
    ) -> None:
        """Moves a tournament to another state: opens, closes, pauses it or lets it run on; `cancel` does more.

        Entries that are closed before their time, or had none, are closed from this moment on.

        Raises:
            NotFound: there is no such tournament.
            WrongState: that state does not follow the one it is in, or is reached by other acts only.
        """
        with self.write_at(now) as (connection, moment):
            row = lock_tournament(connection, tournament_id)
            if state is TournamentState.CANCELLED or (state is TournamentState.RUNNING and row.started_at is None):
                raise WrongState(
                    f"a tournament becomes {state} by being {'cancelled' if row.started_at else 'started'}"
                )
            if state is TournamentState.RUNNING and row.state is TournamentState.FINISHED:
                raise WrongState(f"tournament {tournament_id} is finished: a void or a retry makes it run again")
            set_state(connection, tournament_id, state, moment)
            closes_at = row.closes_at
            if state is TournamentState.CLOSED:
                closes_at = moment if closes_at is None else min(closes_at, moment)
            elif state is TournamentState.OPEN and row.state is TournamentState.CLOSED and (closes_at or 0) <= moment:
                closes_at = None  # opened again by hand, and so closed by hand
            change_row(connection, TOURNAMENT, tournament_id, closes_at=closes_at)
            note(connection, by, str(state), f"tournament {tournament_id}")

    def hold(self, tournament_id: int, held_at: float | None, *, by: int | None = None) -> None:
        """Holds results back from a moment on, or publishes them (None).

        Raises:
            NotFound: there is no such tournament.
        """
        with self.write() as connection:
            row = lock_tournament(connection, tournament_id)
            held_order = None
            if held_at is not None:
                mine = (MATCH.c.tournament_id == tournament_id, MATCH.c.recorded_at <= held_at)
                held_order = connection.scalar(select(func.max(MATCH.c.record_order)).where(*mine)) or 0
            change_row(connection, TOURNAMENT, tournament_id, held_at=held_at, held_order=held_order)
            tell(connection, tournament_id, Topic.STATE, clock(connection), state=row.state)
            note(connection, by, "publish" if held_at is None else "hold standings", f"tournament {tournament_id}")

    def disqualify(self, tournament_id: int, position: int, reason: str | None, *, by: int | None = None) -> None:
        """Disqualifies an entrant for a reason, or re-instates it (None).

        Raises:
            NotFound: there is no such entrant.
            ValueError: the reason is empty.
        """
        reason = None if reason is None else reason_of(reason)
        change = (
            update(ENTRANT)
            .where(ENTRANT.c.tournament_id == tournament_id, ENTRANT.c.position == position)
            .values(disqualified=reason)
            .returning(ENTRANT.c.name, ENTRANT.c.version)
        )
        with self.write() as connection:
            lock_tournament(connection, tournament_id)
            row = found(connection, change, f"no entrant {position} in tournament {tournament_id}")
            act = "re-instate" if reason is None else "disqualify"
            note(connection, by, act, f"tournament {tournament_id} bot {row.name}:{row.version}", reason or "")

    # Workers -----------------------------------------------------------------------------------------------------

    def announce(
        self,
        name: str,
        slots: int,
        environment: Mapping[str, Any],
        *,
        refused: str | None = None,
        task: str | None = None,
        now: float | None = None,
    ) -> None:
        """Notes that a worker is there, with what it can do, and why it gets no work if it gets none."""
        with self.write_at(now) as (connection, moment):
            values = {"name": name, "slots": slots, "environment": environment, "refused": refused, "task": task}
            put_row(connection, WORKER, {**values, "seen_at": moment})

    def forget_workers(self, *, silent_s: float, now: float | None = None) -> int:
        """Forgets workers not heard of for so long. Returns how many."""
        with self.write_at(now) as (connection, moment):
            change = WORKER.delete().where(WORKER.c.seen_at < moment - silent_s).returning(WORKER.c.name)
            return len(connection.execute(change).all())


def _create(connection: Connection, new: NewTournament, now: float) -> int:
    made = {"commitment": seeds.commitment(new.secret), "state": TournamentState.DRAFT, "created_at": now}
    return add_row(connection, TOURNAMENT, **columns_of(new), **made)


def _start(connection: Connection, tournament_id: int, entrants: Sequence[NewEntrant], now: float) -> None:
    row = lock_tournament(connection, tournament_id)
    if row.started_at is not None:
        raise WrongState(f"tournament {tournament_id} has started already")
    listed = sorted(entrants, key=lambda entrant: entrant.text)
    entries = [Entry(entrant.text, entrant.owner) for entrant in listed]
    planned = schedule(row.rules, entries, row.rounds, row.secret)
    for entrant in listed:
        if entrant.source is not None:
            source = {"sha256": entrant.source.sha256, "files": entrant.source.pack(), "created_at": now}
            put_row(connection, SOURCE, source, replace=False)
    connection.execute(insert(ENTRANT), [_entrant_row(tournament_id, *each) for each in enumerate(listed)])
    _insert_matches(connection, (_match_row(tournament_id, match) for match in planned))
    set_state(connection, tournament_id, TournamentState.RUNNING, now)


def _insert_matches(connection: Connection, rows: Iterator[dict[str, Any]]) -> None:
    if connection.dialect.name == "sqlite":
        while batch := list(islice(rows, _BATCH)):
            connection.execute(insert(MATCH), batch)
        return
    # Twice as fast as INSERT on PostgreSQL: 6 s for 100,000 matches, half of it for the foreign keys.
    driver: Any = connection.connection.dbapi_connection
    first = next(rows)
    with driver.cursor() as cursor, cursor.copy(f"COPY match ({', '.join(first)}) FROM STDIN") as copy:
        for row in chain([first], rows):
            copy.write_row(tuple(row.values()))


def _entrant_row(tournament_id: int, position: int, entrant: NewEntrant) -> dict[str, Any]:
    columns = columns_of(entrant)
    source: BotSource | None = columns.pop("source")
    return {**columns, "tournament_id": tournament_id, "position": position, "sha256": source and source.sha256}


def _match_row(tournament_id: int, match: PlannedMatch) -> dict[str, Any]:
    e0, e1, e2 = (*match.entrants, None)[:3]
    return {
        "tournament_id": tournament_id, "number": match.number, "round": match.round, "key": match.key,
        "e0": e0, "e1": e1, "e2": e2, "state": MatchState.QUEUED,
    }  # fmt: skip
