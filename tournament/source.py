"""A bot's source: its files, their hash, and the module that is made of them in memory."""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import json
import linecache
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, ModuleType

ENTRY = "bot.py"
"""The file of a folder or zip that defines the class `Bot`."""

MODULE = "bot"
"""The name under which a bot's module is imported, whatever its file is called."""


@dataclass(frozen=True)
class BotSource:
    """The files of one bot, as (path, bytes) sorted by path; a bot of one file has it under the name `bot.py`."""

    files: tuple[tuple[str, bytes], ...]

    def __post_init__(self) -> None:
        """Checks that there is a file to begin with.

        Raises:
            ValueError: no file is called `bot.py`.
        """
        if not any(path == ENTRY for path, _ in self.files):
            raise ValueError(f"no file {ENTRY} at the top: expected it to define the class Bot")

    @classmethod
    def of_file(cls, text: bytes) -> BotSource:
        """Makes the source of a bot that is one file."""
        return cls(((ENTRY, text),))

    @classmethod
    def of_files(cls, files: Sequence[tuple[str, bytes]]) -> BotSource:
        """Makes the source of a folder or archive."""
        return cls(tuple(sorted(files)))

    @cached_property
    def sha256(self) -> str:
        """Hash of the file, or for several files of the sorted lines `path NUL sha256-of-the-file LF`."""
        if len(self.files) == 1:
            return hashlib.sha256(self.files[0][1]).hexdigest()
        lines = [f"{path}\0{hashlib.sha256(content).hexdigest()}\n" for path, content in self.files]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @property
    def size_bytes(self) -> int:
        """Bytes of all files together."""
        return sum(len(content) for _, content in self.files)

    def pack(self) -> bytes:
        """Returns the one form in which a source is stored and sent: a JSON line ``[[path, size], …]``, then all bytes.

        >>> BotSource.unpack(BotSource.of_file(b"x = 1").pack()).files
        (('bot.py', b'x = 1'),)
        """
        header = json.dumps([[path, len(content)] for path, content in self.files])
        return header.encode() + b"\n" + b"".join(content for _, content in self.files)

    @classmethod
    def unpack(cls, data: bytes) -> BotSource:
        """Reads what `pack` wrote; the hash says whether it is the source that was asked for.

        Raises:
            ValueError: these bytes are no packed source.
        """
        header, _, rest = data.partition(b"\n")
        try:
            sizes = {str(path): int(size) for path, size in json.loads(header)}
        except (ValueError, TypeError):
            raise ValueError("a packed source begins with a line that lists its files") from None
        if sum(sizes.values()) != len(rest) or min(sizes.values(), default=0) < 0:
            raise ValueError(f"a packed source lists {sum(sizes.values())} bytes and holds {len(rest)}")
        ends = itertools.accumulate(sizes.values())
        return cls(tuple((path, rest[end - sizes[path] : end]) for path, end in zip(sizes, ends, strict=True)))


class SourceFinder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports the modules of one bot from memory; `tournament.bot.data` reads its other files.

    Several bots may share a process: all are called `bot` there, so that at most one finder is entered at a time.
    """

    def __init__(self, source: BotSource) -> None:
        """Serves the modules of `source` once it is entered."""
        self._files = dict(source.files)
        paths = [path.removesuffix(".py").removesuffix("/__init__") for path in self._files if path.endswith(".py")]
        self._names = [path.replace("/", ".") for path in paths]
        self._aside: dict[str, ModuleType] = {}
        self._lines: dict[str, tuple[int, None, list[str], str]] = {}

    def enter(self) -> None:
        """Puts this bot's modules in the place of others of the same names, and leaves other bots' finders."""
        for finder in list(sys.meta_path):
            if isinstance(finder, SourceFinder):
                finder.leave()
        self._swap()
        sys.meta_path.insert(0, self)
        linecache.cache.update(self._lines)

    def leave(self) -> None:
        """Takes this bot's modules out of the way and puts back what was there."""
        sys.meta_path.remove(self)
        self._swap()

    @property
    def entered(self) -> bool:
        """Whether the modules of this bot are those that imports find."""
        return self in sys.meta_path

    def _swap(self) -> None:
        here = {name: sys.modules.pop(name) for name in self._names if name in sys.modules}
        sys.modules.update(self._aside)
        self._aside = here

    def _path_of(self, fullname: str) -> str | None:
        stem = fullname.replace(".", "/")
        return next((path for path in (f"{stem}.py", f"{stem}/__init__.py") if path in self._files), None)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002  # the import system passes both
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns how to import a module of the bot, or None for any other."""
        found = self._path_of(fullname)
        if found is None:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=found, is_package=found.endswith("/__init__.py"))

    def is_package(self, fullname: str) -> bool:
        """Returns whether a module of the bot is a package."""
        return (self._path_of(fullname) or "").endswith("/__init__.py")

    def get_source(self, fullname: str) -> str:
        """Returns a module's text, for tracebacks and the debugger.

        Raises:
            ImportError: it is no module of the bot.
        """
        path = self._path_of(fullname)
        if path is None:
            raise ImportError(f"no module {fullname} in this bot")
        return importlib.util.decode_source(self._files[path])

    def get_code(self, fullname: str) -> CodeType:
        """Compiles a module and makes its lines known to tracebacks.

        Raises:
            ImportError: it is no module of the bot.
        """
        path = self._path_of(fullname)
        if path is None:
            raise ImportError(f"no module {fullname} in this bot")
        content = self._files[path]
        text = content.decode("utf-8-sig", "replace")
        self._lines[path] = linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        return compile(content, path, "exec", dont_inherit=True)

    def get_data(self, path: str) -> bytes:
        """Returns a file of the bot.

        Raises:
            FileNotFoundError: the bot has no such file.
        """
        try:
            return self._files[path.removeprefix("./")]
        except KeyError:
            raise FileNotFoundError(f"this bot has no file {path!r}; it has {', '.join(self._files)}") from None

    @property
    def paths(self) -> list[str]:
        """The paths of all files of the bot."""
        return list(self._files)


def import_bot(finder: SourceFinder) -> ModuleType:
    """Enters `finder` and imports its module `bot` from memory, under that one name.

    Raises:
        BaseException: whatever the module raises.
    """
    finder.enter()
    # What `importlib.import_module` would do for this one module, at half of what it costs a process just forked.
    module = ModuleType(MODULE)
    module.__spec__ = importlib.machinery.ModuleSpec(MODULE, finder, origin=ENTRY)
    module.__loader__ = finder
    module.__package__ = ""
    sys.modules[MODULE] = module
    try:
        exec(finder.get_code(MODULE), module.__dict__)  # noqa: S102  # a bot is there to be run
    except BaseException as error:
        sys.modules.pop(MODULE, None)
        if isinstance(error, MemoryError):
            module.__dict__.clear()  # what it holds may be all that there is, and the error is still to be described
        raise
    return sys.modules.get(MODULE, module)
