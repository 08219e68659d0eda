"""What others make of games of like size, measured in an environment of its own for `tournament bench`.

The same file is both sides: `Peers` here makes the environment, installs into it and starts this file there as a script
that plays random games on request. Nothing of the peers is imported by, or ships with, this project.
"""

import contextlib
import importlib
import json
import os
import random
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

# They ask for different versions of the same libraries, hence an environment each.
PACKAGES = {
    "open_spiel": ("open_spiel==2.0.2",),
    "rlcard": ("rlcard==1.2.0",),
    "pettingzoo": ("pettingzoo[classic]==1.27.0",),
    "kaggle": ("kaggle-environments==1.33.2",),
}
NAMES = {
    "open_spiel": "OpenSpiel oh_hell, four seats, six cards",
    "open_spiel_text": "OpenSpiel oh_hell with its information-state string",
    "rlcard": "RLCard bridge env.run",
    "pettingzoo": "PettingZoo hanabi",
    "kaggle": "Kaggle rock-paper-scissors",
}


class Peers:
    """The peers' processes; each answers one request at a time with decisions a second of its CPU time."""

    def __init__(self, folder: Path, tell: Callable[[str], None]) -> None:
        """Starts nothing yet.

        Args:
            folder: where the environments are, or are made.
            tell: told what takes long.
        """
        self._folder = folder
        self._tell = tell
        self._running: dict[str, subprocess.Popen[str] | str] = {}

    def rate(self, name: str, seconds: float) -> float | str:
        """Returns a peer's decisions a second of CPU time, or why it cannot be had."""
        package = name.removesuffix("_text")
        if package not in self._running:
            self._running[package] = self._start(package)
        process = self._running[package]
        if isinstance(process, str):
            return process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{name} {seconds}\n")
            process.stdin.flush()
            return float(json.loads(process.stdout.readline())["rate"])
        except (OSError, ValueError, KeyError):
            _end(process)
            self._running[package] = reason = f"{package} does not run here"
            return reason

    def close(self) -> None:
        """Ends the processes."""
        for process in self._running.values():
            if not isinstance(process, str):
                _end(process)

    def _start(self, package: str) -> subprocess.Popen[str] | str:
        folder = self._folder / package
        python = folder / "bin" / "python"
        if not (folder / "complete").exists():
            self._tell(f"installing {package}")
            venv.create(folder, with_pip=True)
            command = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES[package]]
            if subprocess.run(command, capture_output=True, check=False).returncode:
                return f"{PACKAGES[package][0]} cannot be installed here"
            (folder / "complete").touch()
        return subprocess.Popen(
            [str(python), "-W", "ignore", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    with contextlib.suppress(OSError):  # what was written to one that has ended
        process.communicate()


def _open_spiel(*, text: bool) -> Callable[[], int]:
    game = importlib.import_module("pyspiel").load_game("oh_hell(players=4,num_tricks_fixed=6)")
    choose = random.Random(1).choice

    def play() -> int:
        state, decisions = game.new_initial_state(), 0
        while not state.is_terminal():
            if not state.is_chance_node():  # its cards are dealt one by one
                decisions += 1
                if text:
                    state.information_state_string()
            state.apply_action(choose(state.legal_actions()))
        return decisions

    return play


def _rlcard() -> Callable[[], int]:
    agents = importlib.import_module("rlcard.agents")
    env = importlib.import_module("rlcard").make("bridge", config={"seed": 1})
    env.set_agents([agents.RandomAgent(num_actions=env.num_actions) for _ in range(env.num_players)])

    def play() -> int:
        trajectories, _ = env.run(is_training=False)
        return sum(len(each) // 2 for each in trajectories)

    return play


def _pettingzoo() -> Callable[[], int]:
    env = importlib.import_module("pettingzoo.classic.hanabi_v5").env()

    def play() -> int:
        env.reset()
        decisions = 0
        for agent in env.agent_iter():
            seen, _, terminated, truncated, info = env.last()
            over = terminated or truncated
            mask = (seen if isinstance(seen, dict) and "action_mask" in seen else info).get("action_mask")
            env.step(None if over else env.action_space(agent).sample(mask))
            decisions += not over
        return decisions

    return play


def _kaggle() -> Callable[[], int]:
    env = importlib.import_module("kaggle_environments").make("rps")
    choose = random.Random(1).randrange

    def player(_: Any, __: Any) -> int:
        return choose(3)

    def play() -> int:
        env.reset()
        return 2 * (len(env.run([player, player])) - 1)

    return play


MAKERS: dict[str, Callable[[], Callable[[], int]]] = {
    "open_spiel": lambda: _open_spiel(text=False),
    "open_spiel_text": lambda: _open_spiel(text=True),
    "rlcard": _rlcard,
    "pettingzoo": _pettingzoo,
    "kaggle": _kaggle,
}


def serve() -> None:
    """Answers lines `name seconds` with the rate, until its input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    made: dict[str, Callable[[], int]] = {}
    for line in sys.stdin:
        name, _, seconds = line.partition(" ")
        if name not in made:
            made[name] = MAKERS[name]()
            made[name]()  # for warmth
        decisions, begun = 0, time.process_time()
        while (used := time.process_time() - begun) < float(seconds):
            decisions += made[name]()
        answers.write(json.dumps({"rate": decisions / used}) + "\n")
        answers.flush()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        serve()
