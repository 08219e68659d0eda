"""Recorded games, their faults, and the results that were voided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from sqlalchemy import Connection, select, tuple_

from tournament import seeds
from tournament.game import Fault, FaultKind
from tournament.models import MatchState
from tournament.replay import GameRecord
from tournament.store_reads import PAGE, Reads
from tournament.store_record import entrants_of, numbers_of
from tournament.store_tables import FAULT, GAME, MATCH, VOID
from tournament.store_values import EntrantInfo, FaultInfo, GameInfo, TournamentInfo, VoidInfo, value_of

_CHUNK: Final = 200


class GameReads(Reads):
    """Reads of what matches are made of."""

    def games(self, match_id: int) -> list[GameInfo]:
        """Returns the games of a recorded match by seating; none while it is not complete."""
        columns = [column for column in GAME.c if column.name not in ("acts", "timings")]
        query = select(*columns).where(GAME.c.match_id == match_id).order_by(GAME.c.seating)
        return [
            value_of(GameInfo, row, end=row.end_kind, scores=numbers_of(row.scores), places=numbers_of(row.places))
            for row in self.rows(query)
        ]

    def game_records(
        self, tournament_id: int, numbers: Sequence[int] | None = None
    ) -> Iterator[tuple[int, GameRecord]]:
        """Yields the number of the match and the record of every kept game, in match and seating order.

        Args:
            tournament_id: of this tournament.
            numbers: only these matches, a page of them at most; by default all that are recorded.
        """
        tournament, entrants = self.tournament(tournament_id), self.entrants(tournament_id)
        after = 0
        while True:
            done = (MATCH.c.tournament_id == tournament_id, MATCH.c.state == MatchState.DONE, MATCH.c.number > after)
            query = select(MATCH).where(*done).order_by(MATCH.c.number).limit(_CHUNK)
            if numbers is not None:
                query = query.where(MATCH.c.number.in_(numbers))
            with self.read() as connection:
                rows = connection.execute(query).all()
                games = _acts_of(connection, [row.id for row in rows])
            for row in rows:
                for seating, acts, faults in games.get(row.id, ()):
                    yield row.number, _record(tournament, entrants, row, seating, acts, faults)
            if len(rows) < _CHUNK:
                return
            after = rows[-1].number

    def timings(self, match_id: int, seating: int) -> bytes:
        """Returns the decision times of a game as the referee wrote them, nothing if there are none."""
        query = select(GAME.c.timings).where(GAME.c.match_id == match_id, GAME.c.seating == seating)
        return bytes(self.scalar(query) or b"")

    def faults(
        self,
        tournament_id: int,
        *,
        entrant: int | None = None,
        match_id: int | None = None,
        kind: FaultKind | None = None,
        before: tuple[int, int, int] | None = None,
        limit: int = PAGE,
    ) -> list[FaultInfo]:
        """Returns a page of faults, those of the latest matches of the schedule first.

        Args:
            tournament_id: of this tournament.
            entrant: only those of the entrant at this position.
            match_id: only those of this match.
            kind: only those of this kind.
            before: the page that follows the fault with this match id, seating and ordinal.
            limit: how many at most.
        """
        place = (FAULT.c.match_id, FAULT.c.seating, FAULT.c.ordinal)
        query = select(FAULT, MATCH.c.number, MATCH.c.recorded_at).join(MATCH, MATCH.c.id == FAULT.c.match_id)
        query = query.where(FAULT.c.tournament_id == tournament_id)
        query = query.order_by(*(column.desc() for column in place)).limit(limit)
        for column, value in ((FAULT.c.entrant, entrant), (FAULT.c.match_id, match_id), (FAULT.c.kind, kind)):
            if value is not None:
                query = query.where(column == value)
        if before is not None:
            query = query.where(tuple_(*place) < before)
        return [value_of(FaultInfo, row, limit=row.limit_value) for row in self.rows(query)]

    def voids(self, tournament_id: int) -> list[VoidInfo]:
        """Returns all results that do not count any more, by match number, then by when they were voided."""
        query = select(VOID, MATCH.c.number).join(MATCH, MATCH.c.id == VOID.c.match_id)
        query = query.where(VOID.c.tournament_id == tournament_id).order_by(MATCH.c.number, VOID.c.id)
        return [value_of(VoidInfo, row) for row in self.rows(query)]


def _acts_of(connection: Connection, ids: Sequence[int]) -> dict[int, list[tuple[int, bytes, tuple[Fault, ...]]]]:
    """Returns seating, acts and faults of the kept games of matches."""
    fault_query = (
        select(*(FAULT.c[name] for name in ("match_id", "seating", "seat", "kind", "deal", "attempt", "act")))
        .where(FAULT.c.match_id.in_(ids))
        .order_by(FAULT.c.match_id, FAULT.c.seating, FAULT.c.ordinal)
    )
    faults: dict[tuple[int, int], tuple[Fault, ...]] = {}
    for (match_id, seating), rows in groupby(connection.execute(fault_query), key=lambda row: (row[0], row[1])):
        faults[match_id, seating] = tuple(value_of(Fault, row) for row in rows)
    game_query = (
        select(GAME.c.match_id, GAME.c.seating, GAME.c.acts)
        .where(GAME.c.match_id.in_(ids), GAME.c.acts.is_not(None))
        .order_by(GAME.c.match_id, GAME.c.seating)
    )
    games: dict[int, list[tuple[int, bytes, tuple[Fault, ...]]]] = {}
    for match_id, seating, acts in connection.execute(game_query):
        games.setdefault(match_id, []).append((seating, acts, faults.get((match_id, seating), ())))
    return games


def _record(
    tournament: TournamentInfo,
    entrants: Sequence[EntrantInfo],
    match: Any,
    seating: int,
    acts: bytes,
    faults: tuple[Fault, ...],
) -> GameRecord:
    sitting = entrants_of(match)
    seats = seeds.seatings(tournament.rules, len(sitting))[seating - 1]
    return GameRecord(
        match.key,
        seating,
        tournament.rules,
        seeds.deal_seed(tournament.secret, match.key),
        tuple(entrants[sitting[place]].player for place in seats),
        acts,
        faults,
    )
