# TRIES: become root again; MUST: be denied. EXPECT: plays
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
        if os.getuid() == 0 or os.geteuid() == 0:
            print("note still uid 0")
        attempt("setuid", lambda: os.setresuid(0, 0, 0))
        attempt("setgroups", lambda: os.setgroups([0]))
        sysc("capset", 126, ctypes.create_string_buffer(bytes.fromhex("2205082000000000")), ctypes.create_string_buffer(b"\xff" * 24))
        return view.legal[0]
