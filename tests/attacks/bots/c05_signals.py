# TRIES: signal the parent, the siblings, everyone and itself; MUST: be denied (only signal 0 and SIGCONT are tried). EXPECT: plays
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
import signal


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        me, pp = os.getpid(), os.getppid()
        attempt("kill parent", lambda: os.kill(pp, signal.SIGCONT))
        attempt("kill siblings", lambda: [os.kill(p, 0) for p in range(me - 3, me + 4) if p != me])
        attempt("kill all", lambda: os.kill(-1, 0))
        attempt("killpg", lambda: os.killpg(0, signal.SIGCONT))
        sysc("tgkill parent", 234, pp, pp, 0)
        sysc("tkill parent", 200, pp, 0)
        sysc("rt_sigqueueinfo", 129, pp, 0, ctypes.create_string_buffer(128))
        sysc("pidfd_open", 434, pp, 0)
        return view.legal[0]
