"""An export is checked from itself alone; whatever somebody changes in it is found, and named."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from tests.store.play import PARTNERS, THREE, TWO, entrants, migrated, new, play, play_all, started
from tournament.export import export_tournament
from tournament.replay import digest, to_line
from tournament.rules import Rules
from tournament.seeds import commitment
from tournament.verify_tournament import Answer, Finding, verify_export


def wrong(folder: Path) -> list[Finding]:
    return [finding for finding in verify_export(folder) if finding.answer is Answer.WRONG]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of three bots at a table, with faults, a void and a disqualification."""
    folder = tmp_path_factory.mktemp("export")
    with migrated(folder / "one.db") as store:
        tournament = started(store, 4, THREE, rounds=2)
        play_all(store, tournament)
        store.void(tournament, 3, "overloaded machine")
        play_all(store, tournament)
        store.disqualify(tournament, 1, "copied")
        export_tournament(store, tournament, folder / "out")
    return folder / "out"


@pytest.fixture
def export(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


@pytest.mark.parametrize("rules", [TWO, THREE, PARTNERS], ids=["two", "three", "partners"])
@pytest.mark.parametrize("count", [2, 5])
def test_everything_in_a_true_export_follows(tmp_path: Path, rules: Rules, count: int) -> None:
    with migrated(tmp_path / "one.db") as store:
        tournament = started(store, count, rules, rounds=2)
        play_all(store, tournament)
        export_tournament(store, tournament, tmp_path / "out")
    findings = list(verify_export(tmp_path / "out"))
    assert wrong(tmp_path / "out") == []
    followed = {finding.subject for finding in findings if finding.answer is Answer.FOLLOWS}
    assert followed >= {"commitment", "schedule", "games", "seeds and deals", "matches", "ratings", "final order"}


def test_before_its_end_an_export_follows_as_far_as_it_goes(tmp_path: Path) -> None:
    with migrated(tmp_path / "one.db") as store:
        tournament = store.create_running(new(THREE), entrants(4))
        store.record([play(store, store.lease(1, 60)[0])])
        export_tournament(store, tournament, tmp_path / "out")
    findings = list(verify_export(tmp_path / "out"))
    assert wrong(tmp_path / "out") == []
    assert Finding("secret", Answer.OPEN, "it is not out yet: nor can the seeds be checked") in findings
    assert any("3 (2, 3, 4)" in finding.text for finding in findings)


def zipped(export: Path) -> Path:
    path = export.with_suffix(".zip")
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for file in sorted(export.iterdir()):
            archive.write(file, file.name)
    return path


def test_an_archive_is_checked_like_its_folder(export: Path) -> None:
    assert list(verify_export(zipped(export))) == list(verify_export(export))
    change_rows(export, "standings.csv", lambda rows: rows[1].__setitem__(2, "1.0"))
    (export / "replays.jsonl").unlink()
    found = list(verify_export(zipped(export)))
    assert found == list(verify_export(export))
    assert Finding("games", Answer.WRONG, "cannot be read: No such file or directory") in found


def test_a_broken_archive_is_a_finding_and_no_crash(export: Path) -> None:
    path = zipped(export)
    whole = path.read_bytes()
    with ZipFile(path) as archive:
        place = archive.getinfo("replays.jsonl").header_offset + 200
    path.write_bytes(whole[:place] + bytes(100) + whole[place + 100 :])
    assert wrong(path)[-1].subject == "archive"
    path.write_bytes(whole)
    with pytest.warns(UserWarning, match="Duplicate"), ZipFile(path, "a") as archive:
        archive.writestr("matches.csv", "")
    assert wrong(path) == [Finding("archive", Answer.WRONG, "cannot be read: a file is in it twice")]
    path.write_bytes(b"no archive")
    assert [each.subject for each in wrong(path)] == ["tournament.json"]


def test_a_file_too_many_is_named(export: Path) -> None:
    (export / "ratings.csv").write_text("bot,rating\nmine,3000\n")
    assert Finding("other files", Answer.OPEN, "no part of an export: ratings.csv") in list(verify_export(export))
    assert wrong(export) == []


def test_lines_in_another_order_or_twice_are_found(export: Path) -> None:
    path = export / "replays.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    for changed in ([lines[1], lines[0], *lines[2:]], [*lines, lines[-1]], [*lines[:6], *lines], lines[:-1]):
        path.write_text("".join(changed))
        assert "games" in {each.subject for each in wrong(export)}
    path.write_text("".join(lines))
    for name in ("matches.csv", "standings.csv", "final-order.csv"):
        rows = (export / name).read_text()
        for change in (
            lambda rows: rows.append(rows[-1]), lambda rows: rows.insert(1, rows.pop(2)), lambda rows: rows.pop(),
            lambda rows: rows[1].append("x"),
            lambda rows: rows.append([]),
        ):  # fmt: skip
            change_rows(export, name, change)
            assert len(wrong(export)) > 0, name
            (export / name).write_text(rows)
    assert wrong(export) == []


def change_documents(export: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    path = export / "replays.jsonl"
    documents = [json.loads(line) for line in path.read_text().splitlines()]
    change(documents)
    path.write_text("".join(to_line({**each, "digest": digest(each)}) for each in documents))


def change_rows(export: Path, name: str, change: Callable[[list[list[str]]], object]) -> None:
    rows = list(csv.reader((export / name).read_text().splitlines()))
    change(rows)
    with (export / name).open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def change_settings(export: Path, **values: Any) -> None:
    path = export / "tournament.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_a_changed_card_is_found(export: Path) -> None:
    def swap(documents: list[dict[str, Any]]) -> None:
        hands = documents[7]["deals"][0]["hands"]
        hands[0][0], hands[1][0] = hands[1][0], hands[0][0]

    change_documents(export, swap)
    found = wrong(export)
    assert found[0] == Finding(
        "games", Answer.WRONG, "replays.jsonl:8: deal 1/1: shuffle: card 1 of the deck differs from what the seed gives"
    )
    assert any(each.subject == "digest of all results" for each in found)


def test_a_dropped_match_is_found_also_when_it_is_dropped_everywhere(export: Path) -> None:
    dropped = json.loads((export / "tournament.json").read_text())["schedule"][1][1]
    change_documents(export, lambda documents: documents.__setitem__(
        slice(None), [each for each in documents if each["match"]["key"] != dropped]))  # fmt: skip
    change_rows(export, "matches.csv", lambda rows: rows.pop(2))
    texts = [str(each) for each in wrong(export)]
    assert any("match 2: games of the seatings none, expected all" in text for text in texts)
    change_settings(export, without_result=[2])
    found = list(verify_export(export))
    assert any(each.subject == "ratings" and each.answer is Answer.WRONG for each in found)
    assert any("owes a reason" in each.text and "(2)" in each.text for each in found)
    whole_schedule = json.loads((export / "tournament.json").read_text())["schedule"]
    change_settings(export, without_result=[], schedule=[each for each in whole_schedule if each[0] != 2])
    assert any(each.subject == "schedule" for each in wrong(export))


def test_a_swapped_name_is_found(export: Path) -> None:
    def swap(documents: list[dict[str, Any]]) -> None:
        players = documents[0]["players"]
        players[0]["bot"], players[1]["bot"] = players[1]["bot"], players[0]["bot"]

    def swap_rows(rows: list[list[str]]) -> None:
        rows[1][0], rows[2][0] = rows[2][0], rows[1][0]

    change_documents(export, swap)
    change_rows(export, "standings.csv", swap_rows)
    texts = [str(each) for each in wrong(export)]
    assert any("players: seat 0" in text for text in texts)
    assert any(text.startswith("ratings: does not follow: standings.csv:2: bot") for text in texts)


def test_a_nudged_rating_place_or_score_is_found(export: Path) -> None:
    def nudge(rows: list[list[str]]) -> None:
        rows[1][2] = str(float(rows[1][2]) + 0.01)

    change_rows(export, "standings.csv", nudge)
    change_rows(export, "final-order.csv", lambda rows: rows[2].__setitem__(0, "9"))
    change_rows(export, "matches.csv", lambda rows: rows[4].__setitem__(7, "6.5"))
    assert [each.subject for each in wrong(export)] == ["matches", "ratings", "final order"]


def test_another_secret_rule_owner_or_source_is_found(export: Path) -> None:
    settings = json.loads((export / "tournament.json").read_text())
    for changed, subject in (
        ({"secret": "another"}, "commitment"),
        ({"rules": {**settings["rules"], "target": 3}}, "games"),
        ({"entrants": [{**each, "owner": 1} for each in settings["entrants"]]}, "schedule"),
        ({"entrants": [{**settings["entrants"][0], "sha256": "0" * 64}, *settings["entrants"][1:]]}, "games"),
        ({"final_order": "elo"}, "final order"),
        ({"anchor": "bot2"}, "ratings"),
        ({"results": "0" * 64}, "digest of all results"),
        ({"secret": "another", "commitment": commitment("another")}, "games"),
        ({"results": None}, "tournament.json"),
        ({"entrants": [*settings["entrants"], settings["entrants"][-1]]}, "tournament.json"),
        ({"entrants": settings["entrants"][::-1]}, "tournament.json"),
        ({"entrants": [{**settings["entrants"][0], "house": True}, *settings["entrants"][1:]]}, "final order"),
        ({"entrants": [{**settings["entrants"][0], "house": "no"}, *settings["entrants"][1:]]}, "tournament.json"),
        ({"voids": [{"match": 99, "reason": "x"}]}, "tournament.json"),
        ({"without_result": [99]}, "tournament.json"),
        ({"disqualifications": []}, "final order"),
        ({"disqualifications": [{"entrant": "nobody:1", "reason": "x"}]}, "tournament.json"),
        ({"without_result": [1]}, "games"),
        ({"format": "other"}, "tournament.json"),
        ({"rounds": "two"}, "tournament.json"),
        ({"rated": True}, "tournament.json"),
        ({"entrants": [{**settings["entrants"][0], "rating": 3000}, *settings["entrants"][1:]]}, "tournament.json"),
    ):
        change_settings(export, **{**settings, **changed})
        assert subject in {each.subject for each in wrong(export)}, changed


def test_a_document_without_its_seed_is_found(export: Path) -> None:
    change_documents(export, lambda documents: documents[2].update(seed=None))
    assert "replays.jsonl:3: seed null, expected that of the match" in [each.text for each in wrong(export)]


def test_what_cannot_be_read_is_a_finding_and_no_crash(export: Path) -> None:
    (export / "matches.csv").unlink()
    (export / "standings.csv").write_bytes(b"\xff\xfe")
    with (export / "replays.jsonl").open("ab") as file:
        file.write(b'{"format":' + b"[" * 100_000 + b"\n\xff\n")
    texts = [str(each) for each in wrong(export)]
    assert any("cannot be read: No such file" in text for text in texts)
    assert any("standings.csv: malformed" in text for text in texts)
    assert sum("replays.jsonl:" in text for text in texts) >= 2
    (export / "tournament.json").write_text("[1]")
    assert [each.subject for each in wrong(export)] == ["tournament.json"]
    assert wrong(export / "nowhere")[0].text == "cannot be read: No such file or directory"
