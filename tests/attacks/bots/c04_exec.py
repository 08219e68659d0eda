# TRIES: run programs with system, popen, subprocess, posix_spawn, execv, fexecve from a memfd; MUST: be denied; no program runs. EXPECT: plays
from tournament.bot import data

CANARY = data("canary").decode()
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
import subprocess


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        t = CANARY + "/exec-ran"
        if os.system("touch " + t) == 0:
            print("PWNED system")
        attempt("popen", lambda: os.popen("id").read())
        attempt("subprocess", lambda: subprocess.run(["/bin/touch", t]))
        attempt("posix_spawn", lambda: os.posix_spawn("/bin/touch", ["touch", t], {}))
        attempt("execv", lambda: os.execv("/bin/touch", ["touch", t]))
        attempt("execve fd", lambda: os.execve(3, ["x"], {}))
        sysc("execveat", 322, -100, ctypes.c_char_p(b"/bin/true"), 0, 0, 0)
        return view.legal[0]
