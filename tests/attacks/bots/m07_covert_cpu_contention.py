# TRIES: pass the secret by loading the shared core and cache; MUST: CANNOT be closed fully; needs both to run at once, which a stopped or waiting seat does not. EXPECT: plays DUAL
from tournament.bot import data
import time


class Bot:
    def __init__(self):
        self.n = 0

    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        if view.seat == 0:
            secret = int(data("secret"))
            end = time.process_time() + 0.05 * (secret & 1)
            while time.process_time() < end:
                pass
        else:
            guess = None
            t = time.perf_counter()
            sum(range(200000))
            guess = None if time.perf_counter() - t < 1 else 1
            print("GUESS", guess)
        return view.legal[0]
