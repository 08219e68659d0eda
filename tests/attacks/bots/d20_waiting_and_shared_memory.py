# TRIES: sleep by other names, and allocate shared memory past the limit; MUST: be denied, or fail at the limit. EXPECT: plays
import mmap
import select
import threading
import time

def attempt(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("blocked", label, type(e).__name__)
        return None
    print("PWNED", label, repr(r)[:80])
    return r


import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def sysc(label, nr, *a):
    """A raw call; a result of 0 or more counts as a success of the attack."""
    r = libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    print("PWNED" if r >= 0 else "blocked", label, r, ctypes.get_errno())
    return r


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        begin = time.monotonic()
        attempt("select", lambda: select.select([], [], [], 0.2))
        attempt("poll", lambda: select.poll().poll(200))
        attempt("epoll", lambda: select.epoll())
        attempt("event", lambda: threading.Lock().acquire(timeout=0.2) and 1 // 0)
        sysc("nanosleep", 35, ctypes.create_string_buffer(16), 0)
        sysc("clock_nanosleep", 230, 1, 0, ctypes.create_string_buffer(16), 0)
        sysc("timerfd", 283, 1, 0)
        sysc("timer_create", 222, 1, 0, ctypes.create_string_buffer(8))
        sysc("futex wait", 202, ctypes.create_string_buffer(4), 128, 0, ctypes.create_string_buffer(16), 0, 0)
        if time.monotonic() - begin > 5:
            print("PWNED slept")
        kept = []
        try:
            for _ in range(64):
                kept.append(mmap.mmap(-1, 1 << 24))
            print("PWNED shared memory")
        except (OSError, ValueError) as e:
            print("blocked shared memory after", len(kept), type(e).__name__)
        return view.legal[0]
