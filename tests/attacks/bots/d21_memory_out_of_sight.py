# TRIES: take memory that no account of a process shows: page tables, shared pages, the swap; MUST: be denied. EXPECT: plays
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

PAGE = 4096
READ_WRITE = 3
PRIVATE, SHARED, FIXED, ANONYMOUS = 0x02, 0x01, 0x10, 0x20
FAR = 0x1000_0000_0000


def sysc(label, nr, *a):
    r = libc.syscall(*[ctypes.c_long(x) for x in (nr, *a)])
    print("PWNED" if r >= 0 else "blocked", label, r, ctypes.get_errno())
    return r


def mmap(label, address, flags):
    return sysc(label, 9, address, PAGE, READ_WRITE, flags | ANONYMOUS, -1, 0)


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        # A page in every GiB needs two tables of its own: twice as much again, and not counted as the process's.
        mmap("page where I like", FAR, PRIVATE)
        mmap("page exactly there", FAR, PRIVATE | FIXED)
        mmap("shared page", 0, SHARED)
        mmap("shared page, validated", 0, SHARED | PRIVATE)
        page = libc.syscall(*[ctypes.c_long(x) for x in (9, 0, 2 * PAGE, READ_WRITE, PRIVATE | ANONYMOUS, -1, 0)])
        assert page > 0
        sysc("moved where I like", 25, page, PAGE, PAGE, 3, FAR)
        sysc("moved, and left behind", 25, page, PAGE, PAGE, 5, 0)
        sysc("put out into the swap", 28, page, PAGE, 21)
        return view.legal[0]
