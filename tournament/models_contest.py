"""The tables of organised contests: extensions, practice rounds, announcements, and matches that were played again."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, Text
from sqlmodel import Field, SQLModel

from tournament.models import _id, _integer, _one_of, _parent, _text, _time

_BIG: Final = BigInteger().with_variant(Integer, "sqlite")


class Verdict(StrEnum):
    """What came of playing a match again."""

    SAME = "same"
    NOT_REPEATABLE = "not repeatable"
    WORKER = "worker suspected"


class Extension(SQLModel, table=True):
    """A contestant who may hand in later than all others."""

    tournament_id: int = _parent("tournament.id", primary_key=True)
    account_id: int = _parent("account.id", primary_key=True)
    until: float = _time(nullable=False)


class Practice(SQLModel, table=True):
    """Rounds that start every day at a time of a zone; each is a tournament of its own. `settings` is JSON."""

    id: int | None = _id()
    name: str = _text()
    settings: str = _text()
    at: str = _text()
    zone: str = _text()
    next_at: float | None = _time()
    runs: int = _integer(default=0)
    last_tournament: int | None = Field(
        default=None, sa_column=Column(_BIG, ForeignKey("tournament.id"), nullable=True)
    )
    __table_args__ = (CheckConstraint("length(at) = 5", name="at_is_hh_mm"),)


class Announcement(SQLModel, table=True):
    """What the organiser says to all, of a tournament or of the site."""

    id: int | None = _id()
    tournament_id: int | None = Field(default=None, sa_column=Column(_BIG, ForeignKey("tournament.id"), nullable=True))
    text: str = Field(sa_column=Column(Text, nullable=False))
    created_at: float = _time(nullable=False)


class Repeat(SQLModel, table=True):
    """A recorded match that was played again elsewhere; with a difference, whose doing it is, and where it begins."""

    id: int | None = _id()
    tournament_id: int = _parent("tournament.id")
    match_id: int = _parent("match.id")
    attempt: int = _integer()
    worker: str = _text()
    repeated_by: str = _text()
    verdict: str = _text()
    entrant: int | None = _integer(nullable=True)
    detail: str = _text(default="")
    repeated_at: float = _time(nullable=False)
    __table_args__ = (_one_of("verdict", Verdict), Index("repeat_tournament", "tournament_id", "match_id"))


class RepeatOrder(SQLModel, table=True):
    """A recorded match that is to be played again, by whom not, and what came back. `digests` is JSON."""

    match_id: int = _parent("match.id", primary_key=True)
    tournament_id: int = _parent("tournament.id")
    attempt: int = _integer()
    worker: str = _text()
    given_to: str = _text(default="")
    lease_until: float | None = _time()
    tries: int = _integer(default=0)
    digests: str | None = _text(nullable=True)
