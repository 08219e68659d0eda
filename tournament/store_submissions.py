"""Bots, submissions and who enters a tournament."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, func, select

from tournament.models import TournamentState
from tournament.models_people import OPEN_STATES, SubmissionState
from tournament.people import BotInfo, SubmissionInfo
from tournament.rules import DEFAULTS, GameName, Limits, Rules
from tournament.seeds import BOT_NAME
from tournament.source import BotSource
from tournament.store_checks import HOUR_S, Checks, newest_version
from tournament.store_database import NotFound, StoreError, WrongState, add_row, change_row, clock, found, put_row
from tournament.store_people import options_of
from tournament.store_tables import ACCOUNT, BOT, SOURCE, SUBMISSION, TOURNAMENT
from tournament.store_tokens import note
from tournament.store_values import NewEntrant, value_of
from tournament.wording import counted

DAY_S: Final = 24 * HOUR_S
USUAL_CHECK_S: Final = 3.0
"""How long a check is said to take before any was done."""

_NAME_LOCKS: Final = 1 << 40
"""From here on the numbers of the advisory locks of bot names on PostgreSQL, far from all others."""


_TRIED: Final = (
    select(SUBMISSION.c.id)
    .where(SUBMISSION.c.bot_id == BOT.c.id, SUBMISSION.c.state != SubmissionState.REJECTED)
    .correlate(BOT)
    .exists()
)
"""A name under which all was refused is no bot yet."""


class QuotaReached(StoreError):
    """An account, or the site, has had enough for now.

    Attributes:
        retry_s: seconds after which it may be tried again; None if waiting alone does not help.
        busy: whether it is the site, not the account.
    """

    def __init__(self, text_: str, retry_s: float | None, *, busy: bool = False) -> None:
        super().__init__(text_)
        self.retry_s = retry_s
        self.busy = busy


@dataclass(frozen=True, slots=True)
class NewSubmission:
    """An upload: its files, or the reasons for which the upload checks refused it."""

    account_id: int
    bot: str
    file_name: str
    source: BotSource | None
    reasons: tuple[str, ...] = ()
    note: str = ""


class Submissions(Checks):
    """What is done for bots and submissions; every method is one transaction."""

    # Receiving -------------------------------------------------------------------------------------------------

    def submit(self, new: NewSubmission, reserved: Sequence[str], *, now: float | None = None) -> int:
        """Receives an upload and returns its number; the same files for the same bot while they wait are one.

        Args:
            new: the upload; refused by the upload checks it is kept with its reasons.
            reserved: names that nobody may take: the house bots'.
            now: for tests.

        Raises:
            ValueError: the bot may not be called so.
            WrongState: submissions are closed, the name is another contestant's, or the bot's newest version has
                these very files.
            QuotaReached: a quota of the account is used up, or too many submissions wait.
        """
        with self.write_at(now) as (connection, moment):
            # Uploads of one account come one after the other, so that none of the counts below is stale.
            connection.execute(select(ACCOUNT.c.id).where(ACCOUNT.c.id == new.account_id).with_for_update())
            bot_id = self._bot(connection, new, reserved, moment)
            sha256 = new.source.sha256 if new.source is not None else None
            if sha256 is not None:
                same = [SUBMISSION.c.bot_id == bot_id, SUBMISSION.c.sha256 == sha256]
                waiting = select(SUBMISSION.c.id).where(*same, SUBMISSION.c.state.in_(OPEN_STATES))
                if (same_one := connection.scalar(waiting)) is not None:
                    return int(same_one)
                newest = newest_version(connection, bot_id)
                if newest is not None and newest.sha256 == sha256:
                    raise WrongState(f"{new.bot} version {newest.version} has these very files: nothing to do")
            _refuse_beyond_quota(connection, new, moment)
            if new.source is not None:
                # What was erased and is handed in again by whoever has it, is there again.
                source = {"sha256": sha256, "files": new.source.pack(), "created_at": moment}
                put_row(connection, SOURCE, source)
            rejected = sha256 is None
            values = {
                "bot_id": bot_id,
                "account_id": new.account_id,
                "sha256": sha256,
                "file_name": new.file_name[:200],
                "note": new.note[:400],
                "state": SubmissionState.REJECTED if rejected else SubmissionState.WAITING,
                "stage": "upload checks" if rejected else "received",
                "received_at": moment,
                "ended_at": moment if rejected else None,
                "verdict": {"reasons": new.reasons} if rejected else {},
            }
            return add_row(connection, SUBMISSION, **values)

    def retry_check(self, submission_id: int, *, by: int | None) -> None:
        """Puts a failed submission back into the queue.

        Raises:
            NotFound: there is no such submission.
            WrongState: it has a verdict, or waits for one.
        """
        with self.write() as connection:
            query = select(SUBMISSION.c.state).where(SUBMISSION.c.id == submission_id)
            row = found(connection, query, f"no submission {submission_id}")
            if row.state is not SubmissionState.FAILED:
                raise WrongState(f"submission {submission_id} is {row.state}: only a failed check can be tried again")
            again = {"state": SubmissionState.WAITING, "stage": "received", "attempt": 0, "ended_at": None}
            change_row(connection, SUBMISSION, submission_id, **again, started_at=clock(connection))
            note(connection, by, "retry check", f"submission {submission_id}")

    # Reading ---------------------------------------------------------------------------------------------------

    def submission(self, submission_id: int) -> SubmissionInfo:
        """Returns a submission.

        Raises:
            NotFound: there is none.
        """
        return _info(self.one(_submissions().where(SUBMISSION.c.id == submission_id), f"no submission {submission_id}"))

    def submissions(
        self, *, account_id: int | None = None, bot_id: int | None = None, before: int | None = None, limit: int = 50
    ) -> list[SubmissionInfo]:
        """Returns submissions, newest first; `before` is the number of the last one seen."""
        query = _submissions().order_by(SUBMISSION.c.id.desc()).limit(limit)
        for column, value in ((SUBMISSION.c.account_id, account_id), (SUBMISSION.c.bot_id, bot_id)):
            query = query if value is None else query.where(column == value)
        if before is not None:
            query = query.where(SUBMISSION.c.id < before)
        return [_info(row) for row in self.rows(query)]

    def probe(self, submission_id: int, number: int) -> dict[str, Any]:
        """Returns the replay document of a probe, by its number from 1.

        Raises:
            NotFound: there is none.
        """
        packed = self.scalar(select(SUBMISSION.c.probes).where(SUBMISSION.c.id == submission_id))
        documents = json.loads(zlib.decompress(packed)) if packed else []
        if not 1 <= number <= len(documents):
            raise NotFound(f"no probe {number} of submission {submission_id}")
        return dict(documents[number - 1])

    def waiting(self, submission_id: int | None = None) -> tuple[int, float]:
        """Returns how many submissions wait ahead of one (or in all), and about how long that takes, in seconds."""
        with self.read() as connection:
            queue = select(SUBMISSION.c.id, SUBMISSION.c.account_id).where(SUBMISSION.c.state.in_(OPEN_STATES))
            rows = connection.execute(queue.order_by(SUBMISSION.c.id)).all()
            last = select(SUBMISSION.c.check_s).where(SUBMISSION.c.check_s.is_not(None))
            spent = connection.scalars(last.order_by(SUBMISSION.c.ended_at.desc()).limit(20)).all()
        usual_s = sum(spent) / len(spent) if spent else USUAL_CHECK_S
        mine = next((row.account_id for row in rows if row.id == submission_id), None)
        if mine is None:
            return len(rows), len(rows) * usual_s
        own = [row.id for row in rows if row.account_id == mine and row.id < submission_id]
        # Accounts take turns: at most as many of each other account are done first as of one's own.
        turns: dict[int, int] = {}
        for row in rows:
            if row.account_id != mine:
                turns[row.account_id] = turns.get(row.account_id, 0) + 1
        ahead = len(own) + sum(min(count, len(own) + 1) for count in turns.values())
        return ahead, (ahead + 1) * usual_s

    def bots(self, *, account_id: int | None = None, name: str | None = None) -> list[BotInfo]:
        """Returns bots by name, with their newest versions."""
        newest = (
            select(func.max(SUBMISSION.c.version)).where(SUBMISSION.c.bot_id == BOT.c.id).correlate(BOT)
        ).scalar_subquery()
        query = select(BOT, ACCOUNT.c.name.label("owner"), newest.label("version")).join(
            ACCOUNT, ACCOUNT.c.id == BOT.c.account_id
        )
        for column, value in ((BOT.c.account_id, account_id), (BOT.c.name, name)):
            query = query if value is None else query.where(column == value)
        with self.read() as connection:
            entering = {row.bot_id for row in _entering(connection, None)}
            rows = connection.execute(query.order_by(BOT.c.name))
            return [value_of(BotInfo, row, version=row.version or 0, enters=row.id in entering) for row in rows]

    def open_modes(self) -> tuple[tuple[Rules, Limits], ...]:
        """Returns the rules and limits that a bot must cope with: of what has not ended, else of all modes."""
        ended = (TournamentState.FINISHED, TournamentState.CANCELLED)
        query = select(TOURNAMENT.c.rules, TOURNAMENT.c.limits).where(TOURNAMENT.c.state.not_in(ended))
        modes: dict[str, tuple[Rules, Limits]] = {}
        for rules, limits in self.rows(query.order_by(TOURNAMENT.c.id)):
            modes[rules.mode] = rules, limits
        if not modes:
            two, three = (Rules.make(GameName.CUTTHROAT, players=players) for players in (2, 3))
            modes = {rules.mode: (rules, Limits()) for rules in (two, three, DEFAULTS[GameName.WISCONSIN])}
        return tuple(modes[mode] for mode in sorted(modes))

    # Bots ------------------------------------------------------------------------------------------------------

    def withdraw(self, bot_id: int, withdrawn: bool, *, by: int | None) -> None:
        """Withdraws a bot from what has not started, or takes that back; its matches stay.

        Raises:
            NotFound: there is no such bot.
            WrongState: its contestant has as many bots as are allowed already.
        """
        with self.write() as connection:
            row = _bot(connection, bot_id)
            if not withdrawn and row.withdrawn_at is not None:
                try:
                    _check_room(connection, row.account_id, row.id)
                except QuotaReached as reached:
                    raise WrongState(str(reached)) from None
            at = row.withdrawn_at or clock(connection)
            change_row(connection, BOT, bot_id, withdrawn_at=at if withdrawn else None)
            note(connection, by, "withdraw" if withdrawn else "take part again", f"bot {bot_id}")

    def disable(self, bot_id: int, reason: str | None, *, by: int | None) -> None:
        """Keeps a bot out of what has not started, for a reason, or lets it in again (None).

        Raises:
            NotFound: there is no such bot.
        """
        with self.write() as connection:
            _bot(connection, bot_id)
            change_row(connection, BOT, bot_id, disabled=reason)
            note(connection, by, "enable" if reason is None else "disable", f"bot {bot_id}", reason or "")

    def choose_entry(self, account_id: int, bot_id: int | None) -> None:
        """Says which of its bots enters for a contestant; None is the one submitted last.

        Raises:
            NotFound: the contestant has no such bot.
        """
        with self.write() as connection:
            if bot_id is not None:
                mine = select(BOT.c.id).where(BOT.c.id == bot_id, BOT.c.account_id == account_id)
                found(connection, mine, f"account {account_id} has no bot {bot_id}")
            change_row(connection, ACCOUNT, account_id, entry_bot=bot_id)

    def entries(self, *, received_by: float | None = None, all_bots: bool = False) -> list[NewEntrant]:
        """Returns who enters the next tournament: for each contestant one bot in its last accepted version.

        Args:
            received_by: only what was received until then counts, whenever it was checked.
            all_bots: every bot of a contestant, not only one.
        """
        with self.read() as connection:
            rows = _entering(connection, received_by, all_bots=all_bots)
            packed = select(SOURCE.c.sha256, SOURCE.c.files).where(SOURCE.c.sha256.in_({row.sha256 for row in rows}))
            files = {row.sha256: BotSource.unpack(row.files) for row in connection.execute(packed)}
            return [NewEntrant(row.name, row.version, files[row.sha256], row.account_id, row.id) for row in rows]

    def _bot(self, connection: Connection, new: NewSubmission, reserved: Sequence[str], now: float) -> int:
        if not BOT_NAME.fullmatch(new.bot):  # first: bots whose name went to another are called otherwise
            raise ValueError(
                f"{new.bot!a:.60} is no bot name: expected at most 39 of a-z, 0-9, - and _, a letter or digit first"
            )
        if connection.dialect.name != "sqlite":
            # Whoever else asks for the name waits, so that no bot loses it while its owner's upload comes in.
            number = _NAME_LOCKS + zlib.crc32(new.bot.encode())
            connection.execute(select(func.pg_advisory_xact_lock(number)))
        row = connection.execute(select(BOT).where(BOT.c.name == new.bot)).one_or_none()
        if row is not None and row.account_id != new.account_id and _is_no_bot_yet(connection, row):
            # The name is free, and this one keeps one that nobody can ask for.
            change_row(connection, BOT, row.id, name=f"{row.name} ({row.id})")
            row = None
        if row is not None:
            if row.account_id != new.account_id:
                raise WrongState(f"the bot name {new.bot} belongs to another contestant: expected a name of your own")
            if row.disabled is not None:
                raise WrongState(f"{new.bot} was disabled by the organiser: {row.disabled}")
            _check_room(connection, row.account_id, row.id)
            return int(row.id)
        if new.bot in reserved:
            raise WrongState(f"{new.bot} is a house bot: expected a name of your own")
        _check_room(connection, new.account_id)
        return add_row(connection, BOT, name=new.bot, account_id=new.account_id, created_at=now)


def _bot(connection: Connection, bot_id: int) -> Any:
    query = select(BOT).where(BOT.c.id == bot_id).with_for_update()
    return found(connection, query, f"no bot {bot_id}")


def _is_no_bot_yet(connection: Connection, row: Any) -> bool:
    return row.disabled is None and connection.scalar(select(BOT.c.id).where(BOT.c.id == row.id, _TRIED)) is None


def _check_room(connection: Connection, account_id: int, bot_id: int | None = None) -> None:
    """Refuses one bot more than are allowed."""
    most = options_of(connection).bots
    of_bot = select(SUBMISSION.c.id).where(SUBMISSION.c.bot_id == BOT.c.id)
    comes_back = of_bot.where(SUBMISSION.c.state.in_(OPEN_STATES)).exists()  # if that is accepted
    others = (BOT.c.account_id == account_id, BOT.c.id != (bot_id or 0), BOT.c.withdrawn_at.is_(None) | comes_back)
    if (connection.scalar(select(func.count()).where(*others, _TRIED)) or 0) >= most:
        reached = f"you have {counted(most, 'bot')}, which is the most"
        raise QuotaReached(f"{reached}: submit a new version, or withdraw one", None)


def _refuse_beyond_quota(connection: Connection, new: NewSubmission, now: float) -> None:
    options = options_of(connection)
    if options.frozen:
        raise WrongState("submissions are closed at the moment")
    mine = SUBMISSION.c.account_id == new.account_id
    hour = select(func.count(), func.min(SUBMISSION.c.received_at)).where(mine, SUBMISSION.c.received_at > now - HOUR_S)
    count, first = connection.execute(hour).one()
    if count >= options.uploads_per_hour:
        wait_s = first + HOUR_S - now
        text_ = f"{count} uploads in the last hour, which is the most: the next one in {math.ceil(wait_s / 60)} min"
        raise QuotaReached(text_, wait_s)
    if new.source is not None and new.source.size_bytes > options.source_bytes:
        raise ValueError(
            f"the files have {new.source.size_bytes:,} bytes unpacked, at most {options.source_bytes:,} are allowed on "
            "this site"
        )
    day = select(func.sum(SUBMISSION.c.cpu_s)).where(mine, SUBMISSION.c.ended_at > now - DAY_S)
    spent_s = connection.scalar(day) or 0.0
    if spent_s >= options.check_cpu_s_per_day:
        used = f"your bots used {spent_s:.0f} s of processor time in checks within a day"
        raise QuotaReached(f"{used}, which is the most: try again in some hours", HOUR_S)
    waiting = select(func.count()).where(SUBMISSION.c.state.in_(OPEN_STATES))
    if (connection.scalar(waiting) or 0) >= options.waiting:
        raise QuotaReached("busy: too many submissions wait to be checked, try again in a minute", 60.0, busy=True)


def _entering(connection: Connection, received_by: float | None, *, all_bots: bool = False) -> list[Any]:
    """Returns the versions that enter, sorted by bot name: the last received and accepted of each bot that may."""
    last = select(func.max(SUBMISSION.c.id)).where(SUBMISSION.c.version.is_not(None)).group_by(SUBMISSION.c.bot_id)
    if received_by is not None:
        last = last.where(SUBMISSION.c.received_at <= received_by)
    columns = (SUBMISSION.c[name] for name in ("id", "bot_id", "version", "account_id", "sha256"))
    query = (
        select(*columns, BOT.c.name, ACCOUNT.c.entry_bot)
        .join(BOT, BOT.c.id == SUBMISSION.c.bot_id)
        .join(ACCOUNT, ACCOUNT.c.id == SUBMISSION.c.account_id)
        .where(SUBMISSION.c.id.in_(last), BOT.c.withdrawn_at.is_(None), BOT.c.disabled.is_(None))
        .order_by(BOT.c.name)
    )
    rows = list(connection.execute(query))
    if all_bots:
        return rows
    chosen: dict[int, Any] = {}
    for row in sorted(rows, key=lambda each: (each.bot_id == each.entry_bot, each.id)):
        chosen[row.account_id] = row
    return [row for row in rows if chosen[row.account_id] is row]


def _submissions() -> Any:
    return (
        select(SUBMISSION, BOT.c.name.label("bot"), ACCOUNT.c.name.label("owner"))
        .join(BOT, BOT.c.id == SUBMISSION.c.bot_id)
        .join(ACCOUNT, ACCOUNT.c.id == SUBMISSION.c.account_id)
    )


def _info(row: Any) -> SubmissionInfo:
    return value_of(SubmissionInfo, row, probe_count=int(row.verdict.get("probes", 0)))
