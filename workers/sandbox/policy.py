"""What a guest may do, as data: the system calls of the compute profile, resource limits and Landlock rights.

The guest computes, reads one pipe and writes two. The seccomp filter is an allow-list; whatever is not named here
fails with EPERM, so that an honest mistake shows as PermissionError with a traceback. No call that takes a path is
allowed: a bot's source comes over the pipe.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

REQUEST_FD: Final = 3
ANSWER_FD: Final = 4
LOG_FDS: Final = (1, 2)

SIGSYS: Final = 31
"""Not taken from `signal`: the number is part of a rule, and other systems have another one."""


class Op(IntEnum):
    """How libseccomp compares an argument (`enum scmp_compare`)."""

    EQ = 4
    MASKED_EQ = 7


@dataclass(frozen=True, slots=True)
class Arg:
    """One comparison of a rule; with `MASKED_EQ`, ``argument & a == b``."""

    index: int
    op: Op
    a: int
    b: int = 0


ALLOWED: Final = (
    # Ordered by how often a guest makes them: read and write stand in BY_ARGUMENT.
    "munmap brk gettimeofday time getrandom rt_sigreturn rt_sigprocmask sigaltstack restart_syscall exit "
    "exit_group getpid gettid getppid getuid geteuid getgid getegid sched_yield getrusage times uname getcpu close "
    "fstat lseek set_robust_list rseq"
).split()
"""Allowed whatever the arguments: memory that was allowed by `mmap`, the time, who one is, the end."""

_PROT_EXEC: Final = 4
_MAP_ANONYMOUS: Final = 0x20
_MAP_SHARED: Final = 0x01
_MREMAP_MAYMOVE: Final = 1
# No MERGEABLE (a side channel), no PAGEOUT (writes to the swap), no HWPOISON and the like.
_MADVICE: Final = (0, 1, 2, 3, 4, 8, 14, 15, 16, 17, 25)
_CLOCKS: Final = (0, 1, 2, 3, 4, 5, 6, 7, 11)
_FUTEX_FLAGS: Final = 128 | 256  # FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME
_FUTEX_WAITS: Final = (0, 9)  # FUTEX_WAIT, FUTEX_WAIT_BITSET
_FUTEX_WAKES: Final = (1, 10)
_U32: Final = 0xFFFF_FFFF


def _any_of(index: int, values: tuple[int, ...]) -> tuple[tuple[Arg, ...], ...]:
    # Kernel and C library take these as int: the upper half of the register is not theirs.
    return tuple((Arg(index, Op.MASKED_EQ, _U32, value),) for value in values)


BY_ARGUMENT: Final[dict[str, tuple[tuple[Arg, ...], ...]]] = {
    "read": _any_of(0, (REQUEST_FD,)),
    "write": _any_of(0, (ANSWER_FD, *LOG_FDS)),
    # The kernel chooses the place, and no page is shared: so page tables stay few and all memory that a guest has taken
    # shows in its resident set, by which a guest that the kernel killed for want of memory is told from our failures.
    "mmap": (
        (
            Arg(0, Op.EQ, 0),
            Arg(2, Op.MASKED_EQ, _PROT_EXEC, 0),
            Arg(3, Op.MASKED_EQ, _MAP_ANONYMOUS | _MAP_SHARED, _MAP_ANONYMOUS),
        ),
    ),
    "mremap": ((Arg(3, Op.MASKED_EQ, _U32 & ~_MREMAP_MAYMOVE, 0),),),
    "mprotect": ((Arg(2, Op.MASKED_EQ, _PROT_EXEC, 0),),),
    "madvise": _any_of(2, _MADVICE),
    # A wait with a time-out is a sleep; without one it is how locks work.
    "futex": (
        *((Arg(1, Op.MASKED_EQ, _U32 & ~_FUTEX_FLAGS, op), Arg(3, Op.EQ, 0)) for op in _FUTEX_WAITS),
        *((Arg(1, Op.MASKED_EQ, _U32 & ~_FUTEX_FLAGS, op),) for op in _FUTEX_WAKES),
    ),
    "fcntl": _any_of(1, (1, 3)),  # F_GETFD, F_GETFL
    "prlimit64": ((Arg(0, Op.MASKED_EQ, _U32, 0), Arg(2, Op.EQ, 0)),),
    "sched_getaffinity": _any_of(0, (0,)),
    # The id of another process's CPU clock can be computed from its number: only the fixed ones.
    "clock_gettime": _any_of(0, _CLOCKS),
    "clock_getres": _any_of(0, _CLOCKS),
    # The handler of SIGSYS names the forbidden call; the guest keeps it. The kernel looks at 32 bits of the register,
    # so "not equal" on all of it would not do: the number differs from SIGSYS in one of the bits that signals have.
    "rt_sigaction": (
        *((Arg(0, Op.MASKED_EQ, 1 << bit, ~SIGSYS & 1 << bit),) for bit in range(7)),
        (Arg(1, Op.EQ, 0),),
    ),
}
"""Allowed if all comparisons of one of the rules hold."""

REFUSED: Final[dict[str, int]] = {
    "clone": errno.EAGAIN,  # Python says "can't start new thread"
    "clone3": errno.ENOSYS,  # the C library then tries clone
    "openat2": errno.ENOSYS,
    "ioctl": errno.ENOTTY,
    # importlib takes EACCES as "not there".
    **dict.fromkeys("open openat stat lstat newfstatat statx access readlink".split(), errno.EACCES),
}
"""Refused with an error of their own, for the sake of what the standard library makes of it."""

DEADLY: Final = (
    "ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp process_madvise bpf io_uring_setup io_uring_enter "
    "io_uring_register userfaultfd perf_event_open keyctl add_key request_key mount umount2 move_mount open_tree "
    "fsopen fsmount pivot_root chroot unshare setns init_module finit_module delete_module kexec_load "
    "kexec_file_load reboot swapon swapoff acct iopl ioperm modify_ldt open_by_handle_at name_to_handle_at "
    "personality quotactl fanotify_init lookup_dcookie"
).split()
"""No honest use: the guest is ended at once by SIGSYS, and the fault names the call."""

LAST_CALL: Final = "nfsservctl"
"""What the handler of SIGSYS dies of: the kernel kills at this call. It has done nothing since Linux 3.1."""

SELF_TEST: Final[tuple[tuple[str, tuple[int, ...]], ...]] = (
    ("openat", (-100, 0, 0)),
    ("creat", (0, 0o600)),
    ("newfstatat", (-100, 0, 0, 0)),
    ("fork", ()),
    ("kill", (0, 0)),
    ("pipe2", (0, 0)),
    ("socket", (1, 1, 0)),
    ("setrlimit", (4, 0)),
    ("execve", (0, 0, 0)),
)
"""Calls with arguments that must fail with the filter's error and not with another: a null path gives EFAULT."""

LANDLOCK_FS_RIGHTS: Final = (
    # First ABI version that knows it, and bits of LANDLOCK_ACCESS_FS_*.
    (1, 0x1FFF),  # EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE, MAKE_*
    (2, 0x2000),  # REFER
    (3, 0x4000),  # TRUNCATE
    (5, 0x8000),  # IOCTL_DEV
)
LANDLOCK_NET_RIGHTS: Final = ((4, 0x3),)  # BIND_TCP, CONNECT_TCP
LANDLOCK_SCOPES: Final = ((6, 0x3),)  # ABSTRACT_UNIX_SOCKET, SIGNAL
"""All rights are handled and none is granted: nothing of the file system or the network is left."""

FIXED_RLIMITS: Final = {
    "RLIMIT_CORE": 0,
    "RLIMIT_MEMLOCK": 0,
    "RLIMIT_MSGQUEUE": 0,
    "RLIMIT_NICE": 0,
    "RLIMIT_RTPRIO": 0,
    "RLIMIT_SIGPENDING": 16,
    "RLIMIT_STACK": 8 << 20,
}
"""Soft and hard alike, set in the fork server and inherited."""

OPEN_FILES: Final = 8
"""A limit of guests alone, as are those of memory and CPU (from the tournament's limits), file size and processes."""
