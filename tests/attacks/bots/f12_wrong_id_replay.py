# TRIES: answer with the number of an earlier question; MUST: be a protocol fault. EXPECT: fault:protocol
import os
import struct
import sys


def number():
    """Steals the number of the question from the guest's own frames."""
    f = sys._getframe()
    while f and "number" not in f.f_locals:
        f = f.f_back
    return f.f_locals["number"]


class Bot:
    def __init__(self):
        self.old = None

    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        if self.old is not None:
            os.write(4, struct.pack("<HH", self.old, 0))
        self.old = number()
        return view.legal[0]
