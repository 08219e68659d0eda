# TRIES: create, append and overwrite files in temporary, home, current and bot directories; MUST: be denied; nothing is created. EXPECT: plays
from tournament.bot import data

CANARY = data("canary").decode()
def attempt(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("blocked", label, type(e).__name__)
        return None
    print("PWNED", label, repr(r)[:80])
    return r
import os
import tempfile


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        for p in (CANARY + "/written", "/var/tmp/sbx-written", "written.txt", "/dev/shm/sbx-written", os.path.expanduser("~/sbx-written"),
                  CANARY + "/bots/other.py"):
            attempt("create " + p, lambda: open(p, "ab").write(b"x"))
        attempt("tempfile", lambda: tempfile.TemporaryFile())
        attempt("O_TMPFILE", lambda: os.open("/tmp", os.O_TMPFILE | os.O_RDWR))
        return view.legal[0]
