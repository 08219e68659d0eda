"""The house bots: from one that plays at random to one that searches; README.md beside them says how to write yours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

NAMES: Final = ("random", "simple", "counter", "searcher")
"""The house bots' names, from the weakest to the strongest."""

_VERSION: Final = re.compile(r"^VERSION = ([1-9][0-9]*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class HouseBot:
    """A bot that comes with the project.

    Attributes:
        name: its name in contests.
        version: the version that its file states.
        code: the file's bytes.
    """

    name: str
    version: int
    code: bytes


def house_bot(name: str) -> HouseBot:
    """Returns the house bot of that name; its code is read, not run.

    Raises:
        ValueError: there is none.

    >>> house_bot("random").version
    1
    """
    if name not in NAMES:
        raise ValueError(f"no house bot {name!r:.60}: expected one of {', '.join(NAMES)}")
    file = f"{name}_bot.py"
    code = files(__name__).joinpath(file).read_bytes()
    version = _VERSION.search(code.decode())
    if version is None:
        raise ValueError(f"{file} states no version: expected a line `VERSION = 1`")
    return HouseBot(name, int(version[1]), code)
