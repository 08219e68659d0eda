"""The life of a match: queued, leased, done; or given up, cancelled, voided and played again.

Every transition is one conditional statement in one transaction, so that it happens once however often and from
wherever it is asked for. A transaction locks tournaments first, then matches in the order of their ids, or two could
wait for each other.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from sqlalchemy import Connection, delete, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError

from tournament.models import MatchState, TournamentState
from tournament.results import MatchResult
from tournament.store_database import Database, WrongState, change_row, change_where, clock, found
from tournament.store_record import Recording, entrants_of, result_text, storable
from tournament.store_state import OPEN, finish_if_over, lock_tournament, reason_of, set_state, tell
from tournament.store_tables import FAULT, GAME, MATCH, TALLY, TOURNAMENT, VOID
from tournament.store_tokens import note
from tournament.store_values import LeasedMatch, Recorded, Topic, value_of
from tournament.wording import counted

MAX_LOSSES: Final = 5
"""Leases that may be lost before a match counts as failed: a match that kills its worker must not go round for ever."""

HOLDER: Final = "local:"
"""How the worker of a lease begins that a `Holder` has."""

_HOLDERS: Final = 7_652_384
"""The first key of the advisory locks of all holders; any number, always the same."""

RESULT_COLUMNS: Final = (
    *("error", "games", "faults", "play_s", "record_order", "recorded_at", "s01", "s02", "s12", "started_at", "worker"),
)
"""What a match row holds of its result."""


class Holder:
    """Who plays for a PostgreSQL database without a lock file: its leases go back at once when its process dies.

    As long as it lives, a session holds an advisory lock, whose number is in the name that its leases bear.
    """

    def __init__(self, database: Database) -> None:
        """Takes the lock."""
        self._database = database
        self._number = secrets.randbits(31)
        self.name = f"{HOLDER}{self._number}"
        self._begin()
        database.close_too(self.close)

    def stay(self) -> None:
        """Takes the lock again if the server has restarted."""
        try:
            self._session.exec_driver_sql("SELECT 1")
        except DBAPIError:
            self.close()
            self._begin()

    def close(self) -> None:
        """Gives the lock back."""
        self._session.close()

    def _begin(self) -> None:
        self._session = self._database.session()
        self._session.execute(select(func.pg_advisory_lock(_HOLDERS, self._number)))


class Queue(Database):
    """Everything that changes matches once they are there."""

    # Handing out -------------------------------------------------------------------------------------------------

    def lease(
        self,
        limit: int,
        seconds: float,
        *,
        worker: str = "",
        tournaments: Collection[int] | None = None,
        now: float | None = None,
    ) -> list[LeasedMatch]:
        """Hands out queued matches of running tournaments, at most `limit`, in the order of the queue.

        Args:
            limit: how many at most.
            seconds: how long the lease lasts.
            worker: to whom.
            tournaments: only matches of these; by default of all that run.
            now: the time; by default that of the database's clock.
        """
        running = select(TOURNAMENT.c.id).where(TOURNAMENT.c.state == TournamentState.RUNNING)
        query = select(MATCH.c.id).where(MATCH.c.state == MatchState.QUEUED, MATCH.c.tournament_id.in_(running))
        query = query.order_by(MATCH.c.id).limit(limit).with_for_update(skip_locked=True, of=MATCH)
        if tournaments is not None:
            query = query.where(MATCH.c.tournament_id.in_(tournaments))
        with self.write() as connection:
            ids = list(connection.scalars(query))
            if not ids:
                return []
            until = (clock(connection) if now is None else now) + seconds
            lease = {"state": MatchState.LEASED, "attempt": MATCH.c.attempt + 1, "lease_until": until}
            # By their ids alone, which this transaction holds: with the state, SQLite would walk the whole queue.
            rows = change_where(connection, MATCH, MATCH.c.id.in_(ids), **lease, worker=worker, started_at=None)
        return [value_of(LeasedMatch, row, entrants=entrants_of(row)) for row in sorted(rows, key=lambda row: row.id)]

    def renew(
        self, leases: Iterable[tuple[int, int]], seconds: float, *, worker: str = "", now: float | None = None
    ) -> list[int]:
        """Prolongs leases, given as (match id, attempt), whose matches have been started.

        Returns:
            The ids of the matches that are still leased; the others are not to be played on.
        """
        with self.write_at(now) as (connection, moment):
            held: list[int] = []
            for match_id, attempt in sorted(leases):
                renewed = {"lease_until": moment + seconds, "started_at": func.coalesce(MATCH.c.started_at, moment)}
                which = _leased(match_id, attempt)
                held += (row.id for row in _changed(connection, *which, **renewed, worker=worker or MATCH.c.worker))
        return held

    def release(self, leases: Iterable[tuple[int, int]]) -> int:
        """Gives back leases of matches that were not begun; this costs them nothing. Returns how many."""
        with self.write() as connection:
            return sum(
                len(_requeue(connection, *_leased(match_id, attempt), error=None))
                for match_id, attempt in sorted(leases)
            )

    def take_back(self, *, max_losses: int = MAX_LOSSES, now: float | None = None) -> int:
        """Takes back leases that are over, or whose `Holder` is gone. Returns how many.

        A match that loses its last one has failed; what a holder leaves behind counts as no loss.
        """
        left = 0
        with self.write() as connection:  # of its own: it locks matches, and no tournament before them
            if gone := _gone(connection):
                left = len(_requeue(connection, MATCH.c.lease_until.is_not(None), MATCH.c.worker.in_(gone), error=None))
        with self.write_at(now) as (connection, moment):
            over = (MATCH.c.state == MatchState.LEASED, MATCH.c.lease_until < moment)
            theirs = connection.scalars(select(MATCH.c.tournament_id).distinct().where(*over)).all()
            return left + sum(
                _lose(connection, tournament_id, over, "the lease ran out", max_losses, moment)
                for tournament_id in sorted(theirs)
            )

    def take_back_all(self, *, tournament_id: int | None = None, started_too: bool = True) -> int:
        """Takes back leases that nobody can hold any more, without counting them as lost. Returns how many.

        Args:
            tournament_id: only those of this tournament.
            started_too: also those whose matches were started (nobody plays any more); else only those that the broker
                has lost with its memory.
        """
        which = [MATCH.c.state == MatchState.LEASED]
        if tournament_id is not None:
            which.append(MATCH.c.tournament_id == tournament_id)
        if not started_too:
            which += [MATCH.c.started_at.is_(None), ~MATCH.c.worker.startswith(HOLDER)]
        with self.write() as connection:
            return len(_requeue(connection, *which, error=None))

    def fail(
        self, match_id: int, attempt: int, error: str, *, max_losses: int = MAX_LOSSES, now: float | None = None
    ) -> None:
        """Notes that a lease came to nothing through our fault: the match is queued again, or has failed for good."""
        with self.write_at(now) as (connection, moment):
            which = select(MATCH.c.tournament_id).where(MATCH.c.id == match_id)
            tournament_id = found(connection, which, f"no match with id {match_id}").tournament_id
            _lose(connection, tournament_id, _leased(match_id, attempt), storable(error), max_losses, moment)

    # Results -----------------------------------------------------------------------------------------------------

    def record(self, results: Iterable[MatchResult], *, now: float | None = None) -> list[Recorded]:
        """Records matches with all their games, each once: the first result wins, whichever lease it was played under.

        Returns:
            What became of each result, in the order given.

        Raises:
            ValueError: a result has not exactly the games of its match; nothing is recorded then.
        """
        listed = list(results)
        answers = [Recorded.UNKNOWN] * len(listed)
        with self.write_at(now) as (connection, moment):
            columns = (MATCH.c[name] for name in ("id", "tournament_id", "number", "e0", "e1", "e2"))
            query = select(*columns).where(MATCH.c.id.in_([each.match_id for each in listed]))
            matches = {row.id: row for row in connection.execute(query)}
            known = [place for place, each in enumerate(listed) if each.match_id in matches]
            known.sort(key=lambda place: (matches[listed[place].match_id].tournament_id, listed[place].match_id))
            for tournament_id, places in groupby(known, lambda place: matches[listed[place].match_id].tournament_id):
                row = lock_tournament(connection, tournament_id)
                recording = Recording(connection, tournament_id, row.rules, row.last_order, moment)
                for place in places:
                    answers[place] = recording.take(matches[listed[place].match_id], listed[place])
                recording.finish()
        return answers

    def void(
        self, tournament_id: int, number: int, reason: str, *, by: int | None = None, now: float | None = None
    ) -> None:
        """Takes a recorded match out of the results, keeps what it was, and queues it to be played again.

        Results of the lease that is the last one now, or of an earlier one, are dropped when they come late.

        Raises:
            NotFound: there is no such match.
            WrongState: it has no result, or the tournament is cancelled.
            ValueError: there is no reason.
        """
        reason = reason_of(reason)
        with self.write_at(now) as (connection, moment):
            tournament = lock_tournament(connection, tournament_id)
            which = select(MATCH).where(MATCH.c.tournament_id == tournament_id, MATCH.c.number == number)
            match = found(connection, which, f"no match {number} in tournament {tournament_id}")
            if match.state is not MatchState.DONE or tournament.state is TournamentState.CANCELLED:
                raise WrongState(
                    f"match {number} is {match.state} in a {tournament.state} tournament: it cannot be voided"
                )
            connection.execute(
                insert(VOID).values(
                    match_id=match.id, tournament_id=tournament_id, attempt=match.attempt, reason=reason,
                    worker=match.worker, result=result_text(connection, match.id), voided_at=moment,
                    record_order=match.record_order,
                )
            )  # fmt: skip
            note(connection, by, "void", f"tournament {tournament_id} match {number}", reason)
            for table in (FAULT, TALLY, GAME):
                connection.execute(delete(table).where(table.c.match_id == match.id))
            again = {"state": MatchState.QUEUED, "void_attempt": match.attempt, "losses": 0}
            change_row(connection, MATCH, match.id, **again, **dict.fromkeys(RESULT_COLUMNS))
            order = tournament.last_order + 1
            change_row(connection, TOURNAMENT, tournament_id, last_order=order, last_void_order=order)
            tell(connection, tournament_id, Topic.VOID, moment, match=match.id, number=number)
            if tournament.state is TournamentState.FINISHED:
                set_state(connection, tournament_id, TournamentState.RUNNING, moment)

    def retry(
        self,
        tournament_id: int,
        numbers: Sequence[int] | None = None,
        *,
        by: int | None = None,
        now: float | None = None,
    ) -> int:
        """Queues failed matches again, all or those with these numbers. Returns how many."""
        with self.write_at(now) as (connection, moment):
            tournament = lock_tournament(connection, tournament_id)
            which = [MATCH.c.tournament_id == tournament_id, MATCH.c.state == MatchState.FAILED]
            if numbers is not None:
                which.append(MATCH.c.number.in_(numbers))
            again = _requeue(connection, *which, error=None, losses=0)
            for match_id, number in again:
                tell(connection, tournament_id, Topic.RETRIED, moment, match=match_id, number=number)
            if again:
                note(connection, by, "retry", f"tournament {tournament_id}", counted(len(again), "match"))
            if again and tournament.state is TournamentState.FINISHED:
                set_state(connection, tournament_id, TournamentState.RUNNING, moment)
        return len(again)

    def cancel(self, tournament_id: int, *, by: int | None = None, now: float | None = None) -> int:
        """Cancels a tournament: what is queued or leased is not played any more. Returns how many matches that are.

        Raises:
            WrongState: it has ended already.
        """
        with self.write_at(now) as (connection, moment):
            lock_tournament(connection, tournament_id)
            which = _in_order(MATCH.c.tournament_id == tournament_id, MATCH.c.state.in_(OPEN))
            cancelled = len(_changed(connection, *which, state=MatchState.CANCELLED, lease_until=None))
            set_state(connection, tournament_id, TournamentState.CANCELLED, moment)
            note(connection, by, "cancel", f"tournament {tournament_id}")
        return cancelled


def _gone(connection: Connection) -> list[str]:
    """Returns the holders that have leases and no lock any more."""
    query = select(MATCH.c.worker).distinct().where(MATCH.c.lease_until.is_not(None), MATCH.c.worker.startswith(HOLDER))
    named = set(connection.scalars(query))
    if not named or connection.dialect.name == "sqlite":
        return []
    # Asked for after the names: who has a lease took the lock before it.
    held = text(
        "SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND classid = :holders"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    numbers = connection.scalars(held, {"holders": _HOLDERS})
    return sorted(named - {f"{HOLDER}{number}" for number in numbers})


def _leased(match_id: int, attempt: int) -> tuple[Any, ...]:
    return MATCH.c.id == match_id, MATCH.c.state == MatchState.LEASED, MATCH.c.attempt == attempt


def _in_order(*which: Any) -> tuple[Any, ...]:
    """Returns conditions for an update that locks its matches in the order of their ids."""
    ordered = select(MATCH.c.id).where(*which).order_by(MATCH.c.id).with_for_update()
    return MATCH.c.id.in_(ordered), *which


def _lose(
    connection: Connection, tournament_id: int, which: Sequence[Any], error: str, max_losses: int, now: float
) -> int:
    """Puts matches back into the queue whose leases came to nothing; those that lost their last one have failed."""
    lock_tournament(connection, tournament_id)
    which = [*which, MATCH.c.tournament_id == tournament_id]
    spent = _in_order(*which, MATCH.c.losses + 1 >= max_losses)
    lost = {"losses": MATCH.c.losses + 1, "error": error}
    failed = _changed(connection, *spent, state=MatchState.FAILED, lease_until=None, **lost)
    for row in failed:
        tell(connection, tournament_id, Topic.FAILED, now, match=row.id, number=row.number)
    again = _requeue(connection, *which, **lost)
    if failed:
        finish_if_over(connection, tournament_id, now)
    return len(failed) + len(again)


def _requeue(connection: Connection, *which: Any, **values: Any) -> list[Any]:
    again = {"state": MatchState.QUEUED, "lease_until": None, "started_at": None, "worker": None}
    return _changed(connection, *_in_order(*which), **again, **values)


def _changed(connection: Connection, *which: Any, **values: Any) -> list[Any]:
    """Changes matches, and returns their ids and numbers in order."""
    change = update(MATCH).where(*which).values(values).returning(MATCH.c.id, MATCH.c.number)
    return sorted(connection.execute(change), key=lambda row: row.id)
