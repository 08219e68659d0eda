"""The tables of organised contests: extensions, practice rounds, announcements, and matches that were played again."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlmodel import SQLModel

from tournament.models import BIG, Json, column, one_of
from tournament.store_values import NewTournament


class Verdict(StrEnum):
    """What came of playing a match again."""

    SAME = "same"
    NOT_REPEATABLE = "not repeatable"
    WORKER = "worker suspected"


class Extension(SQLModel, table=True):
    """A contestant who may hand in later than all others."""

    tournament_id: int = column(BIG, sa.ForeignKey("tournament.id"), primary_key=True)
    account_id: int = column(BIG, sa.ForeignKey("account.id"), primary_key=True)
    until: float = column(sa.Double)


class Practice(SQLModel, table=True):
    """Rounds that start every day at a time of a zone; each is a tournament of its own with these settings."""

    id: int = column(BIG, primary_key=True)
    name: str = column(sa.Text)
    settings: Any = column(Json(NewTournament))
    at: str = column(sa.Text)
    zone: str = column(sa.Text)
    next_at: float | None = column(sa.Double, nullable=True)
    runs: int = column(sa.Integer, default=0)
    last_tournament: int | None = column(BIG, sa.ForeignKey("tournament.id"), nullable=True)
    __table_args__ = (sa.CheckConstraint("length(at) = 5", name="at_is_hh_mm"),)


class Announcement(SQLModel, table=True):
    """What the organiser says to all, of a tournament or of the site."""

    id: int = column(BIG, primary_key=True)
    tournament_id: int | None = column(BIG, sa.ForeignKey("tournament.id"), nullable=True)
    text: str = column(sa.Text)
    created_at: float = column(sa.Double)


class Repeat(SQLModel, table=True):
    """A recorded match that was played again elsewhere; with a difference, whose doing it is, and where it begins."""

    id: int = column(BIG, primary_key=True)
    tournament_id: int = column(BIG, sa.ForeignKey("tournament.id"))
    match_id: int = column(BIG, sa.ForeignKey("match.id"))
    attempt: int = column(sa.Integer)
    worker: str = column(sa.Text)
    repeated_by: str = column(sa.Text)
    verdict: Verdict = column(one_of(Verdict, "verdict"))
    entrant: int | None = column(sa.Integer, nullable=True)
    detail: str = column(sa.Text, default="")
    repeated_at: float = column(sa.Double)
    __table_args__ = (sa.Index("repeat_tournament", "tournament_id", "match_id"),)


class RepeatOrder(SQLModel, table=True):
    """A recorded match that is to be played again, by whom not, and what came back. `digests` is JSON."""

    match_id: int = column(BIG, sa.ForeignKey("match.id"), primary_key=True)
    tournament_id: int = column(BIG, sa.ForeignKey("tournament.id"))
    attempt: int = column(sa.Integer)
    worker: str = column(sa.Text)
    given_to: str = column(sa.Text, default="")
    lease_until: float | None = column(sa.Double, nullable=True)
    tries: int = column(sa.Integer, default=0)
    digests: Any = column(Json, nullable=True)
