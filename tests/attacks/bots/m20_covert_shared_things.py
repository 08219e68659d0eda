# TRIES: pass the secret by what forked guests share: the offset and flags of descriptor 0, System V memory and semaphores, process groups, priorities; MUST: be denied. EXPECT: plays DUAL
from tournament.bot import data
import ctypes
import fcntl
import os

libc = ctypes.CDLL(None, use_errno=True)


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        if view.seat == 0:
            secret = int(data("secret"))
            for label, send in (
                ("offset", lambda: os.lseek(0, secret, os.SEEK_SET) or 1 // 0),
                ("flags", lambda: fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK if secret & 1 else 0)),
                ("lock", lambda: fcntl.flock(0, fcntl.LOCK_EX | fcntl.LOCK_NB)),
                ("owner", lambda: fcntl.fcntl(0, fcntl.F_SETOWN, secret)),
                ("priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, secret)),
                ("group", lambda: os.setpgid(0, 0)),
                ("shared memory", lambda: 1 // 0 if libc.shmget(4711, 4096, 0o1666) < 0 else None),
                ("semaphore", lambda: 1 // 0 if libc.semget(4711, secret, 0o1666) < 0 else None),
            ):
                try:
                    send()
                    print("PWNED", label)
                except (OSError, ZeroDivisionError) as e:
                    print("blocked", label, type(e).__name__)
        else:
            offset = os.lseek(0, 0, os.SEEK_CUR)
            print("GUESS", offset or None)
        return view.legal[0]
