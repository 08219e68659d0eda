"""The state of a tournament: the lock that orders its changes, its transitions, and the events that tell of them."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, func, insert, select

from tournament.models import TRANSITIONS, MatchState, TournamentState
from tournament.store_database import WrongState, change_row, found
from tournament.store_tables import EVENT, MATCH, TOURNAMENT
from tournament.store_values import Topic

OPEN: Final = (MatchState.QUEUED, MatchState.LEASED)
"""The states of matches that are still to be played."""


def lock_tournament(connection: Connection, tournament_id: int) -> Any:
    """Returns a tournament's row, locked until the transaction ends.

    Whoever writes results or events of a tournament locks it first: so its events are committed in the order of their
    numbers, and no two transactions wait for each other. (On SQLite the whole transaction is the lock.)

    Raises:
        NotFound: there is no such tournament.
    """
    # Without `key_share` the lock would also hold up everyone who inserts a row that refers to the tournament.
    query = select(TOURNAMENT).where(TOURNAMENT.c.id == tournament_id).with_for_update(key_share=True)
    return found(connection, query, f"no tournament {tournament_id}")


def set_state(connection: Connection, tournament_id: int, state: TournamentState, now: float) -> None:
    """Moves a tournament, which the transaction has locked, to another state, and tells those who follow it.

    Raises:
        WrongState: that state does not follow the one it is in.
    """
    before = connection.execute(select(TOURNAMENT.c.state).where(TOURNAMENT.c.id == tournament_id)).scalar_one()
    if state not in TRANSITIONS[before]:
        raise WrongState(f"tournament {tournament_id} is {before}: it cannot become {state}")
    values: dict[str, Any] = {"state": state}
    if state is TournamentState.RUNNING:
        values |= {"started_at": func.coalesce(TOURNAMENT.c.started_at, now), "finished_at": None}
    elif state in (TournamentState.FINISHED, TournamentState.CANCELLED):
        values["finished_at"] = now
    change_row(connection, TOURNAMENT, tournament_id, **values)
    tell(connection, tournament_id, Topic.STATE, now, state=state)


def finish_if_over(connection: Connection, tournament_id: int, now: float) -> None:
    """Finishes a running or paused tournament in which nothing is queued or leased."""
    still_open = select(MATCH.c.id).where(MATCH.c.tournament_id == tournament_id, MATCH.c.state.in_(OPEN)).limit(1)
    if connection.scalar(still_open) is None:
        state = connection.scalar(select(TOURNAMENT.c.state).where(TOURNAMENT.c.id == tournament_id))
        if state in (TournamentState.RUNNING, TournamentState.PAUSED):
            set_state(connection, tournament_id, TournamentState.FINISHED, now)


def reason_of(text: str) -> str:
    """Returns the reason of an act that all can read.

    Raises:
        ValueError: there is none.
    """
    if not text.strip():
        raise ValueError("no reason: expected one, which all can read")
    return text.strip()


def tell(connection: Connection, tournament_id: int, topic: Topic, now: float, **payload: Any) -> None:
    """Writes an event, in the transaction that does what it tells of."""
    connection.execute(insert(EVENT).values(tournament_id=tournament_id, topic=topic, payload=payload, created_at=now))
