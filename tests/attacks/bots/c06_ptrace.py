# TRIES: attach to the parent with ptrace; MUST: be killed at once (SIGSYS). EXPECT: fault:forbidden-call
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
        sysc("ptrace attach", 101, 16, os.getppid(), 0, 0)
        sysc("ptrace seize", 101, 0x4206, os.getppid(), 0, 0)
        return view.legal[0]
