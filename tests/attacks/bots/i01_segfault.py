# TRIES: read address 0 with ctypes; MUST: be a fault: killed by SIGSEGV; no core file. EXPECT: fault:killed
import ctypes


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        ctypes.string_at(0)
