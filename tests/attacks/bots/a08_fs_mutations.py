# TRIES: rename, unlink, link, symlink, mkdir, mknod, chmod, chown, utime, truncate and set xattrs; MUST: be denied. EXPECT: plays
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
import os
import stat


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        c = CANARY + "/settings.py"
        attempt("unlink", lambda: os.unlink(c))
        attempt("rename", lambda: os.rename(c, c + "2"))
        attempt("link", lambda: os.link(c, c + "2"))
        attempt("symlink", lambda: os.symlink("/etc", CANARY + "/ln"))
        attempt("mkdir", lambda: os.mkdir(CANARY + "/d"))
        attempt("mkfifo", lambda: os.mkfifo(CANARY + "/f"))
        attempt("mknod", lambda: os.mknod(CANARY + "/n", stat.S_IFREG | 0o600))
        attempt("chmod", lambda: os.chmod(c, 0o777))
        attempt("chown", lambda: os.chown(c, os.getuid(), os.getgid()))
        attempt("utime", lambda: os.utime(c))
        attempt("truncate", lambda: os.truncate(c, 0))
        attempt("setxattr", lambda: os.setxattr(c, "user.x", b"1"))
        return view.legal[0]
