"""A guest computes and answers; whatever else it does is told for what it is."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
from pathlib import Path

import pytest

from tests.sandbox.conftest import RULES, Seat
from tests.sandbox.guests import FakeKeeper, Table, bot, fault_of, reads_frames
from tournament.game import FaultKind
from tournament.rules import Limits
from tournament.source import BotSource
from workers.sandbox import clocks
from workers.sandbox.doctor import doctor
from workers.sandbox.faults import GuestFault, SandboxFailure
from workers.sandbox.frames import GuestInit
from workers.sandbox.host import Confinement, Sandbox
from workers.sandbox.lockdown import Layers, Lockdown, LockdownError
from workers.sandbox.remote import Guest
from workers.sandbox.zygote import REAP


def test_a_bot_answers_with_the_index_of_a_legal_action(seat: Seat) -> None:
    guest = seat(bot(bid="return 3"))
    guest.wait_ready()
    table = Table(guest)
    assert [table.ask() for _ in range(5)] == [2] * 5
    # A decision that others interrupted is counted in the bot's favour, down to nothing.
    assert 0 <= guest.last_decision_cpu_s <= guest.slowest_decision_cpu_s < guest.cpu_s


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (FaultKind.LOAD, {"head": "import bot_of_somebody_else"}),
        (FaultKind.LOAD, {"init": "raise SystemExit(0)"}),
        (FaultKind.LOAD, {"head": "raise KeyboardInterrupt"}),
        (FaultKind.EXCEPTION, {"bid": "return self.nothing"}),
        (FaultKind.EXCEPTION, {"bid": "raise StopIteration"}),
        (FaultKind.EXCEPTION, {"bid": "sys.exit('done')"}),
        (FaultKind.EXITED, {"bid": "os._exit(99)"}),
        (FaultKind.EXITED, {"init": "os._exit(99)"}),
        (FaultKind.KILLED, {"bid": "import ctypes; ctypes.memset(1, 0, 10)"}),
        (FaultKind.KILLED, {"init": "import ctypes; ctypes.memset(1, 0, 10)"}),
        (FaultKind.MEMORY, {"bid": "bytearray(1 << 40)"}),
        (FaultKind.MEMORY, {"init": "bytearray(1 << 40)"}),
        (FaultKind.FORBIDDEN_CALL, {"bid": "import ctypes; ctypes.CDLL(None).unshare(0x10000000)"}),
        (FaultKind.FORBIDDEN_CALL, {"init": "import ctypes; ctypes.CDLL(None).syscall(321, 0, 0, 0)"}),
        (FaultKind.FORBIDDEN_CALL, {"bid": "import ctypes; ctypes.CDLL(None).syscall(0x40000000 + 39)"}),
        (FaultKind.PROTOCOL, {"init": "os.write(4, b'1')"}),
        (FaultKind.PROTOCOL, {"init": "os.write(4, struct.pack('<HH', 0, 0) * 2)"}),
        pytest.param(
            FaultKind.PROTOCOL,
            {"bid": "os.write(4, struct.pack('<HH', number(), 0)); return 0"},
            marks=reads_frames,
        ),
        pytest.param(
            FaultKind.PROTOCOL,
            {"bid": "os.write(4, struct.pack('<HH', number(), 1) + b'12345')"},
            marks=reads_frames,
        ),
        (FaultKind.PROTOCOL, {"bid": "os.write(4, struct.pack('<HHI', 0, 0xFFFE, 101) + b'!')"}),
        pytest.param(
            FaultKind.PROTOCOL,
            {"bid": "os.write(4, struct.pack('<HHBH', number(), 0xFFFF, 1, 0)); return 0"},
            marks=reads_frames,
        ),
        (FaultKind.PROTOCOL, {"bid": "os.close(4)\n        while True: pass"}),
        (FaultKind.INVALID, {"bid": "return 2.0"}),
        (FaultKind.INVALID, {"bid": "return True"}),
        (FaultKind.ILLEGAL, {"bid": "return 1"}),
        (FaultKind.ILLEGAL, {"bid": "return -1"}),
    ],
)
def test_each_kind_of_fault_keeps_its_name(seat: Seat, kind: FaultKind, parts: dict[str, str]) -> None:
    fault = fault_of(seat(bot(**parts)))
    assert fault.kind is kind, fault
    assert fault.message


def test_a_forbidden_call_is_named_and_cannot_be_disguised(seat: Seat) -> None:
    call = "import ctypes; ctypes.CDLL(None).syscall({})"
    assert fault_of(seat(bot(bid=call.format(298)))).message == "forbidden system call: perf_event_open"
    assert fault_of(seat(bot(bid=call.format(165)))).message == "forbidden system call: mount"
    ignoring = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))"
    assert fault_of(seat(bot(init=ignoring, bid=call.format(101)))).kind is FaultKind.FORBIDDEN_CALL
    raw = "import ctypes; c = ctypes.CDLL(None, use_errno=True); print(c.syscall(13, ctypes.c_long(31 | 1 << {}), "
    raw += "ctypes.create_string_buffer(64), None, 8), ctypes.get_errno()); return 0"
    for high_bit in (32, 63, 7):  # The kernel takes the number's lower half; the filter must not be fooled by the rest.
        guest = seat(bot(bid=raw.format(high_bit)))
        guest.wait_ready()
        Table(guest).ask()
        assert guest.log() == "-1 1\n"
    handler = "import signal; signal.signal(signal.SIGSYS, signal.SIG_IGN)"
    assert "PermissionError" in fault_of(seat(bot(bid=handler))).message


def test_a_frame_that_names_a_forbidden_call_is_not_believed_of_a_living_guest(seat: Seat) -> None:
    claim = "os.write(4, struct.pack('<HHI', 0, 0xFFFE, 101))\n        while True: pass"
    assert fault_of(seat(bot(bid=claim), Limits(decision_cpu_s=0.1))).kind is FaultKind.TIMEOUT_CPU
    claim = "os.write(4, struct.pack('<HHI', 0, 0xFFFE, 101)); os._exit(0)"
    assert fault_of(seat(bot(bid=claim))).kind is FaultKind.EXITED


def test_a_traceback_shows_the_bots_lines_and_no_path_of_ours(seat: Seat) -> None:
    fault = fault_of(
        seat(
            bot(head="import helper", bid="return helper.bid()"), helper__py=b"def bid():\n    return open('w.json')\n"
        )
    )
    assert fault.kind is FaultKind.EXCEPTION
    assert 'File "helper.py", line 2, in bid' in fault.traceback
    assert "return open('w.json')" in fault.traceback
    assert "tournament.bot.data('w.json')" in fault.message
    assert "sandbox/guest.py" not in fault.traceback


def test_a_module_that_is_not_on_the_list_cannot_be_imported(seat: Seat) -> None:
    fault = fault_of(seat(bot(head="import asyncio")))
    assert fault.kind is FaultKind.LOAD
    assert "No module named 'asyncio': bots can import" in fault.message


def test_the_random_module_is_seeded_and_repeats(seat: Seat) -> None:
    text = bot(head="import random", init="print(random.random())")
    logs = []
    for seed in ("a" * 64, "a" * 64, "b" * 64):
        guest = seat(text, seed=seed)
        guest.wait_ready()
        logs.append(guest.log())
    assert logs[0] == logs[1] != logs[2]


def addresses_can_be_fixed() -> bool:
    command = ("setarch", "-R", "true")
    return shutil.which("setarch") is not None and subprocess.run(command, check=False).returncode == 0


@pytest.mark.skipif(not addresses_can_be_fixed(), reason="the system does not let us fix addresses")
def test_the_order_of_a_set_of_objects_is_the_same_under_every_fork_server() -> None:
    own = "{type('Own', (), {'n': n})() for n in range(99)}"
    text = bot(init=f"print([each.n for each in {own}], hash(None), id(self))")
    logs = []
    for _ in range(2):
        with Sandbox(numpy=False) as running:
            guest = running.spawn(BotSource.of_file(text.encode()), GuestInit(RULES, Limits(), 0, "0" * 64), 0)
            guest.wait_ready()
            logs.append(guest.log())
            guest.close()
    assert logs[0] == logs[1]


def test_numpys_own_generator_is_seeded_too() -> None:
    pytest.importorskip("numpy")
    text = bot(head="import numpy", init="print(numpy.random.rand(), hash('a'))")
    logs = []
    with Sandbox() as running:
        for seed in ("a" * 64, "a" * 64, "b" * 64):
            guest = running.spawn(BotSource.of_file(text.encode()), GuestInit(RULES, Limits(), 0, seed), 0)
            guest.wait_ready()
            guest.close()
            logs.append(guest.log())
    assert logs[0] == logs[1] != logs[2]


def test_a_log_is_kept_to_its_bound_and_says_so(seat: Seat) -> None:
    guest = seat(bot(init="print('first'); [print('x' * 999) for _ in range(1000)]; print('last', file=sys.stderr)"))
    guest.wait_ready()
    assert Table(guest).ask() == 0
    assert guest.log().startswith("first\nxxx")
    assert "the log is full" in guest.log()
    assert "last" not in guest.log()
    assert len(guest.log()) <= 65_536


def test_a_log_is_safe_to_show(seat: Seat) -> None:
    guest = seat(bot(init=r"print('\x1b[2J\0\u202e<b>\udc80')"))
    guest.wait_ready()
    assert guest.log() == "\\x1b[2J\\x00\\u202e<b>\\udc80\n"


def test_what_was_printed_without_a_line_end_is_not_lost_when_the_bot_answers(seat: Seat) -> None:
    guest = seat(bot(bid="print('bidding', end=' '); return 0"))
    guest.wait_ready()
    Table(guest).ask()
    guest.close()
    assert guest.log() == "bidding "


def test_several_guests_load_side_by_side_and_can_be_asked_in_any_order(seat: Seat) -> None:
    guests = [
        seat(bot(init="sum(range(10**5))", bid=f"return {bid}"), slot=slot) for slot, bid in enumerate((0, 2, 3, 4))
    ]
    for guest in reversed(guests):
        guest.wait_ready()
    assert [Table(guest).ask() for guest in guests] == [0, 1, 2, 3]


def test_a_guest_can_be_closed_before_it_is_ready_and_twice(seat: Seat) -> None:
    first, second = seat(bot()), seat(bot(), slot=1)
    second.close()
    second.close()
    first.wait_ready()
    assert Table(first).ask() == 0


def test_who_kills_a_guest_from_outside_voids_the_game(seat: Seat) -> None:
    guest = seat(bot())
    guest.wait_ready()
    os.kill(guest.pid, signal.SIGKILL)
    with pytest.raises(SandboxFailure, match="killed from outside"):
        Table(guest).ask()


def test_a_dead_fork_server_is_our_failure_and_is_replaced_for_the_next_game() -> None:
    with Sandbox(numpy=False) as running:
        source, init = BotSource.of_file(bot().encode()), GuestInit(RULES, Limits(), 0, "0" * 64)
        guest = running.spawn(source, init, 0)
        guest.wait_ready()
        assert running._process is not None
        running._process.kill()
        running._process.wait()
        with pytest.raises(SandboxFailure):
            Table(guest).ask()
        with pytest.raises(SandboxFailure):
            guest.close()
        again = running.spawn(source, init, 0)
        again.wait_ready()
        assert Table(again).ask() == 0
        again.close()


def test_a_guest_is_seen_locked_down_from_outside(seat: Seat, sandbox: Sandbox) -> None:
    guest = seat(bot(), slot=3)
    guest.wait_ready()
    status = clocks.status(guest.pid)
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert set(status["CapEff"] + status["CapPrm"] + status["CapInh"]) == {"0"}
    assert status["Threads"] == "1"
    assert sandbox.confinement.own_uid == (status["Uid"].split()[0] != str(os.geteuid()))
    if sandbox.confinement.own_uid:
        assert status["Uid"].split() == status["Gid"].split() == ["60003"] * 4
        assert status["Groups"] == ""


def test_nothing_of_the_referee_is_inherited(seat: Seat) -> None:
    guest = seat(bot(init="print(sorted(os.environ))"))
    guest.wait_ready()
    names = {
        "LANG",
        "MKL_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "PATH",
        "PYTHONHASHSEED",
        "PYTHONPATH",
    }
    assert guest.log() == f"{sorted(names)}\n"
    if os.geteuid() == 0:
        assert sorted(path.name for path in Path(f"/proc/{guest.pid}/fd").iterdir()) == list("01234")


def test_a_missing_library_is_told_in_one_line_that_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    real = ctypes.CDLL

    def without(name: str | None, *args: object, **kwargs: object) -> ctypes.CDLL:
        if name and "seccomp" in name:
            raise OSError("not found")
        return real(name, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(ctypes, "CDLL", without)
    with pytest.raises(LockdownError, match="install the package libseccomp2"):
        Lockdown(Layers(), 60_000)


def test_another_processor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(LockdownError, match="processor aarch64"):
        Lockdown(Layers(), 60_000)


def test_a_server_that_cannot_start_says_why() -> None:
    with pytest.raises(SandboxFailure, match="does not start"):
        Sandbox(command_prefix=("/no/such/program",)).start()
    with pytest.raises(SandboxFailure, match="died while starting"):
        Sandbox(command_prefix=("/bin/true",)).start()
    (check,) = doctor(command_prefix=("/bin/true",))
    assert (check.name, check.ok) == ("sandbox", False)


def test_missing_layers_are_told_in_a_line_each() -> None:
    assert Confinement(landlock_abi=4, own_uid=True).missing == {}
    assert [line.split()[0] for line in Confinement().missing.values()] == ["the", "bots"]
    assert Confinement(landlock_abi=4).layers == {"landlock"}
    names = [check.name for check in doctor(numpy=False)]
    assert names == ["sandbox", "landlock", "own-uid", "modules"]


def test_an_answer_is_four_bytes() -> None:
    assert struct.calcsize("<HH") == 4


def test_what_happens_before_a_guest_is_locked_down_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.sandbox.remote._DEATH_TIMEOUT_MS", 1)  # nobody dies here
    ends = (*os.pipe(), *os.pipe(), *os.pipe())
    guest = Guest(FakeKeeper(), Limits(), ends[1], ends[2], ends[4], b"")
    guest.pidfd = ends[0]  # one that never tells of an end
    os.set_blocking(ends[4], False)
    os.close(ends[3])
    guest.end(GuestFault(FaultKind.TIMEOUT_CPU, "late"))
    with pytest.raises(SandboxFailure, match="could not be locked down"):
        guest.wait_locked()
    for end in (*ends[:3], *ends[4:]):
        os.close(end)


def test_a_fork_server_that_is_out_of_step_is_replaced(sandbox: Sandbox) -> None:
    source, init = BotSource.of_file(bot().encode()), GuestInit(RULES, Limits(), 0, "0" * 64)
    assert sandbox._control is not None
    guests = [sandbox.spawn(source, init, slot) for slot in range(2)]
    for guest in guests:
        guest.wait_ready()
    guests[0].kill()
    sandbox._control.send(REAP.pack(b"R", guests[0].server_pid))  # whose reply nobody reads
    guests.append(sandbox.spawn(source, init, 2))
    with pytest.raises(SandboxFailure, match="the fork server has died"):
        guests[2].wait_ready()
    for guest in guests:
        with pytest.raises(SandboxFailure):
            guest.close()
    again = sandbox.spawn(source, init, 0)
    again.wait_ready()
    again.close()


def test_an_old_fork_server_is_replaced_between_two_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.sandbox.host.GUESTS_PER_SERVER", 3)
    source, init = BotSource.of_file(bot().encode()), GuestInit(RULES, Limits(), 0, "0" * 64)
    servers = []
    with Sandbox(numpy=False) as running:
        for _ in range(6):
            pair = [running.spawn(source, init, slot) for slot in range(2)]
            for guest in pair:
                guest.wait_ready()
            assert running._process is not None
            servers.append(running._process.pid)
            for guest in pair:
                guest.close()
    # The guest that is looked at in the beginning counts too.
    assert servers[0] != servers[1] == servers[2] != servers[3] == servers[4] != servers[5]


def test_the_fork_server_leaves_an_interrupt_to_the_worker(seat: Seat, sandbox: Sandbox) -> None:
    guest = seat(bot())
    guest.wait_ready()
    assert sandbox._process is not None
    os.kill(sandbox._process.pid, signal.SIGINT)
    assert Table(guest).ask() == 0
    seat(bot(), slot=1).wait_ready()


BUBBLEWRAP = (
    "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--proc", "/proc",
    "--dev", "/dev",
)  # fmt: skip


def bubblewrap_works() -> bool:
    return shutil.which("bwrap") is not None and subprocess.run([*BUBBLEWRAP, "true"], check=False).returncode == 0


@pytest.mark.skipif(not bubblewrap_works(), reason="bubblewrap is not installed, or user namespaces are not allowed")
def test_the_fork_server_may_run_in_bubblewrap() -> None:
    with Sandbox(numpy=False, command_prefix=BUBBLEWRAP) as running:
        source = BotSource.of_file(bot(bid="import ctypes; ctypes.CDLL(None).syscall(101); return 0").encode())
        guest = running.spawn(source, GuestInit(RULES, Limits(), 0, "0" * 64), 0)
        assert fault_of(guest).message == "forbidden system call: ptrace"
        guest.close()


def test_the_fork_server_starts_whatever_number_its_connection_has() -> None:
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(40)]
    try:
        for free in range(16, 30):
            # The socket of the fork server gets the lowest free numbers: so each of these is tried.
            os.close(held[free - held[0]])
            with Sandbox(numpy=False) as sandbox:
                assert sandbox.confinement.modules
            held[free - held[0]] = os.open(os.devnull, os.O_RDONLY)
    finally:
        for descriptor in held:
            os.close(descriptor)
