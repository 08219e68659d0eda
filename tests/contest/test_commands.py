"""The commands `tournament contest …`, as an organiser runs them."""

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.people.people import accept, contestant, submit
from tests.store.play import play_all
from tournament.cli import main
from tournament.models import TournamentState
from tournament.store import Store

Run = Callable[..., str]


@pytest.fixture
def run(store_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process and returns what it printed; a refusal ends with 2."""
    monkeypatch.setenv("TOURNAMENT_DATABASE_URL", store_url)

    def command(*arguments: str, status: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["tournament", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert (ended.value.code or 0) == status
        printed = capsys.readouterr()
        return printed.out if status != 2 else printed.err

    return command


def contest(run: Run, *arguments: str, status: int = 0) -> str:
    return run("contest", *arguments, status=status)


def test_a_contest_by_commands_only(store: Store, run: Run, tmp_path: Path) -> None:
    size = ("--players", "2", "--deal-limit", "2", "--time-budget", "1s", "--cores", "2", "--memory-mib", "128")
    said = contest(
        run, "make", "Cup", *size, "--closes", "2999-01-01 18:00", "--zone", "Europe/Zurich", "--house", "simple"
    )
    assert store.tournament(1).commitment in said
    assert store.tournament(1).limits.memory_bytes == 128 << 20
    assert "closes 2999-01-01 18:00 CET" in contest(run, "list")
    contest(run, "times", "1", "--closes", "2020-01-01 18:00")
    for name in ("Ada", "=Bob"):
        submit(store, contestant(store, name)[0], name.strip("=").lower(), now=1000.0)
        accept(store, now=1001.0)
    contest(run, "open", "1")
    contest(run, "times", "1", "--for", "Ada", "--closes", "2020-01-01 20:00", "--reason", "ill")
    assert "Tournament 1 is closed, closes 2020-01-01 19:00 CET." in contest(
        run, "times", "1", "--closes", "2020-01-01 19:00", "--reason", "network"
    )
    plan = json.loads(contest(run, "plan", "--json"))
    assert (plan["bots"], plan["waiting"], plan["games"]) == (3, 0, 2 * plan["matches"])
    assert "2 rounds, 6 matches, 12 games" in contest(run, "plan", "1", "--rounds", "2")
    assert "runs: 2 rounds" in contest(run, "start", "1")
    contest(run, "pause", "1")
    assert "cannot become closed" in contest(run, "close", "1", status=2)
    contest(run, "continue", "1")
    play_all(store, 1)
    contest(run, "hold", "1")
    contest(run, "void", "1", "2", "--reason", "overloaded machine")
    play_all(store, 1)
    contest(run, "disqualify", "1", "ada", "--reason", "copied")
    assert "names 0 bots" in contest(run, "disqualify", "1", "nobody", "--reason", "x", status=2)
    rows = list(csv.reader(io.StringIO(contest(run, "grades"))))
    assert rows[0] == ["contestant", "bot", "version", "place", "than simple:1"]
    assert ["'=Bob", "bob", "1", "1"] in [row[:4] for row in rows]
    assert ["Ada", "ada", "1", "disqualified"] in [row[:4] for row in rows]
    run("export", "--to", str(tmp_path / "held"))
    assert "secret: cannot be checked" in run("verify", "--tournament", str(tmp_path / "held"))
    assert store.tournament(1).secret in contest(run, "publish", "1")
    contest(run, "disqualify", "1", "ada", "--undo")
    run("export", "--to", str(tmp_path / "whole"))
    assert "Everything that can be checked follows." in run("verify", "--tournament", str(tmp_path / "whole"))
    (tmp_path / "whole" / "matches.csv").write_text("nonsense\n")
    assert "Something does not follow." in run("verify", "--tournament", str(tmp_path / "whole"), status=1)
    contest(run, "announce", "Prizes at six", "--tournament", "1")
    assert [each.text for each in store.announcements()] == ["Cup: Prizes at six"]
    acts = [line["act"] for line in json.loads(contest(run, "audit", "--json"))]
    assert {"make", "extend", "extend for all", "hold standings", "void", "disqualify", "re-instate"} <= set(acts)
    assert "hold standings" in contest(run, "audit")


def test_the_archive_holds_everything_and_the_export_no_person(store: Store, run: Run, tmp_path: Path) -> None:
    contest(run, "make", "Cup", "--players", "2", "--deal-limit", "2", "--rounds", "3")
    for name in ("Ada Lovelace", "Bob"):
        submit(store, contestant(store, name)[0], name.split()[0].lower(), now=1000.0)
        accept(store, now=1001.0)
    contest(run, "start", "1")
    play_all(store, 1)
    contest(run, "archive", "--to", str(tmp_path / "all"))
    names = {path.name for path in (tmp_path / "all").iterdir()}
    lines = {f"{name}.jsonl" for name in ("faults", "voids", "repeats", "audit", "matches", "persons")}
    assert names == {*lines, "public", "sources", "grades.csv"}
    assert (tmp_path / "all" / "sources" / "ada-1" / "bot.py").read_bytes() == store.source(
        store.entrants(1)[0].sha256 or ""
    ).files[0][1]  # fmt: skip
    assert "Ada Lovelace" in (tmp_path / "all" / "persons.jsonl").read_text()
    assert "line 3" in (tmp_path / "all" / "faults.jsonl").read_text()
    public = "".join(path.read_text() for path in (tmp_path / "all" / "public").iterdir())
    for private in ("Ada Lovelace", "line 3", "class Bot", "tests"):
        assert private not in public


def test_practice_rounds_by_commands(store: Store, run: Run) -> None:
    said = contest(run, "make", "Night", "--players", "2", "--house", "simple", "--house", "random",
                   "--practice-at", "02:00", "--zone", "Europe/Zurich")  # fmt: skip
    assert said.startswith("Practice rounds 1: first at ")
    assert "every day at 02:00 Europe/Zurich" in contest(run, "list")
    contest(run, "stop-practice", "1")
    assert "stopped" in contest(run, "list")
    assert store.tournaments() == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["make", "x", "--rounds", "2", "--time-budget", "2h"], "expected one of them"),
        (["make", "x", "--time-budget", "soon"], "no length of time"),
        (["make", "x", "--house", "nobody"], "no house bot 'nobody'"),
        (["make", "x", "--players", "4"], "players"),
        (["make", "x", "--closes", "2026-13-01"], "is no time"),
        (["make", "x", "--closes", "2020-01-01 18:00"], "which is over: expected a later time"),
        (["make", "x", "--anchor", "nobody"], "anchor 'nobody': expected one of its house bots"),
        (["make", "x", "--rounds", "999999"], "rounds is 999999: expected 1 to 10000"),
        (["make", "x", "--opens", "2026-01-02 10:00", "--closes", "2026-01-01 10:00"], "before it opens"),
        (["make", "x", "--zone", "Mars"], "no time zone"),
        (["make", "x", "--practice-at", "2"], "no time of day"),
        (["start", "9"], "no tournament 9"),
        (["plan"], "no tournament yet"),
        (["stop-practice", "9"], "no practice rounds 9"),
        (["disqualify", "1", "x"], "expected --reason"),
    ],
)
def test_what_makes_no_sense_gets_one_line(store: Store, run: Run, arguments: list[str], words: str) -> None:
    said = contest(run, *arguments, status=2)
    assert words in said
    assert "Traceback" not in said
    assert store.tournaments() == []


def test_acts_that_say_too_little_get_one_line(store: Store, run: Run) -> None:
    contest(run, "make", "x")
    contest(run, "times", "1", "--closes", "2020-01-01 18:00")
    contestant(store, "Ada")
    for arguments, words in (
        (("announce", " "), "an empty announcement: expected a text"),
        (("announce", "", "--tournament", "1"), "an empty announcement: expected a text"),
        (("plan", "1", "--rounds", "1000000000000"), "rounds is 1000000000000: expected 1 to 10000"),
        (("grades", "1"), "has not started: there are no grades yet"),
        (("repeat", "1"), "no match of tournament 1 is recorded yet"),
        (("void", "1", "1", "--reason", ""), "no reason: expected one"),
        (("disqualify", "1", "x", "--reason", ""), "expected one"),
        (("times", "1", "--for", "Ada", "--closes", "2019-01-01 18:00"), "expected a time after the close"),
        (("make", "y", "--practice-at", "02:00", "--opens", "2030-01-01 10:00"), "practice rounds with times"),
        (("times", "1", "--for", "Ada", "--closes", "2030-01-01T18:00+01:00", "--zone", "Mars"), "'Mars' is no time"),
        (("times", "1", "--for", "\udcff"), "surrogates not allowed"),
        (("plan", "1"), "0 entrants: expected at least two"),
        (("plan", "1", "--time-budget", "soon"), "no length of time"),
        (("start", "1", "--anyway"), "0 entrants: expected at least two"),
        (("make", "\udcff"), "surrogates not allowed"),
        (("announce", "\udcff"), "surrogates not allowed"),
    ):
        assert words in contest(run, *arguments, status=2), arguments
    assert store.announcements() == []
    assert store.tournament(1).rounds == 1
    assert "Ada may hand in until 2020-01-01 19:00 UTC." in contest(
        run, "times", "1", "--for", "Ada", "--closes", "2020-01-01 19:00"
    )
    assert "Ada may hand in like all." in contest(run, "times", "1", "--for", "Ada")
    contest(run, "announce", "Prizes at six", "--tournament", "1")
    assert [each.text for each in store.announcements()] == ["x: Prizes at six"]


def test_a_start_without_bots_is_refused(store: Store, run: Run) -> None:
    contest(run, "make", "x")
    assert "expected at least two" in contest(run, "start", "1", status=2)
    assert store.tournament(1).state is TournamentState.DRAFT
