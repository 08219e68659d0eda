"""The list of matches and the page of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from dashboard.app import create_app
from dashboard.match_pages import deal_rows
from tests.dashboard.sample import Sample, add_tournament
from tournament.results import side_entrants
from tournament.rules import Rules
from tournament.seeds import seatings
from tournament.store import Store

if TYPE_CHECKING:
    from pathlib import Path


def test_the_pages_of_the_list_hold_every_match_once_both_ways(tmp_path: Path) -> None:
    with Store(str(tmp_path / "x.db")) as store:
        store.migrate()
        rules = Rules.make("cutthroat", players=2, target=1, deal_limit=1)
        add_tournament(store, Sample(rules, [("ada", 1), ("bob", 1)], 130, leave=3), "s")
        with TestClient(create_app(store)) as client:
            seen: list[int] = []
            after = ""
            while True:
                listed = client.get(f"/api/v1/matches?state=all{after}").json()
                seen += [item["number"] for item in listed["items"]]
                assert listed["total"] == 130
                assert len(listed["items"]) <= 50
                if listed["later"] is None:
                    break
                after = f"&after={listed['later']}"
            assert seen == list(range(1, 131))
            assert listed["earlier"] == 101
            before = client.get("/api/v1/matches?state=all&before=101").json()
            assert [item["number"] for item in before["items"]] == list(range(51, 101))
            first = client.get("/api/v1/matches?state=all&before=51").json()
            assert (first["items"][0]["number"], first["earlier"], first["later"]) == (1, None, 50)
            assert client.get("/api/v1/matches?state=queued").json()["total"] == 3


def test_an_empty_list_names_the_filter_to_take_away(client: TestClient) -> None:
    page = client.get("/matches?tournament=1&bot=nobody&state=failed").text
    assert "any bot instead of" in page
    assert "in any state, not only failed" in page


def test_the_list_keeps_what_was_typed(client: TestClient) -> None:
    page = client.get("/matches?tournament=1&bot=sim%22ple&round=3&faults=1").text
    assert 'value="sim&#34;ple"' in page
    assert 'value="3"' in page
    assert 'value="1" checked' in page


@pytest.mark.parametrize("tournament", [1, 2, 3])
def test_the_deals_of_all_seatings_add_up_to_the_scores(client: TestClient, tournament: int) -> None:
    match = client.get(f"/api/v1/matches/{tournament}-1").json()
    rules = Rules.from_dict(client.get(f"/api/v1/tournaments/{tournament}").json()["rules"])
    count = len(match["match"]["bots"])
    for column in match["columns"]:
        owners = side_entrants(rules, seatings(rules, count)[column["seating"] - 1])
        totals = [0] * count
        for row in match["deals"]:
            cell = row["cells"][column["seating"] - 1]
            for entrant in range(count):
                totals[entrant] += cell["changes"][entrant] if cell else 0
        expected = [0] * count
        for side, score in enumerate(column["scores"]):
            expected[owners[side]] += score
        assert totals == expected


def test_the_deciding_deal_is_the_one_with_the_widest_swing_for_the_winner(client: TestClient) -> None:
    for number in range(1, 13):
        match = client.get(f"/api/v1/matches/1-{number}").json()
        first, second = match["match"]["taken"]
        gaps = [row["totals"][0] - row["totals"][1] for row in match["deals"]]
        swings = [gap if first > second else -gap if second > first else abs(gap) for gap in gaps]
        assert [row["swing"] for row in match["deals"]] == swings
        decided = [row["swing"] for row in match["deals"] if row["deciding"]]
        assert decided == ([max(swings)] if max(swings) > 0 else [])
    assert 'id="decided"' in client.get("/matches/1-1").text
    assert "#decided" in client.get("/matches?tournament=1").text


def test_a_match_without_kept_games_has_no_deals_and_decided_nowhere() -> None:
    assert deal_rows(Rules.make("wisconsin"), 2, {}) == ()


def test_a_match_shows_its_proof_and_the_secret_only_at_the_end(client: TestClient) -> None:
    running, finished = client.get("/api/v1/matches/1-1").json(), client.get("/api/v1/matches/2-1").json()
    assert running["secret"] is None
    assert finished["secret"] == "demo"
    assert len(running["seed"]) == 64
    assert "demo" not in client.get("/tournaments/1").text
    assert client.get("/matches/2-1.jsonl").text.count("\n") == 6


def test_a_void_is_shown_with_its_reason_and_its_games_are_gone(tmp_path: Path) -> None:
    with Store(str(tmp_path / "x.db")) as store:
        store.migrate()
        rules = Rules.make("cutthroat", players=2, target=1, deal_limit=2)
        add_tournament(store, Sample(rules, [("ada", 1), ("bob", 1)], 2), "s")
        with TestClient(create_app(store)) as client:
            assert client.get("/games/1-1-1/replay").status_code == 200
            store.void(1, 1, "the worker was ill")
            page = client.get("/matches/1-1").text
            assert "the worker was ill" in page
            assert "queued" in page
            assert client.get("/games/1-1-1/replay.json").status_code == 409
