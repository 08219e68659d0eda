"""One guest as the referee sees it: asked, held to its limits, its death explained. It believes nothing.

A question costs one write and one blocking read. Whoever takes too long is ended by the sandbox's watching thread, and
the read then sees the end of the pipe; so the quick case needs neither a poll nor a clock of the kernel's.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol, TypeVar

from tournament.game import FaultKind
from tournament.rules import Limits
from tournament.source import BotSource
from workers.sandbox import clocks
from workers.sandbox.account import UNREAD_S, Account
from workers.sandbox.faults import LOG_LIMIT, GuestFault, SandboxFailure, safe_line, safe_text
from workers.sandbox.frames import (
    ANSWER,
    FORBIDDEN,
    FORBIDDEN_INDEX,
    LOAD_KINDS,
    LOCKED,
    PLAY_KINDS,
    BadFrame,
    ErrorFrame,
    parse_answer,
)
from workers.sandbox.lockdown import syscall_name
from workers.sandbox.place import Place

HARD_STOP_FACTOR: Final = 10
"""A wait longer than so many wall limits, though the meter stands still, is a failure of ours."""

_DEATH_TIMEOUT_MS: Final = 2_000
_KERNEL_CLOCK_S: Final = 0.5
"""How far the kernel's clock of a limit and its account of a dead process may lie apart."""
_MANY: Final = 16_384
_FORBIDDEN_HEAD: Final = ANSWER.pack(0, FORBIDDEN_INDEX)
# Looked up once: a question costs a few microseconds in all.
_now_s, _read, _write = time.monotonic, os.read, os.write
_unpack_answer: Final[Callable[[bytes], tuple[int, int]]] = ANSWER.unpack
T = TypeVar("T")


class Keeper(Protocol):
    """The sandbox that a guest belongs to."""

    @property
    def idle_bytes(self) -> int:
        """Largest resident set of a guest without a bot."""

    def confirm(self, guest: Guest) -> None:
        """Waits until the guest is forked and its number known."""

    def reap(self, guest: Guest) -> tuple[int, float, int]:
        """Returns wait status, CPU seconds and largest resident set of a dying guest."""

    def forget(self, guest: Guest) -> None:
        """Takes a closed guest off the list."""


class Guest:
    """One bot at one seat of one game, in a process of its own.

    Attributes:
        pid: its number, 0 until the fork server has told it.
        server_pid: its number as the fork server counts.
        waited_for: whether the referee waits for it right now.
        last_decision_cpu_s: CPU seconds of the last decision; below a millisecond its wall time stands for it.
        asked_s: monotonic time of the question (or of the wait for loading) that it has not answered.
        peak_bytes: its largest resident set, known when it is closed.
    """

    def __init__(
        self,
        sandbox: Keeper,
        limits: Limits,
        request_fd: int,
        answer_fd: int,
        log_fd: int,
        first: bytes,
        kernel_cpu_s: int = 0x7FFF_FFFF,
        source: BotSource | None = None,
    ) -> None:
        """Sends as much of the first message as fits; `Sandbox.spawn` makes guests.

        Args:
            sandbox: whose guest it is.
            limits: what its bot may use.
            request_fd: where questions are written.
            answer_fd: where answers are read.
            log_fd: where what the bot prints is read.
            first: the first message.
            kernel_cpu_s: seconds of CPU at which the kernel kills it.
            source: the bot's files, to show a line of.
        """
        self._sandbox = sandbox
        self._limits = limits
        self._kernel_cpu_s = kernel_cpu_s
        self._request_fd, self._answer_fd, self._log_fd = request_fd, answer_fd, log_fd
        self._account = Account(limits)
        self._verdict: GuestFault | SandboxFailure | None = None
        self._locked = False
        self._closed = False
        self._log = bytearray()
        self._place = Place(source)
        self._ending = threading.Lock()
        self._total_cpu_s = 0.0
        self._status: int | None = None
        self._named_call: int | None = None
        self.pid = self.server_pid = 0
        self.pidfd = -1
        self.waited_for = False
        self.asked_s = self.last_decision_cpu_s = 0.0
        self.peak_bytes = 0
        os.set_blocking(request_fd, False)
        sent = 0
        with suppress(BlockingIOError):
            sent = os.write(request_fd, first) if first else 0
        os.set_blocking(request_fd, True)
        self._unsent = first[sent:]

    def wait_locked(self) -> None:
        """Waits until the guest is locked down.

        Raises:
            SandboxFailure: it could not be locked down.
        """
        self._sandbox.confirm(self)
        self.asked_s = time.monotonic()
        self.waited_for = True
        try:
            # Exactly this frame: the next may come at once behind it.
            self._locked = os.read(self._answer_fd, len(LOCKED)) == LOCKED
        finally:
            self.waited_for = False
        if not self._locked:
            raise self._died()
        if self._verdict is not None:  # It loads since long, while others were waited for.
            raise self._ended(b"")

    def wait_ready(self) -> None:
        """Waits until the bot is loaded.

        Raises:
            GuestFault: it could not be loaded, or broke a limit.
            SandboxFailure: the sandbox failed.
        """
        if not self._locked:
            self.wait_locked()
        if self._unsent:
            with suppress(OSError):  # A guest that died says why at the other pipe.
                self._wait(lambda: _write_all(self._request_fd, self._unsent))
            self._unsent = b""
        answer = self._wait(lambda: self._receive(0, 1))
        over = self._account.loaded(self._read_clock(), time.monotonic())
        if over is not None:
            raise over
        if answer != 0:
            raise self._reported(answer, LOAD_KINDS)

    def ask(self, question: bytes, number: int, legal_count: int, deals_begun: int) -> int:
        """Puts a question to the bot.

        Args:
            question: the whole message, with its length in front.
            number: the question's number, not to be foreseen.
            legal_count: how many actions it may choose from.
            deals_begun: how many deals of the game have begun, which its CPU time for the game depends on.

        Returns:
            The index of its choice.

        Raises:
            GuestFault: it did anything but answer within its limits.
            SandboxFailure: the sandbox failed; the game is void.
        """
        account = self._account
        asked_s = _now_s()
        account.deals_begun = deals_begun
        if asked_s - account.read_at_s > UNREAD_S:
            over = account.before_question(self._read_clock(), asked_s)
            if over is not None:
                raise over
        self.asked_s = asked_s
        self.waited_for = True
        try:
            sent = _write(self._request_fd, question)
            if sent != len(question):  # A signal came in between.
                _write_all(self._request_fd, question[sent:])
            data = _read(self._answer_fd, 16)
        except OSError:  # It died, or closed its end.
            data = b""
        finally:
            self.waited_for = False
        taken_s = _now_s() - asked_s
        if taken_s < UNREAD_S and len(data) == 4:
            answered, index = _unpack_answer(data)
            if answered == number and index < legal_count:
                account.thought_s += taken_s
                self.last_decision_cpu_s = taken_s
                if taken_s > account.slowest_s:
                    account.slowest_s = taken_s
                return index
        return self._judge_slowly(data, number, legal_count, asked_s)

    def _judge_slowly(self, data: bytes, number: int, legal_count: int, asked_s: float) -> int:
        """Judges an answer that took its time, is no plain answer, or never came."""
        if self._verdict is not None:
            raise self._ended(data)
        if not data:
            raise self._died()
        answer = self._wait(lambda: self._receive(number, legal_count, data))
        over = self._account.answered(self._read_clock(), asked_s, time.monotonic())
        self.last_decision_cpu_s = self._account.last_s
        if over is not None:
            raise over
        if isinstance(answer, int):
            return answer
        raise self._reported(answer, PLAY_KINDS)

    def _wait(self, operation: Callable[[], T]) -> T:
        """Does something that may block, under the eye of the watching thread."""
        self.waited_for = True
        try:
            return operation()
        except BadFrame as error:
            raise GuestFault(FaultKind.PROTOCOL, str(error)) from None
        finally:
            self.waited_for = False
            if self._verdict is not None:
                raise self._verdict

    def _receive(self, number: int, legal_count: int, data: bytes = b"") -> int | ErrorFrame:
        """Reads until there is an answer; a dead guest raises what it died of."""
        while True:
            if data.startswith(_FORBIDDEN_HEAD) and len(data) <= FORBIDDEN.size:
                # Believed only of a guest that dies of it, so the end of the pipe is what is waited for.
                self._named_call = FORBIDDEN.unpack(data)[2] if len(data) == FORBIDDEN.size else None
            elif data:
                answer = parse_answer(data, number, legal_count)
                if answer is not None:
                    return answer
            part = os.read(self._answer_fd, _MANY)
            if self._verdict is not None:
                raise self._ended(part)
            if not part:
                raise self._died()
            data += part

    @staticmethod
    def _reported(answer: ErrorFrame | int, allowed: frozenset[FaultKind]) -> GuestFault:
        if not isinstance(answer, ErrorFrame) or answer.kind not in allowed:
            return GuestFault(FaultKind.PROTOCOL, "a frame that does not belong here")
        return GuestFault(answer.kind, answer.message, answer.traceback)

    def _read_clock(self) -> float:
        cpu_s = clocks.cpu_s(self.pid)
        return self._account.read_cpu_s if cpu_s is None else cpu_s

    def overdue(self, meter: clocks.WallMeter, now_s: float) -> GuestFault | SandboxFailure | None:
        """Returns what to end this guest for while it is waited for, if anything; for the watching thread."""
        over = self._account.over(self._read_clock(), self.asked_s)
        if over is not None:
            return over
        limit_s = self._limits.decision_wall_s
        if self._account.loading:
            limit_s = max(limit_s, 2 * self._limits.load_cpu_s)
        waited_s = now_s - self.asked_s
        # Where the kernel does not tell how long it waited, only a guest that sleeps is surely late.
        late_s = limit_s if meter.exact else HARD_STOP_FACTOR * limit_s
        if meter.effective_s > late_s and (meter.exact or not meter.runnable):
            text = f"no answer after {meter.effective_s:.2f} s without waiting for a processor, limit {limit_s:.2f} s"
            return GuestFault(FaultKind.TIMEOUT_WALL, text, measured=meter.effective_s, limit=limit_s)
        if waited_s > HARD_STOP_FACTOR * limit_s:
            return SandboxFailure(f"no answer in {waited_s:.0f} s, most of which the guest got no processor")
        return None

    def end(self, verdict: GuestFault | SandboxFailure) -> None:
        """Ends the guest for a reason that the next look at it raises; for the watching thread.

        Who broke a limit of time is first asked where it is: a courtesy to the bot's author, which decides nothing.
        """
        with self._ending:
            if self._closed:
                return
            self._verdict = verdict
            with suppress(OSError):
                if isinstance(verdict, GuestFault):
                    signal.pidfd_send_signal(self.pidfd, signal.SIGUSR1)
                    self._place.wait()
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def _ended(self, said: bytes) -> GuestFault | SandboxFailure:
        """Hears a guest that is being ended until it is dead; returns the verdict, with the place if it told one."""
        verdict = self._verdict
        assert verdict is not None
        self._place.hear(said)
        while part := os.read(self._answer_fd, _MANY):
            self._place.hear(part)
        self._place.end()
        if isinstance(verdict, GuestFault):
            verdict.traceback = self._place.text()
        return verdict

    def kill(self) -> None:
        """Ends the guest's process, which the fork server still has to be told.

        Raises:
            PermissionError: it belongs to another user, and we may not.
        """
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def _died(self) -> GuestFault | SandboxFailure:
        """Finds out what a guest died of whose answer pipe is closed."""
        poller = select.poll()
        poller.register(self.pidfd, select.POLLIN)
        dead = bool(poller.poll(_DEATH_TIMEOUT_MS))
        if not self._locked:  # Nothing of the bot has run: whatever it was is ours.
            return SandboxFailure(f"a guest could not be locked down: {safe_line(self.log()) or 'it says nothing'}")
        if not dead:
            return GuestFault(FaultKind.PROTOCOL, "closed a pipe and lives on")
        if self._verdict is not None:  # The watching thread came first.
            return self._verdict
        try:
            return self._cause_of_death(self._reap())
        except SandboxFailure as failure:
            return failure

    def _reap(self) -> int:
        if self._status is None:
            self._status, self._total_cpu_s, self.peak_bytes = self._sandbox.reap(self)
        return self._status

    def _cause_of_death(self, status: int) -> GuestFault | SandboxFailure:
        if os.WIFEXITED(status):
            return GuestFault(FaultKind.EXITED, f"the process ended with exit status {os.WEXITSTATUS(status)}")
        number = os.WTERMSIG(status)
        if number == signal.SIGSYS:
            name = "of another processor" if self._named_call is None else syscall_name(self._named_call)
            return GuestFault(FaultKind.FORBIDDEN_CALL, f"forbidden system call: {name}")
        if number == signal.SIGKILL:
            over = self._account.over(self._total_cpu_s, self.asked_s)
            if over is not None:  # The kernel's limit came before the watching thread.
                return over
            used_s, limit_s = self._total_cpu_s, float(self._kernel_cpu_s)
            if used_s > limit_s - _KERNEL_CLOCK_S:  # Used up bit by bit, off turn too: no failure of ours.
                text = f"{used_s:.2f} s CPU in all, limit {limit_s:.2f} s"
                return GuestFault(FaultKind.TIMEOUT_CPU, text, measured=used_s, limit=limit_s)
            if self.peak_bytes * 2 > self._limits.memory_bytes:
                text = f"killed for want of memory at {self.peak_bytes >> 20} MiB"
                return GuestFault(FaultKind.MEMORY, text, measured=self.peak_bytes, limit=self._limits.memory_bytes)
            # A guest cannot send signals, so somebody else did.
            return SandboxFailure("a guest was killed from outside")
        name = signal.Signals(number).name if number in set(signal.Signals) else "unknown"
        return GuestFault(FaultKind.KILLED, f"killed by signal {number} ({name})")

    @property
    def cpu_s(self) -> float:
        """CPU seconds so far, loading included."""
        if self._status is None and self.pid:
            return clocks.cpu_s(self.pid) or 0.0
        return self._total_cpu_s

    @property
    def load_cpu_s(self) -> float:
        """CPU seconds of loading, 0 before it is loaded."""
        return self._account.loaded_s

    @property
    def slowest_decision_cpu_s(self) -> float:
        """CPU seconds of the slowest decision, as exact as `last_decision_cpu_s`."""
        return self._account.slowest_s

    @property
    def memory_bytes(self) -> int:
        """Memory taken beyond that of a guest without a bot; known when it is closed."""
        return max(0, self.peak_bytes - self._sandbox.idle_bytes)

    def log(self) -> str:
        """Returns what the bot has printed so far, bounded and safe to show."""
        with suppress(OSError):
            while self._log_fd >= 0 and len(self._log) < LOG_LIMIT and (part := os.read(self._log_fd, LOG_LIMIT)):
                self._log += part
        return safe_text(bytes(self._log), LOG_LIMIT)

    def close(self) -> None:
        """Ends the guest and all that belongs to it; its log and figures can still be read.

        Raises:
            SandboxFailure: the fork server is gone; nothing is left behind all the same.
        """
        with self._ending:  # a number of a descriptor that is closed may be another guest's
            if self._closed:
                return
            self._closed = True
        try:
            self._sandbox.confirm(self)
            self.kill()
            self._reap()
        finally:
            self.log()
            self._sandbox.forget(self)
            for descriptor in (self._request_fd, self._answer_fd, self._log_fd, self.pidfd):
                if descriptor >= 0:
                    os.close(descriptor)
            self._log_fd = -1


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        sent = os.write(descriptor, view)  # not in the brackets: compiled, that would be done twice
        view = view[sent:]
