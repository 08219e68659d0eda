"""How a result becomes rows, and how a voided one is kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, insert, select, update

from tournament import seeds
from tournament.models import MatchState
from tournament.results import BID_LEVELS, GameResult, MatchResult, Tally, pair_scores
from tournament.rules import Rules
from tournament.store_database import change_row
from tournament.store_state import OPEN, finish_if_over, tell
from tournament.store_tables import FAULT, GAME, MATCH, TALLY, TOURNAMENT
from tournament.store_values import Recorded, Topic

_REFUSED: Final = {
    MatchState.DONE: Recorded.DUPLICATE,
    MatchState.CANCELLED: Recorded.CANCELLED,
    MatchState.FAILED: Recorded.FAILED,
    MatchState.QUEUED: Recorded.VOIDED,
    MatchState.LEASED: Recorded.VOIDED,
}


class Recording:
    """The results of one tournament in one transaction, with the tournament locked."""

    def __init__(self, connection: Connection, tournament_id: int, rules: Rules, order: int, now: float) -> None:
        self.connection = connection
        self.tournament_id = tournament_id
        self.rules = rules
        self.order = self.first_order = order
        self.now = now
        self.games: list[dict[str, Any]] = []
        self.tallies: list[dict[str, Any]] = []
        self.faults: list[dict[str, Any]] = []

    def take(self, row: Any, result: MatchResult) -> Recorded:
        """Marks the match done unless it is already, or is not to count, and notes the rows of its games.

        Raises:
            ValueError: these are not the games of the match.
        """
        entrants = entrants_of(row)
        seatings = seeds.seatings(self.rules, len(entrants))
        if [game.seating for game in result.games] != list(range(1, len(seatings) + 1)):
            raise ValueError(
                f"match {result.match_id}: {len(result.games)} games, expected each of {len(seatings)} seatings once"
            )
        scores: dict[tuple[int, int], int] = {}
        for game in result.games:
            for pair, score in pair_scores(self.rules, seatings[game.seating - 1], game.outcome.places).items():
                scores[pair] = scores.get(pair, 0) + score
        change = (
            update(MATCH)
            .where(MATCH.c.id == result.match_id, MATCH.c.state.in_(OPEN), MATCH.c.void_attempt < result.attempt)
            .values(
                state=MatchState.DONE, lease_until=None, error=None, worker=result.worker, play_s=result.play_s,
                record_order=self.order + 1, recorded_at=self.now, games=len(result.games),
                faults=sum(len(game.reports) for game in result.games),
                s01=scores[0, 1], s02=scores.get((0, 2)), s12=scores.get((1, 2)),
            )
            .returning(MATCH.c.id)
        )  # fmt: skip
        # RETURNING and no count of rows: psycopg has none for such statements.
        if self.connection.execute(change).one_or_none() is None:
            state = select(MATCH.c.state).where(MATCH.c.id == result.match_id)
            return _REFUSED[self.connection.execute(state).scalar_one()]
        self.order += 1
        for game in result.games:
            self._add_game(result.match_id, game, [entrants[place] for place in seatings[game.seating - 1]])
        self._add_tallies(result, entrants, seatings)
        told = {"match": row.id, "number": row.number, "order": self.order}
        tell(self.connection, self.tournament_id, Topic.MATCH, self.now, **told)
        return Recorded.RECORDED

    def _add_game(self, match_id: int, game: GameResult, seats: Sequence[int]) -> None:
        outcome = game.outcome
        self.games.append(
            {
                "match_id": match_id, "seating": game.seating, "end_kind": outcome.end, "winner": outcome.winner,
                "scores": numbers_text(outcome.scores), "places": numbers_text(outcome.places), "deals": game.deals,
                "digest": game.digest, "acts": game.acts, "timings": game.timings,
            }
        )  # fmt: skip
        for ordinal, report in enumerate(game.reports, 1):
            self.faults.append(
                {
                    "match_id": match_id, "seating": game.seating, "ordinal": ordinal,
                    "tournament_id": self.tournament_id, "entrant": seats[report.fault.seat], **report.fault.to_dict(),
                    "message": storable(report.message), "traceback": storable(report.traceback),
                    "log_tail": storable(report.log_tail),
                    "measured": report.measured, "limit_value": report.limit, "question": report.question,
                }
            )  # fmt: skip

    def _add_tallies(self, result: MatchResult, entrants: Sequence[int], seatings: Sequence[Sequence[int]]) -> None:
        for place, entrant in enumerate(entrants):
            tally = sum((game.tallies[place] for game in result.games), Tally())
            faults = sum(
                seatings[game.seating - 1][report.fault.seat] == place
                for game in result.games
                for report in game.reports
            )
            self.tallies.append(
                {
                    "tournament_id": self.tournament_id, "entrant": entrant, "match_id": result.match_id,
                    "points": tally.points, "deals": tally.deals, "faults": faults,
                    **{f"bids{level}": count for level, count in zip(BID_LEVELS, tally.bids, strict=True)},
                    **{f"made{level}": count for level, count in zip(BID_LEVELS, tally.made, strict=True)},
                }
            )  # fmt: skip

    def finish(self) -> None:
        """Writes the rows of all games taken."""
        for table, rows in ((GAME, self.games), (TALLY, self.tallies), (FAULT, self.faults)):
            if rows:
                self.connection.execute(insert(table), rows)
        if self.order > self.first_order:
            change_row(self.connection, TOURNAMENT, self.tournament_id, last_order=self.order)
            finish_if_over(self.connection, self.tournament_id, self.now)


def entrants_of(row: Any) -> tuple[int, ...]:
    """Returns the positions of a match row's entrants, ascending."""
    return (row.e0, row.e1) if row.e2 is None else (row.e0, row.e1, row.e2)


def scores_of(row: Any) -> tuple[int, ...]:
    """Returns the pair scores of a match row, none before it is done."""
    return tuple(score for score in (row.s01, row.s02, row.s12) if score is not None)


def numbers_text(numbers: Iterable[int]) -> str:
    """Writes scores or places as the game table holds them; `numbers_of` reads them."""
    return ",".join(map(str, numbers))


def numbers_of(text: str) -> tuple[int, ...]:
    """Reads what `numbers_text` wrote."""
    return tuple(map(int, text.split(",")))


def result_text(connection: Connection, match_id: int) -> str:
    """Writes a recorded match as JSON, for the history of voids; bytes in hexadecimal."""
    tables = {
        "match": select(MATCH).where(MATCH.c.id == match_id),
        "games": select(GAME).where(GAME.c.match_id == match_id).order_by(GAME.c.seating),
        "faults": select(FAULT).where(FAULT.c.match_id == match_id).order_by(FAULT.c.seating, FAULT.c.ordinal),
    }
    rows = {name: [dict(row) for row in connection.execute(query).mappings()] for name, query in tables.items()}
    return json.dumps(rows, sort_keys=True, separators=(",", ":"), default=bytes.hex)


def storable(text: str) -> str:
    """Returns a text that both databases take: PostgreSQL no NUL, neither of them halves of surrogate pairs."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
