"""Games end without leaving a process, a descriptor or a file; a killed worker leaves no guest."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.sandbox.conftest import RULES
from tests.sandbox.guests import Table, bot
from tournament.rules import Limits
from tournament.source import BotSource
from workers.sandbox.faults import GuestFault
from workers.sandbox.frames import GuestInit
from workers.sandbox.host import Sandbox
from workers.sandbox.lockdown import Layers

GAMES = 1_000 if "SMEAR_ATTACKS_EVERYWHERE" in os.environ else 200

DEATHS = (
    "os._exit(3)",
    "import ctypes; ctypes.memset(1, 0, 10)",
    "os.write(4, b'12345')",
    "import ctypes; ctypes.CDLL(None).syscall(101)",
)


def descriptors() -> list[str]:
    return sorted(str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink())


def children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()


def files_of_guests() -> list[Path]:
    folders = [Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]
    return [path for folder in folders for path in folder.iterdir() if path.lstat().st_uid in range(60_000, 60_004)]


def test_a_thousand_games_half_of_them_ended_by_death_leave_nothing_behind() -> None:
    before = len(descriptors()), children()
    sources = [BotSource.of_file(bot(bid=bid).encode()) for bid in ("return 0", *DEATHS)]
    ended = 0
    with Sandbox(numpy=False) as running:
        assert running._process is not None
        server = running._process.pid
        for game in range(GAMES):
            dies = game % 2
            source = sources[1 + game // 2 % len(DEATHS)] if dies else sources[0]
            guest = running.spawn(source, GuestInit(RULES, Limits(), 0, "0" * 64), game % 4)
            guest.wait_ready()
            try:
                Table(guest).ask()
            except GuestFault:
                ended += 1
            guest.close()
        assert Path(f"/proc/{server}/task/{server}/children").read_text("ascii") == ""
        # The pipe to the server is all that has come.
        assert len(descriptors()) <= before[0] + 1
        assert len(list(Path(f"/proc/{server}/fd").iterdir())) < 12
    assert ended == GAMES // 2
    assert (len(descriptors()), children()) == before
    assert files_of_guests() == []


WORKER = """
import sys
from tests.sandbox.conftest import RULES
from tests.sandbox.guests import Table, bot
from tournament.rules import Limits
from tournament.source import BotSource
from workers.sandbox.frames import GuestInit
from workers.sandbox.host import Sandbox
from workers.sandbox.lockdown import Layers

sandbox = Sandbox(numpy=False).start()
source = BotSource.of_file(bot(bid="while True: pass").encode())
guests = [sandbox.spawn(source, GuestInit(RULES, Limits(), 0, "0" * 64), slot) for slot in range(2)]
for guest in guests:
    guest.wait_ready()
print(sandbox._process.pid, *(guest.pid for guest in guests), flush=True)
Table(guests[0]).ask()
"""


@pytest.mark.parametrize("victim", ["worker", "server"])
def test_a_killed_worker_or_server_leaves_no_guest_alive(victim: str) -> None:
    worker = subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    pids = [int(text) for text in worker.stdout.readline().split()]
    watched = [os.pidfd_open(pid) for pid in pids]
    poller = select.poll()
    for pidfd in watched:
        poller.register(pidfd, select.POLLIN)
    killed_s = time.monotonic()
    os.kill(worker.pid if victim == "worker" else pids[0], signal.SIGKILL)
    left = set(watched)
    while left:
        dead = {pidfd for pidfd, _ in poller.poll(30_000)}
        assert dead, f"{len(left)} of {pids} live on"
        for pidfd in dead:
            poller.unregister(pidfd)
            os.close(pidfd)
        left -= dead
    print(f"all of {len(pids)} gone {1e3 * (time.monotonic() - killed_s):.1f} ms after the {victim}")
    worker.kill()
    worker.wait()
    worker.stdout.close()


def test_a_server_whose_host_is_gone_before_it_is_ready_ends_without_a_word() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.close()
    settings = {"cpu": None, "layers": Layers(own_uid=False).to_dict(), "numpy": False, "uid_base": 60_000}
    done = subprocess.run(
        [sys.executable, "-m", "workers.sandbox.zygote", str(theirs.fileno()), json.dumps(settings)],
        pass_fds=(theirs.fileno(),), capture_output=True, text=True, check=False,
    )  # fmt: skip
    theirs.close()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
