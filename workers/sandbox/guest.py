"""The guest's main loop: read the bot, load it, answer questions. All of it runs behind the lock-down.

The same loop serves plain child processes elsewhere than on Linux (`python -m workers.sandbox.guest`). It can promise
nothing to the referee: whatever the bot does to this process, only bytes come out of it.
"""

from __future__ import annotations

import builtins
import errno
import gc
import importlib
import importlib.abc
import importlib.machinery
import io
import linecache
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final, NoReturn

from tournament import compiled
from tournament.adapter import BotError, SeatAdapter
from tournament.intake import MODULES, OPTIONAL_MODULES
from tournament.rules import Limits, Rules
from tournament.source import MODULE, BotSource
from workers.sandbox.answering import answer_questions, read_exactly
from workers.sandbox.frames import (
    INIT_LENGTH,
    GuestInit,
    decode_init,
    decode_settings,
    encode_error,
    encode_init,
    encode_settings,
)

LOG_TEXT_LIMIT: Final = 32_000
"""Bytes, so that they fit into the pipe's sixteen pages however the lines fall, and the log can say that it was cut."""

_LOG_FULL: Final = b"\n[the log is full; nothing more is kept]\n"

_WARM_UP_BOT: Final = b"""
import random
from tournament.bot import Card, View

class Bot:
    def __init__(self) -> None:
        self.seen = {}

    def bid(self, view):
        return 0

    def play(self, view):
        return random.choice(view.legal)
"""

_OURS: Final = frozenset({"tournament", "bots", "workers", "dashboard"})
_GAME_MODULES: Final = frozenset({"tournament", *(f"tournament.{name}" for name in (
    "bot cards deal game observation rules seeds source view".split()))})  # fmt: skip
"""What a guest may import of ours: the bot interface, and the rules engine to search with."""


def import_modules(*, numpy: bool) -> tuple[str, ...]:
    """Imports the published list, before anything untrusted is near; returns the names of those there are."""
    found = []
    for name in (*MODULES, *(OPTIONAL_MODULES if numpy else ())):
        try:
            importlib.import_module(name)
        except ImportError:  # Not on this system (fcntl on Windows), or not installed (numpy).
            continue
        found.append(name)
    return tuple(found)


class _Refuser(importlib.abc.MetaPathFinder):
    """Says why a module cannot be imported; the last finder, behind the bot's own files."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Refuses.

        Raises:
            ModuleNotFoundError: always.
        """
        del path, target
        raise ModuleNotFoundError(
            f"No module named {fullname!r}: bots can import their own files and a fixed list of modules "
            "(see the guide for bot writers)",
            name=fullname,
        )


class BoundedLog(io.TextIOBase):
    """Standard output and error: whole lines go out at once; at the limit it says so and is silent from then on."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._left = LOG_TEXT_LIMIT
        self.pending: list[str] = []

    @property
    def encoding(self) -> str:  # type: ignore[override]  # read-only here, and always this one
        """Always UTF-8."""
        return "utf-8"

    def fileno(self) -> int:
        """The descriptor, for faulthandler and the like."""
        return self._descriptor

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, text: str, /) -> int:
        """Takes text; lines are passed on when they are complete."""
        if self._left > 0:
            self.pending.append(text[: self._left + 1])
            if "\n" in text or len(self.pending) > 100 or len(text) > 1_000:
                self.flush()
        return len(text)

    def flush(self) -> None:
        """Passes on what there is."""
        raw = "".join(self.pending).encode("utf-8", "backslashreplace")
        self.pending.clear()
        if not raw or self._left <= 0:
            return
        if len(raw) > self._left:
            raw = raw[: self._left] + _LOG_FULL
        self._left -= len(raw)
        try:
            os.write(self._descriptor, raw)
        except OSError:
            self._left = 0


def confine_python(*, refuse_open: bool) -> BoundedLog:
    """Makes this interpreter look to the bot as it will find it everywhere: its modules, `open`, its log.

    A convenience and no border: where the guest is locked down the kernel refuses, whatever Python is made to do.

    Args:
        refuse_open: refuse files here, where no kernel does.

    Returns:
        What standard output and error are from now on.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] in _OURS and name not in _GAME_MODULES]:
        module = sys.modules.pop(name)
        parent, _, child = name.rpartition(".")
        if parent in _GAME_MODULES and getattr(sys.modules[parent], child, None) is module:
            delattr(sys.modules[parent], child)
    os.environ.pop(compiled.SWITCH, None)
    sys.modules["__main__"] = ModuleType("__main__")
    _hide_path(_Refuser.find_spec)
    sys.meta_path[:] = [_Refuser()]
    sys.path[:] = []
    sys.path_importer_cache.clear()
    builtins.open = io.open = _hinting_open(None if refuse_open else io.open)
    sys.stdin = io.StringIO()
    log = BoundedLog(1)
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = log  # type: ignore[assignment,misc]
    return log


def _hinting_open(real: Callable[..., Any] | None) -> Callable[..., Any]:
    def open(file: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A001
        """Refuses files, with a hint to `tournament.bot.data`."""
        try:
            if real is not None:
                return real(file, *args, **kwargs)
        except PermissionError:
            pass
        shown = repr(file)[:80] if isinstance(file, str) else "the path"
        hint = f"bots cannot open files; read a file of your own with tournament.bot.data({shown})"
        raise PermissionError(errno.EACCES, hint)

    _hide_path(open)
    return open


def _hide_path(function: Any) -> None:
    """Keeps the place of our own files out of the tracebacks that bot writers read."""
    function.__code__ = function.__code__.replace(co_filename="<sandbox>")


def adapter_of(settings: bytes) -> SeatAdapter:
    """Makes the adapter of a seat whose bot comes later."""
    return SeatAdapter(*decode_settings(settings))


def warm_up() -> None:
    """Loads a bot a few times, before there are guests.

    The interpreter writes into code that it runs for the first times, and every page written after the fork is a copy.
    """
    init = GuestInit(Rules.make("cutthroat"), Limits(), 0, "0" * 64)
    for _ in range(20):
        random_seed, source = decode_init(encode_init(init, BotSource.of_file(_WARM_UP_BOT))[INIT_LENGTH.size :])
        adapter_of(encode_settings(init)).load(source, random_seed)
        sys.meta_path[:] = sys.meta_path[-1:]
        sys.modules.pop(MODULE)
    linecache.clearcache()


def serve(request_fd: int, answer_fd: int, adapter: SeatAdapter, log: BoundedLog) -> NoReturn:
    """Plays one bot at one seat until the referee ends this process."""
    _load(request_fd, answer_fd, adapter, log)
    answer_questions(request_fd, answer_fd, adapter, log.pending, log.flush)


def _load(request_fd: int, answer_fd: int, adapter: SeatAdapter, log: BoundedLog) -> None:
    (length,) = INIT_LENGTH.unpack(read_exactly(request_fd, INIT_LENGTH.size))
    random_seed, source = decode_init(read_exactly(request_fd, length))
    if "numpy" in sys.modules:
        # Forked from one process, all guests would have the same state of the legacy generator.
        sys.modules["numpy"].random.seed(int(random_seed[:8], 16))
    gc.enable()
    try:
        adapter.load(source, random_seed)
        log.flush()
    except BotError as error:
        log.flush()
        os.write(answer_fd, encode_error(0, error.kind, error.text))
        read_exactly(request_fd, 1)
        os._exit(0)


def main() -> NoReturn:
    """Serves in a plain child process: requests on standard input, answers on standard output, the log on error."""
    request_fd, answer_fd = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle.
    import_modules(numpy=True)
    log = confine_python(refuse_open=True)
    settings = bytearray()
    while not settings.endswith(b"\n"):
        settings += read_exactly(request_fd, 1)
    serve(request_fd, answer_fd, adapter_of(bytes(settings)), log)


if __name__ == "__main__":
    main()
