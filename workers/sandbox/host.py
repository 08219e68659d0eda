"""The referee's side of the sandbox: starts the fork server, has guests made, and watches them.

One `Sandbox` belongs to one thread of the worker: its guests are not asked side by side.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from tournament import compiled
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from workers.sandbox import clocks
from workers.sandbox.faults import SandboxFailure, SandboxRefused
from workers.sandbox.frames import GuestInit, encode_init, encode_settings
from workers.sandbox.lockdown import Layers
from workers.sandbox.remote import Guest
from workers.sandbox.zygote import REAP, REAPED, SPAWN, SPAWNED

TICK_S: Final = (0.020, 0.050)
"""How often the watching thread looks at a guest that has not answered, at the most and at the least."""

GUESTS_PER_SERVER: Final = 2_000
"""A fork server is replaced now and then: all its guests share one layout of memory."""

OPTIONAL_LAYERS: Final = ("landlock", "own-uid")
"""Used where the kernel and the rights allow."""

_logger = logging.getLogger(__name__)
_TICK_SHARE: Final = 0.05
_STALL_S: Final = 0.100
_START_TIMEOUT_S: Final = 60.0
_SERVER_TIMEOUT_S: Final = 30.0
_ROOT: Final = Path(__file__).resolve().parents[2]

_WITHOUT_RANDOM_ADDRESSES: Final = (
    "import ctypes, os, sys; ctypes.CDLL(None).personality(0x40000); os.execv(sys.argv[1], sys.argv[1:])"
)
"""Starts the fork server at addresses that are always the same, where the system lets us (ADDR_NO_RANDOMIZE).

A set of objects without a hash of their own is in the order of their addresses, so that bots repeat on every machine.
Random ones protect nobody here: a guest can read all of its own memory, and the fork server listens to us alone.
"""


@dataclass(frozen=True, slots=True)
class Confinement:
    """Which layers hold, as seen from outside on a guest at the start. Seccomp, limits and no-new-privileges always do.

    Attributes:
        landlock_abi: version of Landlock in the kernel; 0 where it is missing.
        own_uid: whether the guest of every slot runs as a user of its own.
        modules: the modules that bots can import here.
        idle_bytes: largest resident set of a guest without a bot.
    """

    landlock_abi: int = 0
    own_uid: bool = False
    modules: tuple[str, ...] = ()
    idle_bytes: int = 0

    @property
    def missing(self) -> dict[str, str]:
        """The optional layers that do not hold, and of each in one line what that means."""
        found = {}
        if not self.landlock_abi:
            found["landlock"] = (
                "the kernel has no Landlock (5.13 or newer, switched on): seccomp alone keeps bots from files"
            )
        if not self.own_uid:
            found["own-uid"] = (
                "bots run as the worker's own user: start the worker as root with SETUID, SETGID and KILL "
                "for a user of its own for every seat"
            )
        return found

    @property
    def layers(self) -> frozenset[str]:
        """The names of the optional layers that hold: what a tournament may demand."""
        return frozenset(OPTIONAL_LAYERS) - self.missing.keys()


class Sandbox:
    """A fork server with its guests; a context manager.

    Attributes:
        confinement: which layers hold.
    """

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
        self._made = 0
        self._watcher: threading.Thread | None = None
        self._tick_s = TICK_S[0]
        self._wake = threading.Event()
        self._stopped = False
        self.confinement = Confinement()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> Self:
        """Starts the fork server and looks at a first guest from outside.

        Raises:
            SandboxFailure: a layer that must hold does not; the text says which and what to do.
        """
        facts = self._launch()
        try:
            try:
                self.confinement = self._inspect(facts)
            except PermissionError:
                # Guests of another user, and no right to end them (root without CAP_KILL): all run as ours then.
                self._shut_down()
                self._layers = Layers(self._layers.seccomp, self._layers.landlock, own_uid=False)
                self.confinement = self._inspect(self._launch())
        except BaseException:
            self._shut_down()
            raise
        for line in self.confinement.missing.values():
            _logger.info("a layer of the sandbox is missing: %s", line)
        self._stopped = False
        self._watcher = threading.Thread(target=self._watch, name="sandbox-watch", daemon=True)
        self._watcher.start()
        return self

    def close(self) -> None:
        """Ends all guests, the fork server and the watching thread."""
        self._shut_down()
        self._stopped = True
        self._wake.set()
        if self._watcher is not None:
            self._watcher.join()
            self._watcher = None

    def spawn(self, source: BotSource, init: GuestInit, slot: int) -> Guest:
        """Has a guest made for a bot; it loads while others are made. `Guest.wait_ready` waits for it.

        Args:
            source: the bot's files.
            init: what the bot is told.
            slot: tells apart the guests that live at one time on a machine; each slot has its own user.

        Raises:
            SandboxFailure: no guest can be made.
        """
        # Between games: a new server for an old one, or for one that somebody has killed.
        if not self._guests and self._process and (self._made >= GUESTS_PER_SERVER or self._process.poll() is not None):
            self._shut_down()
            self._launch()
        self._tick_s = tick_s(init.limits)
        return self._spawn(init, slot, encode_init(init, source), source)

    @property
    def idle_bytes(self) -> int:
        """Largest resident set of a guest without a bot."""
        return self.confinement.idle_bytes

    @property
    def server_cpu_s(self) -> float:
        """CPU seconds that the fork server has used."""
        return (clocks.cpu_s(self._process.pid) or 0.0) if self._process else 0.0

    def confirm(self, guest: Guest) -> None:
        """Reads the fork server's replies until it has told of `guest`.

        Raises:
            SandboxFailure: it does not.
        """
        while guest.pid == 0:
            data, (pidfd,) = self._receive(SPAWNED.size, 1)
            first = self._unconfirmed.popleft()
            _, first.server_pid = SPAWNED.unpack(data)
            # In a namespace of its own the server counts processes differently: we need our number.
            first.pid, first.pidfd = _pid_of(pidfd) or first.server_pid, pidfd

    def reap(self, guest: Guest) -> tuple[int, float, int]:
        """Waits for the end of a dying guest; returns wait status, CPU seconds, largest resident set in bytes.

        Raises:
            SandboxFailure: the fork server is gone.
        """
        if self._unconfirmed:
            self.confirm(self._unconfirmed[-1])
        try:
            self._connection().send(REAP.pack(b"R", guest.server_pid))
        except OSError as error:
            raise SandboxFailure(f"the fork server is gone: {error}") from error
        data, _ = self._receive(REAPED.size, 0)
        _, status, user_s, system_s, resident_kib = REAPED.unpack(data)
        return status, user_s + system_s, resident_kib * 1024

    def forget(self, guest: Guest) -> None:
        """Takes a closed guest off the list."""
        self._guests.discard(guest)
        if guest in self._unconfirmed:
            self._unconfirmed.remove(guest)
        if not self._guests:
            self._wake.clear()

    def _spawn(self, init: GuestInit, slot: int, first: bytes, source: BotSource | None = None) -> Guest:
        limits = init.limits
        ends = (*os.pipe(), *os.pipe(), *os.pipe())
        request_r, request_w, answer_r, answer_w, log_r, log_w = ends
        os.set_blocking(log_w, False)
        os.set_blocking(log_r, False)
        # Every deal begun adds to what a bot may use, also one that is thrown in.
        deals = init.rules.deal_limit * (init.rules.redeal_limit + 1)
        cpu_s = min(int(limits.load_cpu_s + limits.game_cpu_allowance_s(deals)) + 10, 0x7FFF_FFFF)
        message = SPAWN.pack(b"S", slot, limits.memory_bytes, cpu_s) + encode_settings(init)
        try:
            socket.send_fds(self._connection(), [message], [request_r, answer_w, log_w])
        except (OSError, SandboxFailure) as error:
            for end in ends:
                os.close(end)
            raise SandboxFailure(f"the fork server is gone: {error}") from error
        for end in (request_r, answer_w, log_w):
            os.close(end)
        guest = Guest(self, limits, request_w, answer_r, log_r, first, cpu_s, source)
        self._made += 1
        self._unconfirmed.append(guest)
        self._guests.add(guest)
        self._wake.set()
        return guest

    def _connection(self) -> socket.socket:
        if self._control is None:
            raise SandboxFailure("the sandbox is not running")
        return self._control

    def _receive(self, size: int, descriptors: int) -> tuple[bytes, list[int]]:
        try:
            data, received, _, _ = socket.recv_fds(self._connection(), size, descriptors, socket.MSG_CMSG_CLOEXEC)
        except OSError as error:
            self._give_up()
            raise SandboxFailure(f"the fork server does not answer: {error}") from error
        if len(data) != size or len(received) != descriptors:
            self._give_up()
            raise SandboxFailure("the fork server has died")
        return data, received

    def _give_up(self) -> None:
        """Ends a fork server that is out of step: a late reply must not be taken for another's."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _launch(self) -> dict[str, Any]:
        if sys.platform != "linux":
            raise SandboxRefused("uploaded bots run on Linux only")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        configuration = {
            "cpu": self._cpu,
            "layers": self._layers.to_dict(),
            "numpy": self._numpy,
            "uid_base": self._uid_base,
        }
        # Not -I, which ignores PYTHONHASHSEED: bots that iterate over sets shall repeat.
        command = [*self._prefix, sys.executable, "-I", "-S", "-c", _WITHOUT_RANDOM_ADDRESSES]
        command += [sys.executable, "-s", "-P", "-B", "-m", "workers.sandbox.zygote"]
        command += [str(theirs.fileno()), json.dumps(configuration)]
        environment = {
            "LANG": "C.UTF-8",
            "MKL_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "PATH": "/usr/bin:/bin",
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": str(_ROOT),
            **compiled.setting(),
        }
        try:
            self._process = subprocess.Popen(
                command, env=environment, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, cwd="/"
            )
        except OSError as error:
            ours.close()
            raise SandboxFailure(f"the fork server does not start: {error}") from error
        finally:
            theirs.close()
        self._control = ours
        self._made = 0
        ours.settimeout(_START_TIMEOUT_S)
        try:
            facts: dict[str, Any] = json.loads(ours.recv(1 << 16) or b"{}")
        except OSError as error:
            self._shut_down()
            raise SandboxFailure(f"the fork server does not start: {error}") from error
        if "pid" not in facts:
            self._shut_down()
            if "refused" in facts:
                raise SandboxRefused(facts["refused"])
            raise SandboxFailure("the fork server died while starting")
        ours.settimeout(_SERVER_TIMEOUT_S)
        return facts

    def _shut_down(self) -> None:
        """Ends all guests and the fork server."""
        for guest in tuple(self._guests):
            with suppress(SandboxFailure, PermissionError):
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

    def _inspect(self, facts: dict[str, Any]) -> Confinement:
        """Makes a guest that gets no bot and checks, from outside, that it is locked down."""
        guest = self._spawn(GuestInit(Rules.make("cutthroat"), Limits(), 0, ""), 0, b"")
        try:
            guest.wait_locked()
            status = clocks.status(guest.pid)
            expected = {"NoNewPrivs": "1", "CapEff": "0" * 16, "CapPrm": "0" * 16, "CapInh": "0" * 16, "Threads": "1"}
            if self._layers.seccomp:
                expected["Seccomp"] = "2"
            for name, value in expected.items():
                if status.get(name, value) != value:
                    raise SandboxFailure(f"a guest has {name} {status[name]}, expected {value}")
            uids = set(status.get("Uid", "").split())
            guest.kill()
        finally:
            with suppress(PermissionError):
                guest.close()
        own_uid = bool(uids) and str(os.geteuid()) not in uids
        return Confinement(facts["landlock_abi"], own_uid, tuple(facts["modules"]), guest.peak_bytes)

    def _watch(self) -> None:
        """Ends guests that keep the worker waiting beyond a limit; runs in a thread of its own."""
        meter: clocks.WallMeter | None = None
        watched: tuple[Guest, float] | None = None
        while not self._stopped:
            self._wake.wait()
            tick = self._tick_s
            time.sleep(tick)
            guest = next((guest for guest in tuple(self._guests) if guest.waited_for), None)
            now_s = time.monotonic()
            current = None if guest is None else (guest, guest.asked_s)
            if guest is None or guest.pid == 0 or current != watched:
                meter = None  # most waits are over before the next tick, and cost no look at the kernel
            elif meter is None:
                # A wait that is seen for the second time has lasted two ticks at most: in the bot's favour.
                meter = clocks.WallMeter(clocks.ProcessProbe(guest.pid), now_s, _STALL_S)
            else:
                meter.feed(now_s)
                verdict = guest.overdue(meter, now_s)
                if verdict is not None and guest.waited_for and current == (guest, guest.asked_s):
                    guest.end(verdict)
            watched = current


def tick_s(limits: Limits) -> float:
    """Returns the time between two looks at a guest: a twentieth of its tightest limit, within `TICK_S`.

    A look wakes a thread, which costs as much as ten questions; a guest over its limit lives that much longer.
    """
    tightest_s = min(limits.decision_cpu_s, limits.game_cpu_s, limits.load_cpu_s, limits.decision_wall_s)
    return min(max(TICK_S[0], _TICK_SHARE * tightest_s), TICK_S[1])


def _pid_of(pidfd: int) -> int:
    """Returns the number of a process in our own namespace, or 0 where the system does not tell."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/self/fdinfo/{pidfd}").read_text("ascii").splitlines():
            if line.startswith("Pid:"):
                return max(0, int(line.split()[1]))
    return 0
