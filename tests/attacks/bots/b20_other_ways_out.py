# TRIES: leave through socket pairs, splices, System V and POSIX queues, and the pipes it has; MUST: be denied. EXPECT: plays
import os
import socket

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
        attempt("socketpair", lambda: socket.socketpair())
        attempt("fromfd", lambda: socket.socket(fileno=3).send(b"x"))
        attempt("netlink", lambda: socket.socket(16, 3, 0))
        attempt("if_nameindex", lambda: socket.if_nameindex())
        attempt("gethostbyname", lambda: socket.gethostbyname("localhost"))
        attempt("splice", lambda: os.splice(3, 4, 10) if hasattr(os, "splice") else 1 // 0)
        attempt("write 3", lambda: os.write(3, b"x"))
        attempt("writev", lambda: os.writev(4, [b"\0\0\0\0"]))
        sysc("tee", 276, 3, 4, 10, 0)
        sysc("vmsplice", 278, 4, 0, 0, 0)
        sysc("msgget", 68, 1234, 0o1666)
        sysc("mq_open", 240, ctypes.c_char_p(b"sbx"), 0o102, 0o666, 0)
        sysc("syslog", 103, 10, 0, 0)
        return view.legal[0]
