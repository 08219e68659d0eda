"""The bytes between referee and guest: the first message, answers, error frames. Pure; believes nothing.

The request pipe carries the first message (four bytes of length, a few lines, the files) and then questions, which are
opaque here except that two bytes of length come first. Rules, limits and seat, the same in game after game, go to the
fork server as JSON, which reads them once; a plain process gets them as a line of its own. The answer pipe
carries frames of four bytes, `<HH`: the number of the question and the index into its legal actions. Indexes from
0xFF00 on are no answers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from struct import Struct
from typing import Final

from tournament.game import FaultKind
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from workers.sandbox.faults import TRACEBACK_LIMIT, safe_line, safe_text

ANSWER: Final = Struct("<HH")
INIT_LENGTH: Final = Struct("<I")
ERROR_HEAD: Final = Struct("<HHBH")
FORBIDDEN: Final = Struct("<HHI")

ERROR_INDEX: Final = 0xFFFF
FORBIDDEN_INDEX: Final = 0xFFFE
"""Sent by the handler of SIGSYS; says which system call, and is believed only of a guest that died of SIGSYS."""
LOCKED_INDEX: Final = 0xFFFD
LOCKED: Final = ANSWER.pack(0, LOCKED_INDEX)
"""The guest is locked down and has not read a byte of the bot; what it does from here on is the bot's doing."""
READY: Final = ANSWER.pack(0, 0)

ERROR_TEXT_LIMIT: Final = 8_192
ERROR_KINDS: Final = {
    1: FaultKind.LOAD,
    2: FaultKind.EXCEPTION,
    3: FaultKind.MEMORY,
    4: FaultKind.INVALID,
    5: FaultKind.ILLEGAL,
}
ERROR_CODES: Final = {kind: code for code, kind in ERROR_KINDS.items()}
LOAD_KINDS: Final = frozenset({FaultKind.LOAD, FaultKind.MEMORY})
PLAY_KINDS: Final = frozenset(ERROR_KINDS.values()) - {FaultKind.LOAD}


class BadFrame(Exception):
    """Bytes that are no answer to the question: the fault `protocol`."""


@dataclass(frozen=True, slots=True)
class GuestInit:
    """What a guest is told before the first question; neither the deal seed nor the secret is among it."""

    rules: Rules
    limits: Limits
    seat: int
    random_seed: str


@dataclass(frozen=True, slots=True)
class ErrorFrame:
    """A guest's own account of what its bot did wrong."""

    kind: FaultKind
    message: str
    traceback: str


def encode_settings(init: GuestInit) -> bytes:
    """Returns rules, limits and seat as JSON on one line."""
    return json.dumps([init.rules.to_dict(), init.limits.to_dict(), init.seat]).encode()


def decode_settings(data: bytes) -> tuple[Rules, Limits, int]:
    """Reads what `encode_settings` wrote; it comes from the referee and is believed."""
    rules, limits, seat = json.loads(data)
    return Rules.from_dict(rules), Limits.from_dict(limits), seat


def encode_init(init: GuestInit, source: BotSource) -> bytes:
    """Returns the first message on the request pipe, its length in front."""
    sizes = "".join(f"{len(content)} {path}\n" for path, content in source.files)
    head = f"{init.random_seed} {len(source.files)}\n{sizes}".encode()
    payload = b"".join((head, *(content for _, content in source.files)))
    return INIT_LENGTH.pack(len(payload)) + payload


def decode_init(payload: bytes) -> tuple[str, BotSource]:
    """Reads the first message without its length: the random seed and the files; it is believed."""
    line, _, rest = payload.partition(b"\n")
    random_seed, count = line.decode().split(" ")
    lines = rest.split(b"\n", int(count))
    files, start = [], 0
    for line in lines[:-1]:
        size, _, path = line.decode().partition(" ")
        files.append((path, lines[-1][start : start + int(size)]))
        start += int(size)
    return random_seed, BotSource(tuple(files))


def encode_error(number: int, kind: FaultKind, text: str) -> bytes:
    """Returns an error frame; `text` has the message in its first line, the traceback behind it."""
    raw = text.encode("utf-8", "backslashreplace")[:ERROR_TEXT_LIMIT]
    return ERROR_HEAD.pack(number, ERROR_INDEX, ERROR_CODES[kind], len(raw)) + raw


def parse_answer(data: bytes, number: int, legal_count: int) -> int | ErrorFrame | None:
    """Judges all bytes that came since the question was asked.

    Returns:
        The index, an error frame, or None while a frame is incomplete.

    Raises:
        BadFrame: no more bytes can make this an answer to question `number`.
    """
    if len(data) < ANSWER.size:
        if not data.startswith(number.to_bytes(2, "little")[: len(data)]):
            raise BadFrame("answered another question than the one asked")
        return None
    answered, index = ANSWER.unpack_from(data)
    if answered != number:
        raise BadFrame(f"answered question {answered}, asked was {number}")
    if index == ERROR_INDEX:
        return _parse_error(data)
    if len(data) > ANSWER.size:
        raise BadFrame(f"{len(data) - ANSWER.size} bytes or more behind the answer")
    if index >= legal_count:
        raise BadFrame(f"answered with index {index} of {legal_count} legal actions")
    return int(index)


def _parse_error(data: bytes) -> ErrorFrame | None:
    if len(data) < ERROR_HEAD.size:
        return None
    _, _, code, length = ERROR_HEAD.unpack_from(data)
    if code not in ERROR_KINDS:
        raise BadFrame(f"an error frame of the unknown kind {code}")
    if length > ERROR_TEXT_LIMIT:
        raise BadFrame(f"an error frame with {length} bytes of text, at most {ERROR_TEXT_LIMIT}")
    missing = ERROR_HEAD.size + length - len(data)
    if missing > 0:
        return None
    if missing < 0:
        raise BadFrame("bytes behind an error frame")
    message, _, traceback = data[ERROR_HEAD.size :].partition(b"\n")
    return ErrorFrame(ERROR_KINDS[code], safe_line(message), safe_text(traceback, TRACEBACK_LIMIT))
