"""The starter bot and the kit: what a contestant begins with works before a line of it is changed."""

import json
import sys
from pathlib import Path

import pytest

from tournament import play_game
from tournament.kit import STARTER, write_kit
from tournament.rules import Limits, Rules
from tournament.source import BotSource

MODES = [Rules.make("cutthroat", players=2), Rules.make("cutthroat"), Rules.make("wisconsin", bidder_takes=2)]


@pytest.mark.parametrize("rules", MODES, ids=lambda rules: rules.mode)
def test_the_starter_bot_plays_a_game_without_a_fault(rules: Rules) -> None:
    bot = BotSource.of_file(STARTER.encode())
    played = play_game([bot] * rules.side_count, rules, "starter", names=["my_bot"] * rules.side_count)
    assert played.errors == ()
    assert any(dealt.scores for dealt in played.game.dealt)


@pytest.mark.parametrize("rules", MODES, ids=lambda rules: rules.mode)
def test_the_test_of_the_kit_passes(rules: Rules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kit = tmp_path / "kit"
    write_kit(kit, rules, Limits())
    assert sorted(file.name for file in kit.iterdir()) == ["README.md", "contest.json", "my_bot.py", "test_my_bot.py"]
    monkeypatch.syspath_prepend(str(kit))
    monkeypatch.delitem(sys.modules, "my_bot", raising=False)
    file = kit / "test_my_bot.py"
    names: dict[str, object] = {"__file__": str(file), "__name__": "test_my_bot"}
    exec(compile(file.read_text("utf-8"), str(file), "exec"), names)
    tests = [test for name, test in names.items() if name.startswith("test_")]
    assert len(tests) == 1
    assert callable(tests[0])
    tests[0]()
    monkeypatch.delitem(sys.modules, "my_bot")


def test_the_kit_holds_the_options_of_the_contest(tmp_path: Path) -> None:
    rules = Rules.make("wisconsin", bidder_takes=1, cap_defenders=True)
    write_kit(tmp_path / "kit", rules, Limits(decision_cpu_s=0.5))
    contest = json.loads((tmp_path / "kit" / "contest.json").read_text("utf-8"))
    assert Rules.from_dict(contest["rules"]) == rules
    assert Limits.from_dict(contest["limits"]).decision_cpu_s == 0.5
    readme = (tmp_path / "kit" / "README.md").read_text("utf-8")
    assert "tournament play my_bot.py simple --game wisconsin --bidder-takes 1 --cap-defenders" in readme
    assert "tournament check my_bot.py --contest contest.json" in readme
