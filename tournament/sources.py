"""A bot's source as a value: its files, its hash, and the one form in which it is stored and sent."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """All files of one bot version.

    Attributes:
        files: path and content, sorted by path; a bot of one module has one file.
    """

    files: tuple[tuple[str, bytes], ...]

    def __post_init__(self) -> None:
        """Checks the shape.

        Raises:
            ValueError: there is no file, or paths are unsorted or repeated.
        """
        paths = [path for path, _ in self.files]
        if not paths or paths != sorted(set(paths)):
            raise ValueError(f"source files {paths!r:.80}: expected one or more, sorted, each path once")

    @property
    def sha256(self) -> str:
        """The hash that replay documents name it by (replay format, `players`)."""
        if len(self.files) == 1:
            return hashlib.sha256(self.files[0][1]).hexdigest()
        lines = (f"{path}\0{hashlib.sha256(content).hexdigest()}\n" for path, content in self.files)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(len(content) for _, content in self.files)

    def pack(self) -> bytes:
        """Returns the source as a line of JSON, ``[[path, size], …]``, followed by the files' bytes.

        >>> Source.unpack(Source((("bot.py", b"x = 1"),)).pack()).files
        (('bot.py', b'x = 1'),)
        """
        header = json.dumps([[path, len(content)] for path, content in self.files], ensure_ascii=False)
        return header.encode() + b"\n" + b"".join(content for _, content in self.files)

    @classmethod
    def unpack(cls, data: bytes) -> Source:
        """Reads what `pack` wrote; bytes from elsewhere are to be compared with the hash they came under.

        Raises:
            ValueError: they are not a packed source.
        """
        header, newline, rest = data.partition(b"\n")
        try:
            entries = [(str(path), int(size)) for path, size in json.loads(header)]
        except (ValueError, TypeError) as error:
            raise ValueError("a packed source begins with a line that lists its files") from error
        if not newline or any(size < 0 for _, size in entries) or sum(size for _, size in entries) != len(rest):
            raise ValueError("a packed source holds exactly the bytes that its first line lists")
        files, start = [], 0
        for path, size in entries:
            files.append((path, rest[start : start + size]))
            start += size
        return cls(tuple(files))
