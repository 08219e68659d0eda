# TRIES: map executable memory and run machine code (int 0x80 i386 entry); MUST: be denied: no new executable memory. EXPECT: plays
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
import mmap


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        attempt("mmap rwx", lambda: mmap.mmap(-1, 4096, prot=7))
        sysc("mmap rx", 9, 0, 4096, 5, 0x22, -1, 0)
        p = libc.syscall(9, ctypes.c_long(0), ctypes.c_long(4096), ctypes.c_long(3), ctypes.c_long(0x22), ctypes.c_long(-1), ctypes.c_long(0))
        sysc("mprotect rx", 10, p, 4096, 5)
        sysc("pkey_mprotect", 329, p, 4096, 5, -1)
        return view.legal[0]
