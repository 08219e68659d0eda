"""What pages, commands and exports read: values, in pages of a bounded length."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Select, func, or_, select

from tournament.models import MatchState
from tournament.source import BotSource
from tournament.store_database import Database
from tournament.store_record import entrants_of, scores_of
from tournament.store_tables import ENTRANT, EVENT, MATCH, SOURCE, TOURNAMENT, WORKER
from tournament.store_values import (
    Counts,
    EntrantInfo,
    EventInfo,
    MatchFilter,
    MatchInfo,
    Topic,
    TournamentInfo,
    WorkerInfo,
    value_of,
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
        none = "no tournament yet" if tournament_id is None else f"no tournament {tournament_id}"
        return value_of(TournamentInfo, self.one(query, none))

    def tournaments(self, *, before: int | None = None, limit: int = PAGE) -> list[TournamentInfo]:
        """Returns tournaments, newest first, those older than the one with id `before`."""
        query = select(TOURNAMENT).order_by(TOURNAMENT.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(TOURNAMENT.c.id < before)
        return [value_of(TournamentInfo, row) for row in self.rows(query)]

    def entrants(self, tournament_id: int) -> list[EntrantInfo]:
        """Returns the entrants in the order of their positions; none before a tournament has started."""
        query = select(ENTRANT).where(ENTRANT.c.tournament_id == tournament_id).order_by(ENTRANT.c.position)
        return [value_of(EntrantInfo, row) for row in self.rows(query)]

    def source(self, sha256: str) -> BotSource:
        """Returns the files of a bot version by their hash.

        Raises:
            NotFound: no such source is stored.
        """
        query = select(SOURCE.c.files).where(SOURCE.c.sha256 == sha256)
        return BotSource.unpack(self.one(query, f"no source with the hash {sha256:.64}").files)

    def counts(self, tournament_id: int) -> Counts:
        """Returns the matches by state, all counted at one moment."""
        query = select(MATCH.c.state, func.count()).group_by(MATCH.c.state)
        query = query.where(MATCH.c.tournament_id == tournament_id)
        return Counts(**{_WORDS[state]: count for state, count in self.rows(query)})

    def events(self, tournament_id: int, after: int = 0, limit: int = _LATEST) -> list[EventInfo]:
        """Returns what happened in a tournament after the event with id `after`, oldest first."""
        query = select(EVENT).where(EVENT.c.tournament_id == tournament_id, EVENT.c.id > after)
        rows = self.rows(query.order_by(EVENT.c.id).limit(limit))
        return [value_of(EventInfo, row, topic=Topic(row.topic)) for row in rows]

    def last_event(self, tournament_id: int) -> int:
        """Returns the id of a tournament's newest event, 0 if there is none."""
        return int(self.scalar(select(func.max(EVENT.c.id)).where(EVENT.c.tournament_id == tournament_id)) or 0)

    def workers(self) -> list[WorkerInfo]:
        """Returns the workers that ever announced themselves, by name."""
        return [value_of(WorkerInfo, row) for row in self.rows(select(WORKER).order_by(WORKER.c.name))]

    # Matches -----------------------------------------------------------------------------------------------------

    def match(self, tournament_id: int, number: int) -> MatchInfo:
        """Returns a match by its number in the schedule.

        Raises:
            NotFound: there is no such match.
        """
        query = select(MATCH).where(MATCH.c.tournament_id == tournament_id, MATCH.c.number == number)
        return _match(self.one(query, f"no match {number} in tournament {tournament_id}"))

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
        found = [_match(row) for row in self.rows(query)]
        return found if before is None else found[::-1]

    def count_matches(self, tournament_id: int, which: MatchFilter) -> int:
        """Returns how many matches a filter leaves."""
        return int(self.scalar(_filtered(select(func.count()), tournament_id, which)))

    def latest_matches(self, tournament_id: int, limit: int = PAGE) -> list[MatchInfo]:
        """Returns the matches recorded last, newest first."""
        query = select(MATCH).where(MATCH.c.tournament_id == tournament_id, MATCH.c.record_order.is_not(None))
        return [_match(row) for row in self.rows(query.order_by(MATCH.c.record_order.desc()).limit(limit))]

    def running_matches(self, tournament_id: int | None = None, limit: int = PAGE) -> list[MatchInfo]:
        """Returns leased matches, of one tournament or of all, those whose leases end first."""
        query = select(MATCH).where(MATCH.c.state == MatchState.LEASED)
        query = query.order_by(MATCH.c.lease_until, MATCH.c.id).limit(limit)
        if tournament_id is not None:
            query = query.where(MATCH.c.tournament_id == tournament_id)
        return [_match(row) for row in self.rows(query)]

    def match_seconds(self, tournament_id: int) -> float | None:
        """Returns the mean wall time of the matches recorded last, None before the first."""
        query = select(MATCH.c.play_s).where(MATCH.c.tournament_id == tournament_id, MATCH.c.record_order.is_not(None))
        latest = query.order_by(MATCH.c.record_order.desc()).limit(_LATEST).subquery()
        mean: float | None = self.scalar(select(func.avg(latest.c.play_s)))
        return mean


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


def _match(row: Any) -> MatchInfo:
    return value_of(
        MatchInfo,
        row,
        entrants=entrants_of(row),
        games=row.games or 0,
        faults=row.faults or 0,
        scores=scores_of(row),
    )
