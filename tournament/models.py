"""The tables. Rows are built by the store only, from core values; what a row may hold, the schema itself says.

A `SQLModel` class with ``table=True`` checks nothing when it is made, so that every closed set is a CHECK here. Times
are seconds since 1970 as the database's clock says (`store.Database.now`); texts of JSON are compact.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    text,
)
from sqlmodel import Field, SQLModel

from tournament.game import End, FaultKind


class TournamentState(StrEnum):
    """Where a tournament stands."""

    DRAFT = "draft"
    OPEN = "open"
    CLOSED = "closed"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"
    CANCELLED = "cancelled"


TRANSITIONS: Final[dict[TournamentState, frozenset[TournamentState]]] = {
    TournamentState.DRAFT: frozenset({TournamentState.OPEN, TournamentState.RUNNING, TournamentState.CANCELLED}),
    TournamentState.OPEN: frozenset({TournamentState.CLOSED, TournamentState.RUNNING, TournamentState.CANCELLED}),
    TournamentState.CLOSED: frozenset({TournamentState.OPEN, TournamentState.RUNNING, TournamentState.CANCELLED}),
    TournamentState.RUNNING: frozenset({TournamentState.PAUSED, TournamentState.FINISHED, TournamentState.CANCELLED}),
    TournamentState.PAUSED: frozenset({TournamentState.RUNNING, TournamentState.FINISHED, TournamentState.CANCELLED}),
    # A void or a retry of the organiser's puts matches back into the queue of a finished tournament.
    TournamentState.FINISHED: frozenset({TournamentState.RUNNING}),
    TournamentState.CANCELLED: frozenset(),
}
"""What may follow what; finished comes by itself, when no match is queued or leased."""


class MatchState(StrEnum):
    """Where a match stands; pages call leased *running* and done *finished*."""

    QUEUED = "queued"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


def _one_of(column: str, values: type[StrEnum]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_is_known")


def _id() -> Any:
    # SQLite counts only a column that is literally INTEGER; elsewhere ten million matches want eight bytes.
    return Field(default=None, sa_column=Column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True))


def _integer(*, nullable: bool = False, default: int | None = None) -> Any:
    server_default = None if default is None else text(str(default))
    return Field(default=default, sa_column=Column(Integer, nullable=nullable, server_default=server_default))


def _text(*, nullable: bool = False, default: str | None = None) -> Any:
    server_default = None if default is None else text(f"'{default}'")
    return Field(default=default, sa_column=Column(Text, nullable=nullable, server_default=server_default))


def _time(*, nullable: bool = True) -> Any:
    return Field(default=None, sa_column=Column(Double, nullable=nullable))


def _bytes(*, nullable: bool = False) -> Any:
    return Field(default=None, sa_column=Column(LargeBinary, nullable=nullable))


def _parent(target: str, *, primary_key: bool = False) -> Any:
    kind = BigInteger().with_variant(Integer, "sqlite")
    return Field(sa_column=Column(kind, ForeignKey(target), nullable=False, primary_key=primary_key))


class Source(SQLModel, table=True):
    """The files of a bot version, by their hash."""

    sha256: str = Field(sa_column=Column(Text, primary_key=True))
    files: bytes = _bytes()
    created_at: float = _time(nullable=False)
    __table_args__ = (CheckConstraint("length(sha256) = 64", name="sha256_has_64_digits"),)


class Tournament(SQLModel, table=True):
    """One tournament: settings, secret and state."""

    id: int | None = _id()
    name: str = _text()
    rules: str = _text()
    limits: str = _text()
    rounds: int = _integer()
    secret: str = _text()
    commitment: str = _text()
    state: str = _text()
    final_order: str = _text(default="shared")
    anchor: str | None = _text(nullable=True)
    environment: str = _text(default="{}")
    last_order: int = _integer(default=0)
    last_void_order: int = _integer(default=0)
    created_at: float = _time(nullable=False)
    started_at: float | None = _time()
    finished_at: float | None = _time()
    held_at: float | None = _time()
    held_order: int | None = _integer(nullable=True)
    opens_at: float | None = _time()
    closes_at: float | None = _time()
    plan: str = _text(default="{}")
    __table_args__ = (
        _one_of("state", TournamentState),
        CheckConstraint("rounds >= 1", name="rounds_are_positive"),
        CheckConstraint("length(secret) > 0", name="secret_is_not_empty"),
        Index("tournament_state", "state"),
    )


class Entrant(SQLModel, table=True):
    """A bot version entered in a tournament; `position` is its place among the sorted texts."""

    tournament_id: int = _parent("tournament.id", primary_key=True)
    position: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    name: str = _text()
    version: int = _integer()
    sha256: str | None = Field(default=None, sa_column=Column(Text, ForeignKey("source.sha256"), nullable=True))
    owner: int = _integer()
    upload_order: int = _integer()
    house: bool = Field(sa_column_kwargs={"nullable": False})
    disqualified: str | None = _text(nullable=True)
    __table_args__ = (
        UniqueConstraint("tournament_id", "name", "version"),
        CheckConstraint("position >= 0 AND version >= 1 AND owner >= 0", name="numbers_are_not_negative"),
        Index("entrant_name", "name", "version"),
    )


class Match(SQLModel, table=True):
    """A match of the schedule: its place in it, its lease, and once it is done its sums.

    `e0`, `e1`, `e2` are positions of entrants, ascending. `s01` is what `e0` took from `e1` over all games, in half
    points. `record_order` counts up within the tournament as matches are recorded.
    """

    id: int | None = _id()
    tournament_id: int = _parent("tournament.id")
    number: int = _integer()
    round: int = _integer()
    key: str = _text()
    e0: int = _integer()
    e1: int = _integer()
    e2: int | None = _integer(nullable=True)
    state: str = _text()
    priority: int = _integer(default=0)
    attempt: int = _integer(default=0)
    losses: int = _integer(default=0)
    void_attempt: int = _integer(default=0)
    lease_until: float | None = _time()
    started_at: float | None = _time()
    worker: str | None = _text(nullable=True)
    error: str | None = _text(nullable=True)
    record_order: int | None = _integer(nullable=True)
    recorded_at: float | None = _time()
    play_s: float | None = _time()
    games: int | None = _integer(nullable=True)
    s01: int | None = _integer(nullable=True)
    s02: int | None = _integer(nullable=True)
    s12: int | None = _integer(nullable=True)
    faults: int | None = _integer(nullable=True)
    __table_args__ = (
        UniqueConstraint("tournament_id", "number"),
        UniqueConstraint("tournament_id", "key"),
        ForeignKeyConstraint(["tournament_id", "e0"], ["entrant.tournament_id", "entrant.position"]),
        ForeignKeyConstraint(["tournament_id", "e1"], ["entrant.tournament_id", "entrant.position"]),
        ForeignKeyConstraint(["tournament_id", "e2"], ["entrant.tournament_id", "entrant.position"]),
        _one_of("state", MatchState),
        CheckConstraint("e0 < e1 AND (e2 IS NULL OR e1 < e2)", name="entrants_ascend"),
        CheckConstraint("(state = 'leased') = (lease_until IS NOT NULL)", name="a_lease_has_an_end"),
        CheckConstraint("(state = 'done') = (record_order IS NOT NULL)", name="done_is_recorded"),
        CheckConstraint("(state = 'done') = (s01 IS NOT NULL)", name="done_has_scores"),
        Index("match_queue", "state", "priority", "id"),
        Index("match_lease", "lease_until", sqlite_where=text("lease_until IS NOT NULL"),
              postgresql_where=text("lease_until IS NOT NULL")),
        Index("match_state", "tournament_id", "state"),
        Index("match_order", "tournament_id", "record_order"),
        Index("match_entrants", "tournament_id", "e0", "e1", "e2"),
    )  # fmt: skip


class GameRow(SQLModel, table=True):
    """A game of a recorded match. `acts` is null where it was not kept (tests of size make such rows)."""

    __tablename__ = "game"
    match_id: int = _parent("match.id", primary_key=True)
    seating: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    end: str = Field(sa_column=Column("end_kind", Text, nullable=False))
    winner: int | None = _integer(nullable=True)
    scores: str = _text()
    places: str = _text()
    deals: int = _integer()
    digest: str = _text()
    acts: bytes | None = _bytes(nullable=True)
    timings: bytes | None = _bytes(nullable=True)
    __table_args__ = (_one_of("end_kind", End), CheckConstraint("seating >= 1", name="seatings_count_from_one"))


class TallyRow(SQLModel, table=True):
    """What one entrant did in a recorded match (`results.Tally`): read by entrant, so the key begins with it."""

    __tablename__ = "tally"
    tournament_id: int = _parent("tournament.id", primary_key=True)
    entrant: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    match_id: int = _parent("match.id", primary_key=True)
    points: int = _integer()
    deals: int = _integer()
    faults: int = _integer()
    bids2: int = _integer()
    bids3: int = _integer()
    bids4: int = _integer()
    made2: int = _integer()
    made3: int = _integer()
    made4: int = _integer()
    __table_args__ = (
        ForeignKeyConstraint(["tournament_id", "entrant"], ["entrant.tournament_id", "entrant.position"]),
        # All sums of a tournament are one pass over the table itself.
        {"sqlite_with_rowid": False},
    )


class FaultRow(SQLModel, table=True):
    """A fault of a recorded game; `ordinal` is 1, or 2 for the one that ended a three-handed game."""

    __tablename__ = "fault"
    match_id: int = Field(sa_column=Column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True))
    seating: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    ordinal: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    tournament_id: int = _parent("tournament.id")
    entrant: int = _integer()
    seat: int = _integer()
    kind: str = _text()
    deal: int = _integer()
    attempt: int = _integer()
    act: int = _integer()
    message: str = _text()
    traceback: str = _text()
    log_tail: str = _text()
    measured: float | None = _time()
    limit: float | None = Field(default=None, sa_column=Column("limit_value", Double))
    question: bytes = _bytes()
    __table_args__ = (
        ForeignKeyConstraint(["match_id", "seating"], ["game.match_id", "game.seating"]),
        ForeignKeyConstraint(["tournament_id", "entrant"], ["entrant.tournament_id", "entrant.position"]),
        _one_of("kind", FaultKind),
        CheckConstraint("ordinal IN (1, 2)", name="two_faults_at_most"),
        Index("fault_entrant", "tournament_id", "entrant", "match_id"),
    )


class Void(SQLModel, table=True):
    """A result that does not count any more, why, and what it was (JSON)."""

    id: int | None = _id()
    match_id: int = Field(
        sa_column=Column(
            BigInteger().with_variant(Integer, "sqlite"), ForeignKey("match.id"), nullable=False, index=True
        )
    )
    tournament_id: int = _parent("tournament.id")
    attempt: int = _integer()
    reason: str = _text()
    worker: str | None = _text(nullable=True)
    result: str = _text()
    voided_at: float = _time(nullable=False)
    record_order: int = _integer(default=0)
    __table_args__ = (Index("void_tournament", "tournament_id", "id"),)


class Event(SQLModel, table=True):
    """What happened, in order, for pages that follow a tournament; written in the transaction that did it."""

    id: int | None = _id()
    tournament_id: int = _parent("tournament.id")
    topic: str = _text()
    payload: str = _text()
    created_at: float = _time(nullable=False)
    __table_args__ = (Index("event_tournament", "tournament_id", "id"),)


class Worker(SQLModel, table=True):
    """A worker that has announced itself to the coordinator; it is alive while `seen_at` is young."""

    name: str = Field(sa_column=Column(Text, primary_key=True))
    slots: int = _integer()
    environment: str = _text(default="{}")
    refused: str | None = _text(nullable=True)
    task: str | None = _text(nullable=True)
    seen_at: float = _time(nullable=False)
    __table_args__ = (CheckConstraint("slots >= 0", name="slots_are_not_negative"),)
