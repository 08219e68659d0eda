"""What organised contests ask of the store: deadlines, entries, practice rounds, announcements, fairness.

Every act of an organiser writes its line of the audit log in its own transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import delete, func, insert, or_, select, update

from tournament.models import MatchState, TournamentState
from tournament.models_contest import Announcement, Extension, Practice
from tournament.models_people import OPEN_STATES
from tournament.store_database import GAME, MATCH, TOURNAMENT, NotFound, WrongState, clock, table_of
from tournament.store_people import SUBMISSION
from tournament.store_reads import value_of
from tournament.store_record import entrants_of
from tournament.store_state import lock_tournament
from tournament.store_submissions import Submissions
from tournament.store_tokens import ACCOUNT, note
from tournament.store_values import NewEntrant

EXTENSION: Final = table_of(Extension)
PRACTICE: Final = table_of(Practice)
ANNOUNCEMENT: Final = table_of(Announcement)

BEFORE_START: Final = (TournamentState.DRAFT, TournamentState.OPEN, TournamentState.CLOSED)
_PAGE: Final = 5_000


@dataclass(frozen=True, slots=True)
class PracticeInfo:
    """Rounds that start every day; `settings` are those of the tournaments that are made."""

    id: int
    name: str
    settings: Mapping[str, Any]
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


@dataclass(frozen=True, slots=True)
class MatchRow:
    """What fairness looks at in a recorded match."""

    number: int
    entrants: tuple[int, ...]
    worker: str
    games: int
    faults: int
    scores: tuple[int, ...]


class Contests(Submissions):
    """What organisers do, and what follows from it."""

    # Before the start --------------------------------------------------------------------------------------------

    def replan(
        self, tournament_id: int, plan: Mapping[str, Any], *, rounds: int | None = None, by: int | None = None
    ) -> None:
        """Changes the plan of a tournament that has not started.

        Raises:
            NotFound: there is no such tournament.
            WrongState: it has started.
        """
        values: dict[str, Any] = {"plan": json.dumps(plan, sort_keys=True)}
        if rounds is not None:
            values["rounds"] = rounds
        self._change_before_start(tournament_id, values, by, "change plan", json.dumps(plan, sort_keys=True))

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
        values = {"opens_at": opens_at, "closes_at": closes_at}
        times = (("opens", opens_at), ("closes", closes_at))
        said = ", ".join(f"{word} {_utc(at)}" for word, at in times if at is not None)
        self._change_before_start(tournament_id, values, by, "set times", _why(said, why))

    def _change_before_start(
        self, tournament_id: int, values: Mapping[str, Any], by: int | None, act: str, why: str
    ) -> None:
        with self.write() as connection:
            row = lock_tournament(connection, tournament_id)
            if row.state not in BEFORE_START:
                raise WrongState(f"tournament {tournament_id} is {row.state}: this is settled before the start")
            if row.closes_at is not None and (values.get("closes_at") or 0) > row.closes_at:
                act = "extend for all"
            connection.execute(update(TOURNAMENT).where(TOURNAMENT.c.id == tournament_id).values(**values))
            note(connection, by, act, f"tournament {tournament_id}", why)

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
            row = lock_tournament(connection, tournament_id)
            if row.state not in BEFORE_START:
                raise WrongState(f"tournament {tournament_id} is {row.state}: its entries are settled")
            if connection.scalar(select(ACCOUNT.c.id).where(ACCOUNT.c.id == account_id)) is None:
                raise NotFound(f"no account {account_id}")
            if until is not None and (row.closes_at is None or until <= row.closes_at):
                closes = "by hand" if row.closes_at is None else _utc(row.closes_at)
                raise ValueError(f"until {_utc(until)}, and entries close {closes}: expected a time after the close")
            mine = (EXTENSION.c.tournament_id == tournament_id, EXTENSION.c.account_id == account_id)
            connection.execute(delete(EXTENSION).where(*mine))
            if until is not None:
                values = {"tournament_id": tournament_id, "account_id": account_id, "until": until}
                connection.execute(insert(EXTENSION).values(values))
            said = "taken back" if until is None else f"until {_utc(until)}"
            note(connection, by, "extend", f"tournament {tournament_id} account {account_id}", _why(said, why))

    def extensions(self, tournament_id: int) -> dict[int, float]:
        """Returns until when single contestants may hand in, by account."""
        with self.read() as connection:
            query = select(EXTENSION.c.account_id, EXTENSION.c.until).where(EXTENSION.c.tournament_id == tournament_id)
            return {row.account_id: row.until for row in connection.execute(query)}

    def contest_entries(self, tournament_id: int, closes_at: float | None, *, all_bots: bool) -> list[NewEntrant]:
        """Returns who enters: of each contestant the last accepted version that was received by its deadline."""
        found = self.entries(received_by=closes_at, all_bots=all_bots)
        if closes_at is not None:
            for account_id, until in self.extensions(tournament_id).items():
                mine = self.entries(received_by=max(until, closes_at), all_bots=all_bots)
                found = [each for each in found if each.owner != account_id]
                found += [each for each in mine if each.owner == account_id]
        return found

    def undecided(self, tournament_id: int, closes_at: float | None) -> int:
        """Returns how many submissions were received by their deadlines and have no verdict yet."""
        late = self.extensions(tournament_id) if closes_at is not None else {}
        in_time = [] if closes_at is None else [SUBMISSION.c.received_at <= closes_at]
        for account_id, until in late.items():
            in_time.append((SUBMISSION.c.account_id == account_id) & (SUBMISSION.c.received_at <= until))
        query = select(func.count()).where(SUBMISSION.c.state.in_(OPEN_STATES))
        if in_time:
            query = query.where(or_(*in_time))
        with self.read() as connection:
            return int(connection.scalar(query) or 0)

    def deal_seconds(self, entrants: Sequence[NewEntrant]) -> dict[str, float]:
        """Returns the CPU seconds per deal that probes measured, by the entrants' texts; house bots have none."""
        ids = {entrant.upload_order: entrant.text for entrant in entrants if not entrant.house}
        query = select(SUBMISSION.c.id, SUBMISSION.c.verdict).where(SUBMISSION.c.id.in_(ids))
        with self.read() as connection:
            found = {ids[row.id]: json.loads(row.verdict).get("deal_cpu_s") for row in connection.execute(query)}
        return {text: float(seconds) for text, seconds in found.items() if seconds is not None}

    def not_started(self) -> list[int]:
        """Returns the tournaments that wait for their start, oldest first."""
        query = select(TOURNAMENT.c.id).where(TOURNAMENT.c.state.in_(BEFORE_START)).order_by(TOURNAMENT.c.id)
        with self.read() as connection:
            return list(connection.scalars(query))

    # Practice rounds ---------------------------------------------------------------------------------------------

    def add_practice(
        self, name: str, settings: Mapping[str, Any], at: str, zone: str, next_at: float, *, by: int | None = None
    ) -> int:
        """Begins rounds that start every day, and returns their number."""
        values = {"name": name, "settings": json.dumps(settings), "at": at, "zone": zone, "next_at": next_at}
        with self.write() as connection:
            found = int(connection.scalar(insert(PRACTICE).values(values).returning(PRACTICE.c.id)) or 0)
            note(connection, by, "begin practice rounds", f"practice {found}", f"{at} {zone}")
            return found

    def stop_practice(self, practice_id: int, *, by: int | None = None) -> None:
        """Ends practice rounds; what runs plays on.

        Raises:
            NotFound: there are none of this number.
        """
        with self.write() as connection:
            change = update(PRACTICE).where(PRACTICE.c.id == practice_id).values(next_at=None).returning(PRACTICE.c.id)
            if connection.execute(change).one_or_none() is None:
                raise NotFound(f"no practice rounds {practice_id}")
            note(connection, by, "stop practice rounds", f"practice {practice_id}")

    def practices(self) -> list[PracticeInfo]:
        """Returns all practice rounds."""
        with self.read() as connection:
            rows = connection.execute(select(PRACTICE).order_by(PRACTICE.c.id))
            return [value_of(PracticeInfo, row, settings=json.loads(row.settings)) for row in rows]

    def take_practice(self, practice_id: int, due: float, next_at: float) -> bool:
        """Moves practice rounds on to their next time; True for the one caller who is to play those that were due."""
        change = (
            update(PRACTICE)
            .where(PRACTICE.c.id == practice_id, PRACTICE.c.next_at == due)
            .values(next_at=next_at, runs=PRACTICE.c.runs + 1)
            .returning(PRACTICE.c.id)
        )
        with self.write() as connection:
            return connection.execute(change).one_or_none() is not None

    def note_practice(self, practice_id: int, tournament_id: int) -> None:
        """Notes which tournament practice rounds played last."""
        with self.write() as connection:
            change = update(PRACTICE).where(PRACTICE.c.id == practice_id)
            connection.execute(change.values(last_tournament=tournament_id))

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
            found = int(connection.scalar(insert(ANNOUNCEMENT).values(values).returning(ANNOUNCEMENT.c.id)) or 0)
            note(connection, by, "announce", f"announcement {found}", text)
            return found

    def drop_announcement(self, announcement_id: int, *, by: int | None = None) -> None:
        """Takes an announcement back.

        Raises:
            NotFound: there is none.
        """
        with self.write() as connection:
            gone = delete(ANNOUNCEMENT).where(ANNOUNCEMENT.c.id == announcement_id).returning(ANNOUNCEMENT.c.id)
            if connection.execute(gone).one_or_none() is None:
                raise NotFound(f"no announcement {announcement_id}")
            note(connection, by, "take back", f"announcement {announcement_id}")

    def announcements(self, limit: int = 5) -> list[AnnouncementInfo]:
        """Returns what was said last."""
        query = select(ANNOUNCEMENT).order_by(ANNOUNCEMENT.c.id.desc()).limit(limit)
        with self.read() as connection:
            return [value_of(AnnouncementInfo, row) for row in connection.execute(query)]

    # Fairness ----------------------------------------------------------------------------------------------------

    def match_rows(self, tournament_id: int) -> list[MatchRow]:
        """Returns what fairness looks at, of every recorded match in the order of the schedule."""
        names = ("number", "e0", "e1", "e2", "worker", "games", "faults", "s01", "s02", "s12")
        query = (
            select(*(MATCH.c[name] for name in names))
            .where(MATCH.c.tournament_id == tournament_id, MATCH.c.state == MatchState.DONE)
            .order_by(MATCH.c.number)
        )
        with self.read() as connection:
            return [
                MatchRow(
                    row.number, entrants_of(row), row.worker or "", row.games, row.faults,
                    tuple(score for score in (row.s01, row.s02, row.s12) if score is not None),
                )
                for row in connection.execute(query)
            ]  # fmt: skip

    def game_digests(self, tournament_id: int) -> Iterator[str]:
        """Yields the digests of all games in the order of match number and seating."""
        after = (0, 0)
        while True:
            number, seating = after
            query = (
                select(MATCH.c.number, GAME.c.seating, GAME.c.digest)
                .join(GAME, GAME.c.match_id == MATCH.c.id)
                .where(MATCH.c.tournament_id == tournament_id, MATCH.c.state == MatchState.DONE)
                .where(or_(MATCH.c.number > number, (MATCH.c.number == number) & (GAME.c.seating > seating)))
                .order_by(MATCH.c.number, GAME.c.seating)
                .limit(_PAGE)
            )
            with self.read() as connection:
                rows = connection.execute(query).all()
            yield from (row.digest for row in rows)
            if len(rows) < _PAGE:
                return
            after = rows[-1].number, rows[-1].seating


def _utc(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def _why(act: str, why: str) -> str:
    return f"{act}: {why}" if why else act


def renumbered(house: Sequence[NewEntrant]) -> list[NewEntrant]:
    """Gives each house bot an owner of its own, below all accounts: at a table of three no two of one owner sit."""
    return [replace(entrant, owner=number, upload_order=0) for number, entrant in enumerate(house, 1)]
