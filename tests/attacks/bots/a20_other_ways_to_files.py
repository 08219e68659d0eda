# TRIES: reach files by the C library, directories, handles, mappings, zip imports and the working directory; MUST: be denied. EXPECT: plays
import io
import os
import zipimport

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
        libc.fopen.restype = ctypes.c_void_p
        if libc.fopen(b"/etc/passwd", b"r"):
            print("PWNED fopen")
        attempt("FileIO", lambda: io.FileIO("/etc/passwd").read(9))
        attempt("os.open", lambda: os.open("/etc/passwd", os.O_RDONLY | os.O_PATH))
        attempt("scandir", lambda: list(os.scandir("/")))
        attempt("listdir fd", lambda: os.listdir(0))
        attempt("statvfs", lambda: os.statvfs("/"))
        attempt("chdir", lambda: os.chdir("/tmp"))
        attempt("getcwd", lambda: os.getcwd())
        attempt("zipimport", lambda: zipimport.zipimporter("/usr/lib/python3.zip"))
        attempt("memfd", lambda: os.memfd_create("x"))
        attempt("pread", lambda: os.pread(0, 1, 0))
        attempt("read 0", lambda: os.read(0, 1))
        attempt("sendfile", lambda: os.sendfile(4, 3, None, 10))
        sysc("openat2", 437, -100, ctypes.c_char_p(b"/etc/passwd"), ctypes.create_string_buffer(24), 24)
        sysc("inotify_init1", 294, 0)
        sysc("fspick", 433, -100, ctypes.c_char_p(b"/"), 0)
        sysc("mmap file", 9, 0, 4096, 1, 2, 0, 0)
        return view.legal[0]
