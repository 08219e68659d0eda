"""What a guest has used, read from outside: CPU time, time spent waiting for a processor, state.

All of it comes from the kernel; nothing that a guest says is believed.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

DEAD: Final = "X"


def cpu_clock_id(pid: int) -> int:
    """Returns the id of the CPU clock of a process, as `clock_getcpuclockid` makes it."""
    return (~pid << 3) | 2


def cpu_s(pid: int) -> float | None:
    """Returns the CPU seconds that a process has used, or None if it is gone."""
    with suppress(OSError):
        return time.clock_gettime(cpu_clock_id(pid))
    return None


def queue_delay_s(pid: int) -> float | None:
    """Returns how long a process has waited for a processor, or None where the kernel does not say."""
    with suppress(OSError, IndexError, ValueError):
        descriptor = os.open(f"/proc/{pid}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return int(os.read(descriptor, 128).split()[1]) / 1e9
        finally:
            os.close(descriptor)
    return None


def state(pid: int) -> str:
    """Returns the state of a process as one letter: R runnable, S sleeping, Z dead and not reaped, X gone."""
    with suppress(OSError, IndexError):
        # The name in brackets may hold anything, brackets too.
        return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[0]
    return DEAD


def status(pid: int) -> dict[str, str]:
    """Returns the fields of `/proc/PID/status`; empty if the process is gone."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text("ascii", "replace").splitlines()
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return {}


class ProcessProbe:
    """What a `WallMeter` looks at: one process."""

    def __init__(self, pid: int) -> None:
        """Looks at the process of this number."""
        self._pid = pid

    def cpu_s(self) -> float | None:
        """CPU seconds used."""
        return cpu_s(self._pid)

    def queue_delay_s(self) -> float | None:
        """Seconds spent waiting for a processor, or None where the kernel does not say."""
        return queue_delay_s(self._pid)

    def state(self) -> str:
        """The state as one letter."""
        return state(self._pid)


class WallMeter:
    """Wall time of one wait on a guest, less what was not the guest's: its waits for a processor, our own stalls.

    Fed every few milliseconds; each interval is counted by what the guest did in it.

    Attributes:
        effective_s: the time that counts.
    """

    def __init__(self, probe: ProcessProbe, now_s: float, stall_s: float) -> None:
        """Starts to measure.

        Args:
            probe: looks at the guest.
            now_s: monotonic time.
            stall_s: of an interval longer than this, we ourselves have slept through the rest.
        """
        self._probe = probe
        self._last_s = now_s
        self._stall_s = stall_s
        self._cpu_s = probe.cpu_s() or 0.0
        self._delay_s = probe.queue_delay_s()
        self.effective_s = 0.0

    @property
    def exact(self) -> bool:
        """Whether the kernel tells how long the guest waited for a processor."""
        return self._delay_s is not None

    @property
    def runnable(self) -> bool:
        """Whether the guest computes or waits for a processor now."""
        return self._probe.state() == "R"

    def feed(self, now_s: float) -> None:
        """Counts the interval since the last call."""
        interval_s = min(now_s - self._last_s, self._stall_s)
        self._last_s = now_s
        used_s = self._probe.cpu_s() or self._cpu_s
        delay_s = self._probe.queue_delay_s()
        moved = used_s > self._cpu_s
        self._cpu_s = used_s
        if delay_s is None or self._delay_s is None:
            self._delay_s = delay_s
            self.effective_s += interval_s
            return
        waited_s = delay_s - self._delay_s
        self._delay_s = delay_s
        if not moved and waited_s == 0 and self.runnable:
            return  # In the queue right now: the kernel adds the wait up only when it is over.
        self.effective_s += max(0.0, interval_s - waited_s)
