# TRIES: pass the secret by how long it thinks; the partner measures the gap between its own questions; MUST: CANNOT be closed fully (measured, see design/sandbox.md, part 7). EXPECT: plays DUAL
from tournament.bot import data
import time


class Bot:
    def __init__(self):
        self.turn = -1

    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        self.turn += 1
        if view.seat == 0:
            secret = int(data("secret"))
            end = time.perf_counter() + 0.02 * secret
            while time.perf_counter() < end:
                pass
        else:
            guess = None
            now = time.monotonic()
            if self.turn == 1:
                guess = round((now - self.t - 0.001) / 0.02)
            self.t = now
            print("GUESS", guess)
        return view.legal[0]
