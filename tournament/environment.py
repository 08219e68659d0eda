"""What results depend on besides rules, seeds and bots: the rules engine, Python and the modules that bots may import.

A tournament is played under one environment. Whoever differs plays none of its matches and can say why.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any, Final

from tournament.intake import MODULES, OPTIONAL_MODULES

ENGINE: Final = ("adapter", "bot", "cards", "deal", "game", "observation", "replay", "rules", "seeds", "source")
"""The modules that decide a game and what its document says."""

Environment = Mapping[str, Any]
"""`engine`: hash of those modules' texts; `python`: implementation and version; `modules`: names, sorted."""


def environment(modules: Sequence[str] | None = None) -> dict[str, Any]:
    """Returns the environment of this process, as JSON values.

    Args:
        modules: those of the published list that bots can import, as a running sandbox says; by default they are
            looked for, without being imported.
    """
    if modules is None:
        optional = OPTIONAL_MODULES if importlib.util.find_spec("numpy") else ()
        modules = [*filter(importlib.util.find_spec, MODULES), *optional]
    return {
        "engine": engine_hash(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "modules": sorted(_versioned(name) for name in modules),
    }


def engine_hash() -> str:
    """Returns the SHA-256 of the rules engine's source texts."""
    digest = hashlib.sha256()
    for name in ENGINE:
        digest.update(files("tournament").joinpath(f"{name}.py").read_bytes() + b"\0")
    return digest.hexdigest()


def fingerprint(value: Environment) -> str:
    """Returns a short text that is the same for equal environments only.

    >>> fingerprint({"engine": "a", "python": "b"}) == fingerprint({"python": "b", "engine": "a"})
    True
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def difference(expected: Environment, actual: Environment) -> str | None:
    """Says in one line how an environment differs from the expected one; None if it does not.

    >>> difference({"python": "CPython 3.11.2"}, {"python": "CPython 3.12.1"})
    'CPython 3.12.1, expected CPython 3.11.2'
    """
    found = []
    if expected.get("engine") != actual.get("engine"):
        found.append("another rules engine")
    if expected.get("python") != actual.get("python"):
        found.append(f"{actual.get('python')}, expected {expected.get('python')}")
    wanted, there = set(expected.get("modules", ())), set(actual.get("modules", ()))
    if missing := sorted(wanted - there):
        found.append(f"without {_listed(missing)}")
    if extra := sorted(there - wanted):
        found.append(f"with {_listed(extra)}, which is not expected")
    return "; ".join(found) or None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _versioned(name: str) -> str:
    if name != "numpy":
        return name
    try:
        return f"numpy {version('numpy')}"
    except PackageNotFoundError:
        return name
