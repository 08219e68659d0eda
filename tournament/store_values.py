"""What goes into the store and what comes out of it: values, never rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, TypeVar

from tournament.game import End, FaultKind
from tournament.models import MatchState, TournamentState
from tournament.planning import Plan
from tournament.replay import Player
from tournament.results import Block, Tally
from tournament.rules import Limits, Rules
from tournament.seeds import entrant_text
from tournament.source import BotSource

_Value = TypeVar("_Value")


def value_of(kind: type[_Value], source: Any, /, **others: object) -> _Value:
    """Makes a value whose fields are the columns of a row or fields of a value with the same names, save `others`."""
    names = (field.name for field in fields(kind) if field.name not in others)  # type: ignore[arg-type]
    return kind(**{name: getattr(source, name) for name in names}, **others)


def columns_of(value: Any) -> dict[str, Any]:
    """Returns the fields of a value as columns of the same names."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


@dataclass(frozen=True, slots=True)
class NewEntrant:
    """A bot version to be entered; `source` is None for a bot that is only an object in memory."""

    name: str
    version: int
    source: BotSource | None
    owner: int
    upload_order: int = 0
    house: bool = False

    @property
    def text(self) -> str:
        """How match keys write it."""
        return entrant_text(self.name, self.version)


@dataclass(frozen=True, slots=True)
class NewTournament:
    """The settings of a tournament to be made; times are seconds since 1970.

    Attributes:
        opens_at: when entries open; None if by hand.
        closes_at: what was received until then counts; None if by hand.
        plan: what else is settled about it.
    """

    name: str
    rules: Rules
    rounds: int
    secret: str = field(repr=False)
    limits: Limits = field(default_factory=Limits)
    final_order: str = "shared"
    anchor: str | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    opens_at: float | None = None
    closes_at: float | None = None
    plan: Plan = field(default_factory=Plan)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NewTournament:
        """Reads what `to_dict` wrote."""
        rules, limits = Rules.from_dict(data["rules"]), Limits.from_dict(data["limits"])
        return cls(**{**data, "rules": rules, "limits": limits, "plan": Plan.from_dict(data["plan"])})

    def to_dict(self) -> dict[str, Any]:
        """Returns all fields as JSON values."""
        parts = {name: getattr(self, name).to_dict() for name in ("rules", "limits", "plan")}
        return {**columns_of(self), **parts}


@dataclass(frozen=True, slots=True, kw_only=True)
class TournamentInfo(NewTournament):
    """A tournament as it stands; times are seconds since 1970.

    Attributes:
        last_order: the largest `record_order` given out: whatever is worked out from results is up to date if this has
            not changed.
        last_void_order: the same of the last void.
        held_at: from when on results are held back; None if they are not.
    """

    id: int
    commitment: str
    state: TournamentState
    last_order: int
    last_void_order: int
    created_at: float
    started_at: float | None
    finished_at: float | None
    held_at: float | None

    @property
    def secret_is_out(self) -> bool:
        """Whether the secret may be shown: the tournament has ended and nothing is held back."""
        return self.state in (TournamentState.FINISHED, TournamentState.CANCELLED) and self.held_at is None


@dataclass(frozen=True, slots=True)
class EntrantInfo:
    """An entrant; `position` is its place among the sorted texts, which matches name it by."""

    position: int
    name: str
    version: int
    sha256: str | None
    owner: int
    upload_order: int
    house: bool
    disqualified: str | None

    @property
    def text(self) -> str:
        """How match keys write it."""
        return entrant_text(self.name, self.version)

    @property
    def competes(self) -> bool:
        """Whether it takes a place in the final order."""
        return not self.house and self.disqualified is None

    @property
    def player(self) -> Player:
        """The same as replay documents name it."""
        return Player(self.name, self.version, self.sha256)


@dataclass(frozen=True, slots=True)
class Counts:
    """Matches of a tournament by state; they add up at every moment."""

    finished: int = 0
    running: int = 0
    queued: int = 0
    failed: int = 0
    cancelled: int = 0

    @property
    def planned(self) -> int:
        """All matches of the schedule."""
        return self.finished + self.running + self.queued + self.failed + self.cancelled

    @property
    def open(self) -> int:
        """Matches still to be played to the end."""
        return self.running + self.queued


@dataclass(frozen=True, slots=True)
class LeasedMatch:
    """A match handed out to be played; a result names its `id` and `attempt`."""

    id: int
    tournament_id: int
    number: int
    round: int
    key: str
    entrants: tuple[int, ...]
    attempt: int


class Recorded(StrEnum):
    """What became of a result."""

    RECORDED = "recorded"
    DUPLICATE = "duplicate"
    VOIDED = "voided"
    CANCELLED = "cancelled"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class MatchInfo(LeasedMatch):
    """A match as it stands; `attempt` is the number of its last lease.

    Attributes:
        scores: once done, what the first of each pair took from the second in half points: (0,1), then (0,2), (1,2).
        record_order: once done, its place in the order of recording.
    """

    state: MatchState
    losses: int
    worker: str | None
    error: str | None
    lease_until: float | None
    started_at: float | None
    recorded_at: float | None
    play_s: float | None
    record_order: int | None
    games: int
    faults: int
    scores: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MatchFilter:
    """Which matches a list shows; what is None or empty leaves nothing out.

    Attributes:
        entrants: positions; all of them sit in the match.
        state: where the match stands.
        round: of this round.
        faults: only matches with a fault.
    """

    entrants: tuple[int, ...] = ()
    state: MatchState | None = None
    round: int | None = None
    faults: bool = False


@dataclass(frozen=True, slots=True)
class GameInfo:
    """A recorded game without its acts; scores and places are one per side."""

    match_id: int
    seating: int
    end: End
    winner: int | None
    scores: tuple[int, ...]
    places: tuple[int, ...]
    deals: int
    digest: str


@dataclass(frozen=True, slots=True)
class FaultInfo:
    """A recorded fault; everything from `message` on is for the bot's owner and the organiser.

    What `Fault` has stands here once more: that class may be compiled, and then it is no base class.
    """

    seat: int
    kind: FaultKind
    deal: int
    attempt: int
    act: int
    match_id: int
    number: int
    seating: int
    ordinal: int
    entrant: int
    recorded_at: float
    message: str
    traceback: str
    log_tail: str
    measured: float | None
    limit: float | None
    question: bytes


@dataclass(frozen=True, slots=True)
class EntrantTotals:
    """What an entrant did in all recorded matches."""

    matches: int = 0
    faults: int = 0
    tally: Tally = field(default_factory=Tally)

    def __add__(self, other: EntrantTotals) -> EntrantTotals:
        """Returns the sums over both."""
        return EntrantTotals(self.matches + other.matches, self.faults + other.faults, self.tally + other.tally)


@dataclass(frozen=True, slots=True)
class Figures:
    """All that standings are made from.

    Attributes:
        order: the last `record_order` that is counted in.
        blocks: one per set of entrants that has met, sorted.
        totals: one per entrant, by position.
    """

    order: int
    blocks: tuple[Block, ...]
    totals: tuple[EntrantTotals, ...]


@dataclass(frozen=True, slots=True)
class VoidInfo:
    """A result that does not count any more; `result` is what it was, as JSON text."""

    match_id: int
    number: int
    attempt: int
    reason: str
    worker: str | None
    voided_at: float
    result: str = field(repr=False)


class Topic(StrEnum):
    """What an event is about: the tournament's state, a recorded match, a void, a match given up or taken up again."""

    STATE = "state"
    MATCH = "match"
    VOID = "void"
    FAILED = "failed"
    RETRIED = "retried"


@dataclass(frozen=True, slots=True)
class EventInfo:
    """Something that happened in a tournament; `id` counts up within it."""

    id: int
    topic: Topic
    payload: Mapping[str, Any]
    created_at: float


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker as it last announced itself; `refused` says why it gets no work."""

    name: str
    slots: int
    environment: Mapping[str, Any]
    refused: str | None
    task: str | None
    seen_at: float
