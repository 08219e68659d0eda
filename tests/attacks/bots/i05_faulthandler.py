# TRIES: arm faulthandler's watchdog thread and signal dumps; MUST: be harmless. EXPECT: plays
def attempt(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("blocked", label, type(e).__name__)
        return None
    print("PWNED", label, repr(r)[:80])
    return r
import faulthandler
import sys


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        try:
            faulthandler.enable(file=2)
            faulthandler.dump_traceback_later(0.01, repeat=True, file=2)
            print("note armed")
        except BaseException as e:
            print("blocked", type(e).__name__)
        return view.legal[0]
