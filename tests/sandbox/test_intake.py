"""An upload is refused for each thing that is not allowed, with a reason that says what and where."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from tests.sandbox import fuzz
from tournament.intake import (
    MAX_FILES,
    MAX_MODULE_BYTES,
    MAX_TOTAL_BYTES,
    MAX_UPLOAD_BYTES,
    MODULES,
    UploadRefused,
    check_files,
    check_upload,
    read_bot,
)

BOT = b"class Bot:\n    pass\n"


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def refused(name: str, data: bytes) -> str:
    with pytest.raises(UploadRefused) as caught:
        check_upload(name, data)
    return str(caught.value)


def test_one_module_becomes_bot_py_whatever_its_name() -> None:
    assert check_upload("counter.py", BOT).files == (("bot.py", BOT),)


def test_a_zip_may_hold_modules_and_data() -> None:
    files = {"bot.py": BOT, "search/__init__.py": b"", "search/tree.py": b"x = 1\n", "data/w.json": b"\0\xff{}"}
    assert dict(check_upload("a.zip", zipped(files)).files) == files


def test_the_one_folder_round_everything_is_taken_off_and_litter_left_out() -> None:
    files = {"mine/bot.py": BOT, "mine/w.bin": b"1", "mine/__pycache__/bot.cpython-311.pyc": b"x", "__MACOSX/a": b"x"}
    assert [path for path, _ in check_upload("a.zip", zipped(files)).files] == ["bot.py", "w.bin"]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("bot.exe", BOT, "expected a Python file"),
        ("bot.py", b"x" * (MAX_UPLOAD_BYTES + 1), "at most 4,194,304"),
        ("bot.py", b"# " + b"x" * MAX_MODULE_BYTES, "a module may have 1,048,576"),
        ("bot.py", b"x = 1\n\0", "NUL byte in line 2"),
        ("bot.py", b"x = 1\ny = '\xff'\n", "not UTF-8 in line 2"),
        ("bot.py", "x = 1\n# \u202e\n".encode(), "line 2 holds U\\+202E"),
        ("bot.py", "# \u2066\n".encode(), "line 1 holds U\\+2066"),
        ("bot.py", b"#!/x\n# vim: set fileencoding=latin-1 :\n", "line 2 names the encoding latin-1"),
        ("bot.py", b"# -*- coding: utf-7 -*-\n", "line 1 names the encoding utf-7"),
        ("bot.zip", b"PK\x03\x04 broken", "the zip cannot be read"),
        ("bot.zip", b"no zip", "the zip cannot be read"),
        ("bot.zip", zipped({"other.py": BOT, "x/y.py": BOT}), "there is no bot.py at the top"),
        ("bot.zip", zipped({"bot.py": BOT, "../up.py": BOT}), "lead out"),
        ("bot.zip", zipped({"bot.py": BOT, "/etc/cron.d/x": BOT}), "absolute"),
        ("bot.zip", zipped({"bot.py": BOT, "c:/x": BOT}), "absolute"),
        ("bot.zip", zipped({"bot.py": BOT, "a\\b": BOT}), "lead out"),
        ("bot.zip", zipped({"bot.py": BOT, "a/./b": BOT}), "expected names of letters"),
        ("bot.zip", zipped({"bot.py": BOT, "a//b": BOT}), "expected names of letters"),
        ("bot.zip", zipped({"bot.py": BOT, "na\u0308me": BOT}), "na\\\\u0308me: expected names"),
        ("bot.zip", zipped({"bot.py": BOT, "x\n<script>": BOT}), "x\\\\n<script>"),
        ("bot.zip", zipped({"bot.py": BOT, "A.txt": b"", "a.txt": b""}), "occurs twice"),
        ("bot.zip", zipped({"bot.py": BOT, "a": b"", "a/b": b""}), "a file and a folder at once"),
        ("bot.zip", zipped({"bot.py": BOT, "random.py": BOT}), "hide the module random"),
        ("bot.zip", zipped({"bot.py": BOT, "tournament/bot.py": BOT}), "hide the module tournament"),
        ("bot.zip", zipped({"bot.py": BOT, "/".join("abcdefgh"): b""}), "at most 6 deep"),
        ("bot.zip", zipped({"bot.py": BOT, **{f"f{n}": b"" for n in range(MAX_FILES)}}), "101 files"),
        ("bot.zip", zipped({"bot.py": BOT, **{f"f{n}": b"" for n in range(3 * MAX_FILES)}}), "301 entries"),
        ("bot.zip", zipped({"bot.py": BOT, "w": bytes(MAX_TOTAL_BYTES)}), "unpacks to more than 16,777,216"),
        ("bot.zip", zipped({"bot.py": BOT}, zipfile.ZIP_LZMA), "compressed by method 14"),
    ],
)  # fmt: skip
def test_what_is_not_allowed_is_refused_with_its_reason(name: str, data: bytes, reason: str) -> None:
    with pytest.raises(UploadRefused, match=reason) as caught:
        check_upload(name, data)
    assert all(text.isascii() and text.isprintable() for text in caught.value.reasons)


def test_all_reasons_are_told_at_once() -> None:
    data = zipped({"bot.py": b"\0", "a.py": b"\xff", "../x": b""})
    with pytest.raises(UploadRefused) as caught:
        check_upload("a.zip", data)
    assert len(caught.value.reasons) == 3


def test_a_bomb_is_counted_while_it_unpacks_and_not_by_its_header() -> None:
    data = bytearray(zipped({"bot.py": BOT, "w": bytes(MAX_TOTAL_BYTES + 1)}))
    # Both headers claim one byte.
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.rindex(signature) + offset
        assert struct.unpack_from("<I", data, at)[0] == MAX_TOTAL_BYTES + 1
        struct.pack_into("<I", data, at, 1)
    assert len(data) < 100_000
    refused("bomb.zip", bytes(data))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK])
def test_only_plain_files_come_out_of_a_zip(kind: int) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("bot.py", BOT)
        entry = zipfile.ZipInfo("link")
        entry.external_attr = (kind | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    assert "no links or devices" in refused("a.zip", buffer.getvalue())


def test_an_encrypted_entry_is_refused() -> None:
    data = bytearray(zipped({"bot.py": BOT}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert "encrypted" in refused("a.zip", bytes(data))


def test_a_folder_is_read_without_links_hidden_files_and_caches(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_bytes(BOT)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x").write_text("x")
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "x.pyc").write_text("x")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.py").write_text("x = 1\n")
    assert [path for path, _ in read_bot(tmp_path).files] == ["bot.py", "lib/a.py"]
    (tmp_path / "lib" / "b.txt").symlink_to("/etc/passwd")
    with pytest.raises(UploadRefused, match="no links"):
        read_bot(tmp_path)


def test_a_file_and_a_zip_are_read_from_their_paths(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(BOT)
    (tmp_path / "a.zip").write_bytes(zipped({"bot.py": BOT}))
    assert read_bot(tmp_path / "a.py") == read_bot(tmp_path / "a.zip")


def test_the_common_folder_is_not_taken_off_when_it_leads_out() -> None:
    with pytest.raises(UploadRefused):
        check_files([("../bot.py", BOT)])


def test_the_published_list_names_each_module_once() -> None:
    assert len(set(MODULES)) == len(MODULES)


def test_the_fuzzer_finds_nothing_in_a_bounded_run() -> None:
    counts = fuzz.uploads(rounds=600, seed=1)
    assert min(counts["accepted"], counts["refused"]) > 50, counts
