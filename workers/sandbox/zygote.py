"""The fork server: imports everything once, then forks a guest for each seat of each game.

Run as `python -s -P -B -m workers.sandbox.zygote DESCRIPTOR CONFIGURATION` by the host, never forked from it: the
worker has threads and secrets. It never sees a bot, a card or a password; a bot's source goes straight to the guest.
One thread, because the parent-death signal of a guest fires when the thread that forked it ends.

Messages on the control socket (SEQPACKET): `SPAWN` with three descriptors, answered by number and pidfd of the guest;
`REAP`, answered by status and resources of a guest that is dying or dead. End of file ends it, and the guests with it.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from struct import Struct
from typing import Any, Final, NoReturn

from tournament.adapter import SeatAdapter
from workers.sandbox import guest, policy
from workers.sandbox.frames import LOCKED
from workers.sandbox.lockdown import Layers, Lockdown, LockdownError, address_space_bytes

SPAWN: Final = Struct("<cIQI")
"""`S`, the slot, bytes of memory, seconds of CPU at which the kernel kills; behind it rules, limits and seat."""
REAP: Final = Struct("<cI")
SPAWNED: Final = Struct("<cI")
REAPED: Final = Struct("<ciddQ")
"""`R`, wait status, user and system CPU seconds, largest resident set in KiB."""

NOT_LOCKED_STATUS: Final = 99
_CONTROL_FD: Final = 20
_MANY_SETTINGS: Final = 64
_filling: Final[list[bytes]] = []


def main(argv: list[str]) -> None:
    """Serves the host until it goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group, and is the host's to handle.
    configuration = json.loads(argv[2])
    if configuration["cpu"] is not None:
        os.sched_setaffinity(0, {configuration["cpu"]})
    control = _arrange_descriptors(int(argv[1]))
    modules = guest.import_modules(numpy=configuration["numpy"])
    console = guest.confine_python(refuse_open=False)
    guest.warm_up()
    try:
        lockdown = Lockdown(Layers(**configuration["layers"]), configuration["uid_base"])
        lockdown.inherit()
    except LockdownError as error:
        with suppress(BrokenPipeError):
            control.send(json.dumps({"refused": str(error)}).encode())
        return
    # A guest that is about to be ended says where its bot is, out of C code too. The bot may take this from itself.
    faulthandler.register(signal.SIGUSR1, file=policy.ANSWER_FD, all_threads=False)
    # Seldom, in guests: a bot's young objects are few, and a collection touches all of them.
    gc.set_threshold(10_000, 10, 10)
    gc.disable()
    gc.collect()
    _fill_holes()
    gc.freeze()
    base_bytes = address_space_bytes()
    facts: dict[str, Any] = {"pid": os.getpid(), "landlock_abi": lockdown.landlock_abi, "modules": modules}
    try:
        control.send(json.dumps(facts).encode())
        _serve(control, lockdown, base_bytes, console)
    except (BrokenPipeError, ConnectionResetError):
        # The host is gone. Our death is the guests' death.
        os._exit(0)


def _fill_holes() -> None:
    """Takes the free places between the objects that there are, for ever.

    What a guest makes then lies together on new pages, instead of on copies of all pages that had a place free: a tenth
    less memory for each.
    """
    small = [size for size in range(48, 513, 16) for _ in range(150)]  # one size a pool of Python's
    large = [size for size in range(544, 4_800, 64) for _ in range(5)]  # the C library's
    _filling.extend(bytes(size - b"".__sizeof__()) for size in (*small, *large))


def _serve(control: socket.socket, lockdown: Lockdown, base_bytes: int, console: guest.BoundedLog) -> NoReturn:
    """Forks a guest, or waits for the end of one, whenever the host says so; ends with it."""
    # Not os.fork: what that does in the child is for processes with threads, and touches 200 pages more.
    fork = ctypes.PyDLL(None).fork
    adapters: dict[bytes, SeatAdapter] = {}
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 4096, 3, socket.MSG_CMSG_CLOEXEC)
        if not message:
            raise BrokenPipeError("the host has closed the connection")
        if message[:1] == b"S":
            _, slot, memory_bytes, cpu_s = SPAWN.unpack_from(message)
            settings = message[SPAWN.size :]
            if settings not in adapters:
                if len(adapters) >= _MANY_SETTINGS:
                    adapters.clear()
                adapters[settings] = guest.adapter_of(settings)
            pid = fork()
            if pid == 0:
                _become_guest(
                    descriptors, lockdown, slot, base_bytes + memory_bytes, cpu_s, adapters[settings], console
                )
            for descriptor in descriptors:
                os.close(descriptor)
            pidfd = os.pidfd_open(pid)
            socket.send_fds(control, [SPAWNED.pack(b"S", pid)], [pidfd])
            os.close(pidfd)
        else:
            _, pid = REAP.unpack(message)
            _, status, usage = os.wait4(pid, 0)
            control.send(REAPED.pack(b"R", status, usage.ru_utime, usage.ru_stime, usage.ru_maxrss))


def _arrange_descriptors(inherited: int) -> socket.socket:
    """Moves the control socket up and fills 3 and 4, so that received descriptors lie above a guest's own."""
    if inherited == _CONTROL_FD:  # a host with many files open may have given it this very number
        os.set_inheritable(inherited, False)
    else:
        os.dup2(inherited, _CONTROL_FD, inheritable=False)
        os.close(inherited)
    null = os.open(os.devnull, os.O_RDONLY)
    for descriptor in (0, policy.REQUEST_FD, policy.ANSWER_FD):
        if descriptor != null:
            os.dup2(null, descriptor)
    if null > policy.ANSWER_FD:
        os.close(null)
    return socket.socket(fileno=_CONTROL_FD)


def _become_guest(
    descriptors: list[int],
    lockdown: Lockdown,
    slot: int,
    memory_bytes: int,
    cpu_s: int,
    adapter: SeatAdapter,
    console: guest.BoundedLog,
) -> NoReturn:
    try:
        request, answer, log = descriptors
        os.dup2(request, policy.REQUEST_FD)
        os.dup2(answer, policy.ANSWER_FD)
        for descriptor in policy.LOG_FDS:
            os.dup2(log, descriptor)
        lockdown.apply(slot, memory_bytes, cpu_s)
        os.write(policy.ANSWER_FD, LOCKED)
    except BaseException as error:  # noqa: BLE001  # whatever it is, nothing of the bot may be read now
        os.write(2, f"{type(error).__name__}: {error}"[:500].encode("utf-8", "replace"))
        os._exit(NOT_LOCKED_STATUS)
    try:
        guest.serve(policy.REQUEST_FD, policy.ANSWER_FD, adapter, console)
    except BaseException as error:  # noqa: BLE001  # the bot broke the loop: an exit like any other
        os.write(2, f"{type(error).__name__}\n"[:200].encode("utf-8", "replace"))
    finally:
        os._exit(1)


if __name__ == "__main__":
    main(sys.argv)
