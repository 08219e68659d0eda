"""Matches that are played again elsewhere: who is to play them, what they answered, and what that says.

An order is the lease of a match that has its result already: it names the worker that must not get it. The result
itself is never touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, delete, func, insert, select, update

from tournament.models import MatchState
from tournament.models_contest import Verdict
from tournament.store_database import Database, change_where, clock
from tournament.store_record import entrants_of
from tournament.store_tables import GAME, MATCH, ORDER, REPEAT, TOURNAMENT
from tournament.store_tokens import note
from tournament.store_values import LeasedMatch, value_of
from tournament.wording import counted

REPEATED: Final = 0
"""The attempt in a ticket of a repeat; that of a lease is 1 or more."""

_PAGE: Final = 5_000
_STILL: Final = and_(
    MATCH.c.id == ORDER.c.match_id, MATCH.c.state == MatchState.DONE, MATCH.c.attempt == ORDER.c.attempt
)
"""An order is about the result that counts: one that was voided need not be compared any more."""


@dataclass(frozen=True, slots=True)
class Order:
    """A match that is to be played again.

    Attributes:
        match: as a lease, with the attempt `REPEATED`.
        environment: that of its tournament.
        worker: who played it, and must not play it again.
        given_to: who has it, or had it last.
        out: whether he still may answer.
        tries: how often it was given away.
        digests: of its games as another worker played them, where one is not the recorded one.
    """

    match: LeasedMatch
    environment: Mapping[str, Any]
    worker: str
    given_to: str
    out: bool
    tries: int
    digests: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class RepeatInfo:
    """A match that was played again."""

    id: int
    number: int
    worker: str
    repeated_by: str
    verdict: Verdict
    entrant: int | None
    detail: str
    repeated_at: float


def order_repeats(database: Database, tournament_id: int, numbers: Sequence[int], *, by: int | None = None) -> int:
    """Has recorded matches played again, save for those that are waiting for it already. Returns how many."""
    count = 0
    with database.write() as connection:
        waiting = set(connection.scalars(select(ORDER.c.match_id).join(MATCH, _STILL)))
        for begin in range(0, len(numbers), _PAGE):
            query = select(MATCH.c.id, MATCH.c.attempt, MATCH.c.worker).where(
                MATCH.c.tournament_id == tournament_id, MATCH.c.number.in_(numbers[begin : begin + _PAGE]),
                MATCH.c.state == MatchState.DONE,
            )  # fmt: skip
            for row in connection.execute(query).all():
                if row.id not in waiting:
                    connection.execute(delete(ORDER).where(ORDER.c.match_id == row.id))
                    values = {"match_id": row.id, "tournament_id": tournament_id, "attempt": row.attempt}
                    connection.execute(insert(ORDER).values(**values, worker=row.worker or ""))
                    count += 1
        if by is not None:
            note(connection, by, "repeat", f"tournament {tournament_id}", counted(count, "match"))
    return count


def open_orders(database: Database, limit: int = 500) -> list[Order]:
    """Returns what is to be played again, oldest match first."""
    of_match = (MATCH.c[name] for name in ("id", "tournament_id", "number", "round", "key", "e0", "e1", "e2"))
    of_order = (ORDER.c[name] for name in ("worker", "given_to", "lease_until", "tries", "digests"))
    query = (
        select(*of_match, *of_order, TOURNAMENT.c.environment)
        .join(ORDER, _STILL)
        .join(TOURNAMENT, TOURNAMENT.c.id == MATCH.c.tournament_id)
        .order_by(MATCH.c.id)
        .limit(limit)
    )
    with database.read() as connection:
        now = clock(connection)
        return [
            Order(
                value_of(LeasedMatch, row, entrants=entrants_of(row), attempt=REPEATED),
                row.environment, row.worker, row.given_to, row.lease_until is not None and row.lease_until > now,
                row.tries, None if row.digests is None else tuple(row.digests),
            )
            for row in connection.execute(query)
        ]  # fmt: skip


def take_order(database: Database, order: Order, to: str, seconds: float) -> bool:
    """Gives an order to a worker for so long; False if somebody else was quicker."""
    given_to = to if order.digests is None else order.given_to  # whoever answered is the one who answered
    with database.write() as connection:
        which = (ORDER.c.match_id == order.match.id, ORDER.c.tries == order.tries)
        given = {"given_to": given_to, "lease_until": clock(connection) + seconds, "tries": order.tries + 1}
        return bool(change_where(connection, ORDER, *which, **given))


def answer_order(database: Database, match_id: int, worker: str, digests: Sequence[str]) -> bool:
    """Takes what a worker found. Where it is what is recorded, that is all; else it waits for a trusted worker.

    Returns:
        Whether the worker was given this match.
    """
    with database.write() as connection:
        query = select(ORDER.c.tournament_id, MATCH.c.number).join(MATCH, _STILL).where(_given(match_id, worker))
        row = connection.execute(query).one_or_none()
        if row is None:
            return False
        games = select(GAME.c.digest).where(GAME.c.match_id == match_id).order_by(GAME.c.seating)
        if list(connection.scalars(games)) != list(digests):
            change = update(ORDER).where(ORDER.c.match_id == match_id)
            connection.execute(change.values(digests=digests, lease_until=None))
            return True
    add_repeat(database, row.tournament_id, row.number, worker, Verdict.SAME)
    return True


def release_order(database: Database, match_id: int, worker: str) -> None:
    """Takes an order back from a worker that did not play it."""
    with database.write() as connection:
        connection.execute(update(ORDER).where(_given(match_id, worker)).values(lease_until=None))


def add_repeat(
    database: Database,
    tournament_id: int,
    number: int,
    repeated_by: str,
    verdict: Verdict,
    *,
    entrant: int | None = None,
    detail: str = "",
) -> None:
    """Records what came of playing a recorded match again, and ends the order for it."""
    with database.write() as connection:
        query = select(MATCH).where(MATCH.c.tournament_id == tournament_id, MATCH.c.number == number)
        match = connection.execute(query).one()
        values = {"tournament_id": tournament_id, "match_id": match.id, "attempt": match.attempt}
        values |= {"worker": match.worker or "", "repeated_by": repeated_by, "verdict": verdict}
        values |= {"entrant": entrant, "detail": detail, "repeated_at": clock(connection)}
        connection.execute(insert(REPEAT).values(values))
        connection.execute(delete(ORDER).where(ORDER.c.match_id == match.id))
        if verdict is not Verdict.SAME:
            note(connection, None, str(verdict), f"tournament {tournament_id} match {number}", detail)


def repeats(database: Database, tournament_id: int) -> list[RepeatInfo]:
    """Returns all matches that were played again, newest first."""
    query = select(REPEAT, MATCH.c.number).join(MATCH, MATCH.c.id == REPEAT.c.match_id)
    query = query.where(REPEAT.c.tournament_id == tournament_id).order_by(REPEAT.c.id.desc())
    return [value_of(RepeatInfo, row) for row in database.rows(query)]


def repeats_waiting(database: Database, tournament_id: int) -> int:
    """Returns how many matches are still to be played again."""
    query = select(func.count()).select_from(ORDER.join(MATCH, _STILL)).where(ORDER.c.tournament_id == tournament_id)
    return int(database.scalar(query))


def _given(match_id: int, worker: str) -> ColumnElement[bool]:
    return and_(
        ORDER.c.match_id == match_id, ORDER.c.given_to == worker, ORDER.c.lease_until.is_not(None),
        ORDER.c.digests.is_(None),
    )  # fmt: skip
