"""Between the wire and a bot's methods: loads a bot, calls it, and turns what it answers into an index.

The same code runs in a guest and, for `play --debug` and `play_game`, in one process.
"""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from tournament import bot
from tournament.cards import CARDS, INDEX, Card
from tournament.deal import BID, PLAY, Action, Phase, default_discards
from tournament.game import FaultKind
from tournament.observation import QuestionReader, QuestionWriter
from tournament.rules import Limits, Rules
from tournament.source import BotSource, SourceFinder, import_bot
from tournament.view import View

MAX_TEXT_BYTES: Final = 8192
"""Most bytes of an error's text: message in the first line, traceback after it."""

_MAX_MESSAGE: Final = 300
_MAX_GROUP: Final = 4

_NO_THREAD: Final = "can't start new thread"
_COMPUTES_ONLY: Final = (
    "; in a contest a bot computes and does nothing else: no files, network, threads, processes or sleep "
    "(guide for bot writers: What the sandbox allows)"
)
"""Said behind what the sandbox's refusals look like to Python."""


class BotError(Exception):
    """What a bot did wrong by itself: the kinds load, exception, memory, invalid and illegal.

    Attributes:
        kind: the kind of fault.
        text: first line the message, then the traceback, trimmed to the bot's own files; at most `MAX_TEXT_BYTES`.
    """

    def __init__(self, kind: FaultKind, message: str, trace: str = "") -> None:
        """Cuts the text to its bounds."""
        line = _encodable(" ".join(message.split()))[:_MAX_MESSAGE]
        text = _encodable(f"{line}\n{trace}").encode()[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
        super().__init__(line)
        self.kind = kind
        self.text = text


_NO_FILES: Final = SourceFinder(BotSource.of_file(b""))  # one for all, so that seats without files do not change places


class SeatAdapter:
    """One bot at one seat of one game."""

    def __init__(
        self,
        rules: Rules,
        limits: Limits,
        seat: int,
        *,
        passes_through: tuple[type[BaseException], ...] = (),
        writer: QuestionWriter | None = None,
    ) -> None:
        """Prepares a seat; `load` or `use` gives it its bot.

        Args:
            rules: the rules of the game.
            limits: the limits that the view shows.
            seat: the seat.
            passes_through: exceptions that are not the bot's: Ctrl-C and leaving the debugger, in one process.
            writer: the referee's half, if it is in this process: `reader.look` then does without questions.
        """
        self.reader = QuestionReader(rules, limits, seat, writer)
        self._limits = limits
        self._passes_through = passes_through
        self._bot: Any = None
        self._runtime = bot.Runtime(_NO_FILES, limits)

    def load(self, source: BotSource, random_seed: str) -> None:
        """Imports the bot's module from memory and makes its `Bot`.

        Args:
            source: the bot's files.
            random_seed: the text that the module `random` is seeded with before the bot's code runs.

        Raises:
            BotError: of kind load or memory.
        """
        finder = SourceFinder(source)
        self._runtime = bot.Runtime(finder, self._limits)
        # Reading the clock costs every question a system call: only bots that ask for it pay.
        self._runtime.uses_clock = any(b"time_left" in content for _, content in source.files)
        bot.enter(self._runtime)
        random.seed(random_seed)
        try:
            module = import_bot(finder)
            made = getattr(module, "Bot", None)
            self._bot = made() if isinstance(made, type) else None
        except self._passes_through:
            raise
        except MemoryError as error:
            raise self._out_of_memory("out of memory while loading", error) from None
        except BaseException as error:  # noqa: BLE001  # whatever a module raises is the bot's doing, SystemExit too
            raise self._raised(FaultKind.LOAD, error) from None
        if self._bot is None:
            raise BotError(FaultKind.LOAD, "the module defines no class Bot: expected `class Bot:` with bid and play")
        self._begin()

    def use(self, player: object) -> None:
        """Takes an object with the methods of a `Bot` instead of loading one."""
        self._bot = player
        self._runtime.uses_clock = True  # its source is not at hand
        self._begin()

    def _begin(self) -> None:
        self._runtime.reader = self.reader
        self._runtime.game_cpu_s = self._runtime.decision_cpu_s = time.thread_time()

    def enter(self) -> None:
        """Makes this seat's modules and files the current ones, where several bots share a process."""
        if not self._runtime.finder.entered:
            self._runtime.finder.enter()
        bot.enter(self._runtime)

    def answer(self, question: bytes) -> tuple[int, int]:
        """Puts a question to the bot.

        Args:
            question: as `QuestionWriter.question` made it, without the two length bytes.

        Returns:
            The question's number and the index of the answer in the legal actions.

        Raises:
            BotError: of kind exception, memory, invalid or illegal.
        """
        number, kind, legal, view = self.reader.read(question)
        return number, self.choose(kind, legal, view)

    def choose(self, kind: Phase, legal: bytes | Sequence[Action], view: View) -> int:
        """Asks the bot, with a view that this seat's reader has made.

        Args:
            kind: BID, DISCARD or PLAY.
            legal: the legal actions, as the reader or the engine gives them.
            view: what the bot is handed.

        Returns:
            The index of the answer in the legal actions.

        Raises:
            BotError: of kind exception, memory, invalid or illegal.
        """
        runtime = self._runtime
        if runtime.uses_clock:
            runtime.decision_cpu_s = time.thread_time()
        try:
            if kind is PLAY:
                return self._card_index(self._bot.play(view), view)
            if kind is BID:
                return _bid_index(self._bot.bid(view), view)
            return self._discard_index(legal, view)
        except BotError:
            raise
        except self._passes_through:
            raise
        except MemoryError as error:
            raise self._out_of_memory(_OUT_OF_MEMORY[kind], error) from None
        except BaseException as error:  # noqa: BLE001  # whatever a bot raises is the bot's doing, SystemExit too
            raise self._raised(FaultKind.EXCEPTION, error) from None

    def _card_index(self, answer: object, view: View) -> int:
        card = answer if type(answer) is Card else _parse(answer, "play")
        try:
            return view.legal.index(card)
        except ValueError:
            card = _parse(card, "play")
            raise BotError(FaultKind.ILLEGAL, f"play answered {card}: expected one of {_texts(view.legal)}") from None

    def _discard_index(self, legal: bytes | Sequence[Action], view: View) -> int:
        method: Callable[[View], object] | None = getattr(self._bot, "discard", None)
        size = self.reader.rules.bidder_takes
        if method is None:
            choices = self.reader.choices(legal)
            return choices.index(default_discards(self.reader.hand_with_taken(), choices))
        answer = method(view)
        if isinstance(answer, str) or not isinstance(answer, Iterable):
            raise BotError(FaultKind.INVALID, f"discard answered {_short(answer)}: expected {size} cards")
        cards: list[Card] = []
        for item in answer:
            cards.append(_parse(item, "discard"))
            if len(cards) > len(CARDS):
                break
        wanted = set(cards)
        for index, choice in enumerate(view.legal):
            if len(cards) == size and wanted == set(choice):
                return index
        raise BotError(
            FaultKind.ILLEGAL,
            f"discard answered {_texts(cards[:10])}: expected {size} different cards of the hand that leave a suit "
            "to lead as trumps (one of view.legal)",
        )

    def _out_of_memory(self, message: str, error: MemoryError) -> BotError:
        self._bot = None  # what it holds may be all that there is, and it is asked no more
        try:
            traceback.clear_frames(error.__traceback__)
            trace = _describe(error, set(self._runtime.finder.paths))[1]
        except MemoryError:
            trace = ""
        return BotError(FaultKind.MEMORY, message, trace)

    def _raised(self, kind: FaultKind, error: BaseException) -> BotError:
        return BotError(kind, *_describe(error, set(self._runtime.finder.paths)))


_OUT_OF_MEMORY: Final = {
    Phase.BID: "out of memory in bid", Phase.DISCARD: "out of memory in discard", Phase.PLAY: "out of memory in play"
}  # fmt: skip  # made before there is no memory left to make them


def _bid_index(answer: object, view: View) -> int:
    if type(answer) is not int:
        if not isinstance(answer, int) or isinstance(answer, bool):
            raise BotError(FaultKind.INVALID, f"bid answered {_short(answer)}: expected an int")
        answer = int.__add__(answer, 0)  # the plain number of an IntEnum, whatever its own methods say
    try:
        return view.legal.index(answer)
    except ValueError:
        legal = ", ".join(map(str, view.legal))
        raise BotError(FaultKind.ILLEGAL, f"bid answered {_short(answer)}: expected one of {legal}") from None


def _parse(answer: object, method: str) -> Card:
    if type(answer) is Card and any(answer is card for card in CARDS):
        return answer
    # `str.__str__`: the plain text of a StrEnum, whatever its own methods say.
    index = INDEX.get(str.__str__(answer)) if isinstance(answer, str) else None
    if index is None:
        raise BotError(FaultKind.INVALID, f"{method} answered {_short(answer)}: expected a Card or its text, like 'TS'")
    return CARDS[index]


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _texts(cards: Iterable[Card]) -> str:
    return " ".join(map(str, cards))


def _short(value: object) -> str:
    """Returns a plain value's text, cut, or its type's name: nothing of the bot's own code runs for it."""
    kind = type(value)
    if value is None or kind is bool or kind is float:
        return repr(value)
    if type(value) is int:
        return str(value) if abs(value) < 10**9 else f"an int of {value.bit_length()} bits"
    return f"{value[:40]!r}" if type(value) is str else f"an object of type {_type_name(value)}"


def _type_name(value: object) -> str:
    # Asked of `type` itself: a metaclass may have a property of its own in the name's place.
    name: str = type.__dict__["__name__"].__get__(type(value))
    return name[:60]


def _describe(error: BaseException, own_files: set[str]) -> tuple[str, str]:
    """Returns message and traceback of what a bot raised; texts that raise themselves are survived."""
    try:
        shown = traceback.TracebackException.from_exception(
            error, limit=-40, max_group_width=_MAX_GROUP, max_group_depth=3
        )
        _trim(shown, own_files)
        message = [*shown.format_exception_only()][-1].strip()
        trace = "".join(shown.format())
        if trace.strip() == message:  # no line of the bot's: it would only say the same again
            trace = ""
        if isinstance(error, SyntaxError) and error.lineno is not None:
            message += f" ({error.filename}, line {error.lineno})"
        elif (
            isinstance(error, PermissionError | BlockingIOError)  # the latter answers a fork
            or (type(error) is RuntimeError and _NO_THREAD in message)
        ):
            message = f"{message[: _MAX_MESSAGE - len(_COMPUTES_ONLY)]}{_COMPUTES_ONLY}"
    except BaseException as broken:  # noqa: BLE001  # the text of an exception is the bot's code too
        return f"{_type_name(error)} (its text could not be made: {_type_name(broken)})", ""
    return message, trace


# By their ends: compiled modules (`tournament.compiled`) name their files from the project's root.
_OUR_CODE: Final = ("/tournament/adapter.py", "/tournament/source.py", "/importlib/__init__.py")
_NO_FILE_OF_ANYBODY: Final = ("<frozen importlib", "<sandbox>")


def _trim(shown: traceback.TracebackException, own_files: set[str]) -> None:
    """Leaves the lines from the bot's first own one on: those above it are ours and tell its author nothing."""
    todo = [shown]
    while todo:
        each = todo.pop()
        frames = list(each.stack)
        first = next((place for place, frame in enumerate(frames) if frame.filename in own_files), 0)
        kept = []
        for frame in frames[first:]:
            if frame.filename not in own_files:
                path = frame.filename.replace("\\", "/")
                if f"/{path}".endswith(_OUR_CODE) or path.startswith(_NO_FILE_OF_ANYBODY):
                    continue
                # the end of a path says which library it is, not this machine's folders
                frame.filename = "/".join(path.split("/")[-2:])
            kept.append(frame)
        # Without a stack there is no line "Traceback" either.
        each.stack = traceback.StackSummary.from_list(kept) if kept else None  # type: ignore[assignment]
        inner = (each.__cause__, each.__context__, *(each.exceptions or ())[:_MAX_GROUP])
        todo += [other for other in inner if other is not None]
