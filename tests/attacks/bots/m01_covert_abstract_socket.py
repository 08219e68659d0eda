# TRIES: pass the secret to the partner over an abstract socket; MUST: be denied. EXPECT: plays DUAL
from tournament.bot import data
def attempt(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("blocked", label, type(e).__name__)
        return None
    print("PWNED", label, repr(r)[:80])
    return r
import socket


class Bot:
    def __init__(self):
        self.keep = None

    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        if view.seat == 0:
            secret = int(data("secret"))
            if self.keep is None:
                self.keep = attempt("socket", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
                attempt("bind", lambda: self.keep.bind("\0sbx%d" % secret))
        else:
            guess = None
            for g in range(16):
                try:
                    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                    s.connect("\0sbx%d" % g)
                    guess = g
                except OSError:
                    pass
            print("GUESS", guess)
        return view.legal[0]
