"""A fuzzer on the frame reader and on the upload checks: `python -m tests.sandbox.fuzz [ROUNDS [SEED]]`.

It damages good inputs and demands that the reader answers with one of its own outcomes, never with another exception.
"""

from __future__ import annotations

import io
import random
import sys
import zipfile
from collections import Counter
from pathlib import Path

from tournament.game import FaultKind
from tournament.intake import MAX_FILES, MAX_TOTAL_BYTES, UploadRefused, check_upload
from workers.sandbox.frames import ANSWER, FORBIDDEN, BadFrame, ErrorFrame, encode_error, parse_answer


def frames(rounds: int, seed: int) -> Counter[str]:
    """Feeds damaged frames, in pieces; returns how often each outcome came."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    for _ in range(rounds):
        number, legal_count = rng.randrange(65_536), rng.randrange(1, 90)
        good = [
            ANSWER.pack(number, rng.randrange(legal_count)),
            encode_error(number, rng.choice(list(FaultKind)[:2]), "m" * rng.randrange(50) + "\ntrace"),
            FORBIDDEN.pack(0, 0xFFFE, rng.randrange(400)),
        ] if rng.random() < 0.9 else [rng.randbytes(rng.randrange(40))]  # fmt: skip
        data = damaged(rng, rng.choice(good)) if rng.random() < 0.7 else rng.choice(good)
        seen, outcome = b"", "incomplete"
        while data and outcome == "incomplete":
            cut = rng.randrange(1, len(data) + 1)
            seen, data = seen + data[:cut], data[cut:]
            try:
                answer = parse_answer(seen, number, legal_count)
            except BadFrame:
                outcome = "refused"
                continue
            if isinstance(answer, ErrorFrame):
                assert len(answer.message) <= 2_100
                outcome = "error frame"
            elif answer is not None:
                assert 0 <= answer < legal_count
                outcome = "answer"
        counts[outcome] += 1
    return counts


def uploads(rounds: int, seed: int) -> Counter[str]:
    """Checks damaged uploads; returns how often each outcome came."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    for _ in range(rounds):
        name, data = _upload(rng)
        try:
            source = check_upload(name, damaged(rng, data) if rng.random() < 0.6 else data)
        except UploadRefused as error:
            reasons = error.reasons
        else:
            reasons = ()
        if reasons:
            if not all(reason.isascii() and reason.isprintable() for reason in reasons):
                raise AssertionError(f"not safe to show: {reasons!r}")
            counts["refused"] += 1
            continue
        assert len(source.files) <= MAX_FILES
        assert source.size_bytes <= MAX_TOTAL_BYTES
        for path, content in source.files:
            assert not path.startswith(("/", "."))
            assert ".." not in path.split("/")
            if path.endswith(".py"):
                content.decode("utf-8")
        counts["accepted"] += 1
    return counts


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Returns the bytes with a few of them changed, cut out, doubled or moved."""
    raw = bytearray(data)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(raw) + 1)
        match rng.randrange(5):
            case 0:
                raw[at : at + 1] = rng.randbytes(1)
            case 1:
                del raw[at : at + rng.randrange(9)]
            case 2:
                raw[at:at] = raw[at : at + rng.randrange(30)]
            case 3:
                raw[at:at] = rng.choice([b"\0", b"\xff" * 4, b"PK\x01\x02", b"PK\x05\x06", b"../", b"\xe2\x80\xae"])
            case _:
                raw[at : at + 2] = rng.randbytes(2)
    return bytes(raw)


def _upload(rng: random.Random) -> tuple[str, bytes]:
    module = rng.choice([b"class Bot: pass\n", b"# coding: utf-8\nx = 1\n", b"\xef\xbb\xbfx = '\xc3\xa9'\n", b""])
    if rng.random() < 0.3:
        return rng.choice(["bot.py", "Bot.PY", "x.txt", "\u202ebot.py"]), module
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        folder = rng.choice(["", "", "mine/"])
        archive.writestr(folder + "bot.py", module)
        for number in range(rng.randrange(4)):
            archive.writestr(f"{folder}{rng.choice(['data/', 'lib/', ''])}f{number}.py", module * rng.randrange(3))
    return "bot.zip", buffer.getvalue()


if __name__ == "__main__":
    amount, chosen = (
        (int(text) for text in [*sys.argv[1:], "200000", "0"][:2]) if len(sys.argv) != 2 else (int(sys.argv[1]), 0)
    )
    print(Path(__file__).name, "frames", dict(frames(amount, chosen)), "uploads", dict(uploads(amount // 10, chosen)))
