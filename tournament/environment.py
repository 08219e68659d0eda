"""What results depend on besides rules, seeds and bots: the rules engine, Python and the modules that bots may import.

A tournament is played under one environment. Whoever differs plays none of its matches and can say why.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import platform
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any, Final

from tournament.intake import MODULES, OPTIONAL_MODULES

ENGINE: Final = ("adapter", "bot", "cards", "deal", "game", "observation", "replay", "rules", "seeds", "source", "view")
"""The modules that decide a game and what its document says."""

LAYERS: Final = ("landlock", "own-uid")
"""The layers of the sandbox that not every machine has, and that a tournament may demand."""

Environment = Mapping[str, Any]
"""`engine`: hash of those modules' texts; `python`: implementation and version; `modules`: names, sorted.

A tournament's may hold `demands`, the layers without which its bots are not played, and a machine's `layers`, those it
has; where they are missing, there are none.
"""


def demanding(layers: Collection[str]) -> dict[str, Any]:
    """Returns what a tournament's environment holds of its demands.

    Raises:
        ValueError: there is no such layer.

    >>> demanding(["own-uid", "landlock"])
    {'demands': ['landlock', 'own-uid']}
    """
    for layer in layers:
        if layer not in LAYERS:
            raise ValueError(f"no layer {layer!r:.40}: expected {' or '.join(LAYERS)}")
    return {"demands": sorted(set(layers))} if layers else {}


def is_pinned(value: Environment) -> bool:
    """Returns whether a tournament's environment says more than what it demands."""
    return "engine" in value


def missing(value: Environment, layers: Collection[str]) -> str | None:
    """Says in one line which demanded layers a machine lacks; None if it has all.

    >>> missing({"demands": ["landlock"]}, ["own-uid"])
    'without landlock, which is demanded of the sandbox'
    """
    lacking = [layer for layer in value.get("demands", ()) if layer not in layers]
    return f"without {' and '.join(lacking)}, which is demanded of the sandbox" if lacking else None


def layer_lines(value: Environment, machines: Sequence[Environment]) -> Iterator[str]:
    """Yields what a tournament demands of the sandbox, and which layers machines that play it lack.

    Args:
        value: the tournament's environment; its `layers` are those of the one machine that plays it.
        machines: the environments of the workers; those that do not tell have nothing to do with it.
    """
    if demands := value.get("demands"):
        yield f"demanded: {', '.join(demands)}"
    known = [value] if "layers" in value else [each for each in machines if "layers" in each]
    for layer in LAYERS:
        if layer not in value.get("demands", ()) and any(layer not in each["layers"] for each in known):
            yield f"missing where it is played: {layer}"


def served(value: Environment) -> Iterator[dict[str, Any]]:
    """Yields the environments of the tournaments that a machine may play: one for each choice of its layers."""
    own = {name: content for name, content in value.items() if name != "layers"}
    layers = sorted(value.get("layers", ()))
    for size in range(len(layers) + 1):
        for chosen in itertools.combinations(layers, size):
            yield {**own, **demanding(chosen)}


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
    """Returns a short text that is the same for equal environments only; layers that nobody demands do not count.

    >>> fingerprint({"engine": "a", "python": "b"}) == fingerprint({"python": "b", "engine": "a"})
    True
    """
    shared = {name: content for name, content in value.items() if name != "layers"}
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:12]


def difference(expected: Environment, actual: Environment) -> str | None:
    """Says in one line how an environment differs from the expected one; None if it does not.

    >>> difference({"python": "CPython 3.11.2"}, {"python": "CPython 3.12.1"})
    'CPython 3.12.1, expected CPython 3.11.2'
    """
    found = []
    if expected.get("engine") != actual.get("engine"):
        engines = (str(each.get("engine"))[:12] for each in (actual, expected))
        found.append("another rules engine, {}, expected {}".format(*engines))
    if expected.get("python") != actual.get("python"):
        found.append(f"{actual.get('python')}, expected {expected.get('python')}")
    wanted, there = set(expected.get("modules", ())), set(actual.get("modules", ()))
    if absent := sorted(wanted - there):
        found.append(f"without {_listed(absent)}")
    if extra := sorted(there - wanted):
        found.append(f"with {_listed(extra)}, which is not expected")
    if lacking := missing(expected, actual.get("layers", ())):
        found.append(lacking)
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
