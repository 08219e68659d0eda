"""The export: the same bytes whatever ran where, and everything in it can be worked out again."""

import csv
import json
import random
from pathlib import Path

import pytest

from tests.store.play import PARTNERS, THREE, TWO, entrants, migrated, new, play, play_all, started
from tournament import seeds
from tournament.export import FILES, export_tournament
from tournament.rules import Rules
from tournament.schedule import Entry, schedule
from tournament.store import NotFound, Store, WrongState


def exported(store: Store, tournament: int, folder: Path) -> dict[str, bytes]:
    assert export_tournament(store, tournament, folder) == FILES
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    return {name: (folder / name).read_bytes() for name in FILES}


def play_in_disorder(store: Store, tournament: int, seed: int) -> None:
    """Plays the same matches by other workers, in another order, some of them twice, one of them voided."""
    chance = random.Random(seed)
    while leased := store.lease(5, 60, now=5000, tournaments=[tournament]):
        results = [play(store, match, worker=f"worker {seed}", faults=match.number % 3 == 0) for match in leased]
        chance.shuffle(results)
        for result in results[: 1 + len(results) // 2]:
            store.record([result], now=5000 + chance.random())
        store.take_back(now=9000, max_losses=1000)


@pytest.mark.parametrize("rules", [TWO, THREE, PARTNERS], ids=["two", "three", "partners"])
def test_the_same_tournament_is_exported_to_the_same_bytes(tmp_path: Path, rules: Rules) -> None:
    with migrated(tmp_path / "one.db") as one, migrated(tmp_path / "two.db") as two:
        started(two, 2)
        tournaments = started(one, 4, rules, rounds=2), started(two, 4, rules, rounds=2, now=77)
        play_all(one, tournaments[0])
        play_in_disorder(two, tournaments[1], 5)
        assert exported(one, tournaments[0], tmp_path / "a") == exported(two, tournaments[1], tmp_path / "b")


def test_the_schedule_the_seeds_and_the_secret_follow_from_the_export_alone(store: Store, tmp_path: Path) -> None:
    tournament = started(store, 4, THREE, rounds=2)
    play_all(store, tournament)
    store.void(tournament, 3, "overloaded machine")
    play_all(store, tournament)
    files = exported(store, tournament, tmp_path / "out")
    value = json.loads(files["tournament.json"])
    assert seeds.commitment(value["secret"]) == value["commitment"]
    entries = [Entry(f"{each['bot']}:{each['version']}", each["owner"]) for each in value["entrants"]]
    planned = list(schedule(Rules.from_dict(value["rules"]), entries, value["rounds"], value["secret"]))
    assert [[match.number, match.key] for match in planned] == value["schedule"]
    assert value["voids"] == [{"match": 3, "reason": "overloaded machine"}]
    assert value["without_result"] == []
    documents = [json.loads(line) for line in files["replays.jsonl"].splitlines()]
    assert [each["match"]["key"] for each in documents] == [match.key for match in planned for _ in range(6)]
    assert [each["match"]["seating"] for each in documents] == [1, 2, 3, 4, 5, 6] * 8
    assert all(each["seed"] == seeds.deal_seed("demo", each["match"]["key"]) for each in documents)


def test_matches_and_standings_tell_the_scores_of_the_games(store: Store, tmp_path: Path) -> None:
    tournament = started(store, 3, TWO, rounds=3)
    play_all(store, tournament)
    files = exported(store, tournament, tmp_path / "out")
    matches = list(csv.DictReader(files["matches.csv"].decode().splitlines()))
    documents = [json.loads(line) for line in files["replays.jsonl"].splitlines()]
    for number, row in enumerate(matches):
        games = documents[2 * number : 2 * number + 2]
        won = sum(
            {-1: 1.0, 0: 0.5, 1: 0.0}[(places[one] > places[1 - one]) - (places[one] < places[1 - one])]
            for one, places in ((game["match"]["seating"] - 1, game["result"]["places"]) for game in games)
        )
        assert float(row["score_ab"]) == won
        assert row["key"] == games[0]["match"]["key"]
    standings = list(csv.DictReader(files["standings.csv"].decode().splitlines()))
    assert sorted(row["bot"] for row in standings) == ["bot0", "bot1", "bot2"]
    assert {row["games"] for row in standings} == {"12"}


def test_while_a_tournament_runs_its_secret_stays_in(store: Store, tmp_path: Path) -> None:
    tournament = started(store, 3)
    store.record([play(store, store.lease(1, 60)[0])])
    files = exported(store, tournament, tmp_path / "out")
    value = json.loads(files["tournament.json"])
    assert value["secret"] is None
    assert value["without_result"] == [2, 3]
    assert len(files["matches.csv"].splitlines()) == 2
    play_all(store, tournament)
    store.hold(tournament, 1.0)
    assert json.loads(exported(store, tournament, tmp_path / "out")["tournament.json"])["secret"] is None


def test_what_has_not_started_is_not_exported(store: Store, tmp_path: Path) -> None:
    tournament = store.create(new())
    with pytest.raises(WrongState, match="has not started"):
        export_tournament(store, tournament, tmp_path)
    with pytest.raises(NotFound):
        export_tournament(store, 99, tmp_path)
    assert len(entrants(2)) == 2
