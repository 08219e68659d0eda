# TRIES: raise priority, change scheduler, affinity and io priority, lock memory; MUST: be denied. EXPECT: plays
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


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        attempt("nice", lambda: os.nice(-5))
        attempt("setpriority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))
        attempt("setpriority parent", lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19))
        attempt("affinity", lambda: os.sched_setaffinity(0, {0}))
        attempt("affinity parent", lambda: os.sched_setaffinity(os.getppid(), {0}))
        attempt("fifo", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
        sysc("ioprio_set", 251, 1, 0, 0)
        sysc("mlockall", 151, 3)
        return view.legal[0]
