"""The tables of people and what they hand in: accounts, tokens, sessions, invitations, bots, submissions, audit.

As in `models`, a row checks nothing itself: what it may hold, the schema says. Codes and tokens are stored as hashes
only. An accepted submission *is* a version of its bot; none is ever changed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa
from sqlmodel import SQLModel

from tournament.models import BIG, Json, column, one_of
from tournament.rules import Rules

FIRST_ACCOUNT: Final = 10_000
"""Owners below are bots that no account owns: house bots, and bots run from a path."""


class Role(StrEnum):
    """What an account may do."""

    CONTESTANT = "contestant"
    ORGANISER = "organiser"


class InviteKind(StrEnum):
    """What a code is good for: to claim a new installation, to join, or to take over an account made for one."""

    CLAIM = "claim"
    JOIN = "join"
    ACCOUNT = "account"


class SubmissionState(StrEnum):
    """Where a submission stands; failed is our failure, and can be tried again."""

    WAITING = "waiting"
    CHECKING = "checking"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    FAILED = "failed"


OPEN_STATES: Final = (SubmissionState.WAITING, SubmissionState.CHECKING)
"""The states of submissions that have no verdict yet."""

_OPEN: Final = sa.text("state IN ('waiting', 'checking')")


class Account(SQLModel, table=True):
    """A contestant, who may be a team, or an organiser; `name` is what others see."""

    id: int = column(BIG, primary_key=True, autoincrement=False)
    name: str = column(sa.Text)
    name_key: str = column(sa.Text, unique=True)
    role: Role = column(one_of(Role, "role"))
    entry_bot: int | None = column(BIG, nullable=True)
    created_at: float = column(sa.Double)
    erased_at: float | None = column(sa.Double, nullable=True)
    __table_args__ = (sa.CheckConstraint(f"id >= {FIRST_ACCOUNT}", name="ids_leave_room_for_the_house"),)


class Token(SQLModel, table=True):
    """A secret that stands for an account; `id` is its public part."""

    id: str = column(sa.Text, primary_key=True)
    account_id: int = column(BIG, sa.ForeignKey("account.id"), index=True)
    hash: str = column(sa.Text)
    label: str = column(sa.Text)
    scopes: str = column(sa.Text)
    created_at: float = column(sa.Double)
    expires_at: float | None = column(sa.Double, nullable=True)
    used_at: float | None = column(sa.Double, nullable=True)
    __table_args__ = (sa.CheckConstraint("length(hash) = 64", name="token_is_hashed"),)


class Session(SQLModel, table=True):
    """A browser that is signed in; it ends with the token that it was opened with."""

    hash: str = column(sa.Text, primary_key=True)
    token_id: str = column(sa.Text, sa.ForeignKey("token.id", ondelete="CASCADE"), index=True)
    csrf: str = column(sa.Text)
    created_at: float = column(sa.Double)
    seen_at: float = column(sa.Double)


class Invite(SQLModel, table=True):
    """A code that makes or hands over accounts, `cap` times at most."""

    hash: str = column(sa.Text, primary_key=True)
    kind: InviteKind = column(one_of(InviteKind, "kind"))
    account_id: int | None = column(BIG, sa.ForeignKey("account.id"), nullable=True)
    cap: int = column(sa.Integer)
    used: int = column(sa.Integer, default=0)
    created_at: float = column(sa.Double)
    ends_at: float | None = column(sa.Double, nullable=True)
    __table_args__ = (
        sa.CheckConstraint("used >= 0 AND used <= cap", name="no_more_than_the_cap"),
        sa.CheckConstraint("(kind = 'account') = (account_id IS NOT NULL)", name="an_account_is_handed_over"),
    )


class Bot(SQLModel, table=True):
    """A contestant's program; its name is its own for good."""

    id: int = column(BIG, primary_key=True)
    name: str = column(sa.Text, unique=True)
    account_id: int = column(BIG, sa.ForeignKey("account.id"), index=True)
    created_at: float = column(sa.Double)
    withdrawn_at: float | None = column(sa.Double, nullable=True)
    disabled: str | None = column(sa.Text, nullable=True)


class Submission(SQLModel, table=True):
    """An upload with its verdict; accepted it has a `version` and stands for that version."""

    id: int = column(BIG, primary_key=True)
    bot_id: int = column(BIG, sa.ForeignKey("bot.id"))
    account_id: int = column(BIG, sa.ForeignKey("account.id"))
    sha256: str | None = column(sa.Text, sa.ForeignKey("source.sha256"), nullable=True)
    file_name: str = column(sa.Text)
    note: str = column(sa.Text, default="")
    state: SubmissionState = column(one_of(SubmissionState, "state"))
    stage: str = column(sa.Text)
    version: int | None = column(sa.Integer, nullable=True)
    received_at: float = column(sa.Double)
    started_at: float | None = column(sa.Double, nullable=True)
    ended_at: float | None = column(sa.Double, nullable=True)
    lease_until: float | None = column(sa.Double, nullable=True)
    attempt: int = column(sa.Integer, default=0)
    check_s: float | None = column(sa.Double, nullable=True)
    cpu_s: float | None = column(sa.Double, nullable=True)
    verdict: Any = column(Json, default="{}")
    probes: bytes | None = column(sa.LargeBinary, nullable=True)
    __table_args__ = (
        sa.UniqueConstraint("bot_id", "version"),
        sa.CheckConstraint("(state = 'accepted') = (version IS NOT NULL)", name="accepted_is_a_version"),
        sa.CheckConstraint("(state = 'checking') = (lease_until IS NOT NULL)", name="a_check_has_an_end"),
        sa.CheckConstraint("state = 'rejected' OR sha256 IS NOT NULL", name="what_is_checked_has_files"),
        sa.Index("submission_open", "state", "account_id", "id", sqlite_where=_OPEN, postgresql_where=_OPEN),
        sa.Index("submission_account", "account_id", "received_at"),
        sa.Index("submission_bot", "bot_id", "id"),
    )


class Trial(SQLModel, table=True):
    """The matches of a new version against the one before: half points that the new one took, in their order."""

    submission_id: int = column(BIG, sa.ForeignKey("submission.id"), primary_key=True)
    against_id: int = column(BIG, sa.ForeignKey("submission.id"))
    rules: Any = column(Json(Rules))
    secret: str = column(sa.Text)
    scores: Any = column(Json, default="[]")
    played: int = column(sa.Integer, default=0)
    verdict: str | None = column(sa.Text, nullable=True)


class Option(SQLModel, table=True):
    """A setting of the site that the organiser may change; JSON."""

    __tablename__ = "site_option"
    name: str = column(sa.Text, primary_key=True)
    value: Any = column(Json)


class Audit(SQLModel, table=True):
    """An act of an organiser or a change of an account: who, what, to what; it holds numbers, no names."""

    id: int = column(BIG, primary_key=True)
    at: float = column(sa.Double)
    account_id: int | None = column(BIG, nullable=True)
    act: str = column(sa.Text)
    subject: str = column(sa.Text)
    reason: str = column(sa.Text, default="")
