"""A game between plain objects in one process: for notebooks, training loops, the debugger.

`play_game` plays a game to its end; `Decisions` stops at each decision of the seats that have no bot, so that a learner
can drive them. Deals and seeds are those of a game outside a schedule (replay format, Seeds), so that the same names,
rules and seed text give the same game as the command does.
"""

from __future__ import annotations

import _random
import ctypes
import random
import re
import traceback
from bdb import BdbQuit
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tournament import seeds
from tournament.adapter import BotError, SeatAdapter
from tournament.deal import BID, DISCARD, Phase
from tournament.game import FaultKind, Game, Outcome
from tournament.observation import QuestionWriter
from tournament.replay import GameRecord, Player, document
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from tournament.view import View

_LIMITS: Final = Limits()

PASSES_THROUGH: Final = (KeyboardInterrupt, BdbQuit)
"""What is no fault of a bot in one process: Ctrl-C, and leaving the debugger."""


class Decision:
    """A decision of a seat without a bot; set `answer` before asking for the next one.

    Attributes:
        seat: the seat to act.
        kind: BID, DISCARD or PLAY.
        view: what the seat may know.
        answer: one of `view.legal`; None until it is set.
    """

    __slots__ = ("answer", "kind", "seat", "view")

    def __init__(self, seat: int, kind: Phase, view: View) -> None:
        """Starts without an answer."""
        self.seat = seat
        self.kind = kind
        self.view = view
        self.answer: Any = None

    def ask(self, bot: Any) -> Any:
        """Returns what a bot would answer here, by the method that fits; `answer` stays as it is."""
        method = "bid" if self.kind is BID else "discard" if self.kind is DISCARD else "play"
        return getattr(bot, method)(self.view)


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """A finished game.

    Attributes:
        outcome: how it ended.
        record: the game as acts, from which `tournament.replay` makes the document.
        game: the game itself, with all its deals.
        errors: for each fault what the bot did: the message, then its traceback.
    """

    outcome: Outcome
    record: GameRecord
    game: Game
    errors: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Returns the replay document."""
        return document(self.record, self.game)


def play_game(
    bots: Sequence[object],
    rules: Rules,
    seed: str,
    *,
    names: Sequence[str] | None = None,
    own_random: bool = True,
) -> PlayedGame:
    """Plays one game and returns how it ended; no limit is enforced.

    Args:
        bots: one per seat, in seat order: a class `Bot`, an object of one, or a `BotSource`. In Wisconsin two classes
            or sources are enough: partners are alike.
        rules: the rules of the game.
        seed: the secret's text, as with `run --seed`.
        names: one per bot, ``name`` or ``name:version``; by default made from the class or its module. The deals
            follow from the seed, the rules and the set of names.
        own_random: whether each seat has the module `random` to itself, seeded as in a contest; without it play is
            faster, and bots draw from the one generator of the process.

    Raises:
        ValueError: bots and rules do not fit, a name is not allowed, or the seed is empty.
    """
    if any(bot is None for bot in bots):
        raise ValueError("a seat without a bot: expected one for each seat; `Decisions` plays games with empty seats")
    decisions = Decisions(bots, rules, seed, names=names, own_random=own_random)
    for _ in decisions:
        raise AssertionError("every seat has a bot")
    return decisions.played


class Decisions:
    """One game, iterated over the decisions of the seats whose bot is None.

    >>> decisions = Decisions([None, None], Rules.make("cutthroat", players=2, deal_limit=1), "demo")
    >>> for decision in decisions:
    ...     decision.answer = decision.view.legal[-1]
    >>> decisions.played.outcome.end.value
    'deal_limit'
    """

    def __init__(
        self,
        bots: Sequence[object],
        rules: Rules,
        seed: str,
        *,
        names: Sequence[str] | None = None,
        own_random: bool = True,
    ) -> None:
        """Seats the bots; arguments as of `play_game`, None in `bots` for a seat that the caller plays.

        Raises:
            ValueError: bots and rules do not fit, a name is not allowed, or the seed is empty.
        """
        if not seed:
            raise ValueError("the seed is empty: expected a text")
        names = names if names is not None else _names(bots)
        if len(names) != len(bots):
            raise ValueError(f"{len(names)} names for {len(bots)} bots: expected one for each")
        bots, names = _by_seat(bots, names, rules)
        self._bots = bots
        self._players = tuple(_player(bot, name) for bot, name in zip(bots, names, strict=True))
        entrants = sorted({player.text for player in self._players})
        table = tuple(entrants.index(player.text) for player in self._players)
        possible = seeds.seatings(rules, len(entrants))
        if table not in possible:
            raise ValueError("partners have different names: expected one bot for seats 0 and 2 and one for 1 and 3")
        self._secret = seed
        self._key = seeds.match_key(rules, entrants, 1)
        self._seating = possible.index(table) + 1
        self.game = Game(rules, seeds.deal_seed(seed, self._key))
        writer = QuestionWriter(self.game)
        self._adapters = [
            SeatAdapter(rules, _LIMITS, seat, passes_through=PASSES_THROUGH, writer=writer)
            for seat in range(rules.players)
        ]
        self._generator = _Generator(len(bots)) if own_random else None
        self._errors: list[str] = []
        self._iterator = self._play()

    def __iter__(self) -> Iterator[Decision]:
        """Returns the decisions from here on; there is only one pass over a game."""
        return self._iterator

    @property
    def played(self) -> PlayedGame:
        """The finished game.

        Raises:
            ValueError: it is not over yet.
        """
        game = self.game
        if game.outcome is None:
            raise ValueError("the game is not over: iterate over all its decisions first")
        seed = seeds.deal_seed(self._secret, self._key)
        record = GameRecord(self._key, self._seating, game.rules, seed, self._players, bytes(game.acts), game.faults)
        return PlayedGame(game.outcome, record, game, tuple(self._errors))

    def _play(self) -> Iterator[Decision]:
        game, adapters, bots, generator = self.game, self._adapters, self._bots, self._generator
        caller = len(bots)
        try:
            self._load()
            while legal := game.advance():
                deal = game.deal
                assert deal is not None
                seat = deal.seat
                adapter = adapters[seat]
                if bots[seat] is None:
                    if generator:
                        generator.switch_to(caller)
                    decision = Decision(seat, deal.phase, adapter.reader.look(deal.phase, legal))
                    yield decision
                    game.act_legal(legal[_index(decision)])
                    continue
                if generator:
                    generator.switch_to(seat)
                adapter.enter()
                try:
                    index = adapter.choose(deal.phase, legal, adapter.reader.look(deal.phase, legal))
                except BotError as error:
                    self._errors.append(error.text)
                    game.fault(seat, error.kind)
                else:
                    game.act_legal(legal[index])
        finally:
            if generator:
                generator.switch_to(caller)

    def _load(self) -> None:
        for seat, bot in enumerate(self._bots):
            text = seeds.bot_seed(self._secret, self._key, self._seating, seat)
            if self._generator:
                self._generator.switch_to(seat)
                random.seed(text)
            try:
                self._seat(self._adapters[seat], bot, text)
            except BotError as error:
                if not self.game.over:
                    self._errors.append(error.text)
                    self.game.load_fault(seat, error.kind)

    def _seat(self, adapter: SeatAdapter, bot: object, random_seed: str) -> None:
        if isinstance(bot, BotSource):
            adapter.load(bot, random_seed)
        elif isinstance(bot, type):
            try:
                adapter.use(bot())
            except Exception as error:  # noqa: BLE001  # a bot may raise anything
                raise BotError(FaultKind.LOAD, f"{type(error).__name__}: {error}", traceback.format_exc()) from None
        elif bot is not None:
            adapter.use(bot)


class _Generator:
    """Shares the process's module `random` out: each seat and the caller go on where they left it.

    `random.getstate` and `setstate` make 625 numbers each, which takes longer than the rest of a decision. So what the
    generator keeps behind the head of its object, plain words in every CPython, is copied as it is.
    """

    def __init__(self, seats: int) -> None:
        # The module's functions are methods of this object.
        self._shared: random.Random = random.seed.__self__  # type: ignore[attr-defined]
        head = object.__basicsize__
        size = _random.Random.__basicsize__ - head
        self._words = memoryview((ctypes.c_ubyte * size).from_address(id(self._shared) + head)).cast("B")
        self._kept = [bytearray(self._words) for _ in range(seats + 1)]
        self._gauss: list[Any] = [None] * (seats + 1)  # the second number of a pair that `gauss` has made
        self._owner = seats

    def switch_to(self, owner: int) -> None:
        """Hands the generator to a seat, or with the number of seats to the caller."""
        if owner == self._owner:
            return
        self._kept[self._owner][:] = self._words
        self._words[:] = self._kept[owner]
        self._gauss[self._owner], self._shared.gauss_next = self._shared.gauss_next, self._gauss[owner]  # type: ignore[attr-defined]
        self._owner = owner


def _index(decision: Decision) -> int:
    legal, answer = decision.view.legal, decision.answer
    if answer in legal and answer is not False:
        return legal.index(answer)
    texts = [str(action) for action in legal]
    if decision.kind is not DISCARD and str(answer) in texts:
        return texts.index(str(answer))
    raise ValueError(f"seat {decision.seat} answered {answer!r:.60}: expected one of {', '.join(texts[:20])}")


def _by_seat(bots: Sequence[object], names: Sequence[str], rules: Rules) -> tuple[list[object], list[str]]:
    players = rules.players
    if len(bots) == 2 and players == 4:
        if not all(bot is None or isinstance(bot, type | BotSource) for bot in bots):
            raise ValueError("two objects at four seats: expected classes, so that each partner gets its own object")
        bots, names = (*bots, *bots), (*names, *names)
    if len(bots) != players:
        raise ValueError(f"{len(bots)} bots at {players} seats: expected one for each")
    objects = [id(bot) for bot in bots if bot is not None and not isinstance(bot, type | BotSource)]
    if len(set(objects)) != len(objects):
        raise ValueError("one object at two seats: expected an object for each, or the class")
    return list(bots), list(names)


def _names(bots: Sequence[object]) -> list[str]:
    """Returns a text ``name:version`` for each bot; different bots of one name are numbered in the order given."""
    known: dict[str, list[object]] = {}
    names = []
    for bot in bots:
        kind: object = bot if isinstance(bot, type | BotSource) or bot is None else type(bot)
        name = _name(kind)
        versions = known.setdefault(name, [])
        if kind not in versions:
            versions.append(kind)
        names.append(seeds.entrant_text(name, versions.index(kind) + 1))
    return names


def _name(kind: object) -> str:
    """Returns the class's name, or its module's where the class is just called Bot, in lower case."""
    if not isinstance(kind, type):
        return "learner" if kind is None else "bot"
    module = kind.__module__.rpartition(".")
    name = kind.__name__ if kind.__name__ != "Bot" else module[2]
    if module[0] == "bots":
        name = name.removesuffix("_bot")  # house bots are called by what comes before it
    name = re.sub(r"[^a-z0-9_-]", "", name.lower()).lstrip("_-")[:39]
    return name or "bot"


def _player(bot: object, text: str) -> Player:
    name, colon, digits = text.partition(":")
    if not seeds.BOT_NAME.fullmatch(name) or (colon and not re.fullmatch(r"[1-9][0-9]{0,8}", digits)):
        raise ValueError(f"name {text!r:.60}: expected `name` or `name:version`, lower-case letters, digits, _ and -")
    sha256 = bot.sha256 if isinstance(bot, BotSource) else None
    return Player(name, int(digits or "1"), sha256)
