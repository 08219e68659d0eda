"""What passes between coordinator and play workers: signed leases, chunks of matches, and the names of things in Redis.

A ticket is a lease that the coordinator signed. Whoever sends it back has been given it: the recorder needs no database
to see that, and takes from it which match a result is for.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tournament import seeds
from tournament.environment import Environment, difference, fingerprint
from tournament.replay import Player
from tournament.wire import MatchTask

if TYPE_CHECKING:  # a worker, which reads tickets, loads no store
    from tournament.store import Store
    from tournament.store_values import LeasedMatch, TournamentInfo

RESULTS: Final = "results"
"""The queue that workers answer into: hello, started, alive, result."""

CANCELLED: Final = "cancelled"
"""The set of tournaments that were cancelled not long ago."""

WANTED: Final = "environments"
"""A JSON list of [tournament, environment] for all tournaments that run."""

EPOCH: Final = "epoch"
"""The run id of the Redis that holds this key: it differs, or is gone, when Redis has lost its memory."""

MAX_MESSAGE_BYTES: Final = 8 << 20
"""Larger results count as a failure of ours."""

CHUNK_LIMIT_S: Final = 10.0
"""A worker begins no further match of a chunk that has taken so long, and gives the rest back."""


def match_queue(environment: Environment) -> str:
    """Returns the queue of the matches that are played under an environment.

    Each environment has its own, so that a worker never even sees a match that it must not play.
    """
    return f"matches.{fingerprint(environment)}"


def worker_queue(name: str) -> str:
    """Returns the queue of one worker alone: for matches that somebody else has played, to be played again."""
    return f"matches.to.{name}"


def why_not(environment: Environment, wanted: Sequence[tuple[int, Environment]]) -> str | None:
    """Says why no running tournament gives work to an environment; None if one does, or if none runs.

    >>> why_not({"python": "CPython 3.12.1"}, [(3, {"python": "CPython 3.11.2"})])
    'no work here: tournament 3 is played under another environment (CPython 3.12.1, expected CPython 3.11.2)'
    """
    reasons = [(number, difference(expected, environment)) for number, expected in wanted]
    if not reasons or any(reason is None for _, reason in reasons):
        return None
    number, reason = reasons[-1]
    return f"no work here: tournament {number} is played under another environment ({reason})"


def source_key(sha256: str) -> str:
    """Returns the key under which a bot's packed source is kept."""
    return f"src:{sha256}"


@dataclass(frozen=True, slots=True)
class Ticket:
    """A lease as workers carry it.

    Attributes:
        tournament_id: the tournament's.
        id: the store's number of the match.
        number: its number in the schedule.
        attempt: the number of the lease; `store_repeats.REPEATED` for a match that is played again.
        key: the match key, which names the bots.
        entrants: positions of its entrants, in the order of the key.
        signature: HMAC-SHA256 over all of these and the deal seed, in hexadecimal.
    """

    tournament_id: int
    id: int
    number: int
    attempt: int
    key: str
    entrants: tuple[int, ...]
    signature: str = ""

    @property
    def lease(self) -> tuple[int, int]:
        """What the store knows the lease by."""
        return self.id, self.attempt

    @property
    def about(self) -> dict[str, int]:
        """What log lines name it by."""
        return {"tournament": self.tournament_id, "match": self.id, "attempt": self.attempt}

    def signed(self, signing_key: str, seed: str) -> Ticket:
        """Returns the ticket with its signature."""
        text = "|".join(map(str, (*astuple(self)[:-1], seed)))
        return replace(self, signature=hmac.new(signing_key.encode(), text.encode(), hashlib.sha256).hexdigest())

    def to_json(self) -> list[Any]:
        """Returns the ticket as JSON values."""
        return list(astuple(self))

    @classmethod
    def from_json(cls, value: Sequence[Any]) -> Ticket:
        """Reads what `to_json` wrote.

        Raises:
            ValueError: it is no ticket.
        """
        try:
            *numbers, key, entrants, signature = value
            tournament, match_id, number, attempt = map(int, numbers)
            positions = tuple(map(int, entrants))
        except (TypeError, ValueError) as error:
            raise ValueError(f"no ticket: {error}") from None
        if not all(0 <= each < 1 << 62 for each in (tournament, match_id, number, attempt, *positions)):
            raise ValueError("no ticket: a number is out of range")
        return cls(tournament, match_id, number, attempt, str(key), positions, str(signature))


class Tasks:
    """Makes the tasks of leased matches; may be shared by threads."""

    def __init__(self, store: Store) -> None:
        """Reads tournaments and players from `store`, each tournament once."""
        self._store = store
        self._lock = threading.Lock()
        self._tournaments: dict[int, tuple[TournamentInfo, tuple[Player, ...]]] = {}

    def tournament(self, tournament_id: int) -> TournamentInfo:
        """Returns a tournament as it was when it started."""
        return self._tournament(tournament_id)[0]

    def of(self, lease: LeasedMatch | Ticket) -> MatchTask:
        """Returns the task of a lease, or of a ticket that has been checked."""
        info, players = self._tournament(lease.tournament_id)
        chosen = tuple(players[position] for position in lease.entrants)
        return MatchTask.of(
            info.secret, lease.key, info.rules, info.limits, chosen, match_id=lease.id, attempt=lease.attempt
        )

    def _tournament(self, tournament_id: int) -> tuple[TournamentInfo, tuple[Player, ...]]:
        # What is kept here never changes once a tournament has started, and only then are there leases.
        with self._lock:
            known = self._tournaments.get(tournament_id)
        if known is None:
            players = tuple(entrant.player for entrant in self._store.entrants(tournament_id))
            known = self._store.tournament(tournament_id), players
            with self._lock:
                if players:
                    self._tournaments[tournament_id] = known
        return known


class Tickets(Tasks):
    """Makes and checks tickets, and the tasks that they stand for."""

    def __init__(self, store: Store, signing_key: str) -> None:
        """Signs with `signing_key`, which is no tournament's secret."""
        super().__init__(store)
        self._signing_key = signing_key

    def issue(self, match: LeasedMatch) -> tuple[Ticket, MatchTask]:
        """Returns ticket and task of a lease."""
        task = self.of(match)
        ticket = Ticket(match.tournament_id, match.id, match.number, match.attempt, match.key, match.entrants)
        return ticket.signed(self._signing_key, task.seed), task

    def check(self, ticket: Ticket) -> None:
        """Tells whether a ticket was issued here.

        Raises:
            ValueError: it was not.
            NotFound: there is no such tournament.
        """
        secret = self.tournament(ticket.tournament_id).secret
        issued = ticket.signed(self._signing_key, seeds.deal_seed(secret, ticket.key))
        if not hmac.compare_digest(issued.signature, ticket.signature):
            raise ValueError(f"the signature of match {ticket.id}, attempt {ticket.attempt}, is wrong")


@dataclass(frozen=True, slots=True)
class Chunk:
    """The matches of one message, each with its ticket."""

    matches: tuple[tuple[Ticket, MatchTask], ...]

    def to_json(self) -> list[dict[str, Any]]:
        """Returns the chunk as JSON values."""
        return [{"ticket": ticket.to_json(), "task": task.to_json()} for ticket, task in self.matches]

    @classmethod
    def from_json(cls, value: Sequence[Mapping[str, Any]]) -> Chunk:
        """Reads what `to_json` wrote.

        Raises:
            ValueError: it is no chunk.
        """
        try:
            return cls(tuple((Ticket.from_json(each["ticket"]), MatchTask.from_json(each["task"])) for each in value))
        except (KeyError, TypeError) as error:
            raise ValueError(f"no chunk of matches: {type(error).__name__} {error}") from None
