"""Guests for the tests of the sandbox, and a table that asks one of them."""

from __future__ import annotations

import pytest

from tests.sandbox.conftest import RULES
from tournament import compiled
from tournament.game import Game
from tournament.observation import QuestionWriter
from tournament.rules import Limits
from workers.sandbox.faults import GuestFault, SandboxFailure
from workers.sandbox.remote import Guest

QUIET = Limits(decision_wall_s=0.3)
BRIEF = Limits(decision_cpu_s=0.1)


def bot(*, head: str = "", init: str = "pass", bid: str = "return 0") -> str:
    return f"""
import os, sys, struct
{head}
def number():
    f = sys._getframe()
    while "number" not in f.f_locals:
        f = f.f_back
    return f.f_locals["number"]

class Bot:
    def __init__(self):
        {init}

    def bid(self, view):
        {bid}

    def play(self, view):
        return view.legal[0]
"""


reads_frames = pytest.mark.skipif(compiled.in_use(), reason="the bot reads a frame of the guest, compiled it has none")


class Table:
    """Asks one guest for its bids, deal after deal; everybody passes."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest
        self.game = Game(RULES, "0" * 64)
        self.writer = QuestionWriter(self.game)

    def ask(self) -> int:
        legal = self.game.advance()
        while self.game.deal is not None and self.game.deal.seat != 0:
            self.game.act_legal(0)
            legal = self.game.advance()
        deal = self.game.deal
        assert deal is not None
        number = 5_000 + len(self.game.acts)
        question = self.writer.question(0, number, deal.phase, legal)
        index = self.guest.ask(question, number, len(legal), self.game.deals_begun)
        self.game.act_legal(0)
        return index


def fault_of(guest: Guest, questions: int = 3) -> GuestFault:
    def play() -> None:
        guest.wait_ready()
        table = Table(guest)
        for _ in range(questions):
            table.ask()

    with pytest.raises(GuestFault) as caught:
        play()
    return caught.value


class FakeKeeper:
    """A sandbox that has nothing to keep."""

    idle_bytes = 0

    def confirm(self, guest: Guest) -> None: ...

    def reap(self, guest: Guest) -> tuple[int, float, int]:
        raise SandboxFailure(f"nothing to reap for {guest}")

    def forget(self, guest: Guest) -> None: ...
