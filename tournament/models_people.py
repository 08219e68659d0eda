"""The tables of people and what they hand in: accounts, tokens, sessions, invitations, bots, submissions, audit.

As in `models`, a row checks nothing itself: what it may hold, the schema says. Codes and tokens are stored as hashes
only. An accepted submission *is* a version of its bot; none is ever changed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, Text, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from tournament.models import _bytes, _id, _integer, _one_of, _parent, _text, _time

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

_BIG: Final = BigInteger().with_variant(Integer, "sqlite")
_OPEN: Final = text("state IN ('waiting', 'checking')")


class Account(SQLModel, table=True):
    """A contestant, who may be a team, or an organiser; `name` is what others see."""

    id: int = Field(sa_column=Column(_BIG, primary_key=True, autoincrement=False))
    name: str = _text()
    name_key: str = Field(sa_column=Column(Text, nullable=False, unique=True))
    role: str = _text()
    entry_bot: int | None = Field(default=None, sa_column=Column(_BIG, nullable=True))
    created_at: float = _time(nullable=False)
    erased_at: float | None = _time()
    __table_args__ = (
        _one_of("role", Role),
        CheckConstraint(f"id >= {FIRST_ACCOUNT}", name="ids_leave_room_for_the_house"),
    )


class Token(SQLModel, table=True):
    """A secret that stands for an account; `id` is its public part."""

    id: str = Field(sa_column=Column(Text, primary_key=True))
    account_id: int = Field(sa_column=Column(_BIG, ForeignKey("account.id"), nullable=False, index=True))
    hash: str = _text()
    label: str = _text()
    scopes: str = _text()
    created_at: float = _time(nullable=False)
    expires_at: float | None = _time()
    used_at: float | None = _time()
    __table_args__ = (CheckConstraint("length(hash) = 64", name="token_is_hashed"),)


class Session(SQLModel, table=True):
    """A browser that is signed in; it ends with the token that it was opened with."""

    hash: str = Field(sa_column=Column(Text, primary_key=True))
    token_id: str = Field(
        sa_column=Column(Text, ForeignKey("token.id", ondelete="CASCADE"), nullable=False, index=True)
    )
    csrf: str = _text()
    created_at: float = _time(nullable=False)
    seen_at: float = _time(nullable=False)


class Invite(SQLModel, table=True):
    """A code that makes or hands over accounts, `cap` times at most."""

    hash: str = Field(sa_column=Column(Text, primary_key=True))
    kind: str = _text()
    account_id: int | None = Field(default=None, sa_column=Column(_BIG, ForeignKey("account.id"), nullable=True))
    cap: int = _integer()
    used: int = _integer(default=0)
    created_at: float = _time(nullable=False)
    ends_at: float | None = _time()
    __table_args__ = (
        _one_of("kind", InviteKind),
        CheckConstraint("used >= 0 AND used <= cap", name="no_more_than_the_cap"),
        CheckConstraint("(kind = 'account') = (account_id IS NOT NULL)", name="an_account_is_handed_over"),
    )


class Bot(SQLModel, table=True):
    """A contestant's program; its name is its own for good."""

    id: int | None = _id()
    name: str = Field(sa_column=Column(Text, nullable=False, unique=True))
    account_id: int = Field(sa_column=Column(_BIG, ForeignKey("account.id"), nullable=False, index=True))
    created_at: float = _time(nullable=False)
    withdrawn_at: float | None = _time()
    disabled: str | None = _text(nullable=True)


class Submission(SQLModel, table=True):
    """An upload with its verdict; accepted it has a `version` and stands for that version."""

    id: int | None = _id()
    bot_id: int = _parent("bot.id")
    account_id: int = _parent("account.id")
    sha256: str | None = Field(default=None, sa_column=Column(Text, ForeignKey("source.sha256"), nullable=True))
    file_name: str = _text()
    note: str = _text(default="")
    state: str = _text()
    stage: str = _text()
    version: int | None = _integer(nullable=True)
    received_at: float = _time(nullable=False)
    started_at: float | None = _time()
    ended_at: float | None = _time()
    lease_until: float | None = _time()
    attempt: int = _integer(default=0)
    check_s: float | None = _time()
    cpu_s: float | None = _time()
    verdict: str = _text(default="{}")
    probes: bytes | None = _bytes(nullable=True)
    __table_args__ = (
        _one_of("state", SubmissionState),
        UniqueConstraint("bot_id", "version"),
        CheckConstraint("(state = 'accepted') = (version IS NOT NULL)", name="accepted_is_a_version"),
        CheckConstraint("(state = 'checking') = (lease_until IS NOT NULL)", name="a_check_has_an_end"),
        CheckConstraint("state = 'rejected' OR sha256 IS NOT NULL", name="what_is_checked_has_files"),
        Index("submission_open", "state", "account_id", "id", sqlite_where=_OPEN, postgresql_where=_OPEN),
        Index("submission_account", "account_id", "received_at"),
        Index("submission_bot", "bot_id", "id"),
    )


class Trial(SQLModel, table=True):
    """The matches of a new version against the one before: half points that the new one took, in their order."""

    submission_id: int = _parent("submission.id", primary_key=True)
    against_id: int = _parent("submission.id")
    rules: str = _text()
    secret: str = _text()
    scores: str = _text(default="[]")
    played: int = _integer(default=0)
    verdict: str | None = _text(nullable=True)


class Option(SQLModel, table=True):
    """A setting of the site that the organiser may change; JSON."""

    __tablename__ = "site_option"
    name: str = Field(sa_column=Column(Text, primary_key=True))
    value: str = _text()


class Audit(SQLModel, table=True):
    """An act of an organiser or a change of an account: who, what, to what; it holds numbers, no names."""

    id: int | None = _id()
    at: float = _time(nullable=False)
    account_id: int | None = Field(default=None, sa_column=Column(_BIG, nullable=True))
    act: str = _text()
    subject: str = _text()
    reason: str = _text(default="")
