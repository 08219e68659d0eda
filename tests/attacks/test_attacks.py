"""Every hostile bot comes to the end that its first line demands, and leaves no trace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.attacks.arena import Attack, all_attacks, attack_with, fits
from tournament import compiled
from tournament.intake import UploadRefused, check_upload
from workers.sandbox.host import Sandbox

PLAYS_ON = """
class Bot:
    def bid(self, view):
        return view.legal[1]

    def play(self, view):
        return view.legal[0]
"""

ATTACKS = all_attacks()
ALONE = [attack for attack in ATTACKS if not attack.dual]
CLOSED = [attack for attack in ATTACKS if attack.dual and attack.name[:3] in ("m01", "m02", "m04", "m20")]
OPEN = [attack for attack in ATTACKS if attack.dual and attack not in CLOSED]


SAYS = {
    "c06": "forbidden system call: ptrace",
    "c11": "forbidden system call: io_uring_setup",
    "d01": "out of memory in play",
    "d05": r"0\.1\d s CPU in one decision, limit 0\.10 s",
    "d08": r"0\.\d\d s CPU in loading, limit 0\.20 s",
    "d16": r"0\.[12]\d s CPU in a game of [1-3] deals, limit 0\.(15|20|25) s",
    "f03": r"no answer after 0\.\d\d s without waiting for a processor, limit 0\.20 s",
    "h04": "the process ended with exit status 0",
    "i01": r"killed by signal 11 \(SIGSEGV\)",
    # abort() cannot send itself a signal here and falls back on an instruction that is not allowed.
    "i04": r"killed by signal 11 \(SIGSEGV\)",
    "k01": r"SyntaxError: expected ':' \(bot\.py, line 2\)",
}
"""What the fault's message says, for some."""

READ_FRAMES = ("f03", "f10", "f12", "f20")
"""Those that take the number of the question from the locals of the guest's loop."""


def test_the_corpus_is_complete() -> None:
    own = [attack for attack in ATTACKS if int(attack.name[1:3]) >= 20]
    assert len(ATTACKS) - len(own) == 74
    assert {attack.name[0] for attack in own} == {attack.name[0] for attack in ATTACKS}
    assert len(CLOSED) == 4
    assert len(OPEN) == 2


@pytest.mark.parametrize(
    ("attack", "turn"),
    [pytest.param(attack, turn, id=f"{attack.name}-{turn}") for attack in ALONE for turn in range(attack.variants)],
)
def test_an_attack_comes_to_its_demanded_end(
    sandbox: Sandbox, canary: Path, monkeypatch: pytest.MonkeyPatch, attack: Attack, turn: int
) -> None:
    needle = "SBX_SECRET_abc"  # what j03 looks for in its own process
    monkeypatch.setenv("SMEAR_TEST", needle)
    other = f"SECRET = '{needle}'\n{PLAYS_ON}".encode() if attack.name.startswith("j03") else b""
    if compiled.in_use() and attack.name[:3] in READ_FRAMES:
        pytest.skip("the bot reads a frame of the guest, compiled it has none")
    played = attack_with(sandbox, attack, canary, turn, other=other)
    assert fits(attack.expect, played.fault), f"{played.fault}; expected {attack.expect}; log {played.logs[0][:500]}"
    assert "PWNED" not in played.logs[0]
    assert "unread" not in played.logs[0]
    if attack.name[:3] in SAYS:
        assert played.fault is not None
        assert re.fullmatch(SAYS[attack.name[:3]], played.fault.message)
    if attack.expect == "plays":
        assert played.answers > 3
        assert "blocked" in played.logs[0] or b'"blocked' not in attack.text


@pytest.mark.parametrize("attack", CLOSED, ids=lambda attack: attack.name)
def test_a_closed_channel_between_partners_tells_nothing(sandbox: Sandbox, canary: Path, attack: Attack) -> None:
    played = attack_with(sandbox, attack, canary, secret=6)
    assert played.fault is None
    assert "PWNED" not in "".join(played.logs.values())
    guesses = [line for line in played.logs[2].splitlines() if line.startswith("GUESS")]
    assert len(guesses) > 3
    assert set(guesses) == {"GUESS None"}


@pytest.mark.parametrize("attack", OPEN, ids=lambda attack: attack.name)
def test_a_channel_of_time_cannot_be_closed_and_the_bots_play_on(canary: Path, attack: Attack) -> None:
    with Sandbox(numpy=False) as sandbox:
        played = attack_with(sandbox, attack, canary, secret=7)
    assert played.fault is None
    guesses = [line for line in played.logs[2].splitlines() if line.startswith("GUESS")]
    assert guesses
    print(attack.name, "secret 7:", *guesses)


@pytest.mark.parametrize(("name", "reason"), [("k06", "NUL"), ("k10", "encoding")])
def test_these_do_not_get_past_the_checks_of_an_upload(name: str, reason: str) -> None:
    (attack,) = [attack for attack in ATTACKS if attack.name.startswith(name)]
    with pytest.raises(UploadRefused, match=reason):
        check_upload("bot.py", attack.text)


def test_all_others_do(canary: Path) -> None:
    for attack in ATTACKS:
        if attack.name[:3] not in ("k06", "k10"):
            check_upload(f"{attack.name}.py", attack.text)
    assert canary.exists()


def test_the_page_on_security_counts_the_corpus_right() -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text("utf-8")
    assert f"holds {len(ATTACKS)} hostile or faulty bots" in page
