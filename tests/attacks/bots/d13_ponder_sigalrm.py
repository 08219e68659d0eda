# TRIES: think on the others' time with an interval timer's signal handler; MUST: be denied: no timers. EXPECT: plays
def attempt(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("blocked", label, type(e).__name__)
        return None
    print("PWNED", label, repr(r)[:80])
    return r
import signal
import time


class Bot:
    def __init__(self):
        signal.signal(signal.SIGALRM, lambda *a: sum(range(10**6)))
        attempt("setitimer", lambda: signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01))
        if signal.alarm(1) == 0:
            print("note alarm returned 0")

    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        return view.legal[0]
