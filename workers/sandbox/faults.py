"""What goes wrong with a guest: a bot's fault, which is data, and a failure of ours, which is raised and voids.

    Exception
    ├── GuestFault       the bot did it: kind, message, traceback, measured value and limit
    └── SandboxFailure   we did it: the match is void and is played again
        └── SandboxRefused   a layer that must hold is not to be had on this machine

Texts that come from a guest are cut and escaped here, before anybody stores or shows them.
"""

from __future__ import annotations

from typing import Final

from tournament.game import FaultKind

MESSAGE_LIMIT: Final = 500
TRACEBACK_LIMIT: Final = 8_192
LOG_LIMIT: Final = 65_536


class GuestFault(Exception):
    """What a bot did wrong.

    Attributes:
        kind: what, as the replay format names it.
        message: one line, safe to show.
        traceback: the bot's own lines of it, safe to show; empty where there is none.
        measured: the measured value where a limit was broken (seconds or bytes).
        limit: that limit.
    """

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        traceback: str = "",
        measured: float | None = None,
        limit: float | None = None,
    ) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.traceback = traceback
        self.measured = measured
        self.limit = limit


class SandboxFailure(Exception):
    """The sandbox itself failed: never a fault of a bot; the match is void and is played again."""


class SandboxRefused(SandboxFailure):
    """The sandbox cannot be had on this machine; the text says which layer is missing and what to do."""


def safe_text(raw: bytes | str, limit: int) -> str:
    r"""Returns foreign text with everything that is not printable escaped, and then cut to `limit` characters.

    Line ends and tabs stay. Escape sequences, NUL, bidirectional marks and lone surrogates do not.

    >>> safe_text(b"\x1b[31mred\n\xff", 40)
    '\\x1b[31mred\n�'
    """
    text = raw[: limit * 4 + 4].decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    shown = text[: limit + 1]
    if not (shown.isascii() and shown.isprintable()):
        # Escaped first: what a limit of ours downstream refuses would void the match that a bot has just lost.
        shown = "".join(char if char.isprintable() or char in "\n\t" else _escaped(char) for char in shown)
    return shown if len(shown) <= limit else shown[: max(limit - 6, 0)] + " [cut]"


def safe_line(raw: bytes | str) -> str:
    r"""Returns foreign text as one line, cut and escaped.

    >>> safe_line("two lines\nhere")
    'two lines here'
    """
    return " ".join(safe_text(raw, MESSAGE_LIMIT).split())


def _escaped(char: str) -> str:
    return char.encode("ascii", "backslashreplace").decode() if not char.isascii() else f"\\x{ord(char):02x}"
