"""The kit of a contest as a zip: this very package as a wheel, a starter bot, its test, the contest's options."""

import base64
import hashlib
import io
import platform
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from importlib import metadata, resources
from pathlib import Path
from typing import Final

from tournament.kit import options_of, write_kit
from tournament.rules import Limits, Rules

PROJECT: Final = "smear-tournament"
PACKAGES: Final = ("bots", "dashboard", "tournament", "workers")
_ZIP_EPOCH: Final = (2020, 1, 1, 0, 0, 0)
_SKIPPED: Final = ("__pycache__",)


def house_names() -> tuple[str, ...]:
    """Give the names of the house bots, which nobody else may take."""
    files = (entry.name for entry in resources.files("bots").iterdir())
    return tuple(sorted(name.removesuffix("_bot.py") for name in files if name.endswith("_bot.py")))


def kit_zip(modes: Sequence[tuple[Rules, Limits]], base: str) -> bytes:
    """Make the kit for the modes that are open on a site which is reached at ``base``."""
    wheel, content = wheel_of_this()
    with tempfile.TemporaryDirectory() as folder:
        kit = Path(folder, "smear-kit")
        write_kit(kit, *modes[0])
        lines = "\n".join(f"- {rules.mode}: `{options_of(rules)}`" for rules, _ in modes)
        start = resources.files("dashboard").joinpath("templates/kit.md").read_text("utf-8")
        with (kit / "README.md").open("a", encoding="utf-8") as readme:
            readme.write(start.format(python=platform.python_version(), wheel=wheel, base=base, modes=lines))
        (kit / wheel).write_bytes(content)
        return _zipped([(f"smear-kit/{file.name}", file.read_bytes()) for file in sorted(kit.iterdir())])


def wheel_of_this() -> tuple[str, bytes]:
    """Build the wheel of the installed project out of its own files; returns its file name and its bytes."""
    about = metadata.metadata(PROJECT)
    stem = f"{PROJECT.replace('-', '_')}-{about['Version']}"
    info = f"{stem}.dist-info"
    distribution = metadata.distribution(PROJECT)
    files = [(name, content) for package in PACKAGES for name, content in _files(package)]
    files.append((f"{info}/METADATA", (distribution.read_text("METADATA") or str(about)).encode()))
    files.append((f"{info}/WHEEL", b"Wheel-Version: 1.0\nGenerator: smear\nRoot-Is-Purelib: true\nTag: py3-none-any\n"))
    files.append((f"{info}/entry_points.txt", (distribution.read_text("entry_points.txt") or "").encode()))
    lines = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in files]
    record = "\n".join([*lines, f"{info}/RECORD,,", ""])
    return f"{stem}-py3-none-any.whl", _zipped([*files, (f"{info}/RECORD", record.encode())])


def _files(package: str) -> Iterator[tuple[str, bytes]]:
    with resources.as_file(resources.files(package)) as folder:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not any(part in _SKIPPED for part in path.parts):
                yield f"{package}/{path.relative_to(folder).as_posix()}", path.read_bytes()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


def _zipped(files: list[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, _ZIP_EPOCH), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
