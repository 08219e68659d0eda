"""`tournament rate` and `tournament sprt`, on anybody's results."""

import json
import random
import sys
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Protocol

import pytest

from tests.ratings.fields import pair
from tournament.cli import main
from tournament.rating_csv import rate_csv
from tournament.standings import rate


@dataclass
class Ran:
    """What a command left behind."""

    exit_code: int
    stdout: str
    stderr: str


class Run(Protocol):
    """Runs the command line with arguments and standard input."""

    def __call__(self, *arguments: str, text: str | bytes = "") -> Ran: ...


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process."""

    def ran(*arguments: str, text: str | bytes = "") -> Ran:
        monkeypatch.setattr(sys, "argv", ["tournament", *arguments])
        given = text.encode() if isinstance(text, str) else text
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(given), encoding="ascii", errors="surrogateescape"))
        with pytest.raises(SystemExit) as ended:
            main()
        return Ran(int(ended.value.code or 0), *capsys.readouterr())

    return ran


def rated(run: Run, text: str, *options: str) -> dict[str, dict[str, float]]:
    result = run("rate", "-", "--json", *options, text=text)
    assert result.exit_code == 0, result.stderr
    return {row["bot"]: row for row in json.loads(result.stdout)}


SEASON = "a,b,score,count\nA,B,1,2\nB,A,1,3\nA,D,1,1\nD,A,1,4\nB,C,1,5\nC,B,1,3\nC,D,1,1\nD,C,1,3\n"


def test_rate_gives_the_published_ratings_without_a_prior(run: Run) -> None:
    rows = rated(run, SEASON, "--prior", "0")
    for bot, elo in (("A", -77.57), ("B", 7.37), ("C", -72.23), ("D", 142.44)):
        assert rows[bot]["rating"] == pytest.approx(1500 + elo, abs=0.01)
    assert {bot: row["games"] for bot, row in rows.items()} == {"A": 10, "B": 13, "C": 12, "D": 9}
    assert set(rows["A"]) == {"bot", "rating", "low", "high", "se", "games"}


def test_rows_of_one_match_are_one_cluster() -> None:
    lines = ["match,a,b,score"]
    for number in range(48):
        scores = (1, 1) if number < 15 else (1, 0) if number < 46 else (0, 0)
        lines += [f"{number},x,y,{score}" for score in scores]
    (first, second), _ = rate_csv(lines, 1.0, None)
    expected = rate(("x", "y"), [pair(0, 1, 15, 31, 2)], None).rows
    assert (first["rating"], first["low"], first["se"]) == (expected[0].rating, expected[0].low, expected[0].se)
    assert (second["bot"], second["games"]) == ("y", 96)


def test_a_match_of_three_bots_is_one_cluster_too(run: Run) -> None:
    rows = rated(run, "match,a,b,score\n" + "1,A,B,1\n1,A,C,1\n1,B,C,0.5\n2,A,B,0\n2,C,A,0.5\n2,B,C,1\n,A,B,1\n")
    assert {bot: row["games"] for bot, row in rows.items()} == {"A": 5, "B": 5, "C": 4}


def test_the_order_of_the_lines_does_not_matter(run: Run) -> None:
    lines = [f"{m},b{m % 3},b{3 + m % 2},{(m % 3) / 2}" for m in range(60)]
    answers = set()
    for seed in range(4):
        random.Random(seed).shuffle(lines)
        answers.add(run("rate", "-", "--json", text="\n".join(["match,a,b,score", *lines])).stdout)
    assert len(answers) == 1


def test_what_spreadsheets_add_to_a_file_is_no_part_of_it(run: Run, tmp_path: Path) -> None:
    plain = run("rate", "-", "--json", text="a,b,score\nä,y,1\ny,ä,1\n").stdout
    file = tmp_path / "results.csv"
    for text in ("\ufeffa,b,score\r\nä,y,1\r\n\r\n  ,\r\ny,ä,1", '"A","b", "Score"\r"ä",y,1.0\ry,ä,1e0\r'):
        file.write_bytes(text.encode())
        assert run("rate", "-", "--json", text=text).stdout == run("rate", str(file), "--json").stdout == plain


def test_a_quoted_name_keeps_its_line_end_and_every_other_sign(run: Run) -> None:
    rows = rated(run, 'a,b,score\n"x\ny",xy,1\nxy,"x\ny",1\n"p\x0c, q",xy,1\nxy,"p\x0c, q",1\nv\u2028w,xy,0.5\n')
    assert set(rows) == {"x\ny", "xy", "p\x0c, q", "v\u2028w"}


def test_counts_of_lines_that_say_the_same_add_up(run: Run) -> None:
    rows = rated(run, "a,b,score,count\nA,B,1,1000000000\nA,B,1,1000000000\nB,A,1,5\n")
    assert {row["games"] for row in rows.values()} == {2_000_000_005}


def test_clean_records_and_strangers_get_finite_numbers_and_a_remark(run: Run) -> None:
    result = run("rate", "-", "--json", "--prior", "0", text="a,b,score,count\nA,B,1,30\nC,D,0.5,30\n")
    rows = {row["bot"]: row for row in json.loads(result.stdout)}
    assert rows["A"]["high"] is None
    assert rows["A"]["low"] is not None
    assert rows["A"]["se"] is None
    assert (
        "(groups that never met and a side that took every point from another): rated with --prior 1" in result.stderr
    )
    assert "Never met, not comparable: A B | C D" in result.stderr
    assert "open" in run("rate", "-", text="a,b,score\nA,B,1\n").stdout


def test_groups_that_never_met_are_not_called_a_clean_record(run: Run) -> None:
    both_ways = "a,b,score\nA,B,1\nB,A,1\nC,D,1\nD,C,1\n"
    said = run("rate", "-", "--prior", "0", text=both_ways).stderr
    assert "(groups that never met): rated with --prior 1" in said
    assert (
        "(a side that took every point from another)"
        in run("rate", "-", "--prior", "0", text="a,b,score\nA,B,1").stderr
    )


def test_a_bound_has_no_standard_error_however_many_wins_it_stands_on(run: Run) -> None:
    for wins in (1, 1000):
        rows = rated(run, f"a,b,score,count\nA,B,1,{wins}\n")
        assert {row["se"] for row in rows.values()} == {None}
    cells = run("rate", "-", text="a,b,score\nA,B,1\n").stdout.splitlines()[3].split("│")
    assert [cell.strip() for cell in cells[4:6]] == ["open", "open"]


def test_names_steer_no_terminal(run: Run) -> None:
    result = run("rate", "-", text="a,b,score\n\x1b[31mred,b\u202e,1\n")
    assert not {"\x1b", "\u202e"} & {*result.stdout, *result.stderr}
    assert "\\x1b[31mred" in result.stdout
    refused = run("rate", "-", text="a,b,score\n\x1b[31mred,b,7\n")
    assert (refused.exit_code, "\x1b" in refused.stderr) == (2, False)
    assert json.loads(run("rate", "-", "--json", text="a,b,score\n\x1b,b,1\n").stdout)[0]["bot"] == "\x1b"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1"),
        ("a,b\nA,B\n", "line 1"),
        ("a,b,score\n", "at least one result"),
        ("a,b,score\nA,B\n", "line 2: expected 3 values, as the header has"),
        ("a" * 200_000 + ",b,score\nA,B,1\n", "line 1: cannot be read as CSV: field larger than"),
        ("a,b,score\nA,B,1\nA,B," + "1" * 200_000 + "\n", "line 3: cannot be read as CSV: field larger than"),
        ("a;b;score\nA;B;1\n", "with commas between them; not 'a;b;score'"),
        ("a,b,score,score\nA,B,1,0\n", "each once"),
        ("a,b,score\nA,B,0,5\n", "line 2: expected 3 values, as the header has, not 4"),
        ('a,b,score\n"A,B,1\n', "line 2: expected 3 values, as the header has, not 1"),
        (b"a,b,score\nA\xe4,B,1\n", "expected a text in UTF-8"),
        (b"\xff\xfea\x00,\x00", "expected a text in UTF-8"),
        ("a,b,score\nA,B,1\nA,B,2\n", "row 3"),
        ("a,b,score,count\nA,B,1,9999999999999999999\n", "row 2"),
        ("a,b,score\nA,B,nan\n", "row 2"),
        ("a,b,score\nA,A,1\n", "row 2"),
        ("a,b,score\n,A,1\n", "row 2"),
        ("a,b,score,count\nA,B,1,0\n", "row 2"),
        ("a,b,score,count\nA,B,1,1\nA,B,1,-4\n", "row 3"),
        ("a,b,score,count,match\nA,B,1,9999999,1\n", "more than"),
        ("match,a,b,score\n" + "".join(f"1,x,b{i},1\n" for i in range(20)), "21 bots"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_one_line(run: Run, text: str | bytes, said: str) -> None:
    result = run("rate", "-", text=text)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_missing_file_is_a_clear_line(run: Run, tmp_path: Path) -> None:
    result = run("rate", str(tmp_path / "none.csv"))
    assert result.exit_code == 2
    assert "none.csv" in result.stderr


def test_sprt_reports_pairs_and_games(run: Run) -> None:
    report = json.loads(
        run("sprt", "--pairs", "871,26175,55983,26678,821", "--elo0", "0", "--elo1", "2", "--json").stdout
    )
    assert list(report) == ["llr", "lower", "upper", "elo", "low", "high", "los", "decision"]
    assert report["llr"] == pytest.approx(-4.979, abs=0.001)
    assert report["decision"] == "not better"
    games = json.loads(run("sprt", "--wdl", "364,218,346", "--elo0", "0", "--elo1", "10", "--json").stdout)
    assert (games["elo"], games["los"]) == (pytest.approx(6.74, abs=0.01), pytest.approx(0.75, abs=0.001))
    assert games["decision"] == "undecided"
    assert "better" in run("sprt", "--wdl", "90,10,10").stdout


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--wdl", "1,2"),
        ("--wdl", "1,2,3", "--pairs", "1,2,3,4,5"),
        ("--wdl", "1,-2,3"),
        ("--wdl", "0,0,0"),
        ("--wdl", "1,2,3", "--elo0", "5", "--elo1", "5"),
        ("--wdl", "1,2,3", "--model", "banana"),
    ],
)
def test_sprt_refuses_counts_that_make_no_sense(run: Run, options: tuple[str, ...]) -> None:
    result = run("sprt", *options)
    assert result.exit_code == 2
    assert result.stderr
