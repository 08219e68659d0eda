"""The modules on the path of every decision as machine code, made by mypyc from the same sources.

Optional, and never stale: `.ci/compile.py` makes a folder for exactly these sources and this Python, and imports take
the modules from there while both are the same. Without it, or with TOURNAMENT_COMPILED=off, everything runs as plain
Python and gives the same bytes (docs/decisions/0091).
"""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

MODULES: Final = (
    "tournament.seeds", "tournament.deal", "tournament.game", "tournament.observation", "tournament.adapter",
    "workers.referee", "workers.sandbox.account", "workers.sandbox.answering", "workers.sandbox.remote",
)  # fmt: skip
"""What is compiled."""

READ: Final = (
    "tournament.bot", "tournament.cards", "tournament.results", "tournament.rules", "tournament.source",
    "tournament.view", "tournament.wire", "workers.sandbox.clocks", "workers.sandbox.faults", "workers.sandbox.frames",
    "workers.sandbox.lockdown", "workers.sandbox.place",
)  # fmt: skip
"""What they import of ours: the constants and types of these are compiled into them."""

SWITCH: Final = "TOURNAMENT_COMPILED"
"""The variable that names the folder of compiled modules, or says `off`."""

ROOT: Final = Path(__file__).parent.parent
GROUP: Final = "smear"
"""What mypyc calls the library that the compiled modules share."""

TAG: Final = f"smear-{sys.implementation.cache_tag}"
"""How the folders of this Python's modules begin."""


def source_of(module: str) -> Path:
    """Returns where a module of ours is written."""
    return ROOT.joinpath(*module.split(".")).with_suffix(".py")


def digest() -> str:
    """Returns the hash of this Python and of all sources that have a part in the compiled modules."""
    whole = hashlib.sha256(sys.version.encode())
    for module in (*MODULES, *READ):
        whole.update(source_of(module).read_bytes())
    return whole.hexdigest()[:16]


def home() -> Path:
    """Returns the folder that holds the folders of compiled modules."""
    return Path(os.environ.get(SWITCH) or Path(sys.prefix, "smear-compiled")).absolute()


def folder() -> Path:
    """Returns the folder of the modules compiled from these very sources, which may not exist."""
    return home() / f"{TAG}-{digest()}"


def setting() -> dict[str, str]:
    """Returns the variables that make a process with an environment of its own take the same modules as this one."""
    value = os.environ.get(SWITCH, "")
    return {SWITCH: value if value == "off" else str(home())}


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the compiled modules ahead of their sources."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Returns how to import a compiled module, or None for any other."""
        del path, target
        file = self._files.get(fullname)
        return importlib.util.spec_from_file_location(fullname, file) if file else None


def use() -> None:
    """Lets imports take the compiled modules, if there are any of these very sources; called before all others."""
    if os.environ.get(SWITCH) == "off" or not home().is_dir():
        return
    made, suffix = folder(), importlib.machinery.EXTENSION_SUFFIXES[0]
    files = {name: made.joinpath(*name.split(".")).with_suffix(suffix) for name in (*MODULES, f"{GROUP}__mypyc")}
    if all(file.is_file() for file in files.values()):
        sys.meta_path.insert(0, _Finder(files))


def in_use() -> bool:
    """Returns whether the rules engine runs as machine code."""
    engine = sys.modules.get("tournament.deal")
    return engine is not None and not str(engine.__file__).endswith(".py")
