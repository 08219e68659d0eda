"""The referee's frame reader believes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sandbox import fuzz
from tournament.game import FaultKind
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from workers.sandbox.faults import safe_line, safe_text
from workers.sandbox.frames import (
    ANSWER,
    ERROR_HEAD,
    ERROR_INDEX,
    ERROR_TEXT_LIMIT,
    FORBIDDEN,
    INIT_LENGTH,
    LOCKED,
    BadFrame,
    ErrorFrame,
    GuestInit,
    decode_init,
    decode_settings,
    encode_error,
    encode_init,
    encode_settings,
    parse_answer,
)

NUMBER = 0x1234
RIGHT = ANSWER.pack(NUMBER, 2)


def test_an_answer_is_the_index_of_a_legal_action() -> None:
    assert parse_answer(RIGHT, NUMBER, 3) == 2


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_half_a_right_answer_may_still_become_one(size: int) -> None:
    assert parse_answer(RIGHT[:size], NUMBER, 3) is None


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        RIGHT[:1] + b"\0",
        ANSWER.pack(NUMBER + 1, 2),
        ANSWER.pack(0, 2),
        ANSWER.pack(NUMBER, 3),
        ANSWER.pack(NUMBER, 0xFFFC),
        RIGHT + b"x",
        RIGHT * 2,
        LOCKED,
        FORBIDDEN.pack(0, 0xFFFE, 101),
        ERROR_HEAD.pack(NUMBER, ERROR_INDEX, 0, 0),
        ERROR_HEAD.pack(NUMBER, ERROR_INDEX, 6, 0),
        ERROR_HEAD.pack(NUMBER + 1, ERROR_INDEX, 2, 0),
        ERROR_HEAD.pack(NUMBER, ERROR_INDEX, 2, ERROR_TEXT_LIMIT + 1),
        ERROR_HEAD.pack(NUMBER, ERROR_INDEX, 2, 1) + b"ab",
        b"x" * 70_000,
    ],
)
def test_anything_else_is_no_answer(data: bytes) -> None:
    with pytest.raises(BadFrame):
        parse_answer(data, NUMBER, 3)


def test_an_error_frame_comes_whole_or_not_at_all() -> None:
    frame = encode_error(NUMBER, FaultKind.ILLEGAL, "not held\nTraceback: line 3")
    for size in range(len(frame)):
        assert parse_answer(frame[:size], NUMBER, 3) is None
    assert parse_answer(frame, NUMBER, 3) == ErrorFrame(FaultKind.ILLEGAL, "not held", "Traceback: line 3")


def test_hostile_texts_are_cut_and_escaped() -> None:
    frame = encode_error(NUMBER, FaultKind.EXCEPTION, "\x1b[2J\u202e\0" + "x" * 100_000 + "\ud800\n" + "y" * 100_000)
    answer = parse_answer(frame, NUMBER, 3)
    assert isinstance(answer, ErrorFrame)
    assert answer.message.startswith("\\x1b[2J\\u202e\\x00xxx")
    assert len(answer.message) <= 500
    raw = ERROR_HEAD.pack(NUMBER, ERROR_INDEX, 2, 4) + b"\xff\xfe\n\xff"
    assert parse_answer(raw, NUMBER, 3) == ErrorFrame(FaultKind.EXCEPTION, "��", "�")


@given(st.text() | st.binary(), st.integers(6, 200))
@settings(max_examples=200)
def test_safe_text_is_printable_and_bounded(raw: str | bytes, limit: int) -> None:
    text = safe_text(raw, limit)
    assert all(char.isprintable() or char in "\n\t" for char in text)
    assert len(text) <= limit
    assert "\n" not in safe_line(raw)
    text.encode()


def test_the_first_message_survives_the_way() -> None:
    rules, limits = Rules.make("wisconsin", bidder_takes=1), Limits(load_cpu_s=2.5)
    init = GuestInit(rules, limits, 3, "ab" * 32)
    source = BotSource.of_files([("bot.py", b"x = 1\n"), ("data/weights 1.json", b"\0\n\xff"), ("empty", b"")])
    message = encode_init(init, source)
    assert INIT_LENGTH.unpack(message[:4])[0] == len(message) - 4
    assert decode_settings(encode_settings(init)) == (rules, limits, 3)
    assert decode_init(message[4:]) == ("ab" * 32, source)


def test_the_fuzzer_finds_nothing_in_a_bounded_run() -> None:
    counts = fuzz.frames(rounds=4_000, seed=1)
    assert min(counts.values()) > 20, counts
