"""What the sandbox of this machine holds: for `tournament doctor`, and for tournaments that demand a layer."""

from __future__ import annotations

from typing import Any, NamedTuple

from workers.sandbox.faults import SandboxFailure
from workers.sandbox.host import Sandbox


class Check(NamedTuple):
    """One line of what `tournament doctor` says."""

    name: str
    ok: bool
    detail: str


def doctor(**options: Any) -> list[Check]:
    """Starts a sandbox and returns which layers hold; `options` are those of `Sandbox`.

    A missing optional layer is not ok either: who takes uploads decides whether that will do.
    """
    try:
        with Sandbox(**options) as sandbox:
            found = sandbox.confinement
    except SandboxFailure as failure:
        return [Check("sandbox", False, str(failure))]
    held = {"landlock": f"ABI {found.landlock_abi}", "own-uid": "a user of its own for every seat"}
    return [
        Check("sandbox", True, "seccomp, no new privileges, no capabilities and resource limits hold"),
        *(Check(name, name not in found.missing, found.missing.get(name, text)) for name, text in held.items()),
        Check("modules", True, f"bots can import {len(found.modules)} modules"),
    ]


def layers_here() -> frozenset[str]:
    """Returns which optional layers the sandbox of this machine has; none where there is no sandbox."""
    try:
        with Sandbox(numpy=False) as sandbox:
            return sandbox.confinement.layers
    except SandboxFailure:
        return frozenset()
