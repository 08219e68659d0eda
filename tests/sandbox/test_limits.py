"""Limits of time and memory: who goes over one is stopped, and told where it was."""

from __future__ import annotations

import os
import signal

import pytest

from tests.sandbox.conftest import Seat
from tests.sandbox.guests import BRIEF, QUIET, FakeKeeper, Table, bot, fault_of, reads_frames
from tournament.game import FaultKind
from tournament.rules import Limits
from workers.sandbox import clocks, place
from workers.sandbox.faults import GuestFault, SandboxFailure
from workers.sandbox.remote import Guest


@reads_frames
def test_work_between_two_questions_is_off_turn(seat: Seat) -> None:
    ahead = "os.write(4, struct.pack('<HH', number(), 0))\n        while True: pass"
    guest = seat(bot(bid=ahead))
    guest.wait_ready()
    table = Table(guest)
    table.ask()
    while (clocks.cpu_s(guest.pid) or 0) < guest.last_decision_cpu_s + 0.2:  # The others think.
        pass
    with pytest.raises(GuestFault, match=r"s CPU between two questions, limit 0\.030 s") as caught:
        table.ask()
    assert caught.value.kind is FaultKind.OFF_TURN


def test_a_guest_that_waits_for_nothing_is_ended_by_the_wall_limit(seat: Seat) -> None:
    fault = fault_of(seat(bot(bid="os.read(3, 1)"), QUIET))
    assert fault.kind is FaultKind.TIMEOUT_WALL
    assert "limit 0.30 s" in fault.message
    assert fault.limit == 0.3


GREEDY = "kept = []\nfor _ in iter(int, 1): kept.append([0] * 99)"
HANGS = {
    "loop": (bot(bid="\n        while True: pass"), 16),
    "load": (bot(head="def forever():\n    while True: pass\nforever()"), 4),
    "c call": (bot(bid="return sum(iter(int, 1))"), 15),
    "pattern": (bot(head="import re", bid="return re.match('(a+)+$', 'a' * 60 + 'b')"), 15),
    "catches all": (
        bot(bid="\n        while True:\n            try:\n                while True: pass\n            except: pass"),
        18,
    ),
    "lock": (bot(head="import threading", bid="lock = threading.Lock(); lock.acquire(); lock.acquire()"), 15),
    "deep": (bot(head="def down(n):\n    while not n: pass\n    down(n - 1)", bid="down(500)"), 4),
}


@pytest.mark.parametrize("case", HANGS)
def test_who_is_stopped_at_a_limit_of_time_is_told_its_own_line(
    seat: Seat, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setattr(place, "WHERE_S", 60.0)  # the outcome does not depend on how busy the machine is
    text, line = HANGS[case]
    fault = fault_of(seat(text, Limits(load_cpu_s=0.3, decision_cpu_s=0.1, decision_wall_s=0.3)))
    assert fault.kind is (FaultKind.TIMEOUT_WALL if case == "lock" else FaultKind.TIMEOUT_CPU)
    shown = [shown for shown in fault.traceback.splitlines() if shown.startswith("  File")]
    assert shown[-1].startswith(f'  File "bot.py", line {line}, in ')
    assert fault.traceback.splitlines()[-1].strip() == text.splitlines()[line - 1].strip()
    assert len(shown) <= 20
    assert all('"bot.py"' in each for each in shown)


def test_who_says_where_it_is_in_pieces_is_heard_to_the_end(seat: Seat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "WHERE_S", 60.0)
    pieces = (b"Current thread (most recent call first):\n", b'  File "bot.py", line 1 in bid\n')
    said = f"lambda *_: [(os.write(4, piece), sum(range(5_000_000))) for piece in {pieces!r}]"
    head = f"import signal; signal.signal(signal.SIGUSR1, {said})"
    fault = fault_of(seat(bot(head=head, bid="\n        while True: pass"), BRIEF))
    assert 'File "bot.py", line 1, in bid' in fault.traceback


LIARS = {
    "deaf": "signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
    "dies of it": "signal.signal(signal.SIGUSR1, signal.SIG_DFL)",
    "ends itself": "signal.signal(signal.SIGUSR1, lambda *_: os._exit(0))",
    "blocks it": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))",
    "answers": "signal.signal(signal.SIGUSR1, lambda *_: os.write(4, struct.pack('<HH', number(), 0)))",
    "talks for ever": "signal.signal(signal.SIGUSR1, lambda *_: [os.write(4, b'x' * 999) for _ in iter(int, 1)])",
    "names no line of its own": "signal.signal(signal.SIGUSR1, lambda *_: os.write(4, b'File \"a.py\", line 1 in f\\n' "
    "b'File \"bot.py\", line 999 in f\\n'))",
}


@pytest.mark.parametrize("case", LIARS)
def test_who_does_not_say_where_it_is_is_stopped_all_the_same(seat: Seat, case: str) -> None:
    fault = fault_of(seat(bot(head=f"import signal; {LIARS[case]}", bid="\n        while True: pass"), BRIEF))
    assert (fault.kind, fault.limit, fault.traceback) == (FaultKind.TIMEOUT_CPU, BRIEF.decision_cpu_s, "")


def test_a_guest_that_is_closed_is_ended_no_more(seat: Seat) -> None:
    guest, other = seat(bot()), seat(bot(), slot=1)
    guest.wait_ready()
    other.wait_ready()
    guest.close()
    guest.pidfd = other.pidfd  # the number of a descriptor is given again
    guest.end(GuestFault(FaultKind.TIMEOUT_CPU, "late"))
    assert Table(other).ask() == 0


@pytest.mark.parametrize("parts", [{"bid": "self.kept = [bytes(1 << 16) for _ in iter(int, 1)]"}, {"head": GREEDY}])
def test_who_runs_out_of_memory_is_told_its_own_line(seat: Seat, parts: dict[str, str]) -> None:
    text = bot(**parts)
    fault = fault_of(seat(text, Limits(memory_bytes=64 << 20, load_cpu_s=10, decision_cpu_s=10)))
    assert fault.kind is FaultKind.MEMORY
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "iter(int, 1)" in line)
    assert f'File "bot.py", line {line}, in ' in fault.traceback


def test_no_limit_can_be_escaped_through_a_huge_first_message(seat: Seat) -> None:
    guest = seat(
        bot(head="from tournament.bot import data\nassert len(data('w.bin')) == 3 << 20"), w__bin=bytes(3 << 20)
    )
    guest.wait_ready()
    assert Table(guest).ask() == 0


class Morgue(FakeKeeper):
    """A sandbox whose guests have all died the same death."""

    def __init__(self, status: int, cpu_s: float) -> None:
        self.death = status, cpu_s, 1 << 20

    def reap(self, guest: Guest) -> tuple[int, float, int]:
        del guest
        return self.death


@pytest.mark.parametrize(("cpu_s", "verdict"), [(20.01, GuestFault), (3.0, SandboxFailure)])
def test_whom_the_kernel_stops_at_its_limit_of_cpu_has_lost(cpu_s: float, verdict: type[Exception]) -> None:
    ends = (*os.pipe(), *os.pipe(), *os.pipe())
    guest = Guest(Morgue(signal.SIGKILL, cpu_s), Limits(), ends[1], ends[2], ends[4], b"", kernel_cpu_s=20)
    guest._account.loaded(0.0, 0.0)
    guest._account.before_question(cpu_s, 1.0)
    guest._account.deals_begun, guest.asked_s = 100, 1.0
    ended = guest._cause_of_death(guest._reap())
    assert isinstance(ended, verdict)
    assert not isinstance(ended, GuestFault) or ended.message == "20.01 s CPU in all, limit 20.00 s"
    for end in ends:
        os.close(end)


class StoppedClock:
    """A process that uses nothing, on a kernel that does not tell what it waits for."""

    def __init__(self, letter: str) -> None:
        self.letter = letter

    def cpu_s(self) -> float | None:
        return 0.0

    def queue_delay_s(self) -> float | None:
        return None

    def state(self) -> str:
        return self.letter


@pytest.mark.parametrize(("letter", "late"), [("S", GuestFault), ("R", SandboxFailure)])
def test_where_the_kernel_does_not_tell_only_a_sleeping_guest_is_late(letter: str, late: type[Exception]) -> None:
    ends = (*os.pipe(), *os.pipe(), *os.pipe())
    guest = Guest(FakeKeeper(), QUIET, ends[1], ends[2], ends[4], b"")
    guest.pid = (1 << 22) - 1  # nobody's
    guest._account.loaded(0.0, 0.0)
    meter = clocks.WallMeter(StoppedClock(letter), 0.0, 1.0)
    for second in (1.0, 2.0):
        meter.feed(second)
    assert guest.overdue(meter, 2.0) is None
    for second in (3.0, 3.1):
        meter.feed(second)
    assert isinstance(guest.overdue(meter, 3.1), late)
    for end in ends:
        os.close(end)
