"""The kit from the site: a wheel that works, a bot that passes, the contest's own options."""

import io
import json
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from dashboard.kit import PROJECT, house_names, kit_zip, wheel_of_this
from tests.people.site import nobody, site
from tests.store.play import started
from tournament.rules import Limits, Rules
from tournament.store import Store


@pytest.fixture(autouse=True)
def an_installed_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for the project's own metadata where the tests run from a plain folder."""
    try:
        metadata.distribution(PROJECT)
    except metadata.PackageNotFoundError:
        info = tmp_path / "smear_tournament-0.1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PROJECT}\nVersion: 0.1.0\n")
        (info / "entry_points.txt").write_text("[console_scripts]\ntournament = tournament.cli:main\n")
        monkeypatch.syspath_prepend(str(tmp_path))


def test_the_kit_has_wheel_bot_test_options_and_the_way_to_begin() -> None:
    rules = Rules.make("wisconsin", bidder_takes=2, target=21)
    with zipfile.ZipFile(
        io.BytesIO(kit_zip([(rules, Limits()), (Rules.make("cutthroat"), Limits())], "https://smear.example"))
    ) as kit:
        names = {Path(name).name for name in kit.namelist()}
        readme = kit.read("smear-kit/README.md").decode()
        contest = json.loads(kit.read("smear-kit/contest.json"))
    wheel = next(name for name in names if name.endswith(".whl"))
    assert names == {"my_bot.py", "test_my_bot.py", "contest.json", "README.md", wheel}
    assert contest["rules"] == rules.to_dict()
    for words in (
        f"pip install {wheel}",
        "- wisconsin/4: `--game wisconsin --target 21 --bidder-takes 2`",
        "- cutthroat/3: `--game cutthroat --players 3`",
        "https://smear.example/join/",
    ):
        assert words in readme
    assert f"Python {sys.version_info.major}.{sys.version_info.minor}." in readme


def test_the_wheel_can_be_imported_from_and_says_what_is_in_it(tmp_path: Path) -> None:
    name, content = wheel_of_this()
    path = tmp_path / name
    path.write_bytes(content)
    with zipfile.ZipFile(path) as wheel:
        assert wheel.testzip() is None
        files = set(wheel.namelist())
        info = next(each.partition("/")[0] for each in files if each.endswith(".dist-info/RECORD"))
        record = {line.partition(",")[0] for line in wheel.read(f"{info}/RECORD").decode().splitlines()}
    assert record == files
    assert {"tournament/bot.py", "bots/README.md", "dashboard/templates/base.html", f"{info}/WHEEL"} <= files
    assert not any("__pycache__" in each or each.startswith("tests") for each in files)
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(path) as wheel:
        wheel.extractall(unpacked)
    program = "import tournament.bot, bots; print(tournament.bot.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == str(unpacked / "tournament" / "bot.py"), done.stderr


def test_the_site_gives_the_kit_of_the_contest_that_is_open(store: Store) -> None:
    started(store, 2, rules=Rules.make("cutthroat", players=2, target=7))
    answer = nobody(site(store)).get("/kit.zip")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as kit:
        assert json.loads(kit.read("smear-kit/contest.json"))["rules"]["target"] == 7


def test_the_names_of_house_bots_are_known_without_running_them() -> None:
    assert {"random", "simple", "counter"} <= set(house_names())
