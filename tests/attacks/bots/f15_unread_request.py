# TRIES: answer with its own hand and never read the next question (the referee must not block in write); MUST: be ended by the limits. EXPECT: fault
import os
import struct
import sys
import threading


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
        os.write(4, struct.pack("<HH", number(), 0))
        k = threading.Lock()
        k.acquire()
        k.acquire()
