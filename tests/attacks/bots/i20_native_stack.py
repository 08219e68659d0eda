# TRIES: overflow the native stack and jump to an address of its own; MUST: be a fault. VARIANTS: 2. EXPECT: fault:killed
import ctypes

from tournament.bot import data

TURN = int(data("turn"))
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int)


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        if TURN == 0:
            ctypes.CFUNCTYPE(None)(0x1234)()
        ctypes.memset(id(view) & ~0xFFF, 0x41, 1 << 30)
