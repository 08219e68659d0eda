"""Bots in plain child processes, for house bots and one's own files elsewhere than on Linux.

No lock-down and no fork server: the same guest loop in a fresh interpreter, the same modules, the same refusal of a
plain `open`. Never for uploads. Without the kernel's clocks of other processes, wall time stands for CPU time.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import IO, Final

from tournament.game import FaultKind
from tournament.rules import Limits
from tournament.source import BotSource
from workers.sandbox.faults import LOG_LIMIT, GuestFault, SandboxFailure, safe_text
from workers.sandbox.frames import (
    LOAD_KINDS,
    PLAY_KINDS,
    BadFrame,
    ErrorFrame,
    GuestInit,
    encode_init,
    encode_settings,
    parse_answer,
)

_START_S: Final = 30.0
"""A fresh interpreter imports the list of modules first, numpy among them, on a machine of unknown speed."""

_ROOT: Final = Path(__file__).resolve().parents[2]


class PlainSandbox(AbstractContextManager["PlainSandbox"]):
    """Stands in for a `Sandbox`: there is nothing to start, and guests are closed by who spawned them."""

    def __exit__(self, *_: object) -> None: ...

    def spawn(self, source: BotSource, init: GuestInit, slot: int) -> PlainGuest:
        """Starts a process for a bot; it loads while others are started.

        Args:
            source: the bot's files.
            init: what the bot is told.
            slot: not used here.

        Raises:
            SandboxFailure: no process can be started.
        """
        del slot
        return PlainGuest(encode_settings(init) + b"\n" + encode_init(init, source), init.limits)


class PlainGuest:
    """One bot at one seat of one game, in a plain child process; the interface of `host.Guest`.

    Attributes:
        pid: its number.
    """

    def __init__(self, first: bytes, limits: Limits) -> None:
        """Starts the process and sends the first message."""
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(_ROOT), "OPENBLAS_NUM_THREADS": "1"}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-s", "-P", "-B", "-m", "workers.sandbox.guest"],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise SandboxFailure(f"no process can be started: {error}") from error
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self.pid = self._process.pid
        self._limits = limits
        self._requests, self._answers, self._prints = self._process.stdin, self._process.stdout, self._process.stderr
        self._arrived: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._log = bytearray()
        self.cpu_s = self.last_decision_cpu_s = self.slowest_decision_cpu_s = 0.0
        self.memory_bytes = 0
        self.load_cpu_s = 0.0  # not to be told from the interpreter's own start
        # Pipes have no time-outs everywhere: a thread for each, which ends with the process.
        self._threads = (
            threading.Thread(target=self._carry, args=(self._answers, self._arrived.put), daemon=True),
            threading.Thread(target=self._carry, args=(self._prints, self._keep), daemon=True),
        )
        for thread in self._threads:
            thread.start()
        self._send(first)

    def wait_ready(self) -> None:
        """Waits until the bot is loaded.

        Raises:
            GuestFault: it could not be loaded, or broke a limit.
        """
        limit_s = self._limits.load_cpu_s + _START_S
        answer = self._receive(0, 1, limit_s, limit_s, "loading")
        if answer != 0:
            raise self._reported(answer, LOAD_KINDS)

    def ask(self, question: bytes, number: int, legal_count: int, deals_begun: int) -> int:
        """Puts a question to the bot; see `host.Guest.ask`.

        Raises:
            GuestFault: it did anything but answer within its limits.
        """
        asked_s = time.monotonic()
        self._send(question)
        left_s = self._limits.game_cpu_allowance_s(deals_begun) - self.cpu_s
        limit_s = min(left_s, self._limits.decision_cpu_s)
        answer = self._receive(number, legal_count, limit_s, self._limits.decision_cpu_s, "one decision")
        self.last_decision_cpu_s = time.monotonic() - asked_s
        self.slowest_decision_cpu_s = max(self.slowest_decision_cpu_s, self.last_decision_cpu_s)
        self.cpu_s += self.last_decision_cpu_s
        if isinstance(answer, int):
            return answer
        raise self._reported(answer, PLAY_KINDS)

    def log(self) -> str:
        """Returns what the bot has printed so far, bounded and safe to show."""
        return safe_text(bytes(self._log), LOG_LIMIT)

    def close(self) -> None:
        """Ends the process and all that belongs to it."""
        self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join()
        with suppress(OSError):
            self._requests.close()
        for stream in self._answers, self._prints:
            stream.close()

    def _receive(
        self, number: int, legal_count: int, limit_s: float, shown_limit_s: float, what: str
    ) -> int | ErrorFrame:
        deadline_s = time.monotonic() + limit_s
        data = b""
        while True:
            try:
                part = self._arrived.get(timeout=max(0.0, deadline_s - time.monotonic()))
            except queue.Empty:
                text = f"no answer in {what} after {limit_s:.2f} s, limit {shown_limit_s:.2f} s"
                raise GuestFault(FaultKind.TIMEOUT_CPU, text, measured=limit_s, limit=shown_limit_s) from None
            if not part:
                raise self._died()
            data += part
            try:
                answer = parse_answer(data, number, legal_count)
            except BadFrame as error:
                raise GuestFault(FaultKind.PROTOCOL, str(error)) from None
            if answer is not None:
                return answer

    def _died(self) -> GuestFault:
        try:
            status = self._process.wait(5)
        except subprocess.TimeoutExpired:
            return GuestFault(FaultKind.PROTOCOL, "closed a pipe and lives on")
        if status < 0:
            return GuestFault(FaultKind.KILLED, f"killed by signal {-status}")
        return GuestFault(FaultKind.EXITED, f"the process ended with exit status {status}")

    @staticmethod
    def _reported(answer: ErrorFrame | int, allowed: frozenset[FaultKind]) -> GuestFault:
        if not isinstance(answer, ErrorFrame) or answer.kind not in allowed:
            return GuestFault(FaultKind.PROTOCOL, "a frame that does not belong here")
        return GuestFault(answer.kind, answer.message, answer.traceback)

    def _send(self, data: bytes) -> None:
        # A bot of one's own that does not read can block this for ever; uploads never come here.
        with suppress(OSError):  # Of what it died is seen at the other pipe.
            self._requests.write(data)
            self._requests.flush()

    def _keep(self, part: bytes) -> None:
        self._log += part[: LOG_LIMIT - len(self._log)]

    @staticmethod
    def _carry(stream: IO[bytes], put: Callable[[bytes], object]) -> None:
        while part := os.read(stream.fileno(), 1 << 16):
            put(part)
        put(b"")
