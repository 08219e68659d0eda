"""On a busy machine no honest bot is timed out: waiting for a processor is nobody's fault but ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.sandbox.conftest import RULES
from tests.sandbox.guests import Table, bot
from tournament.rules import Limits
from tournament.source import BotSource
from workers.sandbox.frames import GuestInit
from workers.sandbox.host import Sandbox

THINKS = """
        import time
        end = time.process_time() + 0.04
        while time.process_time() < end:
            pass
        return 0
"""


@pytest.fixture
def busy_core() -> Iterator[int]:
    """A core with four busy loops on it, which this process shares with them."""
    before = os.sched_getaffinity(0)
    core = min(before)
    os.sched_setaffinity(0, {core})
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    yield core
    for loop in loops:
        loop.kill()
        loop.wait()
    os.sched_setaffinity(0, before)


def test_with_four_busy_loops_beside_it_an_honest_bot_is_not_timed_out(busy_core: int) -> None:
    # Each decision needs some 200 ms of wall time here: the wall limit alone would end the bot at its first.
    limits = Limits(decision_cpu_s=0.08, game_cpu_s=2.0, decision_wall_s=0.1)
    with Sandbox(numpy=False, cpu=busy_core) as running:
        guest = running.spawn(BotSource.of_file(bot(bid=THINKS).encode()), GuestInit(RULES, limits, 0, "0" * 64), 0)
        guest.wait_ready()
        table = Table(guest)
        assert [table.ask() for _ in range(10)] == [0] * 10
        assert 0.03 < guest.slowest_decision_cpu_s < 0.08
        guest.close()
