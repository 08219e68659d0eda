"""Measures the sandbox beside its bare parts, in one run: `python -m workers.sandbox.bench`.

Figures are CPU time of all processes that take part, the median of many, and ratios to a bare part measured in turn
with it; wall times on a shared machine do not repeat. Pin it to one core for figures to compare.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tournament.game import Game
from tournament.observation import QuestionWriter
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from workers.sandbox import clocks
from workers.sandbox.frames import GuestInit
from workers.sandbox.host import Sandbox
from workers.sandbox.remote import Guest

TRIVIAL_BOT: Final = b"""
class Bot:
    def bid(self, view):
        return view.legal[-2]

    def play(self, view):
        return view.legal[0]
"""

_ROUND_TRIPS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table.

    Attributes:
        name: what was measured.
        value: seconds of CPU, or bytes.
        unit: `s` or `bytes`.
        against: what it is compared with, if anything.
        ratio: value by that.
        aim: the largest ratio (or number of bytes) that is wanted.
    """

    name: str
    value: float
    unit: str = "s"
    against: str = ""
    ratio: float | None = None
    aim: float | None = None


def measure(rounds: int = 30, *, numpy: bool = False) -> list[Figure]:
    """Measures everything; `rounds` starts of guests and interpreters."""
    fresh_s, fork_s, ready_s, end_s, bytes_each = [], [], [], [], []
    with Sandbox(numpy=numpy) as sandbox:
        for _ in range(rounds):
            fresh_s.append(_cpu_of_children(_fresh_interpreter))
            fork_s.append(_cpu_of_children(_bare_fork))
            ready, end, private = _one_guest(sandbox)
            ready_s.append(ready)
            end_s.append(end)
            if private is not None:
                bytes_each.append(private)
        trips: list[float] = []
        decisions: dict[int, list[float]] = {}
        for _ in range(5):
            trips.append(bare_round_trip_s())
            for seats in (2, 4):
                decisions.setdefault(seats, []).append(decision_s(sandbox, seats))
    fresh, fork, trip = (statistics.median(values) for values in (fresh_s, fork_s, trips))
    ready, end = statistics.median(ready_s), statistics.median(end_s)
    figures = [
        Figure("python -I -S -c pass", fresh),
        Figure("bare fork and reap", fork),
        Figure("guest ready", ready, against="python -I -S -c pass", ratio=ready / fresh, aim=0.5),
        Figure("guest ready", ready, against="bare fork and reap", ratio=ready / fork),
        Figure("kill and reap", end, against="bare fork and reap", ratio=end / fork),
        Figure("bare pipe round trip", trip),
    ]
    for seats, aim in ((2, 2.6), (4, 3.0)):
        value = statistics.median(decisions[seats])
        name = f"one decision in a whole game, {seats} seats"
        figures.append(Figure(name, value, against="bare pipe round trip", ratio=value / trip, aim=aim))
    if bytes_each:
        figures.append(Figure("private memory of a guest", statistics.median(bytes_each), "bytes", aim=1_500_000))
    return figures


def decision_s(sandbox: Sandbox, seats: int, deals: int = 100) -> float:
    """Returns the CPU time of a decision, both sides and the rules engine, in a whole game of trivial bots."""
    rules = Rules.make(
        *(("cutthroat",) if seats < 4 else ("wisconsin",)), players=seats, target=30_000, deal_limit=deals
    )
    game = Game(rules, "0" * 64)
    writer = QuestionWriter(game)
    with ExitStack() as stack:
        guests = [_trivial_guest(sandbox, rules, seat) for seat in range(seats)]
        for guest in guests:
            stack.callback(guest.close)
        for guest in guests:
            guest.wait_ready()
        before_s = time.process_time() + sum(guest.cpu_s for guest in guests)
        asked = 0
        legal = game.advance()
        while legal:
            deal = game.deal
            assert deal is not None
            number = asked & 0xFFFF
            question = writer.question(deal.seat, number, deal.phase, legal)
            game.act_legal(legal[guests[deal.seat].ask(question, number, len(legal), game.deals_begun)])
            asked += 1
            legal = game.advance()
        return (time.process_time() + sum(guest.cpu_s for guest in guests) - before_s) / asked


def bare_round_trip_s() -> float:
    """Returns the CPU time of 16 bytes there and 4 back between two Python processes, both sides."""
    there_r, there_w = os.pipe()
    back_r, back_w = os.pipe()
    pid = _fork()
    if pid == 0:
        for _ in range(_ROUND_TRIPS):
            os.read(there_r, 64)
            os.write(back_w, b"1234")
        os._exit(0)
    before_s, child_before_s = time.process_time(), clocks.cpu_s(pid) or 0.0
    for _ in range(_ROUND_TRIPS):
        os.write(there_w, b"0123456789abcdef")
        os.read(back_r, 64)
    used_s = time.process_time() - before_s
    _, _, usage = os.wait4(pid, 0)
    for descriptor in (there_r, there_w, back_r, back_w):
        os.close(descriptor)
    return (used_s + usage.ru_utime + usage.ru_stime - child_before_s) / _ROUND_TRIPS


def _trivial_guest(sandbox: Sandbox, rules: Rules, seat: int) -> Guest:
    init = GuestInit(rules, Limits(), seat, "0" * 64)
    return sandbox.spawn(BotSource.of_file(TRIVIAL_BOT), init, seat)


def _one_guest(sandbox: Sandbox) -> tuple[float, float, int | None]:
    """Returns CPU seconds to a loaded bot and to its end, and the guest's private bytes."""
    before_s = time.process_time() + sandbox.server_cpu_s
    guest = _trivial_guest(sandbox, Rules.make("cutthroat"), 0)
    guest.wait_ready()
    alive_s = guest.cpu_s
    ready_s = time.process_time() + sandbox.server_cpu_s + alive_s - before_s
    private = _private_bytes(guest.pid)
    before_s = time.process_time() + sandbox.server_cpu_s
    guest.close()
    end_s = time.process_time() + sandbox.server_cpu_s + max(0.0, guest.cpu_s - alive_s) - before_s
    return ready_s, end_s, private


def _private_bytes(pid: int) -> int | None:
    with suppress(OSError):  # Only root may look into a guest.
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))
    return None


def _fork() -> int:
    # Not os.fork, which warns of the sandbox's watching thread; the children here touch no lock.
    return int(ctypes.PyDLL(None).fork())


def _cpu_of_children(work: Callable[[], object]) -> float:
    def total_s() -> float:
        usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    before_s = total_s()
    work()
    return total_s() - before_s


def _fresh_interpreter() -> None:
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)


def _bare_fork() -> None:
    pid = _fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def main(arguments: Sequence[str]) -> None:
    """Prints the table, or with `--json` the same as one JSON value."""
    figures = measure(numpy="--numpy" in arguments)
    if "--json" in arguments:
        sys.stdout.write(json.dumps([asdict(figure) for figure in figures]) + "\n")
        return
    for figure in figures:
        value = f"{figure.value * 1e6:12.1f} µs" if figure.unit == "s" else f"{figure.value / 1e6:12.2f} MB"
        ratio = "" if figure.ratio is None else f"{figure.ratio:8.2f} × {figure.against}"
        aim = "" if figure.aim is None else f" (aim {figure.aim:g})"
        sys.stdout.write(f"{figure.name:40}{value}{ratio}{aim}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
