"""Standings, head to head and history say what the ratings say, and filters move nobody."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from dashboard.app import create_app
from dashboard.field import checkpoint_step
from dashboard.web import csv_text
from tests.dashboard.sample import Sample, add_tournament
from tournament.rules import Rules
from tournament.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TWO = Rules.make("cutthroat", players=2, target=1, deal_limit=3)
NAMES = [("ada", 1), ("bob", 1), ("bob", 2), ("cy", 1), ("dot", 1)]


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Give a site over a tournament long enough for ranks."""
    with Store(str(tmp_path_factory.mktemp("busy") / "busy.db")) as store:
        store.migrate()
        add_tournament(store, Sample(TWO, NAMES, 12), "long")
        now = datetime.now(UTC)  # one for all pages, so that they can be compared
        with TestClient(create_app(store, clock=lambda: now)) as client:
            yield client


def test_the_page_shows_the_ranks_that_the_ladder_gives(busy: TestClient) -> None:
    standings = busy.get("/api/v1/standings").json()
    page = busy.get("/standings").text
    assert len(standings["ranked"]) == 5
    shown = re.findall(r'<td class="n rank">([^<]+)</td>', page)
    assert shown == [row["rank"] for row in standings["ranked"]]
    for row in standings["ranked"]:
        low, high = row["rank_low"], row["rank_high"]
        assert row["rank"] == (str(low) if low == high else f"{low}–{high}")
        assert row["low"] < row["rating"] < row["high"]
        assert row["matches"] == 48
        assert row["games"] == 96
    assert standings["verdict"] in page.replace("&#39;", "'")


def test_a_filter_moves_nobody_and_names_the_way_back(busy: TestClient) -> None:
    everybody = {(r["bot"], r["version"]): r["rank"] for r in busy.get("/api/v1/standings").json()["ranked"]}
    filtered = busy.get("/api/v1/standings?q=bob").json()["ranked"]
    assert {(row["bot"], row["version"]): row["rank"] for row in filtered} == {
        key: rank for key, rank in everybody.items() if key[0] == "bob"
    }
    assert "No bot fits the filter" in busy.get("/standings?q=zzz").text


def test_a_bot_with_too_few_matches_is_never_ranked(client: TestClient) -> None:
    standings = client.get("/api/v1/standings?tournament=1").json()
    assert standings["ranked"] == []
    assert {row["rank"] for row in standings["provisional"]} == {""}
    assert "No bot has the 25 matches yet" in client.get("/standings?tournament=1").text


def test_opposite_cells_of_the_matrix_add_up_to_one_and_shade_only_what_is_clear(busy: TestClient) -> None:
    matrix = busy.get("/api/v1/head-to-head").json()
    assert (matrix["pairs_met"], matrix["pairs"]) == (10, 10)
    rows = matrix["rows"]
    clear = 0
    for i, row in enumerate(rows):
        for j, cell in enumerate(row["cells"]):
            if i == j:
                assert cell is None
                continue
            assert cell["share"] + rows[j]["cells"][i]["share"] == pytest.approx(1)
            assert cell["matches"] == 12
            clear += cell["low"] > 0.5 or cell["high"] < 0.5
    page = busy.get("/head-to-head").text
    assert len(re.findall(r'<td class="n (?:above|below)', page)) == clear > 0


def test_a_cell_leads_to_exactly_its_matches(busy: TestClient) -> None:
    page = busy.get("/head-to-head").text
    link = re.findall(r'href="(/matches\?[^"]+)"', page)[0].replace("&amp;", "&")
    listed = busy.get("/api/v1" + link).json()
    assert listed["total"] == 12
    assert len({frozenset((bot["name"], bot["version"]) for bot in item["bots"]) for item in listed["items"]}) == 1


def test_only_the_chosen_bots_are_in_the_matrix(busy: TestClient) -> None:
    matrix = busy.get("/api/v1/head-to-head?bots=ada,bob:1").json()
    assert {(ref["name"], ref["version"]) for ref in matrix["bots"]} == {("ada", 1), ("bob", 1)}


def test_the_last_point_of_the_history_is_the_standings(busy: TestClient) -> None:
    history = busy.get("/api/v1/history").json()
    standings = {(r["bot"], r["version"]): r["rating"] for r in busy.get("/api/v1/standings").json()["ranked"]}
    assert history["checkpoints"] == sorted(set(history["checkpoints"]))
    assert history["checkpoints"][-1] == 120
    for line in history["lines"]:
        assert line["points"][-1]["rating"] == standings[line["bot"]["name"], line["bot"]["version"]]
        assert len(line["points"]) == len(history["checkpoints"])


def test_checkpoints_stay_few_and_where_they_are() -> None:
    for last in (1, 33, 1000, 100_000, 10_000_000):
        step = checkpoint_step(last, 5)
        assert last // step <= 32
        assert step & (step - 1) == 0


def test_versions_of_a_bot_are_compared_with_the_one_before(busy: TestClient) -> None:
    page = busy.get("/api/v1/bots/bob").json()
    assert [row["version"] for row in page["versions"]] == [2, 1]
    assert page["versions"][0]["against_previous"] in ("better", "worse", "no evidence either way")
    assert page["versions"][1]["against_previous"] == ""
    assert page["bot"] == {"name": "bob", "version": 2}
    assert sum(row["bid"] for row in page["contracts"]) == page["standing"]["contracts"]
    assert page["times"]["median_ms"] <= page["times"]["p95_ms"] <= page["times"]["largest_ms"]


def test_a_table_and_its_csv_and_its_json_say_the_same(busy: TestClient) -> None:
    rows = list(csv.DictReader(io.StringIO(busy.get("/standings.csv").text)))
    json_rows = busy.get("/api/v1/standings").json()["ranked"]
    assert [(row["bot"], int(row["matches"]), int(row["faults"])) for row in rows] == [
        (row["bot"], row["matches"], row["faults"]) for row in json_rows
    ]
    cells = list(csv.DictReader(io.StringIO(busy.get("/head-to-head.csv").text)))
    assert len(cells) == 20


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1"])
def test_no_text_cell_of_a_csv_starts_like_a_formula(text: str) -> None:
    cell = next(csv.reader(io.StringIO(csv_text(("a",), [(text,)]).split("\r\n", 1)[1])))[0]
    assert cell == "'" + text
    assert csv_text(("a",), [(-1,), (-0.5,)]) == "a\r\n-1\r\n-0.5\r\n"


@pytest.mark.parametrize(
    ("page", "fields"),
    [
        ("standings", "tournament= q= house="),
        ("head-to-head", "bots= show="),
        ("history", "bots="),
        ("matches", "tournament= bot= versus= state= round= faults="),
    ],
)
def test_an_empty_field_of_a_form_is_as_none(busy: TestClient, page: str, fields: str) -> None:
    def shown(address: str) -> str:
        answer = busy.get(address)
        assert answer.status_code == 200, address
        return answer.text

    for ending in ("", ".csv") if page != "matches" else ("",):
        plain = shown(f"/{page}{ending}")
        for each in fields.split():
            assert shown(f"/{page}{ending}?{each}") == plain, each
    assert busy.get(f"/api/v1/{page}?{fields.replace(' ', '&')}").json() == busy.get(f"/api/v1/{page}").json()


def test_without_a_tournament_every_page_says_what_to_do(tmp_path: Path) -> None:
    with Store(str(tmp_path / "empty.db")) as store:
        store.migrate()
        with TestClient(create_app(store)) as client:
            assert "tournament run" in client.get("/").text
            assert "No tournament yet" in client.get("/tournaments").text
            for address in ("/standings", "/matches", "/head-to-head", "/history"):
                answer = client.get(address)
                assert answer.status_code == 404
                assert "no tournament yet" in answer.text


def test_without_tables_the_site_is_not_ready(tmp_path: Path) -> None:
    with Store(str(tmp_path / "none.db")) as store, TestClient(create_app(store)) as client:
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
