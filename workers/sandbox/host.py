"""The referee's side of the sandbox: starts the fork server, has guests made, asks them and holds them to the limits.

A question costs one write and one blocking read. Whoever takes too long is ended by a watching thread, and the read
then sees the end of the pipe; so that the quick case needs neither a poll nor a clock of the kernel's. CPU time can
never exceed wall time for a process of one thread: CPU clocks are read only when enough wall time has passed for it to
matter (`_Account`).

One `Sandbox` belongs to one thread of the worker: guests are not asked side by side.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from tournament.game import FaultKind
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from workers.sandbox import clocks
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
    GuestInit,
    encode_init,
    encode_settings,
    parse_answer,
)
from workers.sandbox.lockdown import Layers, syscall_name
from workers.sandbox.zygote import REAP, REAPED, SPAWN, SPAWNED

OFF_TURN_CPU_S: Final = 0.030
"""CPU time between an answer and the next question that is a fault."""

UNREAD_S: Final = 0.001
"""Wall time that may pass without a reading of the CPU clock; verdicts are right to this, in the bot's favour."""

TICK_S: Final = 0.020
"""How often the watching thread looks at a guest that has not answered."""

HARD_STOP_FACTOR: Final = 10
"""A wait longer than so many wall limits, though the meter stands still, is a failure of ours."""

_START_TIMEOUT_S: Final = 60.0
_ZYGOTE_TIMEOUT_S: Final = 30.0
_DEATH_TIMEOUT_MS: Final = 2_000
_MANY: Final = 16_384
T = TypeVar("T")
_FORBIDDEN_HEAD: Final = ANSWER.pack(0, FORBIDDEN_INDEX)
_unpack_answer: Final[Callable[[bytes], tuple[int, int]]] = ANSWER.unpack
_ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Confinement:
    """Which layers hold, as seen from outside on a guest at the start.

    Attributes:
        landlock_abi: version of Landlock in the kernel; 0 where it is missing or left out.
        own_uid: whether every seat's guest runs as a user of its own.
        modules: the modules that bots can import here.
        idle_bytes: largest resident set of a guest without a bot.
    """

    landlock_abi: int
    own_uid: bool
    modules: tuple[str, ...]
    idle_bytes: int


class Sandbox:
    """A fork server with its guests; a context manager."""

    def __init__(
        self,
        *,
        numpy: bool = True,
        cpu: int | None = None,
        uid_base: int = 60_000,
        layers: Layers | None = None,
        command_prefix: tuple[str, ...] = (),
    ) -> None:
        """Prepares a sandbox; `start` starts it.

        Args:
            numpy: let bots import numpy, where it is installed.
            cpu: the core that all guests run on; None for those that the worker may use.
            uid_base: as root, guests of slot `n` run as user ``uid_base + n``.
            layers: left out only by tests.
            command_prefix: a program that the fork server runs in, such as bubblewrap and its arguments.
        """
        self._numpy = numpy
        self._cpu = cpu
        self._uid_base = uid_base
        self._layers = layers or Layers()
        self._prefix = command_prefix
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._unconfirmed: deque[Guest] = deque()
        self._guests: set[Guest] = set()
        self._wake = threading.Event()
        self._stopped = False
        self.busy: Guest | None = None
        self.confinement = Confinement(0, False, (), 0)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> Self:
        """Starts the fork server and looks at a first guest from outside.

        Raises:
            SandboxFailure: a layer that must hold does not; the text says which and what to do.
        """
        facts = self._launch()
        try:
            self.confinement = self._inspect(facts)
        except PermissionError:
            # Guests of another user, and no right to end them (root without CAP_KILL): then all run as ours.
            self.close()
            self._layers = Layers(self._layers.seccomp, self._layers.landlock, own_uid=False)
            self.confinement = self._inspect(self._launch())
        except BaseException:
            self.close()
            raise
        self._stopped = False
        threading.Thread(target=self._watch, name="sandbox-watch", daemon=True).start()
        return self

    def close(self) -> None:
        """Ends all guests and the fork server."""
        self._stopped = True
        self._wake.set()
        for guest in tuple(self._guests):
            with suppress(SandboxFailure):
                guest.close()
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def spawn(self, source: BotSource, init: GuestInit, slot: int) -> Guest:
        """Has a guest made for a bot; it loads while others are made. `Guest.wait_ready` waits for it.

        Args:
            source: the bot's files.
            init: what the bot is told.
            slot: tells apart the guests that live at one time on a machine; each slot has its own user.

        Raises:
            SandboxFailure: the fork server is gone.
        """
        return self._spawn(init, slot, encode_init(init, source))

    def _spawn(self, init: GuestInit, slot: int, first: bytes) -> Guest:
        limits = init.limits
        ends = (*os.pipe(), *os.pipe(), *os.pipe())
        request_r, request_w, answer_r, answer_w, log_r, log_w = ends
        os.set_blocking(log_w, False)
        os.set_blocking(log_r, False)
        cpu_s = int(limits.load_cpu_s + limits.game_cpu_allowance_s(init.rules.deal_limit)) + 10
        message = SPAWN.pack(b"S", slot, limits.memory_bytes, min(cpu_s, 0x7FFF_FFFF)) + encode_settings(init)
        try:
            socket.send_fds(self._connection(), [message], [request_r, answer_w, log_w])
        except OSError as error:
            for end in ends:
                os.close(end)
            raise SandboxFailure(f"the fork server is gone: {error}") from error
        for end in (request_r, answer_w, log_w):
            os.close(end)
        guest = Guest(self, limits, request_w, answer_r, log_r, first)
        self._unconfirmed.append(guest)
        self._guests.add(guest)
        self._wake.set()
        return guest

    @property
    def server_cpu_s(self) -> float:
        """CPU seconds that the fork server has used."""
        return (clocks.cpu_s(self._process.pid) or 0.0) if self._process else 0.0

    def confirm(self, guest: Guest) -> None:
        """Reads the fork server's replies until it has told of `guest`."""
        while guest.pid == 0:
            data, (pidfd,) = self._receive(SPAWNED.size, 1)
            _, pid = SPAWNED.unpack(data)
            # In a namespace of its own the server counts processes differently: we need our number.
            first = self._unconfirmed.popleft()
            first.pid, first.pidfd = _pid_of(pidfd) or pid, pidfd
            first.server_pid = pid

    def reap(self, guest: Guest) -> tuple[int, float, int]:
        """Waits for the end of a dying guest; returns wait status, CPU seconds, largest resident set in bytes."""
        if self._unconfirmed:
            self.confirm(self._unconfirmed[-1])
        self._connection().send(REAP.pack(b"R", guest.server_pid))
        data, _ = self._receive(REAPED.size, 0)
        _, status, user_s, system_s, resident_kib = REAPED.unpack(data)
        return status, user_s + system_s, resident_kib * 1024

    def forget(self, guest: Guest) -> None:
        """Takes a closed guest off the list."""
        self._guests.discard(guest)
        if self.busy is guest:
            self.busy = None
        if not self._guests:
            self._wake.clear()

    def _connection(self) -> socket.socket:
        if self._control is None:
            raise SandboxFailure("the sandbox is not running")
        return self._control

    def _receive(self, size: int, descriptors: int) -> tuple[bytes, list[int]]:
        try:
            data, received, _, _ = socket.recv_fds(
                self._connection(), size, descriptors, getattr(socket, "MSG_CMSG_CLOEXEC", 0)
            )
        except OSError as error:
            raise SandboxFailure(f"the fork server does not answer: {error}") from error
        if len(data) != size or len(received) != descriptors:
            raise SandboxFailure("the fork server has died")
        return data, received

    def _launch(self) -> dict[str, Any]:
        if sys.platform != "linux":
            raise SandboxFailure("uploaded bots run on Linux only")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        configuration = {
            "cpu": self._cpu, "layers": self._layers.to_dict(), "numpy": self._numpy, "uid_base": self._uid_base,
        }  # fmt: skip
        # Not -I, which ignores PYTHONHASHSEED: bots that iterate over sets shall repeat.
        command = [*self._prefix, sys.executable, "-s", "-P", "-B", "-m", "workers.sandbox.zygote",
                   str(theirs.fileno()), json.dumps(configuration)]  # fmt: skip
        environment = {
            "LANG": "C.UTF-8", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
            "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "PYTHONPATH": str(_ROOT),
        }  # fmt: skip
        self._process = subprocess.Popen(
            command, env=environment, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, cwd="/"
        )
        theirs.close()
        self._control = ours
        ours.settimeout(_START_TIMEOUT_S)
        try:
            facts: dict[str, Any] = json.loads(ours.recv(1 << 16) or b"{}")
        except OSError as error:
            self.close()
            raise SandboxFailure(f"the fork server does not start: {error}") from error
        if "pid" not in facts:
            self.close()
            raise SandboxFailure(facts.get("refused", "the fork server died while starting"))
        ours.settimeout(_ZYGOTE_TIMEOUT_S)
        return facts

    def _inspect(self, facts: dict[str, Any]) -> Confinement:
        """Makes a guest that gets no bot and checks, from outside, that it is locked down."""
        guest = self._spawn(GuestInit(Rules.make("cutthroat"), Limits(), 0, ""), 0, b"")
        try:
            guest.wait_locked()
            status = clocks.status(guest.pid)
            expected = {"NoNewPrivs": "1", "CapEff": "0" * 16, "CapPrm": "0" * 16, "Threads": "1"}
            if self._layers.seccomp:
                expected["Seccomp"] = "2"
            for name, value in expected.items():
                if name in status and status[name] != value:
                    raise SandboxFailure(f"a guest has {name} {status[name]}, expected {value}")
            uids = set(status.get("Uid", "").split())
            guest.kill()
        finally:
            with suppress(PermissionError):
                guest.close()
        return Confinement(
            facts["landlock_abi"],
            bool(uids) and str(os.geteuid()) not in uids,
            tuple(facts["modules"]),
            guest.peak_bytes,
        )

    def _watch(self) -> None:
        """Ends guests that keep the worker waiting beyond a limit; runs in a thread of its own."""
        meter: clocks.WallMeter | None = None
        watched: tuple[Guest, float] | None = None
        while not self._stopped:
            self._wake.wait()
            time.sleep(TICK_S)
            guest = self.busy
            now_s = time.monotonic()
            current = None if guest is None else (guest, guest.asked_s)
            if guest is None or current != watched or meter is None:
                # A wait that is seen for the first time has lasted a tick at most: in the bot's favour.
                watched = current
                meter = None if guest is None or guest.pid == 0 else clocks.WallMeter(guest.pid, now_s, 5 * TICK_S)
                continue
            meter.feed(now_s)
            verdict = guest.overdue(meter, now_s)
            if verdict is not None and self.busy is guest and current == (guest, guest.asked_s):
                guest.end(verdict)


class _Account:
    """The CPU time of one guest, split into loading, decisions and time between them.

    `unread` wall time since the last reading of the clock bounds what is not known. A reading is taken before a
    question if that is more than `UNREAD_S`, and after an answer that took longer; so no decision that could break a
    limit goes unread.
    """

    __slots__ = ("cpu_s", "decisions_s", "last_s", "limits", "read_at_s", "slowest_s", "thought_s")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.cpu_s = 0.0  # at the last reading
        self.read_at_s = 0.0
        self.thought_s = 0.0  # wall time of the decisions since then
        self.decisions_s = 0.0
        self.slowest_s = 0.0
        self.last_s = 0.0

    def between(self, cpu_s: float, now_s: float) -> float:
        """Takes a reading before a question; returns the CPU time that can only have been used off turn."""
        used_s = cpu_s - self.cpu_s
        thought_s = min(used_s, self.thought_s)
        self._read(cpu_s, now_s, thought_s)
        return used_s - thought_s

    def answered(self, cpu_s: float, asked_s: float, now_s: float) -> None:
        """Takes a reading after a long decision."""
        self.last_s = self.decision_s(cpu_s, asked_s)
        self.slowest_s = max(self.slowest_s, self.last_s)
        self._read(cpu_s, now_s, min(cpu_s - self.cpu_s, self.thought_s + now_s - asked_s))

    def decision_s(self, cpu_s: float, asked_s: float) -> float:
        """Returns how much CPU time the decision asked at `asked_s` has taken at least."""
        return max(0.0, cpu_s - self.cpu_s - (asked_s - self.read_at_s))

    def game_s(self, cpu_s: float, asked_s: float) -> float:
        """Returns how much CPU time all decisions together have taken at least."""
        return self.decisions_s + self.decision_s(cpu_s, asked_s)

    def _read(self, cpu_s: float, now_s: float, decisions_s: float) -> None:
        self.decisions_s += decisions_s
        self.cpu_s, self.read_at_s, self.thought_s = cpu_s, now_s, 0.0


class Guest:
    """One bot at one seat of one game, in a process of its own.

    Attributes:
        pid: its number, 0 until the fork server has told it.
        server_pid: its number as the fork server counts.
        asked_s: monotonic time of the question (or of the wait for loading) that it has not answered.
        peak_bytes: its largest resident set, known when it is closed.
    """

    def __init__(
        self, sandbox: Sandbox, limits: Limits, request_fd: int, answer_fd: int, log_fd: int, first: bytes
    ) -> None:
        """Sends as much of the first message as fits; `Sandbox.spawn` makes guests."""
        self._sandbox = sandbox
        self._limits = limits
        self._request_fd, self._answer_fd, self._log_fd = request_fd, answer_fd, log_fd
        self._account = _Account(limits)
        self._verdict: GuestFault | SandboxFailure | None = None
        self._loading = True
        self._locked = False
        self._closed = False
        self._deals_begun = 0
        self._log = bytearray()
        self._total_cpu_s = 0.0
        self._status: int | None = None
        self._named_call: int | None = None
        self.pid = self.server_pid = 0
        self.pidfd = -1
        self.asked_s = 0.0
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
        # Exactly this frame: the next may come at once behind it.
        if self._wait(lambda: os.read(self._answer_fd, len(LOCKED))) != LOCKED:
            raise self._died()
        self._locked = True

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
        now_s = time.monotonic()
        cpu_s = self._read_clock()
        self._account.cpu_s, self._account.read_at_s = cpu_s, now_s
        if cpu_s > self._limits.load_cpu_s:
            raise self._late(cpu_s, self._limits.load_cpu_s, "loading")
        if answer != 0:
            raise self._reported(answer, LOAD_KINDS)
        self._loading = False

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
        asked_s = time.monotonic()
        self._deals_begun = deals_begun
        if asked_s - account.read_at_s > UNREAD_S:
            self._check_off_turn(asked_s)
        self.asked_s = asked_s
        sandbox = self._sandbox
        sandbox.busy = self
        try:
            sent = os.write(self._request_fd, question)
            if sent != len(question):  # A signal came in between.
                _write_all(self._request_fd, question[sent:])
            data = os.read(self._answer_fd, 16)
        except OSError:  # It died, or closed its end.
            data = b""
        finally:
            sandbox.busy = None
        taken_s = time.monotonic() - asked_s
        if taken_s < UNREAD_S and len(data) == 4:
            answered, index = _unpack_answer(data)
            if answered == number and index < legal_count:
                account.thought_s += taken_s
                account.last_s = taken_s
                return index
        return self._judge_slowly(data, number, legal_count, asked_s)

    def _judge_slowly(self, data: bytes, number: int, legal_count: int, asked_s: float) -> int:
        """Judges an answer that took its time, is no plain answer, or never came."""
        if self._verdict is not None:
            raise self._verdict
        if not data:
            raise self._died()
        answer = self._wait(lambda: self._receive(number, legal_count, data))
        now_s = time.monotonic()
        cpu_s = self._read_clock()
        overdue = self._over_cpu(cpu_s)
        self._account.answered(cpu_s, asked_s, now_s)
        if overdue is not None:
            raise overdue
        if isinstance(answer, int):
            return answer
        raise self._reported(answer, PLAY_KINDS)

    def _wait(self, operation: Callable[[], T]) -> T:
        """Does something that may block, under the eye of the watching thread."""
        self._sandbox.busy = self
        try:
            return operation()
        except BadFrame as error:
            raise GuestFault(FaultKind.PROTOCOL, str(error)) from None
        finally:
            self._sandbox.busy = None
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
            if not part:
                raise self._verdict or self._died()
            data += part

    @staticmethod
    def _reported(answer: ErrorFrame | int, allowed: frozenset[FaultKind]) -> GuestFault:
        if not isinstance(answer, ErrorFrame) or answer.kind not in allowed:
            return GuestFault(FaultKind.PROTOCOL, "a frame that does not belong here")
        return GuestFault(answer.kind, answer.message, answer.traceback)

    def _check_off_turn(self, now_s: float) -> None:
        cpu_s = self._read_clock()
        off_s = self._account.between(cpu_s, now_s)
        game_s, allowed_s = self._account.decisions_s, self._limits.game_cpu_allowance_s(self._deals_begun)
        if game_s > allowed_s:
            raise self._late(game_s, allowed_s, f"a game of {self._deals_begun} deals")
        if off_s > OFF_TURN_CPU_S:
            text = f"{off_s:.3f} s CPU between two questions, limit {OFF_TURN_CPU_S:.3f} s"
            raise GuestFault(FaultKind.OFF_TURN, text, measured=off_s, limit=OFF_TURN_CPU_S)

    def _read_clock(self) -> float:
        cpu_s = clocks.cpu_s(self.pid)
        return self._account.cpu_s if cpu_s is None else cpu_s

    def overdue(self, meter: clocks.WallMeter, now_s: float) -> GuestFault | SandboxFailure | None:
        """Returns what to end this guest for while it is waited for, if anything; for the watching thread."""
        over = self._over_cpu(self._read_clock())
        if over is not None:
            return over
        limit_s = self._limits.decision_wall_s
        if self._loading:
            limit_s = max(limit_s, 2 * self._limits.load_cpu_s)
        waited_s = now_s - self.asked_s
        sleeping = meter.exact or clocks.state(self.pid) != "R"
        if meter.effective_s > (limit_s if meter.exact else HARD_STOP_FACTOR * limit_s) and sleeping:
            text = f"no answer after {meter.effective_s:.2f} s without waiting for a processor, limit {limit_s:.2f} s"
            return GuestFault(FaultKind.TIMEOUT_WALL, text, measured=meter.effective_s, limit=limit_s)
        if waited_s > HARD_STOP_FACTOR * limit_s:
            return SandboxFailure(f"no answer in {waited_s:.0f} s, most of which the guest got no processor")
        return None

    def _over_cpu(self, cpu_s: float) -> GuestFault | None:
        limits, account = self._limits, self._account
        if self._loading:
            return self._late(cpu_s, limits.load_cpu_s, "loading") if cpu_s > limits.load_cpu_s else None
        decision_s = account.decision_s(cpu_s, self.asked_s)
        if decision_s > limits.decision_cpu_s:
            return self._late(decision_s, limits.decision_cpu_s, "one decision")
        game_s, allowed_s = account.game_s(cpu_s, self.asked_s), limits.game_cpu_allowance_s(self._deals_begun)
        if game_s > allowed_s:
            return self._late(game_s, allowed_s, f"a game of {self._deals_begun} deals")
        return None

    @staticmethod
    def _late(used_s: float, limit_s: float, what: str) -> GuestFault:
        text = f"{used_s:.2f} s CPU in {what}, limit {limit_s:.2f} s"
        return GuestFault(FaultKind.TIMEOUT_CPU, text, measured=used_s, limit=limit_s)

    def end(self, verdict: GuestFault | SandboxFailure) -> None:
        """Ends the guest for a reason that the next look at it raises; for the watching thread."""
        self._verdict = verdict
        with suppress(OSError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

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
        if not poller.poll(_DEATH_TIMEOUT_MS):
            return GuestFault(FaultKind.PROTOCOL, "closed a pipe and lives on")
        if self._verdict is not None:  # The watching thread came first.
            return self._verdict
        try:
            status = self._reap()
        except SandboxFailure as failure:
            return failure
        if not self._locked:
            return SandboxFailure(f"a guest could not be locked down: {safe_line(self.log())}")
        return self._cause_of_death(status)

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
            over = self._over_cpu(self._total_cpu_s)
            if over is not None:  # The kernel's limit came before the watching thread.
                return over
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
        return self._total_cpu_s or (clocks.cpu_s(self.pid) or 0.0 if self.pid else 0.0)

    @property
    def last_decision_cpu_s(self) -> float:
        """CPU seconds of the last decision; below a millisecond its wall time stands for it."""
        return self._account.last_s

    @property
    def slowest_decision_cpu_s(self) -> float:
        """CPU seconds of the slowest decision, as exact as `last_decision_cpu_s`."""
        return max(self._account.slowest_s, self._account.last_s)

    @property
    def memory_bytes(self) -> int:
        """Memory taken beyond that of a guest without a bot; known when it is closed."""
        return max(0, self.peak_bytes - self._sandbox.confinement.idle_bytes)

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
        view = view[os.write(descriptor, view) :]


def _pid_of(pidfd: int) -> int:
    """Returns the number of a process in our own namespace, or 0 where the system does not tell."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/self/fdinfo/{pidfd}").read_text("ascii").splitlines():
            if line.startswith("Pid:"):
                return max(0, int(line.split()[1]))
    return 0
