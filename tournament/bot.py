"""What a bot imports: cards, the view, the protocol of the class `Bot`, its clock and its files.

from tournament.bot import Card, View

class Bot:
    def bid(self, view: View) -> int: ...
    def play(self, view: View) -> Card: ...
    def discard(self, view: View) -> tuple[Card, ...]: ...   # only where cards are taken; may be left out
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Protocol

from tournament.cards import CARDS, Card
from tournament.deal import Deal, Phase, Points
from tournament.observation import QuestionReader
from tournament.rules import Limits, Rules
from tournament.source import SourceFinder
from tournament.view import Bid, PastDeal, Trick, View

__all__ = [
    "CARDS", "Bid", "Bot", "Card", "Deal", "DiscardingBot", "Limits", "PastDeal", "Phase", "Points", "Rules", "Trick",
    "View", "data", "time_left",
]  # fmt: skip


class Bot(Protocol):
    """What the class `Bot` of a bot's module has to offer; made without arguments, once for each seat and game.

    A method is called only when there is a choice. A card may also be answered as its text, such as ``"TS"``.
    """

    def bid(self, view: View) -> int:
        """Answers one of `view.legal`: 0 passes, or a bid of 2, 3 or 4."""

    def play(self, view: View) -> Card | str:
        """Answers one of `view.legal`."""


class DiscardingBot(Bot, Protocol):
    """A bot that chooses its own discards where the bidder takes cards."""

    def discard(self, view: View) -> Iterable[Card | str]:
        """Answers one of `view.legal`, in any order."""


class Runtime:
    """What `time_left` and `data` need to know of the bot that calls them; one for each seat in a process.

    Attributes:
        finder: the bot's files.
        reader: its observations; None while it is loaded.
        loaded_cpu_s: CPU time when loading began.
        game_cpu_s: CPU time when play began.
        decision_cpu_s: CPU time at the current question.
        uses_clock: whether the bot looks at `time_left`, so that `decision_cpu_s` is kept.
    """

    def __init__(self, finder: SourceFinder, limits: Limits) -> None:
        """Starts the clock of loading."""
        self.finder = finder
        self.limits = limits
        self.reader: QuestionReader | None = None
        self.loaded_cpu_s = self.game_cpu_s = self.decision_cpu_s = time.thread_time()
        self.uses_clock = False


class _Current:
    """The bot that is running now. In a guest it never changes; in one process the adapter sets it before each call."""

    runtime: Runtime | None = None


def enter(runtime: Runtime) -> None:
    """Makes `runtime` the one that `time_left` and `data` answer for."""
    _Current.runtime = runtime


def _runtime() -> Runtime:
    if _Current.runtime is None:
        raise RuntimeError("no bot is being played: time_left() and data() work inside a bot only")
    return _Current.runtime


def time_left() -> float:
    """Returns the CPU seconds left for this decision (or for loading), by this process's own clock.

    The smaller of what the decision and what the game still allow. A bot that looks at a clock may not repeat.
    """
    runtime = _runtime()
    # The thread's clock: with a CPU limit on the process, Linux moves the clock of the process in steps of 4 ms.
    now = time.thread_time()
    limits = runtime.limits
    if runtime.reader is None:
        return limits.load_cpu_s - (now - runtime.loaded_cpu_s)
    game = limits.game_cpu_allowance_s(runtime.reader.deals_begun_now()) - (now - runtime.game_cpu_s)
    return min(limits.decision_cpu_s - (now - runtime.decision_cpu_s), game)


def data(name: str) -> bytes:
    """Returns a file of the bot's own folder or zip, such as ``data("weights.json")``.

    Raises:
        FileNotFoundError: the bot has no such file; the text lists those it has.
    """
    return _runtime().finder.get_data(name)
