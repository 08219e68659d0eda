"""The queue of checks, their verdicts, and the trials of new versions.

Checks are handed out fairly: one at a time for each account, and first to the account that was served least in the
last hour, so that one who uploads fifty versions delays nobody. A lease of a check that has ended is given out once
more, then the submission has failed, with a reason, and can be tried again by hand.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, func, insert, select, text, update

from tournament.models_people import SubmissionState
from tournament.people import LeasedCheck, TrialInfo
from tournament.rules import Rules
from tournament.store_database import Database, change_where, clock
from tournament.store_tables import BOT, SUBMISSION, TRIAL
from tournament.store_values import value_of

HOUR_S: Final = 3600.0
MAX_ATTEMPTS: Final = 2
"""A check that was lost (its process died, it hung) is done once more by itself."""

_CHECK_LOCK: Final = 7_652_384_191
"""Any number, always the same: checks are handed out under the advisory lock of this number on PostgreSQL."""

STALLED_S: Final = 600.0
STALLED: Final = "no check has begun for ten minutes: nobody checks on this server; tell the organiser, then try again"
LOST: Final = "the check was given up: it took longer than it may, or the server stopped meanwhile"


class Checks(Database):
    """What is done for checks; every method is one transaction."""

    # Checks ----------------------------------------------------------------------------------------------------

    def lease_check(self, lease_s: float, *, now: float | None = None) -> LeasedCheck | None:
        """Hands out the submission whose turn it is, None if nothing can be checked now."""
        with self.write_at(now) as (connection, moment):
            if connection.dialect.name != "sqlite":
                connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _CHECK_LOCK})
            busy = select(SUBMISSION.c.account_id).where(SUBMISSION.c.state == SubmissionState.CHECKING)
            queue = select(func.min(SUBMISSION.c.id).label("id"), SUBMISSION.c.account_id).where(
                SUBMISSION.c.state == SubmissionState.WAITING, SUBMISSION.c.account_id.not_in(busy)
            )
            waiting = connection.execute(queue.group_by(SUBMISSION.c.account_id)).all()
            served = select(SUBMISSION.c.account_id, func.count()).where(SUBMISSION.c.started_at > moment - HOUR_S)
            counts = {row[0]: row[1] for row in connection.execute(served.group_by(SUBMISSION.c.account_id))}
            for row in sorted(waiting, key=lambda each: (counts.get(each.account_id, 0), each.id)):
                taken = change_where(
                    connection, SUBMISSION, SUBMISSION.c.id == row.id, SUBMISSION.c.state == SubmissionState.WAITING,
                    state=SubmissionState.CHECKING, stage="upload checks", started_at=moment,
                    lease_until=moment + lease_s, attempt=SUBMISSION.c.attempt + 1,
                )  # fmt: skip
                if taken:
                    (mine,) = taken
                    name = connection.scalar(select(BOT.c.name).where(BOT.c.id == mine.bot_id))
                    version = next_version(connection, mine.bot_id)
                    return LeasedCheck(row.id, mine.attempt, str(name), version, mine.sha256)
            return None

    def check_passed(self, check: LeasedCheck, stage: str) -> None:
        """Notes the stage that a check has reached, for whoever waits."""
        with self.write() as connection:
            connection.execute(update(SUBMISSION).where(_leased(check)).values(stage=stage))

    def decide(
        self,
        check: LeasedCheck,
        stage: str,
        verdict: Mapping[str, Any],
        probes: Sequence[Mapping[str, Any]],
        check_s: float,
        *,
        cpu_s: float = 0.0,
        accepted: bool,
        trial_rules: Rules | None = None,
        secret: str = "",
        now: float | None = None,
    ) -> bool:
        """Records the verdict of a check; an accepted one becomes the bot's next version.

        A bot that had been withdrawn when that was handed in takes part again.

        Args:
            check: the lease; if it is over, nothing is recorded.
            stage: where the check ended.
            verdict: what is shown, JSON values.
            probes: the replay documents of the probes.
            check_s: how long it took.
            cpu_s: the CPU time of the bot in it.
            accepted: whether nothing was wrong.
            trial_rules: in which mode the new version is tried against the old one in the background.
            secret: what the deals of that trial are made from.
            now: for tests.

        Returns:
            Whether it was recorded.
        """
        with self.write_at(now) as (connection, moment):
            leased = select(SUBMISSION.c.bot_id, SUBMISSION.c.received_at).where(_leased(check))
            row = connection.execute(leased).one_or_none()
            if row is None:
                return False
            bot_id = row.bot_id
            before = newest_version(connection, bot_id)
            values = {
                "state": SubmissionState.ACCEPTED if accepted else SubmissionState.REJECTED,
                "stage": stage,
                "version": next_version(connection, bot_id) if accepted else None,
                "ended_at": moment,
                "lease_until": None,
                "check_s": check_s,
                "cpu_s": cpu_s,
                "verdict": verdict,
                "probes": zlib.compress(json.dumps(list(probes)).encode()) if probes else None,
            }
            connection.execute(update(SUBMISSION).where(_leased(check)).values(values))
            if accepted:
                back = update(BOT).where(BOT.c.id == bot_id, BOT.c.withdrawn_at < row.received_at)
                connection.execute(back.values(withdrawn_at=None))
            if accepted and before is not None and trial_rules is not None:
                trial = {"submission_id": check.id, "against_id": before.id, "rules": trial_rules, "secret": secret}
                connection.execute(insert(TRIAL).values(trial))
            return True

    def give_up(self, check: LeasedCheck, reason: str, *, now: float | None = None) -> None:
        """Ends a check that failed through us: it is done once more, then the submission has failed."""
        with self.write_at(now) as (connection, moment):
            _give_up(connection, _leased(check), reason, moment)

    def put_back(self, check: LeasedCheck) -> None:
        """Puts what was checked when the program was to end back into the queue: that was no attempt."""
        again = {"state": SubmissionState.WAITING, "stage": "received", "lease_until": None}
        with self.write() as connection:
            change_where(connection, SUBMISSION, _leased(check), **again, attempt=SUBMISSION.c.attempt - 1)

    def fail_stalled(self, *, now: float | None = None) -> int:
        """Fails what waits, if no check has begun or ended for long: then nobody checks here. Returns how many."""
        latest = func.max(func.coalesce(SUBMISSION.c.ended_at, SUBMISSION.c.started_at))
        idle = SUBMISSION.c.state != SubmissionState.WAITING
        with self.read() as connection:
            moment = clock(connection) if now is None else now
            since = moment - STALLED_S
            begun = func.coalesce(SUBMISSION.c.started_at, SUBMISSION.c.received_at)
            old = and_(SUBMISSION.c.state == SubmissionState.WAITING, begun < since)
            waiting = connection.scalar(select(SUBMISSION.c.id).where(old).limit(1))
            last = connection.scalar(select(latest).where(idle, SUBMISSION.c.attempt > 0))
        if waiting is None or (last is not None and last >= since):
            return 0
        values = {"state": SubmissionState.FAILED, "ended_at": moment, "verdict": {"reasons": [STALLED]}}
        with self.write() as connection:
            return len(change_where(connection, SUBMISSION, old, **values))

    def take_back_checks(self, *, all_of_them: bool = False, now: float | None = None) -> None:
        """Ends checks whose lease is over; at the start of the only checker, all."""
        with self.write_at(now) as (connection, moment):
            late = SUBMISSION.c.state == SubmissionState.CHECKING
            if not all_of_them:
                late = and_(late, SUBMISSION.c.lease_until < moment)
            _give_up(connection, late, LOST, moment)

    # Trials ----------------------------------------------------------------------------------------------------

    def trial(self, submission_id: int | None = None) -> TrialInfo | None:
        """Returns the trial of a version, or the oldest that is not decided; None if there is none."""
        new, old = SUBMISSION.alias("new"), SUBMISSION.alias("old")
        query = (
            select(TRIAL, BOT.c.name, new.c.version, new.c.sha256, old.c.version, old.c.sha256)
            .join(new, new.c.id == TRIAL.c.submission_id)
            .join(old, old.c.id == TRIAL.c.against_id)
            .join(BOT, BOT.c.id == new.c.bot_id)
            .order_by(TRIAL.c.submission_id)
            .limit(1)
        )
        query = query.where(
            TRIAL.c.verdict.is_(None) & BOT.c.withdrawn_at.is_(None)
            if submission_id is None
            else TRIAL.c.submission_id == submission_id
        )
        with self.read() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            return None
        *_, version, sha256, old_version, old_sha256 = row
        versions = {"new": (version, sha256), "old": (old_version, old_sha256)}
        return value_of(TrialInfo, row, **versions, scores=tuple(row.scores))

    def add_score(self, trial: TrialInfo, score: int | None, verdict: str | None) -> None:
        """Records the next match of a trial (None if it could not be played), and what it says if that was the last."""
        scores = [*trial.scores, *([] if score is None else [score])]
        at = (TRIAL.c.submission_id == trial.submission_id) & (TRIAL.c.played == len(trial.scores))
        with self.write() as connection:
            connection.execute(update(TRIAL).where(at).values(scores=scores, played=len(scores), verdict=verdict))


def _give_up(connection: Connection, which: ColumnElement[bool], reason: str, now: float) -> None:
    over = {"lease_until": None, "stage": "received"}
    again = update(SUBMISSION).where(which, SUBMISSION.c.attempt < MAX_ATTEMPTS)
    connection.execute(again.values(state=SubmissionState.WAITING, **over))
    failed = {"state": SubmissionState.FAILED, "ended_at": now, "verdict": {"reasons": [reason]}}
    connection.execute(update(SUBMISSION).where(which).values(**failed, **over))


def _leased(check: LeasedCheck) -> ColumnElement[bool]:
    return and_(
        SUBMISSION.c.id == check.id,
        SUBMISSION.c.attempt == check.attempt,
        SUBMISSION.c.state == SubmissionState.CHECKING,
    )


def newest_version(connection: Connection, bot_id: int) -> Any:
    """Returns the row of a bot's newest version, None without any."""
    query = select(SUBMISSION).where(SUBMISSION.c.bot_id == bot_id, SUBMISSION.c.version.is_not(None))
    return connection.execute(query.order_by(SUBMISSION.c.version.desc()).limit(1)).one_or_none()


def next_version(connection: Connection, bot_id: int) -> int:
    """Returns the number that the next version of a bot gets."""
    newest = connection.scalar(select(func.max(SUBMISSION.c.version)).where(SUBMISSION.c.bot_id == bot_id))
    return int(newest or 0) + 1
