# TRIES: use almost the whole limit in every call; MUST: stay in the limit of each call; the game's limit bounds the sum. EXPECT: fault:timeout-cpu
import time


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        end = time.process_time() + 0.07
        while time.process_time() < end:
            pass
        return view.legal[0]
