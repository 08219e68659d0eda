# ruff: noqa: ARG002  # fakes take what the real ones need
"""A broker in memory, and bots that need no sandbox."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from kombu.exceptions import OperationalError

from tournament.environment import Environment
from tournament.game import FaultKind
from tournament.source import BotSource
from workers.coordinator import Publisher
from workers.sandbox.faults import GuestFault, SandboxFailure
from workers.sandbox.frames import GuestInit
from workers.tasks import Broker
from workers.tickets import Chunk

HERE: dict[str, Any] = {"engine": "e" * 64, "python": "CPython 3.11.9", "modules": ["math", "numpy 2.4.6"]}


class MemoryBroker(Publisher):
    """What the coordinator published; it may be away, or lose its memory."""

    def __init__(self) -> None:
        self.published: list[tuple[str, Chunk]] = []
        self.sources: dict[str, bytes] = {}
        self.cancelled: set[int] = set()
        self.wanted: list[tuple[int, Environment]] = []
        self.marked = False
        self.away = False
        self.waiting = 0

    def remembers(self) -> bool:
        return self.marked

    def remember(self) -> None:
        self.marked = True

    def results_waiting(self) -> int:
        return self.waiting

    def want(self, environments: Sequence[tuple[int, Environment]]) -> None:
        self.wanted = list(environments)

    def cancel(self, tournaments: Sequence[int], running: Sequence[int]) -> None:
        self.cancelled |= set(tournaments)
        self.cancelled -= set(running)

    def keep_source(self, sha256: str, packed: Callable[[], bytes]) -> None:
        if sha256 not in self.sources:
            self.sources[sha256] = packed()

    def publish(self, queue: str, chunk: Chunk, *, expires_s: float, time_limit_s: float) -> None:
        if self.away:
            raise OperationalError("no broker")
        assert expires_s > 0 and time_limit_s > 100
        self.published.append((queue, Chunk.from_json(json.loads(json.dumps(chunk.to_json())))))

    def taken(self) -> list[Chunk]:
        """Returns the chunks published so far, and forgets them."""
        chunks = [chunk for _, chunk in self.published]
        self.published.clear()
        return chunks


class WorkerBroker(Broker):
    """A worker's side: what it told, what it answered."""

    def __init__(self, sources: dict[str, bytes]) -> None:
        self.sources = sources
        self.told: list[dict[str, Any]] = []
        self.answers: list[str] = []
        self.cancelled: set[int] = set()

    def tell(self, message: dict[str, Any]) -> None:
        self.told.append(message)

    def answer(self, text: str) -> None:
        self.answers.append(text)

    def is_cancelled(self, tournament: int) -> bool:
        return tournament in self.cancelled

    def packed_source(self, sha256: str) -> bytes | None:
        return self.sources.get(sha256)


class FirstBot:
    """Always takes the first choice; `answering` is called before, and may raise."""

    slowest_decision_cpu_s = last_decision_cpu_s = cpu_s = load_cpu_s = 0.0
    memory_bytes = 0

    def __init__(self, answering: Callable[[], None]) -> None:
        self._answering = answering

    def wait_ready(self) -> None:
        pass

    def ask(self, question: bytes, number: int, legal_count: int, deals_begun: int) -> int:
        self._answering()
        return 0

    def log(self) -> str:
        return "printed"

    def close(self) -> None:
        pass


class Table:
    """Stands in for a sandbox."""

    def __init__(self, answering: Callable[[], None] = lambda: None) -> None:
        self.answering = answering
        self.closed = False

    def spawn(self, source: BotSource, init: GuestInit, slot: int) -> FirstBot:
        return FirstBot(self.answering)

    def close(self) -> None:
        self.closed = True


def fault() -> None:
    raise GuestFault(FaultKind.EXCEPTION, "ValueError: no", "line 3")


def break_down() -> None:
    raise SandboxFailure("the fork server has died")
