"""Plays one match: seats bots in guests, asks them, turns what they do wrong into faults, and sums up each game.

The referee decides nothing about the rules: the engine judges every answer. A `SandboxFailure` is ours: it leaves here
as it is, the match is void and is played again.
"""

from __future__ import annotations

import gc
import os
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeAlias

from tournament.game import Fault, Game
from tournament.observation import QuestionWriter
from tournament.results import FaultReport, GameResult
from tournament.rules import Limits
from tournament.source import BotSource
from tournament.wire import MatchTask, game_result
from workers.sandbox.faults import GuestFault, SandboxFailure
from workers.sandbox.frames import GuestInit

if TYPE_CHECKING:  # the sandbox is there on Linux only
    from workers.sandbox.host import Sandbox
    from workers.sandbox.plain import PlainGuest, PlainSandbox
    from workers.sandbox.remote import Guest

LOG_TAIL_LINES = 20
LOG_TAIL_CHARS = 8_192
BEAT_S = 10.0
"""How often who plays a match says at most that it goes on."""

_NUMBERS_AT_ONCE = 1024
_TIMING = struct.Struct("<BI")


def collect_seldom() -> None:
    """Keeps the garbage collector from what was imported, and from every young deal; for processes that only play."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


SeatedBot: TypeAlias = "Guest | PlainGuest"
"""A bot at its seat."""

Seating: TypeAlias = "Sandbox | PlainSandbox"
"""What seats bots: the sandbox or, on other systems, plain child processes."""

Watcher = Callable[[Game, int, SeatedBot], None]
"""Called after every load, answer or fault with the game, the seat and its bot; `play` prints what the bot printed."""


def question_numbers(entropy: Callable[[int], bytes] = os.urandom) -> Iterator[int]:
    """Draws numbers from 0 to 65535 that a guest cannot foresee: an answer written ahead of its question never fits.

    They decide nothing in the game: results do not depend on them.
    """
    while True:
        yield from struct.unpack(f"<{_NUMBERS_AT_ONCE}H", entropy(2 * _NUMBERS_AT_ONCE))


class Pulse:
    """A watcher that gives a sign of life every `BEAT_S` at most, and only where a bot has loaded or answered."""

    def __init__(self, beat: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self.beaten_s = clock()
        self._beat = beat
        self._clock = clock

    def __call__(self, game: Game, seat: int, bot: SeatedBot) -> None:
        """Beats if it is time."""
        del game, seat, bot
        now_s = self._clock()
        if now_s - self.beaten_s > BEAT_S:
            self.beaten_s = now_s
            self._beat()


class Referee:
    """Plays games with the bots of one sandbox."""

    def __init__(
        self, sandbox: Seating, sources: Mapping[str, BotSource], *, first_slot: int = 0, watcher: Watcher | None = None
    ) -> None:
        """Prepares to play.

        Args:
            sandbox: seats the bots.
            sources: the bots' files by their hash.
            first_slot: guests take the slots from here on, as many as there are seats.
            watcher: sees every answer, if given.
        """
        self._sandbox = sandbox
        self._sources = sources
        self._first_slot = first_slot
        self._watcher = watcher
        self._numbers = question_numbers()

    def play_match(self, task: MatchTask) -> tuple[GameResult, ...]:
        """Plays all seatings of a match that its task names.

        Raises:
            SandboxFailure: the sandbox failed, or a source is missing; nothing of the match counts.
        """
        return tuple(self.play_game(task, seating, seeds) for seating, seeds in task.bot_seeds)

    def play_game(self, task: MatchTask, seating: int, bot_seeds: Sequence[str]) -> GameResult:
        """Plays one game of a match.

        Raises:
            SandboxFailure: the sandbox failed, or a source is missing.
        """
        game = Game(task.rules, task.seed)
        writer = QuestionWriter(game)
        bots: list[SeatedBot] = []
        with ExitStack() as seated:  # all are closed, even where one cannot be
            for seat, position in enumerate(task.seats(seating)):
                init = GuestInit(task.rules, task.limits, seat, bot_seeds[seat])
                bots.append(self._sandbox.spawn(self._source(task, position), init, self._first_slot + seat))
                seated.callback(bots[-1].close)
            table = Table(game, writer, bots, self._numbers, self._watcher)
            table.load()
            table.play()
            return game_result(task, game, seating, tuple(table.reports), table.timings())
        raise AssertionError("no callback here swallows an exception")

    def _source(self, task: MatchTask, position: int) -> BotSource:
        sha256 = task.players[position].sha256 or ""
        try:
            return self._sources[sha256]
        except KeyError:
            raise SandboxFailure(f"the source of {task.players[position].text} ({sha256[:12]}…) is not here") from None


class Table:
    """One game while it is played; `Referee` seats the bots."""

    def __init__(
        self,
        game: Game,
        writer: QuestionWriter,
        bots: Sequence[SeatedBot],
        numbers: Iterator[int],
        watcher: Watcher | None,
    ) -> None:
        """Takes a game that has not begun and its bots, one a seat."""
        self.game = game
        self.writer = writer
        self.bots = bots
        self.numbers = numbers
        self.watcher = watcher
        self.reports: list[FaultReport] = []
        self._asked = bytearray()  # the seat of every answered question
        self._seconds: list[float] = []

    def load(self) -> None:
        """Waits for the bots in seat order, until one side is left."""
        for seat, bot in enumerate(self.bots):
            try:
                bot.wait_ready()
            except GuestFault as fault:
                self.game.load_fault(seat, fault.kind)
                self._report(seat, fault, b"")
                if self.game.over:
                    return
            else:
                if self.watcher is not None:
                    self.watcher(self.game, seat, bot)

    def play(self) -> None:
        """Plays to the end."""
        game, writer, next_number = self.game, self.writer, self.numbers.__next__
        bots, watcher, asked, seconds = self.bots, self.watcher, self._asked, self._seconds
        legal = game.advance()
        while legal:
            deal = game.deal
            assert deal is not None
            seat = deal.seat
            bot = bots[seat]
            number = next_number()
            message = writer.question(seat, number, deal.phase, legal)
            try:
                index = bot.ask(message, number, len(legal), len(game.dealt))
            except GuestFault as fault:
                game.fault(seat, fault.kind)
                self._report(seat, fault, message)
            else:
                asked.append(seat)
                seconds.append(bot.last_decision_cpu_s)
                game.act_legal(legal[index])
            if watcher is not None:
                watcher(game, seat, bot)
            legal = game.advance()

    def _report(self, seat: int, fault: GuestFault, question: bytes) -> None:
        made: Fault = self.game.faults[-1]
        self.bots[seat].close()
        tail = "\n".join(self.bots[seat].log().splitlines()[-LOG_TAIL_LINES:])[-LOG_TAIL_CHARS:]
        self.reports.append(
            FaultReport(made, fault.message, fault.traceback, tail, fault.measured, fault.limit, question)
        )
        if self.watcher is not None and made.act < 0:
            self.watcher(self.game, seat, self.bots[seat])

    def timings(self) -> bytes:
        """Returns seat (u8) and microseconds (u32) of every answered question, in order."""
        microseconds = (min(int(s * 1e6), 0xFFFF_FFFF) for s in self._seconds)
        return b"".join(map(_TIMING.pack, self._asked, microseconds))


def read_timings(timings: bytes) -> list[tuple[int, int]]:
    """Returns what the referee wrote: seat and microseconds of every answered question, in order."""
    return list(_TIMING.iter_unpack(timings))


def match_wall_limit_s(task: MatchTask, deals: int | None = None) -> float:
    """Returns how long a match may take at the very most before it counts as hanging, which is ours.

    Games x seats x (loading + all decisions) x 5, and a minute (distribution design, 2.3).

    Args:
        task: the match.
        deals: deals begun in a game; by default as many as the rules allow, with those that are thrown in.
    """
    rules, limits = task.rules, task.limits
    begun = rules.deal_limit * (rules.redeal_limit + 1) if deals is None else deals
    seat_s = limits.load_cpu_s + limits.game_cpu_allowance_s(begun)
    return len(task.bot_seeds) * rules.players * seat_s * 5 + 60


def silence_limit_s(limits: Limits) -> float:
    """Returns how long a match may go on without a `Pulse` before it counts as hanging, which is ours.

    The sandbox itself ends every wait for a bot: after ten times the wall limit at the latest.
    """
    return 10 * max(limits.decision_wall_s, 2 * limits.load_cpu_s) + BEAT_S + 60
