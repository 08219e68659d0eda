"""What a coordinator and those who watch it ask of the store: leases in flight, environments, figures for alarms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, exists, func, select, update

from tournament.models import MatchState, TournamentState
from tournament.store_database import Database, clock
from tournament.store_tables import FAULT, MATCH, TOURNAMENT, VOID
from tournament.store_values import value_of

COORDINATOR: Final = "coordinator:"
"""How the names begin under which coordinators announce themselves among the workers, with no slots."""

ALIVE_S: Final = 60.0
"""A worker announces itself every 20 s: who has been silent three times is gone."""

_RECENT: Final = 1_000
_MINUTE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Active:
    """A tournament that runs: what a coordinator needs to know of it.

    Attributes:
        environment: the one that it is played under; empty until somebody has pinned it.
        leased: matches that are out.
    """

    id: int
    environment: Mapping[str, Any]
    leased: int


@dataclass(frozen=True, slots=True)
class Gauges:
    """What a tournament looks like at one moment.

    Attributes:
        matches: their number by state.
        recorded: results ever recorded, voided ones among them: it only grows.
        faults: faults in the results that count.
        voids: results that do not count any more.
        per_minute: matches recorded in the last minute.
        oldest_started_s: how long ago the match was started that has been running longest; 0 if none is.
        overdue_s: how far the oldest lease is beyond its end; 0 if none is.
    """

    matches: Mapping[MatchState, int]
    recorded: int
    faults: int
    voids: int
    per_minute: float
    oldest_started_s: float
    overdue_s: float


def active(database: Database) -> list[Active]:
    """Returns the running tournaments, oldest first, and the paused ones that still have matches out."""
    leased = (
        select(MATCH.c.tournament_id, func.count().label("count"))
        .where(MATCH.c.lease_until.is_not(None))
        .group_by(MATCH.c.tournament_id)
        .subquery()
    )
    count = func.coalesce(leased.c.count, 0)
    query = (
        select(TOURNAMENT.c.id, TOURNAMENT.c.environment, count.label("leased"))
        .outerjoin(leased, leased.c.tournament_id == TOURNAMENT.c.id)
        .where((TOURNAMENT.c.state == TournamentState.RUNNING) | (count > 0))
        .order_by(TOURNAMENT.c.id)
    )
    return [value_of(Active, row) for row in database.rows(query)]


def pin_environment(database: Database, tournament: Active, environment: Mapping[str, Any]) -> Active:
    """Says under which environment a tournament is played, besides what it demands, unless that has been said."""
    whole = {**environment, **tournament.environment}
    unpinned = (TOURNAMENT.c.id == tournament.id, TOURNAMENT.c.environment == tournament.environment)
    with database.write() as connection:
        connection.execute(update(TOURNAMENT).where(*unpinned).values(environment=whole))
    return Active(tournament.id, whole, tournament.leased)


def never_started(database: Database, *, now: float | None = None) -> list[tuple[int, int]]:
    """Returns match id and attempt of leases that ended before anybody said that he had begun: the broker lost them.

    Nothing has happened to these matches, so that `Queue.release` may give them back at no cost.
    """
    with database.read() as connection:
        moment = clock(connection) if now is None else now
        query = (
            select(MATCH.c.id, MATCH.c.attempt)
            .where(MATCH.c.lease_until < moment, MATCH.c.started_at.is_(None))
            .order_by(MATCH.c.id)
            .limit(_RECENT)
        )
        return [(row.id, row.attempt) for row in connection.execute(query)]


def cancelled_since(database: Database, seconds: float) -> list[int]:
    """Returns the tournaments that were cancelled in the last so many seconds."""
    with database.read() as connection:
        query = select(TOURNAMENT.c.id).where(
            TOURNAMENT.c.state == TournamentState.CANCELLED, TOURNAMENT.c.finished_at > clock(connection) - seconds
        )
        return list(connection.scalars(query))


def gauges(database: Database, *, now: float | None = None) -> dict[int, Gauges]:
    """Returns the figures of the tournaments that run, are paused or have ended with failed matches, at one moment.

    Those whose results are held back are left out.
    """
    goes_on = TOURNAMENT.c.state.in_((TournamentState.RUNNING, TournamentState.PAUSED))
    failed = exists().where(MATCH.c.tournament_id == TOURNAMENT.c.id, MATCH.c.state == MatchState.FAILED)
    with database.read() as connection:
        moment = clock(connection) if now is None else now
        query = select(TOURNAMENT.c.id, TOURNAMENT.c.last_order).where(goes_on | failed, TOURNAMENT.c.held_at.is_(None))
        found = connection.execute(query.order_by(TOURNAMENT.c.id)).all()
        return {row.id: _gauges(connection, row.id, row.last_order, moment) for row in found}


def _gauges(connection: Connection, tournament_id: int, recorded: int, now: float) -> Gauges:
    mine = MATCH.c.tournament_id == tournament_id
    by_state = select(MATCH.c.state, func.count()).where(mine).group_by(MATCH.c.state)
    matches = dict.fromkeys(MatchState, 0)
    for state, count in connection.execute(by_state):
        matches[state] = count
    latest = (
        select(MATCH.c.recorded_at).where(mine, MATCH.c.record_order.is_not(None))
        .order_by(MATCH.c.record_order.desc()).limit(_RECENT).subquery()
    )  # fmt: skip
    count, oldest = connection.execute(
        select(func.count(), func.min(latest.c.recorded_at)).where(latest.c.recorded_at > now - _MINUTE_S)
    ).one()
    # More than are looked at in one minute: then their own time tells the rate.
    span_s = max(now - oldest, 0.001) if count == _RECENT else _MINUTE_S
    out = (mine, MATCH.c.lease_until.is_not(None))
    started, until = connection.execute(
        select(func.min(MATCH.c.started_at), func.min(MATCH.c.lease_until)).where(*out)
    ).one()
    faults, voids = (
        connection.execute(select(func.count()).where(table.c.tournament_id == tournament_id)).scalar_one()
        for table in (FAULT, VOID)
    )
    started_s, overdue_s = (0.0 if at is None else max(0.0, now - at) for at in (started, until))
    return Gauges(matches, recorded, faults, voids, count * _MINUTE_S / span_s, started_s, overdue_s)
