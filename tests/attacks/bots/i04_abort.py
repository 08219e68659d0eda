# TRIES: abort() through ctypes; MUST: be a fault: killed by a signal. EXPECT: fault:killed
import ctypes


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        ctypes.CDLL(None).abort()
