# TRIES: raise nested groups, causes that are cycles, huge messages and names; MUST: be a fault; the text is bounded. VARIANTS: 4. EXPECT: fault
from tournament.bot import data

TURN = int(data("turn"))


def raise_one():
    if TURN == 0:
        error = ValueError("x")
        for _ in range(500):
            error = ExceptionGroup("g", [error, error])
        raise error
    if TURN == 1:
        one, two = ValueError("one"), ValueError("two")
        one.__cause__, two.__cause__ = two, one
        raise one
    if TURN == 2:
        raise ValueError("\x1b[31m\0" + "m" * 50_000_000)
    raise type("N" * 1_000_000, (Exception,), {})("\ud800")


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        raise_one()
