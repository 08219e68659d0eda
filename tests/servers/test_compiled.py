"""The compiled core against the sources that it is made from: the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tournament import compiled
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from workers.local import Child
from workers.sandbox.frames import GuestInit
from workers.sandbox.host import Sandbox

RULES = Rules.make("cutthroat")

BOTS = {
    "drawing.py": """
import random

class Bot:
    def bid(self, view):
        return random.choice(view.legal)

    def play(self, view):
        return random.choice(view.legal)

    def discard(self, view):
        return random.choice(view.legal)
""",
    "faulty.py": """
class Bot:
    def bid(self, view):
        return view.legal[-1]

    def play(self, view):
        return view.legal[0] if len(view.tricks) < 3 else {}["no such key"]
""",
    "searching.py": """
import copy

class Bot:
    def bid(self, view):
        return view.legal[1] if any(card.rank == 14 for card in view.hand) else 0

    def play(self, view):
        said = ""
        deal = view.imagine([view.hand if seat == view.seat else [] for seat in range(view.rules.players)])
        for each in (deal.copy(), copy.copy(deal), copy.deepcopy(deal)):
            for action in (99, "TS", (1, 2), None):
                try:
                    each.act(action)
                except Exception as error:
                    said += f"{type(error).__name__} {error}"
        return view.legal[len(said) % len(view.legal)]
""",
}


def run(folder: Path, value: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(compiled.ROOT), "COLUMNS": "100", compiled.SWITCH: value}
    command = [sys.executable, "-m", "tournament", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the bots."""
    made = tmp_path_factory.mktemp("bots")
    for name, text in BOTS.items():
        (made / name).write_text(text)
    return made


@pytest.fixture(scope="module")
def built() -> str:
    """The folder of the compiled modules that this process runs on."""
    if not compiled.in_use():
        pytest.skip("nothing is compiled: python3 .ci/bootstrap.py compile FOLDER, and TOURNAMENT_COMPILED=FOLDER")
    return str(compiled.home())


@pytest.mark.parametrize("switch", ["as it is", "off"])
def test_children_and_guests_run_what_their_parent_runs(
    built: str, switch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(compiled.SWITCH, built if switch == "as it is" else switch)
    child = Child(None)
    with Sandbox(numpy=False) as sandbox:
        try:
            while not child.hear():
                pass
            guest = sandbox.spawn(BotSource.of_file(b"class Bot: pass"), GuestInit(RULES, Limits(), 0, "0" * 64), 0)
            guest.wait_ready()
            for pid in (child.process.pid, guest.pid):
                assert (f"/{compiled.TAG}-" in Path(f"/proc/{pid}/maps").read_text()) is (switch != "off")
            guest.close()
        finally:
            child.end()


@pytest.mark.parametrize("mode", ["cutthroat --players 3", "wisconsin --bidder-takes 3"])
def test_a_tournament_gives_the_same_bytes_compiled_or_not(folder: Path, built: str, mode: str) -> None:
    found = []
    for name, value in (("compiled", built), ("plain", "off")):
        db, to = f"{name}-{mode}.db", f"{name}-{mode}"
        arguments = ["run", *BOTS, "--game", *mode.split(), "--rounds", "1", "--seed", "bytes"]
        run(folder, value, *arguments, "--deal-limit", "4", "--db", db)
        run(folder, value, "export", "--db", db, "--to", to)
        found.append({path.name: path.read_bytes() for path in (folder / to).iterdir()})
    assert len(found[0]["replays.jsonl"].splitlines()) >= 6
    assert found[0] == found[1]


@pytest.mark.parametrize("bot", BOTS)
def test_a_bot_is_told_the_same_of_its_faults_compiled_or_not(folder: Path, built: str, bot: str) -> None:
    found = [run(folder, value, "play", bot, "simple", "--seed", "7", "--deal-limit", "2") for value in (built, "off")]
    assert found[0] == found[1]
    assert len(found[0].splitlines()) > 10
