"""What pages, commands and exports read: values, in pages of a bounded length."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, Final, TypeVar

from sqlalchemy import Select, func, or_, select

from tournament.models import MatchState, TournamentState
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from tournament.store_database import ENTRANT, EVENT, MATCH, SOURCE, TOURNAMENT, WORKER, Database, NotFound
from tournament.store_record import entrants_of
from tournament.store_values import (
    Counts,
    EntrantInfo,
    EventInfo,
    MatchFilter,
    MatchInfo,
    Topic,
    TournamentInfo,
    WorkerInfo,
)

PAGE: Final = 50
"""Rows of a page unless told otherwise."""

_LATEST: Final = 200

_WORDS: Final = {
    MatchState.DONE: "finished",
    MatchState.LEASED: "running",
    MatchState.QUEUED: "queued",
    MatchState.FAILED: "failed",
    MatchState.CANCELLED: "cancelled",
}


_Value = TypeVar("_Value")


def value_of(kind: type[_Value], row: Any, /, **others: object) -> _Value:
    """Makes a value whose fields are the columns of a row with the same names, save for `others`."""
    names = (field.name for field in fields(kind) if field.name not in others)  # type: ignore[arg-type]
    return kind(**{name: getattr(row, name) for name in names}, **others)


class Reads(Database):
    """Everything that is read and changes nothing."""

    # Tournaments -------------------------------------------------------------------------------------------------

    def tournament(self, tournament_id: int | None = None) -> TournamentInfo:
        """Returns a tournament, by default the newest that has started, else the newest.

        Raises:
            NotFound: there is no such tournament, or none at all.
        """
        in_order = TOURNAMENT.c.started_at.is_(None), TOURNAMENT.c.id.desc()
        query = select(TOURNAMENT).order_by(*in_order).limit(1)
        if tournament_id is not None:
            query = query.where(TOURNAMENT.c.id == tournament_id)
        with self.read() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            raise NotFound("no tournament yet" if tournament_id is None else f"no tournament {tournament_id}")
        return _tournament(row)

    def tournaments(self, *, before: int | None = None, limit: int = PAGE) -> list[TournamentInfo]:
        """Returns tournaments, newest first, those older than the one with id `before`."""
        query = select(TOURNAMENT).order_by(TOURNAMENT.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(TOURNAMENT.c.id < before)
        with self.read() as connection:
            return [_tournament(row) for row in connection.execute(query)]

    def entrants(self, tournament_id: int) -> list[EntrantInfo]:
        """Returns the entrants in the order of their positions; none before a tournament has started."""
        query = select(ENTRANT).where(ENTRANT.c.tournament_id == tournament_id).order_by(ENTRANT.c.position)
        with self.read() as connection:
            return [value_of(EntrantInfo, row) for row in connection.execute(query)]

    def source(self, sha256: str) -> BotSource:
        """Returns the files of a bot version by their hash.

        Raises:
            NotFound: no such source is stored.
        """
        with self.read() as connection:
            packed = connection.scalar(select(SOURCE.c.files).where(SOURCE.c.sha256 == sha256))
        if packed is None:
            raise NotFound(f"no source with the hash {sha256:.64}")
        return BotSource.unpack(bytes(packed))

    def counts(self, tournament_id: int) -> Counts:
        """Returns the matches by state, all counted at one moment."""
        query = (
            select(MATCH.c.state, func.count()).where(MATCH.c.tournament_id == tournament_id).group_by(MATCH.c.state)
        )
        with self.read() as connection:
            return Counts(**{_WORDS[MatchState(state)]: count for state, count in connection.execute(query)})

    def events(self, tournament_id: int, after: int = 0, limit: int = _LATEST) -> list[EventInfo]:
        """Returns what happened in a tournament after the event with id `after`, oldest first."""
        query = (
            select(EVENT)
            .where(EVENT.c.tournament_id == tournament_id, EVENT.c.id > after)
            .order_by(EVENT.c.id)
            .limit(limit)
        )
        with self.read() as connection:
            return [
                value_of(EventInfo, row, topic=Topic(row.topic), payload=json.loads(row.payload))
                for row in connection.execute(query)
            ]

    def last_event(self, tournament_id: int) -> int:
        """Returns the id of a tournament's newest event, 0 if there is none."""
        query = select(func.max(EVENT.c.id)).where(EVENT.c.tournament_id == tournament_id)
        with self.read() as connection:
            return int(connection.scalar(query) or 0)

    def workers(self) -> list[WorkerInfo]:
        """Returns the workers that ever announced themselves, by name."""
        with self.read() as connection:
            return [
                value_of(WorkerInfo, row, environment=json.loads(row.environment))
                for row in connection.execute(select(WORKER).order_by(WORKER.c.name))
            ]

    # Matches -----------------------------------------------------------------------------------------------------

    def match(self, tournament_id: int, number: int) -> MatchInfo:
        """Returns a match by its number in the schedule.

        Raises:
            NotFound: there is no such match.
        """
        query = select(MATCH).where(MATCH.c.tournament_id == tournament_id, MATCH.c.number == number)
        with self.read() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            raise NotFound(f"no match {number} in tournament {tournament_id}")
        return _match(row)

    def matches(
        self,
        tournament_id: int,
        which: MatchFilter = MatchFilter(),  # noqa: B008  # a frozen value without state
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = PAGE,
    ) -> list[MatchInfo]:
        """Returns a page of matches in the order of their numbers.

        Args:
            tournament_id: of this tournament.
            which: only those.
            after: the page that follows this number.
            before: the page that ends before this number.
            limit: how many at most.
        """
        query = _filtered(select(MATCH), tournament_id, which).limit(limit)
        if before is not None:
            query = query.where(MATCH.c.number < before).order_by(MATCH.c.number.desc())
        else:
            query = query.where(MATCH.c.number > (after or 0)).order_by(MATCH.c.number)
        with self.read() as connection:
            found = [_match(row) for row in connection.execute(query)]
        return found if before is None else found[::-1]

    def count_matches(self, tournament_id: int, which: MatchFilter) -> int:
        """Returns how many matches a filter leaves."""
        with self.read() as connection:
            return int(connection.scalar(_filtered(select(func.count()), tournament_id, which)) or 0)

    def latest_matches(self, tournament_id: int, limit: int = PAGE) -> list[MatchInfo]:
        """Returns the matches recorded last, newest first."""
        query = (
            select(MATCH)
            .where(MATCH.c.tournament_id == tournament_id, MATCH.c.record_order.is_not(None))
            .order_by(MATCH.c.record_order.desc())
            .limit(limit)
        )
        with self.read() as connection:
            return [_match(row) for row in connection.execute(query)]

    def running_matches(self, tournament_id: int | None = None, limit: int = PAGE) -> list[MatchInfo]:
        """Returns leased matches, of one tournament or of all, those whose leases end first."""
        query = (
            select(MATCH)
            .where(MATCH.c.state == MatchState.LEASED)
            .order_by(MATCH.c.lease_until, MATCH.c.id)
            .limit(limit)
        )
        if tournament_id is not None:
            query = query.where(MATCH.c.tournament_id == tournament_id)
        with self.read() as connection:
            return [_match(row) for row in connection.execute(query)]

    def match_seconds(self, tournament_id: int) -> float | None:
        """Returns the mean wall time of the matches recorded last, None before the first."""
        latest = (
            select(MATCH.c.play_s)
            .where(MATCH.c.tournament_id == tournament_id, MATCH.c.record_order.is_not(None))
            .order_by(MATCH.c.record_order.desc())
            .limit(_LATEST)
            .subquery()
        )
        with self.read() as connection:
            mean = connection.scalar(select(func.avg(latest.c.play_s)))
        return None if mean is None else float(mean)


def _filtered(query: Select[Any], tournament_id: int, which: MatchFilter) -> Select[Any]:
    query = query.select_from(MATCH).where(MATCH.c.tournament_id == tournament_id)
    if len(which.entrants) == 2:
        # Entrants of a row ascend, and pairs are what head-to-head pages ask for: three ways to be there, each indexed.
        low, high = sorted(which.entrants)
        query = query.where(
            or_(
                (MATCH.c.e0 == low) & (MATCH.c.e1 == high),
                (MATCH.c.e0 == low) & (MATCH.c.e2 == high),
                (MATCH.c.e1 == low) & (MATCH.c.e2 == high),
            )
        )
    else:
        for entrant in which.entrants:
            query = query.where(or_(MATCH.c.e0 == entrant, MATCH.c.e1 == entrant, MATCH.c.e2 == entrant))
    if which.state is not None:
        query = query.where(MATCH.c.state == which.state)
    if which.round is not None:
        query = query.where(MATCH.c.round == which.round)
    if which.faults:
        query = query.where(MATCH.c.faults > 0)
    return query


def _tournament(row: Any) -> TournamentInfo:
    return value_of(
        TournamentInfo,
        row,
        rules=Rules.from_dict(json.loads(row.rules)),
        limits=Limits.from_dict(json.loads(row.limits)),
        state=TournamentState(row.state),
        environment=json.loads(row.environment),
        plan=json.loads(row.plan),
    )


def _match(row: Any) -> MatchInfo:
    return value_of(
        MatchInfo,
        row,
        entrants=entrants_of(row),
        state=MatchState(row.state),
        games=row.games or 0,
        faults=row.faults or 0,
        scores=tuple(score for score in (row.s01, row.s02, row.s12) if score is not None),
    )
