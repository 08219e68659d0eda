"""The command that measures: what it refuses, and what it writes. What it measures is no test's business."""

from pathlib import Path

import pytest

from tournament.bench_peers import Peers
from tournament.bench_store import growth
from tournament.cli_bench import ROWS, bench
from tournament.cli_bench_rows import MEASURES, Line, write_document
from tournament.cli_common import Refused
from tournament.rules import Rules
from workers import bench as matches


def test_every_row_has_a_measure() -> None:
    assert tuple(MEASURES) == ROWS


def test_an_unknown_row_is_named() -> None:
    with pytest.raises(Refused, match="no row 'speed': expected some of engine, view"):
        bench(only="engine, speed")


def test_rows_that_were_not_measured_stay_in_the_document(tmp_path: Path) -> None:
    document = tmp_path / "performance.md"
    document.write_text("# Speed\n\n<!-- measured -->\n<!-- end -->\n\nMore.\n", "utf-8")
    write_document(
        document, ROWS, {"engine": [Line("deals", "7/s", "others", 2.0, ">= 1")], "flat": [Line("old", "1")]}
    )
    write_document(document, ROWS, {"flat": [Line("new", "2")]})
    text = document.read_text("utf-8")
    assert "| deals | 7/s | others | 2.00 | >= 1 |  |" in text
    assert "| new | 2 |" in text
    assert "old" not in text
    assert text.startswith("# Speed\n")
    assert text.endswith("<!-- end -->\n\nMore.\n")
    assert text.index("### engine") < text.index("### flat")


def test_a_peer_that_cannot_be_had_is_said_to_be_missing(tmp_path: Path) -> None:
    told: list[str] = []
    peers = Peers(tmp_path, told.append)
    (tmp_path / "rlcard" / "bin").mkdir(parents=True)
    (tmp_path / "rlcard" / "complete").touch()
    (tmp_path / "rlcard" / "bin" / "python").symlink_to("/bin/false")
    try:
        assert peers.rate("rlcard", 0.1) == "rlcard does not run here"
    finally:
        peers.close()
    assert told == []


def test_a_match_costs_the_store_something_at_the_start_and_later() -> None:
    first, last = growth(matches=200, window=20)
    assert first > 0
    assert last > 0


def test_decisions_in_the_sandbox_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matches, "_ROUND_TRIPS", 20)
    assert matches.round_trip_s(2) > 0
    with matches.KeptSandbox() as sandbox:
        assert matches.play(sandbox, Rules.make("cutthroat", players=2, deal_limit=1)).cpu_s > 0
        ready_s, _ = matches.one_guest(sandbox)
        assert ready_s > 0
        assert len(sandbox.kept) == 3
