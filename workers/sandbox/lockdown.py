"""Locks the calling process down for good: the guest's side of the policy, through ctypes and libseccomp.

A `Lockdown` is prepared once, in the fork server: the filter is compiled to the kernel's form, the Landlock ruleset
made. Every guest then needs some thirty system calls. The order of the steps matters: a change of user resets the
parent-death signal and the dumpable flag, and a filter without privileges needs `no_new_privs`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from workers.sandbox import policy

try:
    import resource
except ImportError:  # On Windows this module is imported, for its names, and never used.
    resource = None  # type: ignore[assignment]
from workers.sandbox.frames import FORBIDDEN, FORBIDDEN_INDEX

PROCESSORS: Final = ("x86_64",)
"""Refused elsewhere until the list of system calls has passed the self-test there."""

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_SECCOMP: Final = 22
_PR_CAPBSET_DROP: Final = 24
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_CAP_AMBIENT: Final = 47
_SECCOMP_MODE_FILTER: Final = 2
_SYS_LANDLOCK_CREATE: Final = 444
_SYS_LANDLOCK_RESTRICT: Final = 446
_SYS_CAPSET: Final = 126
_CAP_VERSION_3: Final = 0x2008_0522
_LAST_CAP: Final = 63

_ACT_KILL_PROCESS: Final = 0x8000_0000
_ACT_TRAP: Final = 0x0003_0000
_ACT_ERRNO: Final = 0x0005_0000
_ACT_ALLOW: Final = 0x7FFF_0000
_ATTR_BADARCH: Final = 2
_ATTR_OPTIMIZE: Final = 8

_SI_SYSCALL_OFFSET: Final = 24
"""Where `si_syscall` lies in `siginfo_t` on 64-bit Linux."""


class LockdownError(Exception):
    """A layer that must hold cannot be had; the text names it and what to do."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Which layers are used where the system has them. Only tests leave one out, and no setting leads here.

    Without `seccomp` the guest is not confined: the negative control, which shows that the attacks would succeed.
    """

    seccomp: bool = True
    landlock: bool = True
    own_uid: bool = True

    def to_dict(self) -> dict[str, bool]:
        """Returns the layers as JSON values."""
        return asdict(self)


class _Comparison(ctypes.Structure):
    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Action(ctypes.Structure):
    """The C library's `struct sigaction` on x86_64."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ubyte * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class Lockdown:
    """Everything a guest needs to lock itself down, prepared while nothing untrusted is near."""

    def __init__(self, layers: Layers, uid_base: int) -> None:
        """Prepares all layers, and restricts this process in what its guests inherit and it does not need itself.

        Args:
            layers: which of them to use.
            uid_base: guests of slot `n` run as user ``uid_base + n`` where we may change the user.

        Raises:
            LockdownError: a required layer is not to be had on this system.
        """
        if platform.machine() not in PROCESSORS or ctypes.sizeof(ctypes.c_void_p) != 8:
            raise LockdownError(f"processor {platform.machine()}: uploaded bots run on {', '.join(PROCESSORS)} only")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._layers = layers
        self._uid_base = uid_base
        self._pid = os.getpid()
        self.landlock_abi = self._landlock_version() if layers.landlock else 0
        # Arguments are made here once: in a guest, making them costs more than the calls.
        restrict = (_SYS_LANDLOCK_RESTRICT, self._make_ruleset(), 0) if self.landlock_abi else ()
        self._restrict = _longs(*restrict)
        self._parent_death = _longs(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        self._not_dumpable = _longs(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        self._no_capabilities = (
            ctypes.c_long(_SYS_CAPSET),
            (ctypes.c_uint32 * 2)(_CAP_VERSION_3, 0),
            (ctypes.c_uint32 * 6)(),
        )
        self._self_test: list[tuple[str, tuple[ctypes.c_long, ...]]] = []
        if layers.seccomp:
            self._compile(_Seccomp())

    def inherit(self) -> None:
        """Restricts this process, the fork server, in all that guests inherit and it can do without itself.

        Raises:
            LockdownError: a step failed.
        """
        os.umask(0o077)
        os.chdir("/")
        _write_oom_score()
        for name, value in policy.FIXED_RLIMITS.items():
            self._limit(name, value)
        for capability in range(_LAST_CAP + 1):  # Of no avail without privileges, and not needed then.
            self._libc.prctl(*_longs(_PR_CAPBSET_DROP, capability, 0, 0, 0))
        self._libc.prctl(*_longs(_PR_CAP_AMBIENT, 4, 0, 0, 0))  # PR_CAP_AMBIENT_CLEAR_ALL
        self._check("no_new_privs", self._libc.prctl(*_longs(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)))

    def apply(self, slot: int, memory_bytes: int, cpu_s: int) -> None:
        """Locks the calling process down, a fork of one that called `inherit`; descriptors 0 to 4 are its own.

        Args:
            slot: chooses the user, where we may change it.
            memory_bytes: limit of the address space, all of it.
            cpu_s: the kernel kills at so many seconds of CPU, should the referee not.

        Raises:
            LockdownError: a step failed; the process must end without reading anything.
        """
        os.setsid()
        self._limit("RLIMIT_NOFILE", policy.OPEN_FILES)
        self._limit("RLIMIT_FSIZE", 0)  # Not in the server: its last words may go to a file.
        self._limit("RLIMIT_CPU", cpu_s)
        self._limit("RLIMIT_AS", memory_bytes)
        if self._layers.own_uid and os.geteuid() == 0:
            self._change_user(self._uid_base + slot)
        self._limit("RLIMIT_NPROC", 0)
        self._check("parent-death signal", self._libc.prctl(*self._parent_death))
        if os.getppid() != self._pid:
            raise LockdownError("the fork server has died")
        self._check("dumpable", self._libc.prctl(*self._not_dumpable))
        self._check("capset", self._libc.syscall(*self._no_capabilities))
        if self._restrict:
            self._check("landlock_restrict_self", self._libc.syscall(*self._restrict))
        os.closerange(policy.ANSWER_FD + 1, 1 << 20)
        if self._layers.seccomp:
            self._check("seccomp", self._libc.prctl(*self._install))
            self._test_itself()

    def _test_itself(self) -> None:
        for name, arguments in self._self_test:
            result = self._libc.syscall(*arguments)
            if result == 0 and name == "fork" and os.getpid() != os.getppid():
                os._exit(99)
            if result != -1 or ctypes.get_errno() not in (errno.EPERM, errno.EACCES):
                raise LockdownError(f"self-test: {name} was not refused")

    def _change_user(self, uid: int) -> None:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        except PermissionError:
            return  # Root without the capability stays what it is, with no capability left.

    def _limit(self, name: str, value: int) -> None:
        try:
            resource.setrlimit(getattr(resource, name), (value, value))
        except (OSError, ValueError) as error:  # A lower hard limit that was there already is as good.
            if resource.getrlimit(getattr(resource, name))[1] > value:
                raise LockdownError(f"{name} cannot be set to {value}: {error}") from error

    def _landlock_version(self) -> int:
        return max(0, self._call(_SYS_LANDLOCK_CREATE, 0, 0, 1))

    def _make_ruleset(self) -> int:
        def rights(table: tuple[tuple[int, int], ...]) -> int:
            return sum(bits for first, bits in table if first <= self.landlock_abi)

        attributes = _Ruleset(
            rights(policy.LANDLOCK_FS_RIGHTS), rights(policy.LANDLOCK_NET_RIGHTS), rights(policy.LANDLOCK_SCOPES)
        )
        # Older kernels take a shorter structure, as long as what they do not know is zero.
        descriptor = self._libc.syscall(
            _SYS_LANDLOCK_CREATE, ctypes.byref(attributes), ctypes.c_size_t(ctypes.sizeof(attributes)), 0
        )
        return int(self._check("landlock_create_ruleset", descriptor))

    def _compile(self, seccomp: _Seccomp) -> None:
        code = seccomp.compile()
        self._code = ctypes.create_string_buffer(code, len(code))
        self._program = _Program(len(code) // 8, ctypes.addressof(self._code))
        self._install = _longs(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(self._program), 0, 0)
        for name, arguments in policy.SELF_TEST:
            self._self_test.append((name, _longs(seccomp.number(name), *arguments)))
        self._watch_forbidden_calls(seccomp.number(policy.LAST_CALL))

    def _watch_forbidden_calls(self, last_call: int) -> None:
        """Has SIGSYS name the call and then die; the filter keeps the guest from changing the handler."""
        syscall = self._libc.syscall

        def name_and_die(_signal: int, info: int, _context: int) -> None:
            number = ctypes.c_int.from_address(info + _SI_SYSCALL_OFFSET).value
            try:
                os.write(policy.ANSWER_FD, FORBIDDEN.pack(0, FORBIDDEN_INDEX, number))
            finally:
                syscall(last_call)

        self._handler = _Handler(name_and_die)
        action = _Action(handler=ctypes.cast(self._handler, ctypes.c_void_p), flags=4)  # SA_SIGINFO
        self._check("sigaction", self._libc.sigaction(policy.SIGSYS, ctypes.byref(action), None))

    def _call(self, number: int, *arguments: int) -> int:
        return int(self._libc.syscall(*_longs(number, *arguments)))

    def _check(self, name: str, result: int) -> int:
        if result < 0:
            raise LockdownError(f"{name}: {os.strerror(ctypes.get_errno())}")
        return result


class _Seccomp:
    """The few functions of libseccomp that compile the policy."""

    def __init__(self) -> None:
        try:
            self._lib = ctypes.CDLL("libseccomp.so.2")
        except OSError:
            raise LockdownError(
                "libseccomp.so.2 is missing: install the package libseccomp2 (Debian, Ubuntu) or libseccomp"
            ) from None
        self._lib.seccomp_init.restype = ctypes.c_void_p
        self._lib.seccomp_init.argtypes = [ctypes.c_uint32]
        add: Callable[..., int] = self._lib.seccomp_rule_add_array
        add.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p]  # type: ignore[attr-defined]
        self._add = add
        self._lib.seccomp_attr_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
        self._lib.seccomp_syscall_priority.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint8]
        self._lib.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self._lib.seccomp_release.argtypes = [ctypes.c_void_p]

    def number(self, name: str) -> int:
        """Returns the number of a system call here, negative where there is none."""
        return int(self._lib.seccomp_syscall_resolve_name(name.encode()))

    def name(self, number: int) -> str:
        """Returns the name of a system call, or its number where it has none."""
        resolve = self._lib.seccomp_syscall_resolve_num_arch
        resolve.restype = ctypes.c_void_p
        found = resolve(ctypes.c_uint32(0), ctypes.c_int(number))
        return ctypes.string_at(found).decode() if found else f"number {number}"

    def compile(self) -> bytes:
        """Returns the filter of the compute profile in the kernel's form."""
        context = self._lib.seccomp_init(_ACT_ERRNO | errno.EPERM)
        if not context:
            raise LockdownError("seccomp_init failed: libseccomp cannot make a filter here")
        try:
            self._check("attribute", self._lib.seccomp_attr_set(context, _ATTR_BADARCH, _ACT_KILL_PROCESS))
            # A binary tree instead of a chain; libseccomp before 2.5 does not know it and is right all the same.
            self._lib.seccomp_attr_set(context, _ATTR_OPTIMIZE, 2)
            self._fill(context)
            return self._export(context)
        finally:
            self._lib.seccomp_release(context)

    def _fill(self, context: int) -> None:
        for name in policy.ALLOWED:
            self._rule(context, _ACT_ALLOW, name)
        for name, rules in policy.BY_ARGUMENT.items():
            for comparisons in rules:
                self._rule(context, _ACT_ALLOW, name, comparisons)
        for name, error in policy.REFUSED.items():
            self._rule(context, _ACT_ERRNO | error, name)
        for name in policy.DEADLY:
            self._rule(context, _ACT_TRAP, name)
        self._rule(context, _ACT_KILL_PROCESS, policy.LAST_CALL)

    def _rule(self, context: int, action: int, name: str, comparisons: tuple[policy.Arg, ...] = ()) -> None:
        number = self.number(name)
        if number == -1 and action != _ACT_ALLOW:
            return  # A call that this libseccomp does not know is refused by default.
        array = (_Comparison * len(comparisons))(*(_Comparison(c.index, c.op, c.a, c.b) for c in comparisons))
        self._check(name, self._add(context, action, number, len(comparisons), array))

    def _export(self, context: int) -> bytes:
        descriptor = os.memfd_create("filter")
        try:
            self._check("export", self._lib.seccomp_export_bpf(context, descriptor))
            os.lseek(descriptor, 0, os.SEEK_SET)
            return os.read(descriptor, 1 << 16)
        finally:
            os.close(descriptor)

    @staticmethod
    def _check(what: str, result: int) -> None:
        if result < 0:
            raise LockdownError(f"seccomp rule for {what}: {os.strerror(-result)}")


def _longs(*values: int) -> tuple[ctypes.c_long, ...]:
    """Returns arguments of a C function of variable arguments; without their type, ctypes would pass 32 bits."""
    return tuple(ctypes.c_long(value) for value in values)


def syscall_name(number: int) -> str:
    """Returns the name of a system call of this processor; for messages, so that it never fails."""
    try:
        return _Seccomp().name(number)
    except LockdownError:
        return f"number {number}"


def address_space_bytes() -> int:
    """Returns how much address space this process has now."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()


def _write_oom_score() -> None:
    """Has the kernel take guests first when memory runs out."""
    try:
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    except OSError:
        return  # Without /proc, or with one that is read-only: the limit of the address space holds all the same.
    try:
        os.write(descriptor, b"1000")
    except OSError:
        return
    finally:
        os.close(descriptor)
