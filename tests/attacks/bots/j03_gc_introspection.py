# TRIES: search all objects, frames and modules for hidden cards, secrets and other seats' data; MUST: find nothing but its own view. EXPECT: plays
import gc
import os
import sys


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        NEEDLE = "_".join(["SBX", "SECRET", ""])  # joined at run time, so that this source does not hold it
        hits = []
        for o in gc.get_objects():
            try:
                s = repr(o) if isinstance(o, (str, bytes, dict, list, tuple)) and len(o) < 5000 else ""
            except Exception:
                continue
            if NEEDLE in s and s != repr(NEEDLE) and "'NEEDLE'" not in s:
                hits.append(s[:100])
        f = sys._getframe()
        while f:
            for k, v in f.f_locals.items():
                if k != "NEEDLE" and NEEDLE in repr(v):
                    hits.append(k)
            f = f.f_back
        if any(NEEDLE in k + v for k, v in os.environ.items()):
            hits.append("environ")
        print("PWNED" if hits else "blocked", "gc hits", len(hits), hits[:3])
        return view.legal[0]
