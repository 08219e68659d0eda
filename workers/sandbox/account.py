"""The CPU time of one guest, split into loading, decisions and the time between them. Pure: readings are passed in.

A process of one thread cannot use more CPU time than wall time passes. So the kernel's clock is read only when enough
wall time has passed for it to matter: before a question if that is more than `UNREAD_S` since the last reading, and
after an answer that took longer. What is not known is at most that much, and is decided in the bot's favour.
"""

from __future__ import annotations

from typing import Final

from tournament.game import FaultKind
from tournament.rules import Limits
from workers.sandbox.faults import GuestFault

UNREAD_S: Final = 0.001
"""Wall time that may pass without a reading."""

OFF_TURN_CPU_S: Final = 0.030
"""CPU time between an answer and the next question that is a fault."""


class Account:
    """What one guest has used.

    Attributes:
        read_at_s: monotonic time of the last reading.
        thought_s: wall time of the short decisions since then; the caller adds to it.
        last_s: the last decision; below `UNREAD_S` its wall time stands for it.
        loaded_s: CPU time of loading, 0 before its end.
        slowest_s: the slowest so far, as exact as `last_s`.
        deals_begun: which the limit of the game depends on; set by the caller.
    """

    __slots__ = (
        "_cpu_s", "_decisions_s", "_limits", "deals_begun", "last_s", "loaded_s", "loading", "read_at_s", "slowest_s",
        "thought_s",
    )  # fmt: skip

    def __init__(self, limits: Limits) -> None:
        """Begins with loading."""
        self._limits = limits
        self._cpu_s = 0.0  # at the last reading
        self._decisions_s = 0.0
        self.loading = True
        self.deals_begun = 0
        self.read_at_s = self.thought_s = self.last_s = self.slowest_s = self.loaded_s = 0.0

    @property
    def read_cpu_s(self) -> float:
        """CPU time at the last reading."""
        return self._cpu_s

    def loaded(self, cpu_s: float, now_s: float) -> GuestFault | None:
        """Ends loading; returns the fault if it took too long."""
        over = self.over(cpu_s, now_s)
        self.loading, self.loaded_s = False, cpu_s
        self._read(cpu_s, now_s, 0.0)
        return over

    def before_question(self, cpu_s: float, now_s: float) -> GuestFault | None:
        """Takes a reading before a question; returns the fault that it shows."""
        used_s = cpu_s - self._cpu_s
        # Short decisions count as long as they may have been, so that only what is certain counts as off turn.
        off_turn_s = used_s - min(used_s, self.thought_s)
        self._read(cpu_s, now_s, used_s)  # All of it is time of the game, so that nobody thinks for nothing off turn.
        if off_turn_s > OFF_TURN_CPU_S:
            text = f"{off_turn_s:.3f} s CPU between two questions, limit {OFF_TURN_CPU_S:.3f} s"
            return GuestFault(FaultKind.OFF_TURN, text, measured=off_turn_s, limit=OFF_TURN_CPU_S)
        return self.over(cpu_s, now_s)

    def answered(self, cpu_s: float, asked_s: float, now_s: float) -> GuestFault | None:
        """Takes a reading after a long decision; returns the fault if it took too long."""
        over = self.over(cpu_s, asked_s)
        self.last_s = self._decision_s(cpu_s, asked_s)
        self.slowest_s = max(self.slowest_s, self.last_s)
        self._read(cpu_s, now_s, min(cpu_s - self._cpu_s, self.thought_s + now_s - asked_s))
        return over

    def over(self, cpu_s: float, asked_s: float) -> GuestFault | None:
        """Returns the fault if the wait since `asked_s` has taken more CPU time than is allowed."""
        limits = self._limits
        if self.loading:
            return _late(cpu_s, limits.load_cpu_s, "loading")
        decision_s = self._decision_s(cpu_s, asked_s)
        allowed_s = limits.game_cpu_allowance_s(self.deals_begun)
        return _late(decision_s, limits.decision_cpu_s, "one decision") or _late(
            self._decisions_s + decision_s, allowed_s, f"a game of {self.deals_begun} deals"
        )

    def _decision_s(self, cpu_s: float, asked_s: float) -> float:
        return max(0.0, cpu_s - self._cpu_s - (asked_s - self.read_at_s))

    def _read(self, cpu_s: float, now_s: float, decisions_s: float) -> None:
        self._decisions_s += decisions_s
        self._cpu_s, self.read_at_s, self.thought_s = cpu_s, now_s, 0.0


def _late(used_s: float, limit_s: float, what: str) -> GuestFault | None:
    if used_s <= limit_s:
        return None
    text = f"{used_s:.2f} s CPU in {what}, limit {limit_s:.2f} s"
    return GuestFault(FaultKind.TIMEOUT_CPU, text, measured=used_s, limit=limit_s)
