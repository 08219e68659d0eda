"""The tables. Rows are built by the store only, from core values; what a row may hold, the schema itself says.

A `SQLModel` class with ``table=True`` checks nothing when it is made, so that every closed set is a CHECK here. Times
are seconds since 1970 as the database's clock says (`store.Database.now`). A column of a closed set gives its members,
one of JSON its values.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

from tournament.game import End, FaultKind
from tournament.planning import Plan
from tournament.rules import Limits, Rules


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


class Json(sa.TypeDecorator[Any]):
    """JSON as compact text; of values of one kind, if that is given, by its `to_dict` and `from_dict`."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, kind: Any = None) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: Any, _: object) -> str | None:
        """Writes a value."""
        return None if value is None else json.dumps(value.to_dict() if self.kind else value, separators=(",", ":"))

    def process_result_value(self, value: str | None, _: object) -> Any:
        """Reads a value."""
        if value is None:
            return None
        return self.kind.from_dict(json.loads(value)) if self.kind else json.loads(value)


# SQLite counts only a column that is literally INTEGER; elsewhere ten million matches want eight bytes.
BIG: Final = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def column(kind: Any, *constraints: Any, default: str | int | None = None, **options: Any) -> Any:
    """Makes a column, not null unless told otherwise; `default` is the database's own."""
    if default is not None:
        options["server_default"] = sa.text(f"'{default}'" if isinstance(default, str) else str(default))
    return Field(default=None, sa_column=sa.Column(kind, *constraints, **{"nullable": False, **options}))


def one_of(members: type[StrEnum], name: str) -> sa.Enum:
    """Returns the type of the column `name` that holds members of a closed set, by their values, with its check."""
    return sa.Enum(members, values_callable=list, native_enum=False, create_constraint=True, name=f"{name}_is_known")


class Source(SQLModel, table=True):
    """The files of a bot version, by their hash."""

    sha256: str = column(sa.Text, primary_key=True)
    files: bytes = column(sa.LargeBinary)
    created_at: float = column(sa.Double)
    __table_args__ = (sa.CheckConstraint("length(sha256) = 64", name="sha256_has_64_digits"),)


class Tournament(SQLModel, table=True):
    """One tournament: settings, secret and state."""

    id: int = column(BIG, primary_key=True)
    name: str = column(sa.Text)
    rules: Any = column(Json(Rules))
    limits: Any = column(Json(Limits))
    rounds: int = column(sa.Integer)
    secret: str = column(sa.Text)
    commitment: str = column(sa.Text)
    state: TournamentState = column(one_of(TournamentState, "state"))
    final_order: str = column(sa.Text, default="shared")
    anchor: str | None = column(sa.Text, nullable=True)
    environment: Any = column(Json, default="{}")
    last_order: int = column(sa.Integer, default=0)
    last_void_order: int = column(sa.Integer, default=0)
    created_at: float = column(sa.Double)
    started_at: float | None = column(sa.Double, nullable=True)
    finished_at: float | None = column(sa.Double, nullable=True)
    held_at: float | None = column(sa.Double, nullable=True)
    held_order: int | None = column(sa.Integer, nullable=True)
    opens_at: float | None = column(sa.Double, nullable=True)
    closes_at: float | None = column(sa.Double, nullable=True)
    plan: Any = column(Json(Plan), default="{}")
    __table_args__ = (
        sa.CheckConstraint("rounds >= 1", name="rounds_are_positive"),
        sa.CheckConstraint("length(secret) > 0", name="secret_is_not_empty"),
        sa.Index("tournament_state", "state"),
    )


class Entrant(SQLModel, table=True):
    """A bot version entered in a tournament; `position` is its place among the sorted texts."""

    tournament_id: int = column(BIG, sa.ForeignKey("tournament.id"), primary_key=True)
    position: int = column(sa.Integer, primary_key=True, autoincrement=False)
    name: str = column(sa.Text)
    version: int = column(sa.Integer)
    sha256: str | None = column(sa.Text, sa.ForeignKey("source.sha256"), nullable=True)
    owner: int = column(sa.Integer)
    upload_order: int = column(sa.Integer)
    house: bool = column(sa.Boolean)
    disqualified: str | None = column(sa.Text, nullable=True)
    __table_args__ = (
        sa.UniqueConstraint("tournament_id", "name", "version"),
        sa.CheckConstraint("position >= 0 AND version >= 1 AND owner >= 0", name="numbers_are_not_negative"),
        sa.Index("entrant_name", "name", "version"),
    )


class Match(SQLModel, table=True):
    """A match of the schedule: its place in it, its lease, and once it is done its sums.

    `e0`, `e1`, `e2` are positions of entrants, ascending. `s01` is what `e0` took from `e1` over all games, in half
    points. `record_order` counts up within the tournament as matches are recorded.
    """

    id: int = column(BIG, primary_key=True)
    tournament_id: int = column(BIG, sa.ForeignKey("tournament.id"))
    number: int = column(sa.Integer)
    round: int = column(sa.Integer)
    key: str = column(sa.Text)
    e0: int = column(sa.Integer)
    e1: int = column(sa.Integer)
    e2: int | None = column(sa.Integer, nullable=True)
    state: MatchState = column(one_of(MatchState, "state"))
    attempt: int = column(sa.Integer, default=0)
    losses: int = column(sa.Integer, default=0)
    void_attempt: int = column(sa.Integer, default=0)
    lease_until: float | None = column(sa.Double, nullable=True)
    started_at: float | None = column(sa.Double, nullable=True)
    worker: str | None = column(sa.Text, nullable=True)
    error: str | None = column(sa.Text, nullable=True)
    record_order: int | None = column(sa.Integer, nullable=True)
    recorded_at: float | None = column(sa.Double, nullable=True)
    play_s: float | None = column(sa.Double, nullable=True)
    games: int | None = column(sa.Integer, nullable=True)
    s01: int | None = column(sa.Integer, nullable=True)
    s02: int | None = column(sa.Integer, nullable=True)
    s12: int | None = column(sa.Integer, nullable=True)
    faults: int | None = column(sa.Integer, nullable=True)
    __table_args__ = (
        sa.UniqueConstraint("tournament_id", "number"),
        sa.UniqueConstraint("tournament_id", "key"),
        sa.ForeignKeyConstraint(["tournament_id", "e0"], ["entrant.tournament_id", "entrant.position"]),
        sa.ForeignKeyConstraint(["tournament_id", "e1"], ["entrant.tournament_id", "entrant.position"]),
        sa.ForeignKeyConstraint(["tournament_id", "e2"], ["entrant.tournament_id", "entrant.position"]),
        sa.CheckConstraint("e0 < e1 AND (e2 IS NULL OR e1 < e2)", name="entrants_ascend"),
        sa.CheckConstraint("(state = 'leased') = (lease_until IS NOT NULL)", name="a_lease_has_an_end"),
        sa.CheckConstraint("(state = 'done') = (record_order IS NOT NULL)", name="done_is_recorded"),
        sa.CheckConstraint("(state = 'done') = (s01 IS NOT NULL)", name="done_has_scores"),
        sa.Index("match_queue", "state", "id"),
        sa.Index("match_lease", "lease_until", sqlite_where=sa.text("lease_until IS NOT NULL"),
              postgresql_where=sa.text("lease_until IS NOT NULL")),
        sa.Index("match_state", "tournament_id", "state"),
        sa.Index("match_order", "tournament_id", "record_order"),
        sa.Index("match_entrants", "tournament_id", "e0", "e1", "e2"),
    )  # fmt: skip


class GameRow(SQLModel, table=True):
    """A game of a recorded match. `acts` is null where it was not kept (tests of size make such rows)."""

    __tablename__ = "game"
    match_id: int = column(BIG, sa.ForeignKey("match.id"), primary_key=True)
    seating: int = column(sa.Integer, primary_key=True, autoincrement=False)
    end_kind: End = column(one_of(End, "end_kind"))
    winner: int | None = column(sa.Integer, nullable=True)
    scores: str = column(sa.Text)
    places: str = column(sa.Text)
    deals: int = column(sa.Integer)
    digest: str = column(sa.Text)
    acts: bytes | None = column(sa.LargeBinary, nullable=True)
    timings: bytes | None = column(sa.LargeBinary, nullable=True)
    __table_args__ = (sa.CheckConstraint("seating >= 1", name="seatings_count_from_one"),)


class TallyRow(SQLModel, table=True):
    """What one entrant did in a recorded match (`results.Tally`): read by entrant, so the key begins with it."""

    __tablename__ = "tally"
    tournament_id: int = column(BIG, sa.ForeignKey("tournament.id"), primary_key=True)
    entrant: int = column(sa.Integer, primary_key=True, autoincrement=False)
    match_id: int = column(BIG, sa.ForeignKey("match.id"), primary_key=True)
    points: int = column(sa.Integer)
    deals: int = column(sa.Integer)
    faults: int = column(sa.Integer)
    bids2: int = column(sa.Integer)
    bids3: int = column(sa.Integer)
    bids4: int = column(sa.Integer)
    made2: int = column(sa.Integer)
    made3: int = column(sa.Integer)
    made4: int = column(sa.Integer)
    __table_args__ = (
        sa.ForeignKeyConstraint(["tournament_id", "entrant"], ["entrant.tournament_id", "entrant.position"]),
        # All sums of a tournament are one pass over the table itself.
        {"sqlite_with_rowid": False},
    )


class FaultRow(SQLModel, table=True):
    """A fault of a recorded game; `ordinal` is 1, or 2 for the one that ended a three-handed game."""

    __tablename__ = "fault"
    match_id: int = column(BIG, primary_key=True)
    seating: int = column(sa.Integer, primary_key=True, autoincrement=False)
    ordinal: int = column(sa.Integer, primary_key=True, autoincrement=False)
    tournament_id: int = column(BIG, sa.ForeignKey("tournament.id"))
    entrant: int = column(sa.Integer)
    seat: int = column(sa.Integer)
    kind: FaultKind = column(one_of(FaultKind, "kind"))
    deal: int = column(sa.Integer)
    attempt: int = column(sa.Integer)
    act: int = column(sa.Integer)
    message: str = column(sa.Text)
    traceback: str = column(sa.Text)
    log_tail: str = column(sa.Text)
    measured: float | None = column(sa.Double, nullable=True)
    limit_value: float | None = column(sa.Double, nullable=True)
    question: bytes = column(sa.LargeBinary)
    __table_args__ = (
        sa.ForeignKeyConstraint(["match_id", "seating"], ["game.match_id", "game.seating"]),
        sa.ForeignKeyConstraint(["tournament_id", "entrant"], ["entrant.tournament_id", "entrant.position"]),
        sa.CheckConstraint("ordinal IN (1, 2)", name="two_faults_at_most"),
        sa.Index("fault_entrant", "tournament_id", "entrant", "match_id"),
    )


class Void(SQLModel, table=True):
    """A result that does not count any more, why, and what it was (JSON)."""

    id: int = column(BIG, primary_key=True)
    match_id: int = column(BIG, sa.ForeignKey("match.id"), index=True)
    tournament_id: int = column(BIG, sa.ForeignKey("tournament.id"))
    attempt: int = column(sa.Integer)
    reason: str = column(sa.Text)
    worker: str | None = column(sa.Text, nullable=True)
    result: str = column(sa.Text)
    voided_at: float = column(sa.Double)
    record_order: int = column(sa.Integer, default=0)
    __table_args__ = (sa.Index("void_tournament", "tournament_id", "id"),)


class Event(SQLModel, table=True):
    """What happened, in order, for pages that follow a tournament; written in the transaction that did it."""

    id: int = column(BIG, primary_key=True)
    tournament_id: int = column(BIG, sa.ForeignKey("tournament.id"))
    topic: str = column(sa.Text)
    payload: Any = column(Json)
    created_at: float = column(sa.Double)
    __table_args__ = (sa.Index("event_tournament", "tournament_id", "id"),)


class Worker(SQLModel, table=True):
    """A worker that has announced itself to the coordinator; it is alive while `seen_at` is young."""

    name: str = column(sa.Text, primary_key=True)
    slots: int = column(sa.Integer)
    environment: Any = column(Json, default="{}")
    refused: str | None = column(sa.Text, nullable=True)
    task: str | None = column(sa.Text, nullable=True)
    seen_at: float = column(sa.Double)
    __table_args__ = (sa.CheckConstraint("slots >= 0", name="slots_are_not_negative"),)
