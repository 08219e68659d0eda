# TRIES: replace the guest's functions, struct, os and builtins; MUST: hurt only itself. EXPECT: fault_or_plays
import builtins
import os
import struct
import sys

import tournament.observation


class Bot:
    def __init__(self):
        builtins.isinstance = lambda *a: True
        struct.pack = lambda *a: b"\0\0\0\x02"
        os.write = lambda *a: 4
        tournament.observation.QuestionReader.read = lambda *a: (7, 0, b"", None)
        f = sys._getframe()
        while f:
            for value in list(f.f_locals.values()):
                if type(value).__name__ in ("SeatAdapter", "GuestInit", "Lockdown"):
                    try:
                        value.__dict__.clear()
                    except (AttributeError, TypeError):
                        pass
            f = f.f_back

    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        return view.legal[0]
