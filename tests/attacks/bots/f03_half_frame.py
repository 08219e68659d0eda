# TRIES: write half a frame, with the right number, and then hang on a lock; MUST: be ended by the wall limit. EXPECT: fault:timeout-wall
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
        os.write(4, struct.pack("<H", number()))
        k = threading.Lock()
        k.acquire()
        k.acquire()
