# TRIES: read environ, cmdline, maps, fd table and memory of the parent through /proc; MUST: be denied. EXPECT: plays
def attempt(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("blocked", label, type(e).__name__)
        return None
    print("PWNED", label, repr(r)[:80])
    return r

import os


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        pp = os.getppid()
        for pid in (pp, 1, os.getpid()):
            for f in ("environ", "cmdline", "maps", "status", "mem", "stat", "syscall", "fd/0", "root/etc/passwd", "cwd", "exe"):
                attempt(f"{pid}/{f}", lambda: open(f"/proc/{pid}/{f}", "rb").read(50))
            attempt(f"ls {pid}/fd", lambda: os.listdir(f"/proc/{pid}/fd"))
            attempt(f"readlink {pid}/exe", lambda: os.readlink(f"/proc/{pid}/exe"))
        return view.legal[0]
