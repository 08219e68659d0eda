# TRIES: raise its own limits and change the parent's with prlimit; MUST: be denied. EXPECT: plays
def attempt(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("blocked", label, type(e).__name__)
        return None
    print("PWNED", label, repr(r)[:80])
    return r

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def sysc(label, nr, *a):
    """Raw syscall; a result >= 0 counts as a success of the attack."""
    r = libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    print("PWNED" if r >= 0 else "blocked", label, r, ctypes.get_errno())
    return r
import resource


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        inf = resource.RLIM_INFINITY
        for n in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_CORE"):
            attempt(n, lambda: resource.setrlimit(getattr(resource, n), (inf, inf)))
        attempt("prlimit parent", lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1)))
        attempt("read parent's", lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CPU))
        return view.legal[0]
