# TRIES: read another author's bot source through paths, importlib and linecache; MUST: be denied. EXPECT: plays
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

import importlib.util
import linecache
import runpy

P = CANARY + "/bots/other.py"


def via_import():
    spec = importlib.util.spec_from_file_location("other", P)
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    return m


def via_linecache():
    lines = linecache.getlines(P)
    if not lines:
        raise OSError("empty")
    return lines


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        attempt("open", lambda: open(P).read())
        attempt("import", via_import)
        attempt("linecache", via_linecache)
        attempt("runpy", lambda: runpy.run_path(P))
        return view.legal[0]
