# TRIES: right number, wrong rest: index out of range, unknown error kinds, a huge text, bytes behind the frame; MUST: be a protocol fault. VARIANTS: 7. EXPECT: fault:protocol
import os
import struct
import sys

from tournament.bot import data

TURN = int(data("turn"))


def number():
    """Steals the number of the question from the guest's own frames."""
    f = sys._getframe()
    while f and "number" not in f.f_locals:
        f = f.f_back
    return f.f_locals["number"]


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        n = number()
        frame = [
            struct.pack("<HH", n, 77),
            struct.pack("<HH", n, 0xFF00),
            struct.pack("<HHBH", n, 0xFFFF, 0, 0),
            struct.pack("<HHBH", n, 0xFFFF, 9, 3) + b"abc",
            struct.pack("<HHBH", n, 0xFFFF, 2, 0xFFFF) + b"x" * 4000,
            struct.pack("<HHBH", n, 0xFFFF, 1, 3) + b"abc",
            struct.pack("<HH", n, 0) + b"!",
        ][TURN]
        os.write(4, frame)
        while True:
            pass
