"""The commands for bot writers, run as a person runs them."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tournament.cli import main
from tournament.cli_common import RulesOptions
from tournament.rules import GameName
from workers.sandbox.faults import SandboxRefused
from workers.sandbox.host import Sandbox

ROOT = Path(__file__).parents[2]
Command = Callable[..., tuple[int, str]]

BOT = """
class Bot:
    def bid(self, view):
        return view.legal[-1]

    def play(self, view):
        return {answer}
"""
FAULTY = BOT.format(answer="view.legal[0] if len(view.tricks) < 3 else None")
STEERING = r"""
class Bot:
    def __init__(self):
        print("at load \x1b[31m")

    def bid(self, view):
        print("a\x1b[31mred\x07\x9b31m \u202e \ud800 \x7f")
        return view.legal[-1]

    def play(self, view):
        if len(view.tricks) > 1:
            raise ValueError("bell \x07 \x1b]0;title\x07 \r over \u202e")
        return view.legal[0]
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command in a folder of bots; returns its status and all that it printed."""
    monkeypatch.chdir(tmp_path)
    Path("faulty.py").write_text(FAULTY)
    Path("steering.py").write_text(STEERING, "utf-8", "surrogatepass")

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["tournament", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        return code or 0, printed.out + printed.err

    return run


# play, replay --------------------------------------------------------------------------------------------------------


def test_a_place_that_play_shows_is_what_reproduce_takes(command: Command) -> None:
    status, shown = command("play", "simple", "random", "--seed", "a", "--save", "game.json")
    assert status == 0
    bids = re.findall(r"^ +(\d+(?:/\d+)?:\d+) +(\d) \w+:1 +(?:passes|bids (\d))$", shown, re.MULTILINE)
    leads = re.findall(r"^ +(\d+(?:/\d+)?:\d+)-\d+ +trick 1  (\d):(10|.)", shown, re.MULTILINE)
    assert bids
    assert leads
    for place, seat, bid in bids[:2]:
        assert command("reproduce", "game.json", "--at", place, "--bot", "simple" if seat == "0" else "random")[0] == 0
        assert f"(in the game: {bid or 0})" in command("reproduce", "game.json", "--at", place, "--bot", "simple")[1]
    place, seat, rank = leads[0]
    said = command("reproduce", "game.json", "--at", place, "--bot", "simple")[1]
    assert f"seat {seat}:" in said
    assert re.search(rf"\(in the game: {rank.replace('10', 'T')}[CDHS]\)", said)


def test_thrown_in_deals_are_counted_and_shown_when_asked_for(command: Command) -> None:
    shown = command("play", "simple", "random", "--seed", "a", "--save", "game.json")[1]
    thrown_in = sum(deal["bidder"] is None for deal in json.loads(Path("game.json").read_text())["deals"])
    assert thrown_in > 3
    assert sum(map(int, re.findall(r"^(\d+) deals? thrown in: everybody passed", shown, re.MULTILINE))) == thrown_in
    assert "  thrown in" not in shown
    deal = command("replay", "game.json", "--deal", "1")[1]
    assert deal.count("  thrown in\n") == 3
    assert "Deal 1, attempt 4: " in deal
    assert "Deal 2" not in deal


@pytest.mark.parametrize(("answer", "thrown_in"), [("0", 3), ("0 if view.attempt < 2 else 1 / 0", 1)], ids=str)
def test_what_a_bot_prints_stands_in_its_deal_a_thrown_in_one_too(
    command: Command, answer: str, thrown_in: int
) -> None:
    bot = (
        f"class Bot:\n    def bid(self, view):\n        print('holds', *map(str, view.hand))\n        return {answer}\n"
    )
    Path("talking.py").write_text(f"{bot}    def play(self, view):\n        return view.legal[0]\n")
    shown = command("play", "talking.py", "random", "--seed", "a", "--redeal-limit", "3")[1]
    hands = {"♣": "C", "♦": "D", "♥": "H", "♠": "S", "10": "T"}
    for sign, letter in hands.items():
        shown = shown.replace(sign, letter)
    deals = shown.split("\nDeal ")[1:]
    assert sum("  thrown in\n" in deal for deal in deals) == thrown_in
    for deal in deals:
        held = re.findall(r"^ +0 talking:1 +((?:\w\w ?){6})$", deal, re.MULTILINE)
        assert held == re.findall(r"\| holds (.+)$", deal, re.MULTILINE)


def test_suits_are_letters_where_the_console_has_no_signs_for_them(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tournament", "play", "random", "simple", "--seed", "s"],
        cwd=tmp_path, env={**environment(), "PYTHONIOENCODING": "cp1252"},
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"0 random:1 +([2-9JQKA]|10)[CDHS] ", done.stdout.decode("cp1252"))


# check ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "tried", "left"),
    [
        ((), "cutthroat/2, cutthroat/3, wisconsin/4", None),
        (("--game", "cutthroat"), "cutthroat/2, cutthroat/3", "wisconsin/4 (--game wisconsin)"),
        (("--players", "3"), "cutthroat/3", "cutthroat/2 (--players 2), wisconsin/4 (--game wisconsin)"),
        (("--game", "wisconsin"), "wisconsin/4", "cutthroat/2 (--players 2), cutthroat/3 (--players 3)"),
    ],
    ids=str,
)
def test_check_tries_every_mode_that_the_options_leave_open_and_says_which_it_did_not(
    command: Command, options: tuple[str, ...], tried: str, left: str | None
) -> None:
    status, said = command("check", "simple", *options)
    assert status == 0
    assert f"Accepted: simple loads and plays {tried}.\n" in said
    assert re.findall(r"^Not tried: (.+)\.$", said, re.MULTILINE) == ([left] if left else [])
    assert json.loads(command("check", "simple", "--json", *options)[1])["modes"] == tried.split(", ")


def test_check_plays_by_the_rules_and_limits_of_a_kit(command: Command) -> None:
    assert command("new", "--kit", "kit", "--game", "wisconsin", "--bidder-takes", "1")[0] == 0
    contest = json.loads(Path("kit/contest.json").read_text())
    contest["limits"]["decision_cpu_s"] = 0.5
    Path("kit/contest.json").write_text(json.dumps(contest))
    Path("told.py").write_text(BOT.format(answer="(view.rules.bidder_takes, view.limits.decision_cpu_s)[view.seat]"))
    status, said = command("check", "told.py", "--contest", "kit/contest.json", "--seed", "s")
    assert status == 1
    assert re.search(r"play answered (1|0\.5): expected a Card", said)
    assert "Not tried" not in said
    (again,) = re.findall(r"To go there: tournament (.+)$", said, re.MULTILINE)
    assert command(*again.split())[1].splitlines()[0] == said.splitlines()[0]
    status, said = command("check", "kit/my_bot.py", "--contest", "kit/contest.json")
    assert status == 0
    assert "Accepted: my_bot loads and plays wisconsin/4.\n" in said


@pytest.mark.parametrize(
    ("text", "options", "line"),
    [
        ("{}", (), "expected the contest.json of a kit: KeyError 'rules'"),
        ("", (), "expected the contest.json of a kit: "),
        ('{"rules": {}, "limits": {}}', (), "expected the contest.json of a kit: ValueError missing in rules"),
        ("{}", ("--players", "2"), "expected --contest or options of the rules, not both"),
    ],
    ids=["empty object", "empty", "no rules", "options"],
)
def test_what_is_no_contest_is_refused(command: Command, text: str, options: tuple[str, ...], line: str) -> None:
    Path("contest.json").write_text(text)
    status, said = command("check", "simple", "--contest", "contest.json", *options)
    assert status == 2
    assert line in said


@pytest.mark.parametrize("bot", ["random", "faulty.py"])
def test_a_check_ends_with_what_the_bot_used_whether_it_is_accepted_or_not(command: Command, bot: str) -> None:
    status, said = command("check", bot, "--seed", "s")
    assert status == (bot == "faulty.py")
    assert re.search(r"^Slowest decision .+\nModules it imports: .+$", said, re.MULTILINE)


def test_the_commands_that_check_prints_lead_to_the_fault(command: Command) -> None:
    Path("at three").mkdir()
    Path("at three/four.py").write_text(
        BOT.format(answer="None if view.rules.players == 3 and view.tricks else view.legal[0]")
    )
    status, said = command("check", "at three/four.py", "--seed", "my seed")
    assert status == 1
    assert "Not accepted: a fault stopped the probe of cutthroat/3 in deal 1/1, act " in said
    assert "Without a fault: cutthroat/2.\nNot tried: wisconsin/4 (--game wisconsin).\n" in said
    first, second = re.findall(r": tournament (.+)$", said, re.MULTILINE)
    assert command(*shlex.split(first))[0] == 1
    status, said = command(*shlex.split(second))
    assert status == 1
    assert "invalid: play answered None" in said
    assert "not known" not in said, "the probe's seed goes with it"


# reproduce -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "status", "line"),
    [
        ("None", 1, "act 4: invalid: play answered None"),
        ("'2S' if view.legal[0] != '2S' else '3S'", 1, "act 4: illegal: play answered 2S"),
        ("1 / 0", 1, "act 4: exception: ZeroDivisionError: division by zero"),
        ("view.legal[0]", 0, r"answers (..) \(in the game: a fault\), after \d+\.\d ms of CPU"),
    ],
    ids=["invalid", "illegal", "exception", "mended"],
)
def test_reproduce_tells_by_its_status_whether_the_bot_faults_again(
    command: Command, answer: str, status: int, line: str
) -> None:
    Path("bad.py").write_text(BOT.format(answer="view.legal[0] if not view.tricks else None"))
    assert command("check", "bad.py", "--players", "2", "--seed", "2", "--save", "probe.json")[0] == 1
    Path("bad.py").write_text(BOT.format(answer=f"view.legal[0] if not view.tricks else {answer}"))
    found, said = command("reproduce", "probe.json", "--bot", "bad.py")
    assert re.search(line, said), said
    assert found == status


def test_reproduce_takes_the_limits_of_a_contest(command: Command) -> None:
    command("new", "--kit", "kit", "--players", "2")
    contest = json.loads(Path("kit/contest.json").read_text())
    contest["limits"]["decision_cpu_s"] = 0.25
    Path("contest.json").write_text(json.dumps(contest))
    Path("bad.py").write_text(BOT.format(answer="view.legal[0] if view.limits.decision_cpu_s > 0.5 else None"))
    command("play", "bad.py", "simple", "--seed", "a", "--save", "game.json")
    place = next(f"{deal['deal']}/{deal['attempt']}:{len(deal['bids'])}"
                 for deal in json.loads(Path("game.json").read_text())["deals"] if deal["bidder"] == 0)  # fmt: skip
    arguments = ("reproduce", "game.json", "--at", place, "--bot", "bad.py")
    assert command(*arguments)[0] == 0
    status, said = command(*arguments, "--contest", "contest.json")
    assert (status, "answered None" in said) == (1, True)


def test_reproduce_writes_cards_as_people_do(command: Command) -> None:
    command("check", "faulty.py", "--players", "2", "--seed", "s", "--save", "probe.json")
    said = command("reproduce", "probe.json", "--bot", "faulty.py")[1]
    assert re.search(r"^  hand +\(\w\w(, \w\w)+\)$", said, re.MULTILINE)
    assert "Card(" not in said


@pytest.mark.parametrize(
    "arguments",
    [("reproduce", "decision.json", "--bot", "stop.py"), ("play", "stop.py", "simple", "--seed", "s", "--debug")],
    ids=["reproduce", "play"],
)
def test_the_debugger_stops_in_the_code_of_the_bot(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "decision.json").write_bytes((ROOT / "tests" / "bots_guide" / "decision.json").read_bytes())
    (tmp_path / "stop.py").write_text(
        "class Bot:\n    def bid(self, view):\n        return view.legal[-1]\n"
        "    def play(self, view):\n        seen = 41\n        breakpoint()\n        return view.legal[0]\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "tournament", *arguments],
        cwd=tmp_path, env=environment(), input="p seen + 1\nq\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    line = "breakpoint()" if sys.version_info >= (3, 13) else "return view.legal[0]"  # 3.13 stops at the call itself
    assert f"-> {line}\n(Pdb) 42\n" in done.stdout
    assert done.returncode == 130, "the debugger was left"


# All of them ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bots", "players"), [(None, 3), (2, 2), (3, 3), (4, 3)])
def test_two_bots_alone_play_a_duel_and_all_others_play_at_three(bots: int | None, players: int) -> None:
    assert RulesOptions().make(bots).players == players
    assert RulesOptions(players=2).make(bots).players == 2
    assert RulesOptions(players=3).make(bots).players == 3
    assert RulesOptions(game=GameName.WISCONSIN).make(bots).players == 4


def refused(_: object) -> None:
    raise SandboxRefused("\x1b[1mno sandbox")


@pytest.mark.parametrize("plain", [False, True], ids=["sandbox", "plain"])
def test_nothing_that_a_bot_says_steers_the_terminal(
    command: Command, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if plain:
        monkeypatch.setattr(Sandbox, "start", refused)
    two = ("--players", "2", "--seed", "s")
    said = {
        "check": command("check", "steering.py", *two, "--save", "probe.json"),
        "play": command("play", "steering.py", "simple", *two, "--save", "game.json"),
        "play --debug": command("play", "steering.py", "simple", *two, "--debug"),
        "reproduce": command("reproduce", "game.json", "--bot", "steering.py"),
        "replay": command("replay", "game.json"),
    }
    for name, (_, text) in said.items():
        assert steering_in(text) == [], name
    for name in ("check", "play", "play --debug", "reproduce"):
        assert r"a\x1b[31mred\x07\x9b31m \u202e \ud800 \x7f" in said[name][1].replace(r"\\ud800", r"\ud800"), name
        assert r"at load \x1b[31m" in said[name][1], name


def test_no_name_and_no_document_steers_the_terminal(command: Command) -> None:
    assert command("play", "simple", "random", "--seed", "s", "--save", "game.json")[0] == 0
    text = Path("game.json").read_text()
    Path("win\x1b[31m.py").write_text(FAULTY)
    Path("forged\x1b[31m.json").write_text(text.replace('"simple"', '"\\u001b[31m"').replace("cutthroat", "c\\u009b"))
    status = 1, 2
    for arguments in (
        ("verify", "forged\x1b[31m.json"),
        ("replay", "forged\x1b[31m.json"),
        ("reproduce", "forged\x1b[31m.json", "--bot", "simple"),
        ("check", "win\x1b[31m.py"),
        ("run", "win\x1b[31m.py", "simple"),
        ("run", "no\x1b[31m.py", "simple", "--rounds", "1"),
        ("run", "simple", "random", "--seed", "\x1b[31m", "--replays", "game.json/\x1b"),
    ):
        found, said = command(*arguments)
        assert found in status
        assert steering_in(said) == [], arguments
        assert said
    found, said = command("run", "simple", "random", "--rounds", "1", "--seed", "\x1b[31m")
    assert found == 0
    assert r"The secret is \x1b[31m" in said
    assert steering_in(said) == []


def steering_in(text: str) -> list[str]:
    return [character for character in text if not character.isprintable() and character != "\n"]
