"""The guest's loop: read a question, have the bot answer it, write the answer. All of it runs behind the lock-down."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, NoReturn

from tournament.adapter import BotError, SeatAdapter
from workers.sandbox.frames import ANSWER, READY, encode_error

_READ_BYTES: Final = 448  # most questions; a larger buffer would come from elsewhere than the small objects' pools


def answer_questions(
    request_fd: int, answer_fd: int, adapter: SeatAdapter, printed: list[str], flush: Callable[[], None]
) -> NoReturn:
    """Answers the questions to a loaded bot until the referee goes away; then ends this process.

    Args:
        request_fd: where questions are read.
        answer_fd: where answers are written.
        adapter: asks the bot.
        printed: what the bot has printed and is not passed on yet.
        flush: passes it on.
    """
    read, write, pack = os.read, os.write, ANSWER.pack
    reader = adapter.reader
    write(answer_fd, READY)
    while True:
        data = read(request_fd, _READ_BYTES)
        if len(data) < 2:
            if not data:
                os._exit(0)
            data += read_exactly(request_fd, 2 - len(data))
        missing = (data[0] | data[1] << 8) + 2 - len(data)
        if missing > 0:
            data += read_exactly(request_fd, missing)
        try:
            number, kind, legal, view = reader.read(data[2:])
            frame = pack(number, adapter.choose(kind, legal, view))
        except BotError as error:
            frame = encode_error(data[2] | data[3] << 8, error.kind, error.text)
        if printed:
            flush()
        write(answer_fd, frame)


def read_exactly(descriptor: int, size: int) -> bytes:
    """Reads so many bytes; ends this process where the referee has gone away before them."""
    parts = []
    while size:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            os._exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
