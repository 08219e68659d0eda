"""Checks of an upload before anything of it runs, and the modules that a bot may import.

Pure: bytes in, a source or the reasons against it out. Nothing is executed, parsed as Python or written to disk here;
whether a bot is valid Python is found out in a guest.
"""

from __future__ import annotations

import io
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tournament.source import ENTRY, BotSource

MODULES: Final = tuple(
    """
    __future__ _thread abc argparse array ast base64 binascii bisect builtins calendar cmath codecs collections
    collections.abc concurrent.futures concurrent.futures.thread contextlib contextvars copy copyreg csv ctypes
    ctypes.util dataclasses datetime decimal difflib dis enum errno faulthandler fcntl fractions functools gc graphlib
    hashlib heapq hmac importlib importlib.abc importlib.machinery importlib.util inspect io itertools json
    json.decoder json.encoder keyword linecache locale logging marshal math mmap numbers opcode operator os os.path
    pathlib pickle pkgutil platform pprint queue random re reprlib resource runpy sched secrets select selectors
    signal socket stat statistics string struct subprocess symtable sys sysconfig tempfile textwrap threading time
    timeit token tokenize traceback tracemalloc types typing unicodedata uuid warnings weakref zlib zoneinfo
    _strptime encodings.ascii encodings.latin_1 encodings.utf_8 encodings.utf_8_sig encodings.utf_16 encodings.idna
    encodings.unicode_escape encodings.raw_unicode_escape
    tournament tournament.bot tournament.cards tournament.deal tournament.game tournament.observation
    tournament.rules tournament.seeds tournament.source tournament.view
    """.split()
)
"""What a bot may import beside its own files; loaded before its process is locked down, nothing else can be."""

OPTIONAL_MODULES: Final = tuple("numpy numpy.fft numpy.linalg numpy.ma numpy.polynomial numpy.random".split())
"""Importable where numpy is installed."""

MAX_UPLOAD_BYTES: Final = 4 << 20
MAX_TOTAL_BYTES: Final = 16 << 20
MAX_MODULE_BYTES: Final = 1 << 20
MAX_FILES: Final = 100
MAX_PATH_PARTS: Final = 6

_PART: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_COOKIE: Final = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)")  # PEP 263
_BOM: Final = b"\xef\xbb\xbf"
# What reorders a line when shown (Trojan Source): embeddings, overrides, isolates, marks.
_BIDI: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LITTER: Final = ("__MACOSX", "__pycache__", ".DS_Store")
_ENCRYPTED: Final = 0x1
_CHUNK_BYTES: Final = 1 << 16


class UploadRefused(ValueError):
    """An upload is not accepted.

    Attributes:
        reasons: one line each, safe to show; foreign names in them are escaped and cut.
    """

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("; ".join(self.reasons))


def check_upload(name: str, data: bytes) -> BotSource:
    """Checks an uploaded file: one module (`.py`), or a zip with `bot.py` at the top or in its only folder.

    Args:
        name: the file's name, which only says which of the two it is.
        data: its bytes.

    Raises:
        UploadRefused: something about it is not allowed; all reasons that were found.
    """
    if len(data) > MAX_UPLOAD_BYTES:
        raise UploadRefused([f"the upload has {len(data):,} bytes, at most {MAX_UPLOAD_BYTES:,} are allowed"])
    if data.startswith(b"PK\x03\x04") or name.lower().endswith(".zip"):
        return check_files(_unzip(data))
    if not name.lower().endswith(".py"):
        raise UploadRefused([f"{_shown(name)}: expected a Python file (.py) or a zip with bot.py in it"])
    return check_files([(ENTRY, data)])


def check_files(files: Iterable[tuple[str, bytes]]) -> BotSource:
    """Checks the files of a bot, as (path, bytes) with `/` between the parts.

    Raises:
        UploadRefused: something about them is not allowed; all reasons that were found.
    """
    files = _without_common_folder(list(files))
    reasons: list[str] = []
    if len(files) > MAX_FILES:
        raise UploadRefused([f"{len(files)} files, at most {MAX_FILES} are allowed"])
    total = sum(len(content) for _, content in files)
    if total > MAX_TOTAL_BYTES:
        raise UploadRefused([f"the files have {total:,} bytes unpacked, at most {MAX_TOTAL_BYTES:,} are allowed"])
    for path, content in files:
        reasons.extend(_problems_of_path(path) or _problems_of_content(path, content))
    folded = [path.casefold() for path, _ in files]
    reasons.extend(f"{_shown(path)}: this path occurs twice, if capitals are ignored"
                   for path in sorted({path for path in folded if folded.count(path) > 1}))  # fmt: skip
    paths = {path for path, _ in files}
    reasons.extend(f"{_shown(path)}: this path is a file and a folder at once"
                   for path in sorted(paths) if any(other.startswith(path + "/") for other in paths))  # fmt: skip
    if ENTRY not in paths:
        reasons.append(
            f"there is no {ENTRY} at the top: expected it to define the class Bot, or a bot of one file by itself"
        )
    if reasons:
        raise UploadRefused(reasons)
    return BotSource.of_files(files)


def read_bot(path: Path) -> BotSource:
    """Reads a bot of one's own from a `.py` file, a folder or a zip, under the checks of an upload.

    Raises:
        UploadRefused: something about it is not allowed.
        OSError: it cannot be read.
    """
    if not path.is_dir():
        if path.stat().st_size > MAX_UPLOAD_BYTES:
            raise UploadRefused([f"{path.name} has more than {MAX_UPLOAD_BYTES:,} bytes"])
        return check_upload(path.name, path.read_bytes())
    return check_files(_read_folder(path))


def _read_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    total = 0
    for count, file in enumerate(sorted(_own_files(folder))):
        if file.is_symlink() or not file.is_file():
            raise UploadRefused([f"{_shown(file.name)}: only plain files are allowed, no links"])
        total += file.stat().st_size
        if count >= MAX_FILES or total > MAX_TOTAL_BYTES:
            raise UploadRefused([f"more than {MAX_FILES} files or {MAX_TOTAL_BYTES:,} bytes in {_shown(folder.name)}"])
        yield file.relative_to(folder).as_posix(), file.read_bytes()


def _own_files(folder: Path) -> Iterator[Path]:
    """Yields what lies in a folder, without following links and without hidden files and caches."""
    for entry in folder.iterdir():
        if entry.name.startswith(".") or entry.name in _LITTER:
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _own_files(entry)
        else:
            yield entry


def _unzip(data: bytes) -> list[tuple[str, bytes]]:
    """Unpacks an archive in memory; bytes are counted as they come out, never as the headers say."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if len(entries) > 2 * MAX_FILES:
                raise UploadRefused([f"the zip has {len(entries)} entries, at most {MAX_FILES} are allowed"])
            reasons = [reason for entry in entries for reason in _problems_of_entry(entry)]
            if reasons:
                raise UploadRefused(reasons)
            files, left = [], MAX_TOTAL_BYTES
            for entry in entries:
                if entry.is_dir() or any(part in _LITTER for part in entry.filename.split("/")):
                    continue
                content = _unpack(archive, entry, left)
                left -= len(content)
                files.append((entry.filename, content))
            return files
    except UploadRefused:
        raise
    except Exception as error:  # noqa: BLE001  # zipfile raises what it likes for hostile bytes, all of it a refusal
        raise UploadRefused([f"the zip cannot be read: {_shown(str(error)) or type(error).__name__}"]) from None


def _problems_of_entry(entry: zipfile.ZipInfo) -> Iterator[str]:
    # zipfile cuts a name at NUL and turns backslashes on Windows: the name as stored is judged.
    name = entry.orig_filename
    if "\0" in name or name != entry.filename:
        yield f"{_shown(name)}: a name with NUL or backslash"
    if entry.flag_bits & _ENCRYPTED:
        yield f"{_shown(name)}: encrypted"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        yield f"{_shown(name)}: compressed by method {entry.compress_type}, expected stored or deflated"
    # The upper half holds the Unix mode, where the archive was made on such a system; 0 says nothing.
    kind = (entry.external_attr >> 16) & 0o170000
    if kind not in (0, 0o100000, 0o040000):
        yield f"{_shown(name)}: only plain files are allowed, no links or devices"


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, left: int) -> bytes:
    content = bytearray()
    with archive.open(entry) as file:
        while chunk := file.read(_CHUNK_BYTES):
            content += chunk
            if len(content) > left:
                raise UploadRefused([f"the zip unpacks to more than {MAX_TOTAL_BYTES:,} bytes"])
    return bytes(content)


def _without_common_folder(files: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Takes off the one folder that holds everything, as file managers make them."""
    tops = {path.partition("/")[0] for path, _ in files}
    if len(tops) == 1 and all("/" in path for path, _ in files) and tops.isdisjoint({"", ".", ".."}):
        return [(path.partition("/")[2], content) for path, content in files]
    return files


def _problems_of_path(path: str) -> list[str]:
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or ":" in path or "\\" in path:
        return [f"{_shown(path)}: absolute paths and paths that lead out are not allowed"]
    if len(parts) > MAX_PATH_PARTS or not all(_PART.fullmatch(part) for part in parts):
        return [f"{_shown(path)}: expected names of letters, digits, `_`, `-` and `.`, at most {MAX_PATH_PARTS} deep"]
    top = parts[0].removesuffix(".py")
    if path != ENTRY and (len(parts) > 1 or path.endswith(".py")) and top in _RESERVED:
        return [f"{_shown(path)}: this name would hide the module {top}; choose another one"]
    return []


_RESERVED: Final = frozenset(sys.stdlib_module_names | {"tournament", "bots", "workers", "dashboard", "numpy"})


def _problems_of_content(path: str, content: bytes) -> Iterator[str]:
    if not path.endswith(".py"):
        return
    if len(content) > MAX_MODULE_BYTES:
        yield f"{path}: {len(content):,} bytes, a module may have {MAX_MODULE_BYTES:,}"
        return
    if b"\0" in content:
        yield f"{path}: holds a NUL byte in line {content[: content.index(0)].count(10) + 1}"
        return
    for number, line in enumerate(content.removeprefix(_BOM).splitlines()[:2], 1):
        cookie = _COOKIE.match(line)
        if cookie and cookie[1].lower().replace(b"_", b"-") not in (b"utf-8", b"utf8"):
            yield f"{path}: line {number} names the encoding {_shown(cookie[1].decode('ascii'))}, only utf-8 is allowed"
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        yield f"{path}: is not UTF-8 in line {content[: error.start].count(10) + 1}"
        return
    marks = _BIDI.search(text)
    if marks:
        line_number = text.count("\n", 0, marks.start()) + 1
        yield f"{path}: line {line_number} holds U+{ord(marks[0]):04X}, which changes the order in which text is shown"


def _shown(name: str) -> str:
    """Returns a foreign name as printable ASCII, cut."""
    return ascii(name[:80])[1:-1]
