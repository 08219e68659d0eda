"""`tournament compare`, with bots that really play."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tournament import seeds
from tournament.cli import main, one_flag_each
from tournament.cli_common import find_bots
from tournament.cli_compare import _Plan
from tournament.comparison import Comparison
from tournament.rules import Rules

TAKING = (
    "class Bot:\n    def bid(self, view):\n        return view.legal[-1]\n\n    def play(self, view):\n        return "
)
BOTS = {
    "high": TAKING + "max(view.legal, key=lambda card: card.rank)\n",
    "low": TAKING + "min(view.legal, key=lambda card: card.rank)\n",
    "broken": TAKING + "None\n",
}
SHORT = ("--deal-limit", "2", "--seed", "one")
"""Games of two deals, by their places: what is tested is who decides, not the game."""


@pytest.fixture(autouse=True)
def bots_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, code in BOTS.items():
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.chdir(tmp_path)


def compare(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command in this process; return its exit status."""
    monkeypatch.setattr(sys, "argv", ["tournament", "compare", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """The scores by match numbers that comparisons are fed while a test runs."""
    found: dict[int, int] = {}
    add = Comparison.add

    def noted(running: Comparison, number: int, score: int) -> None:
        found[number] = score
        add(running, number, score)

    monkeypatch.setattr(Comparison, "add", noted)
    return found


@pytest.mark.parametrize(
    ("bots", "status", "said"),
    [
        (("high.py", "broken.py", "--elo1", "100"), 0, "high:1 is better than broken:1."),
        (("broken.py", "high.py", "--elo1", "100"), 1, "broken:1 is not better than high:1 by 100 Elo."),
        (("high.py", "low.py", "--cap", "3"), 3, "Undecided: the cap of 3 matches came first."),
        (("high.py", "low.py", "--cap", "1"), 3, "Undecided: the cap of 1 match came first."),
    ],
)
def test_the_exit_status_says_what_was_found(
    bots: tuple[str, ...],
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert compare(monkeypatch, *bots, "--jobs", "1", "--players", "2", *SHORT) == status
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == said
    assert "LLR" in printed.out
    assert "cutthroat/2: about " in printed.err, "the expected length is said first"
    assert "with 1 job;" in printed.err


@pytest.mark.parametrize(
    "arguments",
    [("high.py",), ("simple", "simple"), ("high.py", "low.py", "--elo1", "0"), ("high.py", "low.py", "--cap", "0")],
)
def test_wrong_usage_has_status_2(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare(monkeypatch, *arguments) == 2


@pytest.mark.parametrize(
    ("mode", "games"),
    [(("--players", "2"), 2), (("--players", "3"), 6), (("--game", "wisconsin"), 2)],
    ids=["two", "duel", "partners"],
)
def test_one_job_and_two_take_the_same_matches_and_the_same_ratio(
    mode: tuple[str, ...],
    games: int,
    added: dict[int, int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    printed, taken = [], []
    for jobs in "12":
        added.clear()
        assert compare(monkeypatch, "high.py", "random", "--cap", "8", "--jobs", jobs, *mode, *SHORT) == 3
        printed.append(capsys.readouterr().out)
        taken.append({number: score for number, score in added.items() if number <= 8})
    assert printed[0] == printed[1]
    assert taken[0] == taken[1]
    assert sorted(taken[0]) == list(range(1, 9))
    assert len(set(taken[0].values())) > 1, "scores that are all the same would fit any order"
    assert max(taken[0].values()) <= (24 if games == 6 else 4)


def test_two_versions_meet_the_same_gauntlet(
    added: dict[int, int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    against = ("--against", "low.py", "random", "--cap", "6")
    first = compare(monkeypatch, "high.py", "broken.py", *against, "--players", "2", "--jobs", "2", *SHORT)
    assert first == 3
    assert "6 matches" in capsys.readouterr().out
    forward = dict(added)
    assert compare(monkeypatch, "broken.py", "high.py", *against, "--players", "2", "--jobs", "1", *SHORT) == 3
    assert {n: 8 - added[n] for n in range(1, 7)} == {n: forward[n] for n in range(1, 7)}
    assert all(4 <= forward[n] <= 8 for n in range(1, 7)), "one who plays never gains less than one who cannot"


@pytest.mark.parametrize("players", [2, 3])
def test_in_a_gauntlet_the_seeds_come_from_a_key_in_which_the_candidate_is_a_star(players: int) -> None:
    rules = Rules.make("cutthroat", players=players)
    plan = _Plan(find_bots(["high.py", "low.py", "simple", "random"]), rules, "secret")
    for number, opponent, round_number in ((1, "simple:1", 1), (2, "random:1", 1), (3, "simple:1", 2)):
        new, old = plan.tasks(number)
        assert new.seed_key == old.seed_key == f"cutthroat/{players}/*,{opponent}/{round_number}"
        assert new.seed == old.seed == seeds.deal_seed("secret", new.seed_key)
        assert new.bot_seeds == old.bot_seeds
        for task, candidate in ((new, "high:1"), (old, "low:1")):
            assert [player.text for player in task.players] == [candidate, opponent]
            assert task.key == seeds.match_key(rules, [candidate, opponent], round_number)
    assert len({task.seed for number in range(1, 9) for task in plan.tasks(number)}) == 8


def test_a_match_of_two_bots_has_a_seed_of_its_own() -> None:
    plan = _Plan(find_bots(["low.py", "high.py"]), Rules.make("cutthroat", players=3), "secret")
    tasks = [task for number in range(1, 6) for task in plan.tasks(number)]
    assert {task.seed_key for task in tasks} == {None}
    assert [task.key for task in tasks] == [f"cutthroat/3/high:1,low:1/{number}" for number in range(1, 6)]
    assert {len(task.bot_seeds) for task in tasks} == {6}, "the six fillings of the duel"
    assert len({task.seed for task in tasks}) == 5


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("compare a b --against x y --jobs 1", "compare a b --against x --against y --jobs 1"),
        ("compare --against x y z", "compare --against x --against y --against z"),
        ("compare a b --against x --against y z", "compare a b --against x --against y --against z"),
        ("compare a b --cap 3", "compare a b --cap 3"),
        ("compare a b --against", "compare a b --against"),
    ],
)
def test_several_bots_may_stand_behind_one_against(given: str, read: str) -> None:
    assert one_flag_each(given.split()) == read.split()


def test_bots_named_like_modules_of_python_take_no_modules_place(tmp_path: Path) -> None:
    for name in ("copy", "random", "json", "typing"):
        (tmp_path / f"{name}.py").write_text(BOTS["high"])
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tournament", "compare", "copy.py", "random.py", "--cap", "1", "--jobs", "1"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    assert "Undecided: the cap of 1 match came first." in done.stdout


def test_who_interrupts_it_reads_how_it_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add = Comparison.add

    def interrupted(running: Comparison, number: int, score: int) -> None:
        add(running, number, score)
        if running.matches == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Comparison, "add", interrupted)
    assert compare(monkeypatch, "high.py", "low.py", "--jobs", "1", *SHORT) == 130
    assert capsys.readouterr().out.startswith("2 matches, Elo")
