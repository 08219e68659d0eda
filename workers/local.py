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
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from tournament.results import MatchResult
from tournament.source import BotSource
from tournament.wire import MatchTask, own_result
from workers.referee import silence_limit_s
from workers.sandbox.faults import SandboxFailure, SandboxRefused

AHEAD: Final = 2
"""Matches handed to a child at a time: one to play and one so that it never waits for the next."""

SLOTS_PER_CHILD: Final = 8
MAX_REPLACEMENTS_IN_A_ROW: Final = 5


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


@dataclass(eq=False, slots=True)
class _Child:
    number: int
    process: subprocess.Popen[bytes]
    inbox: bytearray = field(default_factory=bytearray)
    outbox: bytearray = field(default_factory=bytearray)
    tasks: deque[MatchTask] = field(default_factory=deque)
    known: set[str] = field(default_factory=set)
    alive_s: float = 0.0
    ready: bool = False


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
        self._selector = selectors.DefaultSelector()
        self._failures: list[MatchResult | MatchFailure] = []
        self._replaced_in_a_row = 0
        self._children = [self._start(number) for number in range(jobs)]

    @property
    def free(self) -> int:
        """How many more matches can be handed over without waiting."""
        return sum(AHEAD - len(child.tasks) for child in self._children)

    def submit(self, task: MatchTask, sources: Mapping[str, BotSource]) -> None:
        """Hands a match to the child with the least to do.

        Raises:
            ValueError: a source of the match is not among `sources`.
        """
        child = min(self._children, key=lambda each: len(each.tasks))
        for sha256 in sorted({player.sha256 or "" for player in task.players}):
            if sha256 not in sources:
                raise ValueError(f"no source {sha256[:12]}… for match {task.key}")
            if sha256 not in child.known:
                child.known.add(sha256)
                files = [[path, base64.b64encode(content).decode()] for path, content in sources[sha256].files]
                self._send(child, {"source": sha256, "files": files})
        if not child.tasks:
            child.alive_s = self._clock()
        child.tasks.append(task)
        self._send(child, task.to_json())

    def poll(self, timeout_s: float) -> list[MatchResult | MatchFailure]:
        """Returns results and failures, waiting for the first at most `timeout_s`.

        Raises:
            SandboxRefused: there is no sandbox on this machine; the text says why and what to do.
            SandboxFailure: the children die as soon as they start.
        """
        ended, self._failures = self._failures, []
        for key, events in self._selector.select(0 if ended else timeout_s):
            child: _Child = key.data
            if events & selectors.EVENT_WRITE:
                self._flush(child)
            if events & selectors.EVENT_READ:
                ended += self._read(child)
        for child in list(self._children):
            if child.tasks and self._clock() - child.alive_s > silence_limit_s(child.tasks[0].limits):
                ended += self._replace(child, "the match made no progress for longer than its limits allow")
        return ended

    def close(self) -> None:
        """Ends all children; they end their guests."""
        for child in self._children:
            self._end(child)
        self._children = []
        self._selector.close()

    def _start(self, number: int) -> _Child:
        settings = {
            "core": self._cores[number % len(self._cores)] if self._cores else None,
            "parent": os.getpid(),
            "plain": self._plain,
            "slot": number * SLOTS_PER_CHILD,
        }
        # A session of its own: Ctrl-C goes to the parent alone, which ends the run in good order.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "workers.play_child", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        child = _Child(number, process)
        os.set_blocking(process.stdin.fileno(), False)
        os.set_blocking(process.stdout.fileno(), False)
        self._selector.register(process.stdout, selectors.EVENT_READ, child)
        return child

    def _send(self, child: _Child, message: dict[str, Any]) -> None:
        child.outbox += json.dumps(message).encode() + b"\n"
        self._flush(child)

    def _flush(self, child: _Child) -> None:
        stdin = child.process.stdin
        assert stdin is not None
        with suppress(BlockingIOError, BrokenPipeError):  # a dead child shows at its output
            sent = os.write(stdin.fileno(), child.outbox)
            del child.outbox[:sent]
        waiting = stdin in self._selector.get_map()
        if child.outbox and not waiting:
            self._selector.register(stdin, selectors.EVENT_WRITE, child)
        elif waiting and not child.outbox:
            self._selector.unregister(stdin)

    def _read(self, child: _Child) -> list[MatchResult | MatchFailure]:
        stdout = child.process.stdout
        assert stdout is not None
        try:
            part = os.read(stdout.fileno(), 1 << 20)
        except BlockingIOError:
            return []
        if not part:
            return self._replace(child, "the process that played it died")
        child.inbox += part
        *lines, rest = bytes(child.inbox).split(b"\n")
        child.inbox = bytearray(rest)
        return [result for line in lines if (result := self._result(child, json.loads(line))) is not None]

    def _result(self, child: _Child, message: dict[str, Any]) -> MatchResult | MatchFailure | None:
        if "refused" in message:
            raise SandboxRefused(message["refused"])
        if "ready" in message:
            child.ready = True
            self.layers = frozenset(message["ready"])
            self._replaced_in_a_row = 0
            return None
        child.alive_s = self._clock()
        if "alive" in message:
            return None
        task = child.tasks.popleft()
        if "failure" in message:
            return MatchFailure(task.match_id, task.attempt, message["failure"])
        return own_result(task, message)

    def _replace(self, child: _Child, reason: str) -> list[MatchResult | MatchFailure]:
        if not child.ready:
            self._replaced_in_a_row += 1
            if self._replaced_in_a_row > MAX_REPLACEMENTS_IN_A_ROW:
                raise SandboxFailure("the processes that play matches die as soon as they start")
        self._end(child)
        failed: list[MatchResult | MatchFailure] = [
            MatchFailure(task.match_id, task.attempt, reason, begun=place == 0)
            for place, task in enumerate(child.tasks)
        ]
        self._children[self._children.index(child)] = self._start(child.number)
        return failed

    def _end(self, child: _Child) -> None:
        for pipe in (child.process.stdin, child.process.stdout):
            assert pipe is not None
            if pipe in self._selector.get_map():
                self._selector.unregister(pipe)
            with suppress(OSError):
                pipe.close()
        child.process.kill()
        child.process.wait()
