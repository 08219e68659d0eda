"""The command line, run in the process of the test: a process of its own takes seconds and shows nothing more."""

import sys
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper

import pytest

from tournament.cli import main


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left behind."""

    status: int
    out: str
    err: str


class Command:
    """Runs the command line with arguments and standard input."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str, text: str | bytes = "") -> Ran:
        given = text.encode() if isinstance(text, str) else text
        stdin = TextIOWrapper(BytesIO(given), encoding="ascii", errors="surrogateescape")
        self._monkeypatch.setattr(sys, "argv", ["tournament", *arguments])
        self._monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(SystemExit) as ended:
            main()
        return Ran(int(ended.value.code or 0), *self._capsys.readouterr())
