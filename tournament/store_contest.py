"""What organised contests ask of the store: deadlines, entries, practice rounds, announcements, fairness.

Every act of an organiser writes its line of the audit log in its own transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, delete, func, or_, select, tuple_

from tournament.fairness import FairMatch
from tournament.models import MatchState, TournamentState
from tournament.models_people import OPEN_STATES
from tournament.planning import MOST_ROUNDS, Plan
from tournament.store_database import NotFound, WrongState, add_row, change_row, change_where, clock, found, put_row
from tournament.store_record import entrants_of, scores_of
from tournament.store_state import lock_tournament
from tournament.store_submissions import Submissions
from tournament.store_tables import ACCOUNT, ANNOUNCEMENT, EXTENSION, GAME, MATCH, PRACTICE, SUBMISSION, TOURNAMENT
from tournament.store_tokens import note
from tournament.store_values import NewEntrant, NewTournament, value_of

BEFORE_START: Final = (TournamentState.DRAFT, TournamentState.OPEN, TournamentState.CLOSED)
_PAGE: Final = 5_000


@dataclass(frozen=True, slots=True)
class PracticeInfo:
    """Rounds that start every day; `settings` are those of the tournaments that are made."""

    id: int
    name: str
    settings: NewTournament
    at: str
    zone: str
    next_at: float | None
    runs: int
    last_tournament: int | None


@dataclass(frozen=True, slots=True)
class AnnouncementInfo:
    """What the organiser said."""

    id: int
    tournament_id: int | None
    text: str
    created_at: float


class Contests(Submissions):
    """What organisers do, and what follows from it."""

    # Before the start --------------------------------------------------------------------------------------------

    def replan(
        self, tournament_id: int, changes: Mapping[str, Any], *, rounds: int | None = None, by: int | None = None
    ) -> None:
        """Changes some of the plan of a tournament that has not started.

        Raises:
            NotFound: there is no such tournament.
            WrongState: it has started.
            ValueError: that are no rounds, or too many.
        """
        if rounds is not None and not 1 <= rounds <= MOST_ROUNDS:
            raise ValueError(f"rounds is {rounds}: expected 1 to {MOST_ROUNDS}")
        with self.write() as connection:
            row = _before_start(connection, tournament_id, "this is settled before the start")
            plan = Plan.from_dict({**row.plan.to_dict(), **changes})
            rounds = row.rounds if rounds is None else rounds
            change_row(connection, TOURNAMENT, tournament_id, plan=plan, rounds=rounds)
            why = json.dumps(plan.to_dict(), sort_keys=True)
            note(connection, by, "change plan", f"tournament {tournament_id}", why)

    def set_times(
        self,
        tournament_id: int,
        opens_at: float | None,
        closes_at: float | None,
        *,
        by: int | None = None,
        why: str = "",
    ) -> None:
        """Sets when entries open and close, for all: one act, however many there are. A later close opens again.

        Raises:
            NotFound: there is no such tournament.
            WrongState: it has started.
            ValueError: it closes before it opens.
        """
        if opens_at is not None and closes_at is not None and closes_at <= opens_at:
            raise ValueError(f"it closes {_utc(closes_at)}, before it opens {_utc(opens_at)}: expected a later close")
        times = (("opens", opens_at), ("closes", closes_at))
        said = ", ".join(f"{word} {_utc(at)}" for word, at in times if at is not None)
        with self.write() as connection:
            row = _before_start(connection, tournament_id, "this is settled before the start")
            extended = row.closes_at is not None and (closes_at or 0) > row.closes_at
            change_row(connection, TOURNAMENT, tournament_id, opens_at=opens_at, closes_at=closes_at)
            act = "extend for all" if extended else "set times"
            note(connection, by, act, f"tournament {tournament_id}", _why(said, why))

    def extend(
        self, tournament_id: int, account_id: int, until: float | None, *, by: int | None = None, why: str = ""
    ) -> None:
        """Lets one contestant hand in until a later time; None takes that back.

        Raises:
            NotFound: there is no such tournament or account.
            WrongState: it has started.
            ValueError: this is no later than the close for all.
        """
        with self.write() as connection:
            row = _before_start(connection, tournament_id, "its entries are settled")
            found(connection, select(ACCOUNT.c.id).where(ACCOUNT.c.id == account_id), f"no account {account_id}")
            if until is not None and (row.closes_at is None or until <= row.closes_at):
                closes = "by hand" if row.closes_at is None else _utc(row.closes_at)
                raise ValueError(f"until {_utc(until)}, and entries close {closes}: expected a time after the close")
            if until is None:
                mine = (EXTENSION.c.tournament_id == tournament_id, EXTENSION.c.account_id == account_id)
                connection.execute(delete(EXTENSION).where(*mine))
            else:
                values = {"tournament_id": tournament_id, "account_id": account_id, "until": until}
                put_row(connection, EXTENSION, values)
            said = "taken back" if until is None else f"until {_utc(until)}"
            note(connection, by, "extend", f"tournament {tournament_id} account {account_id}", _why(said, why))

    def extensions(self, tournament_id: int) -> dict[int, float]:
        """Returns until when single contestants may hand in, by account."""
        query = select(EXTENSION).where(EXTENSION.c.tournament_id == tournament_id)
        return {row.account_id: row.until for row in self.rows(query)}

    def contest_entries(self, tournament_id: int, closes_at: float | None, *, all_bots: bool) -> list[NewEntrant]:
        """Returns who enters: of each contestant the last accepted version that was received by its deadline."""
        entered = self.entries(received_by=closes_at, all_bots=all_bots)
        if closes_at is not None:
            for account_id, until in self.extensions(tournament_id).items():
                mine = self.entries(received_by=max(until, closes_at), all_bots=all_bots)
                entered = [each for each in entered if each.owner != account_id]
                entered += [each for each in mine if each.owner == account_id]
        return entered

    def undecided(self, tournament_id: int, closes_at: float | None) -> int:
        """Returns how many submissions were received by their deadlines and have no verdict yet."""
        query = select(func.count()).where(SUBMISSION.c.state.in_(OPEN_STATES))
        if closes_at is not None:
            late = (
                (SUBMISSION.c.account_id == account_id) & (SUBMISSION.c.received_at <= until)
                for account_id, until in self.extensions(tournament_id).items()
            )
            query = query.where(or_(SUBMISSION.c.received_at <= closes_at, *late))
        return int(self.scalar(query))

    def deal_seconds(self, entrants: Sequence[NewEntrant]) -> dict[str, float]:
        """Returns the CPU seconds per deal that probes measured, by the entrants' texts; house bots have none."""
        ids = {entrant.upload_order: entrant.text for entrant in entrants if not entrant.house}
        query = select(SUBMISSION.c.id, SUBMISSION.c.verdict).where(SUBMISSION.c.id.in_(ids))
        measured = {ids[row.id]: row.verdict.get("deal_cpu_s") for row in self.rows(query)}
        return {text: float(seconds) for text, seconds in measured.items() if seconds is not None}

    def not_started(self) -> list[int]:
        """Returns the tournaments that wait for their start, oldest first."""
        query = select(TOURNAMENT.c.id).where(TOURNAMENT.c.state.in_(BEFORE_START)).order_by(TOURNAMENT.c.id)
        return [row.id for row in self.rows(query)]

    # Practice rounds ---------------------------------------------------------------------------------------------

    def add_practice(self, settings: NewTournament, at: str, next_at: float, *, by: int | None = None) -> int:
        """Begins rounds that start every day, and returns their number."""
        zone = settings.plan.zone
        values = {"name": settings.name, "settings": settings, "at": at, "zone": zone, "next_at": next_at}
        with self.write() as connection:
            number = add_row(connection, PRACTICE, **values)
            note(connection, by, "begin practice rounds", f"practice {number}", f"{at} {zone}")
            return number

    def stop_practice(self, practice_id: int, *, by: int | None = None) -> None:
        """Ends practice rounds; what runs plays on.

        Raises:
            NotFound: there are none of this number.
        """
        with self.write() as connection:
            if not change_where(connection, PRACTICE, PRACTICE.c.id == practice_id, next_at=None):
                raise NotFound(f"no practice rounds {practice_id}")
            note(connection, by, "stop practice rounds", f"practice {practice_id}")

    def practices(self) -> list[PracticeInfo]:
        """Returns all practice rounds."""
        return [value_of(PracticeInfo, row) for row in self.rows(select(PRACTICE).order_by(PRACTICE.c.id))]

    def take_practice(self, practice_id: int, due: float, next_at: float) -> bool:
        """Moves practice rounds on to their next time; True for the one caller who is to play those that were due."""
        is_due = (PRACTICE.c.id == practice_id, PRACTICE.c.next_at == due)
        with self.write() as connection:
            return bool(change_where(connection, PRACTICE, *is_due, next_at=next_at, runs=PRACTICE.c.runs + 1))

    def note_practice(self, practice_id: int, tournament_id: int) -> None:
        """Notes which tournament practice rounds played last."""
        with self.write() as connection:
            change_row(connection, PRACTICE, practice_id, last_tournament=tournament_id)

    # Announcements -----------------------------------------------------------------------------------------------

    def announce_text(self, text: str, tournament_id: int | None, *, by: int | None = None) -> int:
        """Says something to all, after the name of the tournament that it is about, and returns its number.

        Raises:
            NotFound: there is no such tournament.
            ValueError: it says nothing.
        """
        text = text.strip()
        if not text:
            raise ValueError("an empty announcement: expected a text")
        with self.write() as connection:
            if tournament_id is not None:
                text = f"{lock_tournament(connection, tournament_id).name}: {text}"
            values = {"text": text, "tournament_id": tournament_id, "created_at": clock(connection)}
            number = add_row(connection, ANNOUNCEMENT, **values)
            note(connection, by, "announce", f"announcement {number}", text)
            return number

    def drop_announcement(self, announcement_id: int, *, by: int | None = None) -> None:
        """Takes an announcement back.

        Raises:
            NotFound: there is none.
        """
        with self.write() as connection:
            gone = delete(ANNOUNCEMENT).where(ANNOUNCEMENT.c.id == announcement_id).returning(ANNOUNCEMENT.c.id)
            found(connection, gone, f"no announcement {announcement_id}")
            note(connection, by, "take back", f"announcement {announcement_id}")

    def announcements(self, limit: int = 5) -> list[AnnouncementInfo]:
        """Returns what was said last."""
        query = select(ANNOUNCEMENT).order_by(ANNOUNCEMENT.c.id.desc()).limit(limit)
        return [value_of(AnnouncementInfo, row) for row in self.rows(query)]

    # Fairness ----------------------------------------------------------------------------------------------------

    def match_rows(self, tournament_id: int) -> list[FairMatch]:
        """Returns what fairness looks at, of every recorded match in the order of the schedule."""
        names = ("number", "e0", "e1", "e2", "worker", "games", "faults", "s01", "s02", "s12")
        done = (MATCH.c.tournament_id == tournament_id, MATCH.c.state == MatchState.DONE)
        query = select(*(MATCH.c[name] for name in names)).where(*done).order_by(MATCH.c.number)
        return [
            FairMatch(row.number, entrants_of(row), row.worker or "", row.games, row.faults, scores_of(row))
            for row in self.rows(query)
        ]

    def game_digests(self, tournament_id: int) -> Iterator[str]:
        """Yields the digests of all games in the order of match number and seating."""
        place = (MATCH.c.number, GAME.c.seating)
        done = (MATCH.c.tournament_id == tournament_id, MATCH.c.state == MatchState.DONE)
        after = (0, 0)
        while True:
            query = select(*place, GAME.c.digest).join(GAME, GAME.c.match_id == MATCH.c.id)
            query = query.where(*done, tuple_(*place) > after).order_by(*place)
            rows = self.rows(query.limit(_PAGE))
            yield from (row.digest for row in rows)
            if len(rows) < _PAGE:
                return
            after = rows[-1].number, rows[-1].seating


def _before_start(connection: Connection, tournament_id: int, why: str) -> Any:
    """Returns the row of a tournament that has not started, locked."""
    row = lock_tournament(connection, tournament_id)
    if row.state not in BEFORE_START:
        raise WrongState(f"tournament {tournament_id} is {row.state}: {why}")
    return row


def _utc(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def _why(act: str, why: str) -> str:
    return f"{act}: {why}" if why else act


def renumbered(house: Sequence[NewEntrant]) -> list[NewEntrant]:
    """Gives each house bot an owner of its own, below all accounts: at a table of three no two of one owner sit."""
    return [replace(entrant, owner=number, upload_order=0) for number, entrant in enumerate(house, 1)]
