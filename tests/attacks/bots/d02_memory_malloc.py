# TRIES: malloc and touch memory through ctypes without end; MUST: be stopped by the limit. EXPECT: fault_or_plays
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
        libc.malloc.restype = ctypes.c_void_p
        n = 0
        for _ in range(4000):  # 4 GB at most, should the limit be missing
            p = libc.malloc(1 << 20)
            if not p:
                print("blocked malloc after", n, "MiB")
                return view.legal[0]
            ctypes.memset(p, 1, 1 << 20)
            n += 1
        print("PWNED malloc", n)
        return view.legal[0]
