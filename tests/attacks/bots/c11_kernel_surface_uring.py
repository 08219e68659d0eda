# TRIES: set up io_uring (would bypass the filter for reads and writes); MUST: be killed at once. EXPECT: fault:forbidden-call
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
        sysc("io_uring_setup", 425, 8, ctypes.create_string_buffer(120))
        return view.legal[0]
