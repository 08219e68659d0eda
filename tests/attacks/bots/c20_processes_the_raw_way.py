# TRIES: clone, vfork, execveat, pidfd calls and prctl by number; MUST: be denied. EXPECT: plays
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
        for label, nr, args in (
            ("clone", 56, (17, 0, 0, 0, 0)),
            ("clone thread", 56, (0x3D0F00, 0, 0, 0, 0)),
            ("clone3", 435, (ctypes.create_string_buffer(88), 88)),
            ("execve", 59, (ctypes.c_char_p(b"/bin/true"), 0, 0)),
            ("execveat", 322, (0, ctypes.c_char_p(b""), 0, 0, 0x1000)),
            ("pidfd_send_signal", 424, (0, 0, 0, 0)),
            ("process_mrelease", 448, (0, 0)),
            ("prctl name", 157, (15, ctypes.c_char_p(b"x"), 0, 0, 0)),
            ("prctl dumpable", 157, (4, 1, 0, 0, 0)),
            ("seccomp", 317, (1, 0, 0)),
            ("landlock", 444, (0, 0, 1)),
            ("dup", 32, (4,)),
            ("dup2", 33, (4, 3)),
            ("fcntl dupfd", 72, (4, 0, 10)),
            ("fcntl setfl", 72, (1, 4, 0)),
            ("arch_prctl", 158, (0x1002, 0)),
            ("setsid", 112, ()),
        ):
            sysc(label, nr, *args)
        return view.legal[0]
