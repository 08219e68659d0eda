"""Measures matches in the sandbox beside bare pipes, interpreters and cores, for `tournament bench`.

CPU times are those of all processes that take part: this one, the fork server, the guests.
"""

from __future__ import annotations

import ctypes
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tournament.game import Game, acts_in
from tournament.observation import QuestionWriter
from tournament.replay import Player
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from tournament.wire import MatchTask
from workers.local import LocalExecutor, MatchFailure
from workers.referee import Referee, Table, question_numbers, read_timings
from workers.sandbox import clocks
from workers.sandbox.frames import GuestInit
from workers.sandbox.host import Sandbox
from workers.sandbox.remote import Guest

TWO: Final = Rules.make("cutthroat", players=2, target=30_000)
FOUR: Final = Rules.make("wisconsin", target=30_000)
THINK_S: Final = 0.020
TRIVIAL_BOT: Final = b"""
class Bot:
    def bid(self, view):
        return view.legal[-2]

    def play(self, view):
        return view.legal[0]
"""

_ROUND_TRIPS: Final = 10_000
# By the clock of its thread: with a limit set on CPU time, the kernel moves that of the process in steps of 4 ms.
_THINKING_BOT: Final = f"""
import time
class Bot:
    def bid(self, view):
        until = time.thread_time() + {THINK_S}
        while time.thread_time() < until:
            pass
        return view.legal[-2]

    def play(self, view):
        until = time.thread_time() + {THINK_S}
        while time.thread_time() < until:
            pass
        return view.legal[0]
""".encode()


class KeptSandbox(Sandbox):
    """A sandbox that remembers its guests, whose CPU times are asked for when they have ended."""

    def __init__(self) -> None:
        """Leaves numpy out, as the figures that ours are compared with do."""
        super().__init__(numpy=False)
        self.kept: list[Guest] = []

    def spawn(self, source: BotSource, init: GuestInit, slot: int) -> Guest:
        """Has a guest made and keeps it."""
        self.kept.append(super().spawn(source, init, slot))
        return self.kept[-1]

    def cpu_s(self) -> float:
        """CPU seconds of this process, the fork server and all guests so far."""
        return time.process_time() + self.server_cpu_s + sum(guest.cpu_s for guest in self.kept)


def round_trip_s(peers: int = 1) -> float:
    """Returns the CPU time of 16 bytes there and 4 back, both sides, of so many processes asked in turn."""
    pipes = [(*os.pipe(), *os.pipe()) for _ in range(peers)]
    rounds = _ROUND_TRIPS // peers
    pids = []
    for there_r, _, _, back_w in pipes:
        pids.append(_fork())
        if pids[-1] == 0:
            for _ in range(rounds):
                os.read(there_r, 64)
                os.write(back_w, b"1234")
            os._exit(0)
    asked = [(there_w, back_r) for _, there_w, back_r, _ in pipes]
    total_s = -time.process_time() - sum(clocks.cpu_s(pid) or 0.0 for pid in pids)
    for _ in range(rounds):
        for there_w, back_r in asked:
            os.write(there_w, b"0123456789abcdef")
            os.read(back_r, 64)
    total_s += time.process_time()
    for pid in pids:
        usage = os.wait4(pid, 0)[2]
        total_s += usage.ru_utime + usage.ru_stime
    for descriptor in (end for ends in pipes for end in ends):
        os.close(descriptor)
    return total_s / (rounds * peers)


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds of a whole game of trivial bots (rules, questions, clocks, pipes, views) once they are loaded."""

    cpu_s: float
    asked: int
    acts: int


def play(sandbox: Sandbox, rules: Rules) -> Cost:
    """Plays a game of trivial bots."""
    game = Game(rules, 64 * "0")
    writer = QuestionWriter(game)
    with ExitStack() as stack:
        guests = []
        for seat in range(rules.players):
            init = GuestInit(rules, Limits(), seat, 64 * "0")
            guests.append(sandbox.spawn(BotSource.of_file(TRIVIAL_BOT), init, seat))
            stack.callback(guests[-1].close)
        table = Table(game, writer, guests, question_numbers(), None)
        table.load()
        begun_s = time.process_time() + sum(guest.cpu_s for guest in guests)
        table.play()
        used_s = time.process_time() + sum(guest.cpu_s for guest in guests) - begun_s
    return Cost(used_s, len(read_timings(table.timings())), sum(acts_in(dealt.deal) for dealt in game.dealt))


def acts_per_s(sandbox: Sandbox, rules: Rules) -> float:
    """Returns acts in a second of CPU time, forced ones too: peers count, and are asked for, every one."""
    cost = play(sandbox, rules)
    return cost.acts / cost.cpu_s


def match(rules: Rules, bot: bytes, number: int = 1) -> tuple[MatchTask, dict[str, BotSource]]:
    """Makes a match of a bot against itself under another name."""
    sources = {name: BotSource.of_file(bot + f"\n# {name}\n".encode()) for name in ("one", "two")}
    players = tuple(Player(name, 1, source.sha256) for name, source in sources.items())
    task = MatchTask.of("bench", f"{rules.mode}/one:1,two:1/{number}", rules, Limits(), players, match_id=number)
    return task, {source.sha256: source for source in sources.values()}


def thinking() -> tuple[float, float]:
    """Plays a match of bots that think 20 ms; returns all CPU seconds and those that the bots thought."""
    with KeptSandbox() as sandbox:
        task, sources = match(Rules.make("cutthroat", players=2, target=30_000, deal_limit=12), _THINKING_BOT)
        begun_s = sandbox.cpu_s()
        games = Referee(sandbox, sources).play_match(task)
        used_s = sandbox.cpu_s() - begun_s
    return used_s, THINK_S * sum(len(read_timings(game.timings)) for game in games)


@contextmanager
def executor(cores: tuple[int, ...]) -> Iterator[LocalExecutor]:
    """An executor of one job a core, which has played a first match on each."""
    made = LocalExecutor(len(cores), cores=cores)
    try:
        matches_per_s(made, 2 * len(cores), deals=1)
        yield made
    finally:
        made.close()


def matches_per_s(made: LocalExecutor, matches: int, deals: int = 100) -> float:
    """Plays so many matches at two seats; returns how many in a second of wall time."""
    rules = Rules.make("cutthroat", players=2, target=30_000, deal_limit=deals)
    begun_s, handed, ended = time.monotonic(), 0, 0
    while ended < matches:
        while handed < matches and made.free > 0:
            handed += 1
            made.submit(*match(rules, TRIVIAL_BOT, handed))
        for result in made.poll(1.0):
            if isinstance(result, MatchFailure):
                raise RuntimeError(f"a match failed: {result.reason}")
            ended += 1
    return matches / (time.monotonic() - begun_s)


def cores(rounds: int) -> tuple[float, float] | None:
    """Returns matches a second of wall time on one core and on two, by turns; None where there is one core only."""
    available = sorted(os.sched_getaffinity(0))[:2]
    if len(available) < 2:
        return None
    with executor((available[0],)) as one, executor(tuple(available)) as two:
        pairs = [(matches_per_s(one, 24), matches_per_s(two, 48)) for _ in range(rounds)]
    ratio = statistics.median(two / one for one, two in pairs)
    single = statistics.median(one for one, _ in pairs)
    return single, ratio * single


def one_guest(sandbox: KeptSandbox) -> tuple[float, int | None]:
    """Returns the CPU seconds to a loaded trivial bot, and the guest's private bytes if they can be seen."""
    begun_s = sandbox.cpu_s()
    guest = sandbox.spawn(BotSource.of_file(TRIVIAL_BOT), GuestInit(TWO, Limits(), 0, 64 * "0"), 0)
    guest.wait_ready()
    ready_s = sandbox.cpu_s() - begun_s
    private = None
    with suppress(OSError):  # Only root may look into a guest.
        lines = Path(f"/proc/{guest.pid}/smaps_rollup").read_text("ascii").splitlines()
        private = sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))
    guest.close()
    return ready_s, private


def fresh_interpreter_s() -> float:
    """Returns the CPU seconds of an interpreter that does nothing."""
    begun_s = _with_children_s()
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
    return _with_children_s() - begun_s


def _with_children_s() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _fork() -> int:
    # Not os.fork, which warns of the sandbox's watching thread; the children here touch no lock.
    return int(ctypes.PyDLL(None).fork())
