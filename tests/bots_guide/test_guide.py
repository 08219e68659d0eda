"""The guide for bot writers: its bots play, its code runs, its commands work, its examples are true."""

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bots.simple_bot import Bot as Simple
from tests.command import Command
from tournament import play_game
from tournament.decision import decision_from, in_words
from tournament.game import FaultKind
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from tournament.verify import parse
from tournament.view import VIEW_FIELDS, View

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "bots" / "README.md").read_text("utf-8")
DECISION = Path(__file__).with_name("decision.json")

BLOCKS = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
BOT_FILES = {name: text for _, name, text in BLOCKS if name}
SCRIPTS = [text for kind, name, text in BLOCKS if kind == "python" and not name]
COMMANDS = [line for kind, _, text in BLOCKS if kind == "sh" for line in text.splitlines()]
MODES = [
    Rules.make("cutthroat", players=2),
    Rules.make("cutthroat"),
    *(Rules.make("wisconsin", bidder_takes=takes) for takes in range(4)),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with all files that the guide tells its reader to have."""
    for name, text in BOT_FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "decision.json").write_bytes(DECISION.read_bytes())
    return tmp_path


def test_the_guide_has_bots_scripts_and_commands() -> None:
    assert {"my_bot.py", "partner_bot.py", "search_bot.py"} <= set(BOT_FILES)
    assert len(SCRIPTS) >= 3
    assert len(COMMANDS) >= 8
    assert {kind for kind, _, _ in BLOCKS} <= {"python", "sh", "text"}


@pytest.mark.parametrize("rules", MODES, ids=lambda rules: f"{rules.mode}/{rules.bidder_takes}")
@pytest.mark.parametrize("name", BOT_FILES)
def test_a_bot_of_the_guide_plays_a_game_without_a_fault(name: str, rules: Rules) -> None:
    bot = BotSource.of_file(BOT_FILES[name].encode())
    seats: list[object] = [bot, Simple] if rules.side_count == 2 else [bot, Simple, bot]
    names = ["mine", "simple", "mine"][: len(seats)]
    played = play_game(seats, rules, "guide", names=names)
    assert played.errors == ()
    assert played.game.deals_begun > 1


@pytest.fixture
def importable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder as the current one, its modules importable and forgotten afterwards."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for name in BOT_FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


@pytest.mark.parametrize("number", range(len(SCRIPTS)))
@pytest.mark.usefixtures("importable")
def test_a_script_of_the_guide_runs(number: int) -> None:
    code = compile(SCRIPTS[number], f"script {number} of the guide", "exec")
    exec(code, {"__name__": f"script_{number}"})


@pytest.mark.usefixtures("importable")
def test_the_commands_of_the_guide_work_in_their_order(command: Command) -> None:
    for line in COMMANDS:
        program, *arguments = shlex.split(line)
        assert program == "tournament"
        ran = command(*arguments)
        # `compare` says with its status which bot is better; both answers are right here.
        allowed = {0, 1, 3} if arguments[0] == "compare" else {0}
        assert ran.status in allowed, f"{line}\n{ran.out}\n{ran.err}"


ROWS = re.findall(r"^\| `([\w.\[\]]+)` \| `(.+?)` \| ", GUIDE, re.MULTILINE)


def view_of_the_guide() -> View:
    return decision_from(parse(DECISION.read_bytes())).views()[-1]


@pytest.mark.parametrize(("expression", "example"), ROWS)
def test_an_example_of_the_view_is_what_the_view_holds(expression: str, example: str) -> None:
    assert example == in_words(eval(f"view.{expression}", {"view": view_of_the_guide()}))


def test_every_field_of_the_view_has_an_example() -> None:
    described = {re.split(r"[.\[]", expression)[0] for expression, _ in ROWS}
    assert described == set(VIEW_FIELDS)


def test_every_kind_of_fault_is_explained() -> None:
    section = GUIDE.partition("## What a fault costs")[2].partition("\n## ")[0]
    table = "\n".join(line for line in section.splitlines() if line.startswith("|"))
    assert set(re.findall(r"`([a-z-]+)`", table)) >= {str(kind) for kind in FaultKind}


def test_the_limits_are_the_defaults() -> None:
    limits = Limits()
    for text in (
        f"| one decision | {limits.decision_cpu_s:g} s |",
        f"| {limits.game_cpu_s:g} s, and {limits.deal_cpu_s:g} s more for every deal dealt |",
        f"| loading | {limits.load_cpu_s:g} s |",
        f"| memory | {limits.memory_bytes >> 20} MiB |",
    ):
        assert text in GUIDE


def test_the_links_within_the_page_lead_somewhere() -> None:
    headings = {
        re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")
        for heading in re.findall(r"^#+ (.+)$", GUIDE, re.MULTILINE)
    }
    links = set(re.findall(r"\]\(#([\w-]+)\)", GUIDE))
    assert links
    assert links <= headings


def test_files_that_the_guide_links_to_are_there() -> None:
    for path in re.findall(r"\]\(([^)#:]+)\)", GUIDE):
        assert (ROOT / "bots" / path).exists(), path


def test_the_first_bot_is_about_ten_lines() -> None:
    lines = [line for line in BOT_FILES["my_bot.py"].splitlines() if line.strip()]
    assert len(lines) <= 14
