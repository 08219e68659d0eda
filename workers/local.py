"""Plays matches on this machine's cores: child processes behind `submit` and `poll`, the interface of all executors.

Each child is pinned to one core together with the guests of the match that it plays, since a match whose referee and
guests sit on different cores makes an eighth of the decisions. A child that dies or hangs costs its match an attempt
and nothing else; it is replaced. Children end with their parent, whatever kills it.
"""

from __future__ import annotations

import base64
import json
import os
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from tournament import compiled
from tournament.results import MatchResult
from tournament.source import BotSource
from tournament.wire import MatchTask, own_result
from workers.referee import silence_limit_s
from workers.sandbox.faults import SandboxFailure, SandboxRefused

AHEAD: Final = 2
"""Matches handed to a child at a time: one to play and one so that it never waits for the next."""

SLOTS_PER_CHILD: Final = 8
MAX_REPLACEMENTS_IN_A_ROW: Final = 5
_ENVIRONMENT: Final = ("HOME", "LANG", "LC_", "LD_", "PATH", "PYTHON", "TMPDIR", "TZ", "VIRTUAL_ENV")
"""What a child may know of the environment: never a password of the database or the broker."""


@dataclass(frozen=True, slots=True)
class MatchFailure:
    """A match without a result, because we failed: it goes back to the queue and costs no bot anything.

    Attributes:
        match_id: which match.
        attempt: the lease it was played under.
        reason: what failed.
        begun: whether it had begun; if not, it only goes back.
    """

    match_id: int
    attempt: int
    reason: str
    begun: bool = True


class Child:
    """A process of `workers.child` on one core, sent orders and heard without being waited for; it knows no password.

    Attributes:
        process: the process.
        ended: whether it says nothing any more.
    """

    def __init__(self, core: int | None, *, plain: bool = False, slot: int = 0) -> None:
        """Starts the process; arguments as of `workers.child.main`."""
        allowed = {name: value for name, value in os.environ.items() if name.startswith(_ENVIRONMENT)}
        settings = {"core": core, "parent": os.getpid(), "plain": plain, "slot": slot}
        # A session of its own: Ctrl-C goes to the parent alone, which ends the run in good order.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "workers.child", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=allowed | compiled.setting(),
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._orders, self._answers = self.process.stdin, self.process.stdout
        for pipe in (self._orders, self._answers):
            os.set_blocking(pipe.fileno(), False)
        self._unsent, self._unread = bytearray(), bytearray()
        self.ended = False

    def send(self, order: Mapping[str, Any], sources: Iterable[BotSource]) -> None:
        """Sends an order with the sources that it needs beside those of before, as far as the process takes it now."""
        packed = [base64.b64encode(source.pack()).decode() for source in sources]
        self._unsent += json.dumps({**order, "sources": packed}).encode() + b"\n"
        self._flush()

    def hear(self) -> list[dict[str, Any]]:
        """Returns what it has said since the last time, and sends what it has not taken yet."""
        self._flush()
        try:
            part = os.read(self._answers.fileno(), 1 << 20)
        except BlockingIOError:
            return []
        self.ended = not part
        *lines, self._unread = (self._unread + part).split(b"\n")
        return [json.loads(line) for line in lines]

    def _flush(self) -> None:
        with suppress(BlockingIOError, BrokenPipeError):  # a dead child shows at its answers
            del self._unsent[: os.write(self._orders.fileno(), self._unsent)]

    def register(self, selector: selectors.BaseSelector) -> None:
        """Has a selector wait for what it says, and until it can be sent more if there is more."""
        selector.register(self._answers, selectors.EVENT_READ)
        if self._unsent:
            selector.register(self._orders, selectors.EVENT_WRITE)

    def end(self) -> None:
        """Kills the process, which takes its guests with it."""
        for pipe in (self._orders, self._answers):
            with suppress(OSError):  # what was still to be written finds nobody
                pipe.close()
        self.process.kill()
        self.process.wait()


def wait_for(children: Iterable[Child], timeout_s: float) -> None:
    """Waits until there is something to hear or to send, at most `timeout_s`."""
    with selectors.DefaultSelector() as selector:
        for child in children:
            child.register(selector)
        selector.select(timeout_s)


class _Player(Child):
    """A child of the executor.

    Attributes:
        number: which of its children.
        tasks: the matches that it was handed, first the one it plays.
        known: hashes of the sources that it was sent.
        alive_s: when it last gave a sign of life, or was handed a match while it had none.
        ready: whether it has started its sandbox.
    """

    def __init__(self, number: int, core: int | None, *, plain: bool) -> None:
        super().__init__(core, plain=plain, slot=number * SLOTS_PER_CHILD)
        self.number = number
        self.tasks: deque[MatchTask] = deque()
        self.known: set[str] = set()
        self.alive_s = 0.0
        self.ready = False


class LocalExecutor:
    """Plays matches in child processes, one a core by default.

    Attributes:
        layers: the optional layers of the sandbox that hold here; None until a child has told.
    """

    def __init__(
        self,
        jobs: int,
        *,
        plain: bool = False,
        cores: tuple[int, ...] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Starts the children.

        Args:
            jobs: how many matches are played side by side.
            plain: play bots in plain child processes, without the sandbox: for one's own files where there is none.
            cores: the cores to pin to, by turns; by default all that this process may use.
            clock: monotonic seconds.

        Raises:
            ValueError: `jobs` is less than 1.
        """
        if jobs < 1:
            raise ValueError(f"jobs is {jobs}: expected 1 or more")
        self._plain = plain
        self._clock = clock
        self.layers: frozenset[str] | None = None
        if cores is None and hasattr(os, "sched_getaffinity"):
            cores = tuple(sorted(os.sched_getaffinity(0)))
        self._cores = cores or ()
        self._replaced_in_a_row = 0
        self._children = [self._start(number) for number in range(jobs)]

    @property
    def free(self) -> int:
        """How many more matches can be handed over without waiting."""
        return sum(AHEAD - len(child.tasks) for child in self._children)

    def wait_ready(self) -> None:
        """Waits until a child has started its sandbox.

        Raises:
            SandboxRefused: there is no sandbox on this machine; the text says why and what to do.
            SandboxFailure: the children die as soon as they start.
        """
        while self.layers is None:
            self.poll(1.0)

    def submit(self, task: MatchTask, sources: Mapping[str, BotSource]) -> None:
        """Hands a match to the child with the least to do.

        Raises:
            ValueError: a source of the match is not among `sources`.
        """
        child = min(self._children, key=lambda each: len(each.tasks))
        needed = {player.sha256 or "" for player in task.players}
        for sha256 in needed:
            if sha256 not in sources:
                raise ValueError(f"no source {sha256[:12]}… for match {task.key}")
        if not child.tasks:
            child.alive_s = self._clock()
        child.tasks.append(task)
        child.send({"match": task.to_json()}, [sources[sha256] for sha256 in sorted(needed - child.known)])
        child.known |= needed

    def poll(self, timeout_s: float) -> list[MatchResult | MatchFailure]:
        """Returns results and failures, waiting for the first at most `timeout_s`.

        Raises:
            SandboxFailure: as of `wait_ready`.
        """
        wait_for(self._children, timeout_s)
        ended: list[MatchResult | MatchFailure] = []
        for child in list(self._children):
            ended += filter(None, [self._result(child, message) for message in child.hear()])
            if child.ended:
                ended += self._replace(child, "the process that played it died")
            elif child.tasks and self._clock() - child.alive_s > silence_limit_s(child.tasks[0].limits):
                ended += self._replace(child, "the match made no progress for longer than its limits allow")
        return ended

    def play(
        self, tasks: Iterable[MatchTask], sources: Mapping[str, BotSource]
    ) -> Iterator[tuple[MatchTask, MatchResult | MatchFailure]]:
        """Plays matches, and yields each with what came of it as it ends; tasks are taken as there is room for them.

        Raises:
            SandboxFailure: as of `wait_ready`.
        """
        waiting: dict[tuple[int, int], MatchTask] = {}
        left = iter(tasks)
        while True:
            while self.free > 0 and (task := next(left, None)) is not None:
                waiting[task.match_id, task.attempt] = task
                self.submit(task, sources)
            if not waiting:
                return
            for ended in self.poll(1.0):
                yield waiting.pop((ended.match_id, ended.attempt)), ended

    def close(self) -> None:
        """Ends all children; they end their guests."""
        for child in self._children:
            child.end()
        self._children = []

    def _start(self, number: int) -> _Player:
        core = self._cores[number % len(self._cores)] if self._cores else None
        return _Player(number, core, plain=self._plain)

    def _result(self, child: _Player, message: dict[str, Any]) -> MatchResult | MatchFailure | None:
        if "refused" in message:
            raise SandboxRefused(message["refused"])
        child.alive_s = self._clock()
        if "ready" in message:
            child.ready = True
            self.layers = frozenset(message["ready"])
            self._replaced_in_a_row = 0
        if "done" in message:
            return own_result(child.tasks.popleft(), message["done"])
        if "failure" in message:
            task = child.tasks.popleft()
            return MatchFailure(task.match_id, task.attempt, message["failure"])
        return None

    def _replace(self, child: _Player, reason: str) -> list[MatchFailure]:
        if not child.ready:
            self._replaced_in_a_row += 1
            if self._replaced_in_a_row > MAX_REPLACEMENTS_IN_A_ROW:
                raise SandboxFailure("the processes that play matches die as soon as they start")
        child.end()
        self._children[self._children.index(child)] = self._start(child.number)
        return [
            MatchFailure(task.match_id, task.attempt, reason, begun=place == 0)
            for place, task in enumerate(child.tasks)
        ]
