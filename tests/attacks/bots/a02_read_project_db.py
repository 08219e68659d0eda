# TRIES: read the project's data base and settings (canary files laid by the harness); MUST: be denied; the canary's text appears nowhere. EXPECT: plays
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


def steal():
    for p in (CANARY + "/project.sqlite3", CANARY + "/settings.py", CANARY + "/bots/../project.sqlite3"):
        attempt(p, lambda: open(p, "rb").read())


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        steal()
        return view.legal[0]
