"""Guests that make system calls at random, with arguments at random: whatever becomes of them is their own doing."""

from __future__ import annotations

import os

import pytest

from tests.sandbox.conftest import Seat
from tests.sandbox.guests import Table
from tournament.rules import Limits
from workers.sandbox.faults import GuestFault
from workers.sandbox.host import Sandbox

GUESTS = 2_000 if "SMEAR_ATTACKS_EVERYWHERE" in os.environ else 30

BOT = """
import ctypes
import random

SEED = {seed}
ALLOWED = {allowed}
LONG_WAITS = (0, 202)  # read and futex: by hand they wait for nothing


class Bot:
    def bid(self, view):
        rng = random.Random(SEED)
        libc = ctypes.CDLL(None)
        kept = ctypes.create_string_buffer(1 << 16)
        page = ctypes.addressof(kept)
        numbers = [0, 1, 2, 3, 4, 5, 16, 17, 4096, 1 << 20, 1 << 30, 1 << 40, (1 << 64) - 1, page, page + 8, id(self)]
        for _ in range(400):
            call = rng.choice(ALLOWED) if rng.random() < {share} else rng.randrange(470)
            if call not in LONG_WAITS or rng.random() < 0.05:
                rest = [rng.choice([*numbers, rng.getrandbits(32), rng.getrandbits(64)]) for _ in range(6)]
                libc.syscall(ctypes.c_long(call), *map(ctypes.c_ulong, rest))
        return 0

    def play(self, view):
        return view.legal[0]
"""

ALLOWED = (
    11, 12, 25, 96, 201, 318, 15, 14, 131, 219, 39, 110, 24, 98, 100, 63, 309, 3, 5, 8, 273, 334, 1, 9, 10, 28, 72, 302,
    204, 228, 229, 13,
)  # fmt: skip
"""The numbers of most calls of the allow-list, which random numbers alone would seldom meet."""

QUICK = Limits(decision_cpu_s=0.3, decision_wall_s=0.3)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_no_calls_at_random_are_a_failure_of_ours(seat: Seat, sandbox: Sandbox, share: float) -> None:
    kinds = set()
    assert sandbox._process is not None
    server = sandbox._process.pid
    for seed in range(GUESTS):
        guest = seat(BOT.format(seed=seed, share=share, allowed=ALLOWED), QUICK, slot=seed % 4)
        guest.wait_ready()
        try:
            Table(guest).ask()
        except GuestFault as fault:
            kinds.add(fault.kind)
        guest.close()
    assert kinds
    assert sandbox._process.pid == server
