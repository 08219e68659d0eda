"""Where a bot was when it was stopped, as `faulthandler` in its process says it; nothing of it is believed."""

from __future__ import annotations

import re
import time
from typing import Final

from tournament.source import BotSource
from workers.sandbox.faults import TRACEBACK_LIMIT, safe_text

WHERE_S: Final = 0.25
"""How long a guest that broke a limit of time may take to say where its bot is, before it is killed."""

_STEP_S: Final = 0.01
_SAID_BYTES: Final = 16_384
_FRAMES: Final = 20
_HEAD: Final = b"Where it was when it was stopped (most recent call last):\n"
_FRAME: Final = re.compile(rb'File "([^"\n]+)", line (\d{1,7}) in ([^\n]+)')


class Place:
    """What a guest says of its place: one thread hears it while another waits for it to be complete."""

    def __init__(self, source: BotSource | None) -> None:
        """Shows lines of `source`; without one there is no place to tell."""
        self._source = source
        self._said = bytearray()
        self._silent = False

    def hear(self, part: bytes) -> None:
        """Takes what was said, up to a bound."""
        self._said += part[: max(0, _SAID_BYTES - len(self._said))]

    def end(self) -> None:
        """Says that nothing more will come."""
        self._silent = True

    def wait(self) -> None:
        """Waits until it is told and no more of it comes, at most `WHERE_S`."""
        # It is written in pieces, and a busy machine may stop the writer after any of them.
        heard, told, until_s = -1, False, time.monotonic() + WHERE_S
        while not self._silent and time.monotonic() < until_s:
            length = len(self._said)
            if length == heard and told:
                return
            if length != heard and not told:
                told = self._source is None or bool(self.text())
            heard = length
            time.sleep(_STEP_S)

    def text(self) -> str:
        """Returns the bot's own lines of what was said, as a traceback shows them; empty if there are none."""
        if self._source is None:
            return ""
        files = {path.encode(): content.splitlines() for path, content in self._source.files}
        frames = []
        for path, number, name in _FRAME.findall(bytes(self._said)):  # the innermost comes first
            lines = files.get(path, [])
            if 0 < int(number) <= len(lines):
                frames.append(
                    b'  File "%b", line %b, in %b\n    %b\n' % (path, number, name, lines[int(number) - 1].strip())
                )
        shown = b"".join(reversed(frames[:_FRAMES]))
        return safe_text(_HEAD + shown, TRACEBACK_LIMIT) if shown else ""
