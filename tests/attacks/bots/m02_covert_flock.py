# TRIES: pass the secret by locks on four files both can read; MUST: be denied. EXPECT: plays DUAL
from tournament.bot import data
import fcntl

FILES = ['/etc/passwd', '/etc/hosts', '/etc/os-release', '/etc/group']


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
            self.keep = []
            for b in range(4):
                try:
                    f = open(FILES[b], "rb")
                    self.keep.append(f)
                    if secret >> b & 1:
                        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as e:
                    print("blocked", type(e).__name__)
        else:
            guess = None
            guess = 0
            for b in range(4):
                try:
                    f = open(FILES[b], "rb")
                except OSError as e:
                    print("blocked", type(e).__name__)
                    guess = None
                    break
                try:
                    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    guess |= 1 << b
                f.close()
            print("GUESS", guess)
        return view.legal[0]
