"""Sandboxes that the attacks are run in, and what they are to leave untouched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.arena import Attack
from workers.sandbox.host import Sandbox
from workers.sandbox.lockdown import Layers

EVERYTHING = "SMEAR_ATTACKS_EVERYWHERE" in os.environ
"""Run the whole corpus under every combination of layers; by default under the two that differ most."""

SANDBOXES = {
    "numpy-all-layers": (True, Layers()),
    "bare-seccomp-alone": (False, Layers(landlock=False, own_uid=False)),
}
if EVERYTHING:
    SANDBOXES |= {
        "bare-all-layers": (False, Layers()),
        "numpy-without-landlock": (True, Layers(landlock=False)),
        "numpy-one-user": (True, Layers(own_uid=False)),
    }


ONCE = "eghik"
"""Kinds of attacks that are faults of a bot and no ways out: no layer has to do with them, so once is enough."""

TWICE = "m04"
"""Takes seconds; what keeps it from a foreign clock is seccomp."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out, unless everything is asked for, what would only be repeated."""
    left_out = [item for item in items if not EVERYTHING and _is_repetition(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _is_repetition(item: pytest.Item) -> bool:
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    attack, name = parameters.get("attack"), parameters.get("sandbox")
    if not isinstance(attack, Attack):
        return False
    if attack.name.startswith(TWICE):
        return name == "numpy-all-layers"
    return attack.name[0] in ONCE and name == "bare-seccomp-alone"


@pytest.fixture(scope="module", params=sorted(SANDBOXES))
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    numpy, layers = SANDBOXES[request.param]
    with Sandbox(numpy=numpy, layers=layers) as running:
        yield running


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    """Files that no bot may read or change, in a folder open to everybody."""
    folder = tmp_path
    while folder != folder.parent and folder.stat().st_uid == os.getuid() and folder != Path("/tmp"):
        folder.chmod(0o755)
        folder = folder.parent
    root = tmp_path / "canary"
    (root / "bots").mkdir(parents=True)
    for name in ("project.sqlite3", "settings.py", "bots/other.py"):
        (root / name).write_text("CANARY = 'unread'\n")
        (root / name).chmod(0o666)
    root.chmod(0o777)
    (root / "bots").chmod(0o777)
    before = _state(root)
    yield root
    assert _state(root) == before


def _state(root: Path) -> list[tuple[str, int, int, bytes]]:
    return sorted(
        (str(path), path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in root.rglob("*")
    )
