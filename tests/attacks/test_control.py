"""The negative control: without the lock-down the harmless attacks succeed, so the tests of the corpus can fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.arena import all_attacks, attack_with
from workers.sandbox.host import Sandbox
from workers.sandbox.lockdown import Layers

PROBES = "a01 a02 a03 a04 a20 b01 c05 c08 c14".split()
"""Those that only look, or touch nothing but themselves."""

CHANNELS = "m01 m02 m04".split()


@pytest.fixture(scope="module")
def open_box() -> Iterator[Sandbox]:
    with Sandbox(numpy=False, layers=Layers(seccomp=False, landlock=False, own_uid=False)) as running:
        yield running


@pytest.mark.parametrize("name", PROBES)
def test_without_the_lock_down_a_probe_reports_success(open_box: Sandbox, canary: Path, name: str) -> None:
    (attack,) = [attack for attack in all_attacks() if attack.name.startswith(name)]
    assert "PWNED" in attack_with(open_box, attack, canary).logs[0]


@pytest.mark.parametrize("name", CHANNELS)
def test_without_the_lock_down_a_partner_learns_the_secret(open_box: Sandbox, canary: Path, name: str) -> None:
    (attack,) = [attack for attack in all_attacks() if attack.name.startswith(name)]
    log = attack_with(open_box, attack, canary, secret=6).logs[2]
    # The clock is read in steps of 10 ms, of which the interpreter itself may add one.
    assert {"GUESS 6", "GUESS 7"} & set(log.splitlines())
