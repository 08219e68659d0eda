"""Elsewhere than on Linux the same bots meet the same interface, without the lock-down."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.sandbox.conftest import RULES
from tests.sandbox.guests import Table, bot
from tournament.game import FaultKind
from tournament.intake import MODULES
from tournament.rules import Limits
from tournament.source import BotSource
from workers.sandbox.faults import GuestFault
from workers.sandbox.frames import GuestInit
from workers.sandbox.plain import PlainGuest, PlainSandbox


@pytest.fixture
def make() -> Iterator[object]:
    guests: list[PlainGuest] = []
    with PlainSandbox() as running:

        def seat(text: str, limits: Limits | None = None, **files: bytes) -> PlainGuest:
            named = [("bot.py", text.encode()), *((name.replace("__", "."), data) for name, data in files.items())]
            init = GuestInit(RULES, limits or Limits(), 0, "0" * 64)
            guests.append(running.spawn(BotSource.of_files(named), init, 0))
            return guests[-1]

        yield seat
    for guest in guests:
        guest.close()


def test_a_bot_loads_answers_reads_its_data_and_prints(make) -> None:  # type: ignore[no-untyped-def]
    guest = make(bot(head="from tournament.bot import data", init="print(data('w.txt'))", bid="return 2"), w__txt=b"7")
    guest.wait_ready()
    table = Table(guest)
    assert [table.ask() for _ in range(3)] == [1, 1, 1]
    guest.close()
    assert guest.log() == "b'7'\n"
    assert guest.slowest_decision_cpu_s > 0


@pytest.mark.parametrize(
    ("kind", "text", "parts"),
    [
        (FaultKind.LOAD, "No module named 'asyncio': bots can import", {"head": "import asyncio"}),
        (FaultKind.LOAD, "tournament.bot.data('w.json')", {"head": "open('w.json')"}),
        (FaultKind.LOAD, "bots cannot open files", {"head": "import pathlib; pathlib.Path('x').read_text()"}),
        (FaultKind.EXCEPTION, "ZeroDivisionError", {"bid": "return 1 // 0"}),
        (FaultKind.EXITED, "exit status 5", {"bid": "os._exit(5)"}),
        (FaultKind.ILLEGAL, "bid answered 1", {"bid": "return 1"}),
        (FaultKind.INVALID, "expected an int", {"bid": "return '2'"}),
        (FaultKind.TIMEOUT_CPU, "limit 0.20 s", {"bid": "while True: pass"}),
    ],
)
def test_faults_are_told_as_in_the_sandbox(make, kind: FaultKind, text: str, parts: dict[str, str]) -> None:  # type: ignore[no-untyped-def]
    guest = make(bot(**parts), Limits(decision_cpu_s=0.2))

    def play() -> None:
        guest.wait_ready()
        Table(guest).ask()

    with pytest.raises(GuestFault) as caught:
        play()
    assert caught.value.kind is kind
    assert text in caught.value.message


def test_closing_leaves_no_process(make) -> None:  # type: ignore[no-untyped-def]
    guest = make(bot())
    guest.close()
    assert guest._process.returncode is not None


HIDING = """
import os, sys
sys.modules.update(dict.fromkeys(("fcntl", "resource", "pwd", "grp", "termios")))
for name in ("fork", "pidfd_open", "setsid", "sched_setaffinity"):
    delattr(os, name)
import workers.sandbox.plain, workers.sandbox.host, workers.sandbox.guest, tournament.intake
found = workers.sandbox.guest.import_modules(numpy=False)
print(sorted(set(tournament.intake.MODULES) - set(found)))
"""


def test_all_of_it_imports_where_unix_is_missing() -> None:
    done = subprocess.run([sys.executable, "-c", HIDING], capture_output=True, text=True, check=True)
    missing = set(eval(done.stdout))
    assert {"fcntl", "resource"} <= missing <= set(MODULES)
    assert not missing & {"random", "json", "math", "tournament.bot"}
