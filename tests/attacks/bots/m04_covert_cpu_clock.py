# TRIES: pass the secret by CPU time used; the partner reads the other's CPU clock by pid (clock_gettime); MUST: be denied: only own clocks. EXPECT: plays DUAL
from tournament.bot import data
import os
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
            end = time.process_time() + 0.01 * secret
            while time.process_time() < end:
                pass
        else:
            guess = None
            now = {}
            for pid in range(os.getpid() - 4, os.getpid() + 5):
                if pid == os.getpid():
                    continue
                try:
                    now[pid] = time.clock_gettime((~pid << 3) | 2)
                    print("PWNED foreign cpu clock")
                except OSError as e:
                    print("blocked", type(e).__name__) if self.turn == 1 and pid == os.getpid() - 1 else None
            if self.turn == 0:
                self.base = now
            elif now:
                guess = round(max(now[p] - self.base.get(p, now[p]) for p in now) * 100)
            print("GUESS", guess)
        return view.legal[0]
