"""Text of contestants stays text: names, messages, logs, in every page, file and stream."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from dashboard.app import create_app
from dashboard.feed import Feed
from dashboard.web import visible
from tests.dashboard.addresses import PAGES
from tests.dashboard.sample import SAMPLES, Sample, add_tournament
from tests.people.people import contestant, organiser
from tests.people.site import bearer
from tournament.decision import decision_from
from tournament.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EVIL = "<img src=x onerror=alert(1)>"


def hostile_store(path: Path) -> Store:
    """Make the sample tournaments with a name, a message and a log that want to be markup, put in behind the store."""
    store = Store(str(path))
    store.migrate()
    for sample in SAMPLES:
        add_tournament(store, Sample(sample.rules, sample.names, 1, sample.name + EVIL, "simple", 0.02))
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE entrant SET name = ? WHERE name = 'simple'", (EVIL,))
        connection.exec_driver_sql(
            "UPDATE fault SET message = ?, log_tail = ?, traceback = ?", (EVIL, EVIL + "\x1b[2J", EVIL)
        )
        connection.exec_driver_sql("UPDATE match SET worker = ?", (EVIL,))
    return store


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Give a site over it whose reader may see everything."""
    with hostile_store(tmp_path_factory.mktemp("hostile") / "x.db") as store:
        _, token = organiser(store)
        app = create_app(store, feed=Feed(store, poll_s=0.01, stream_s=0.05))
        with TestClient(app, headers=bearer(token)) as client:
            yield client


@pytest.mark.parametrize("address", [*PAGES, "/bots/%3Cimg%20src=x%20onerror=alert(1)%3E?tournament=1"])
def test_a_name_full_of_markup_is_text_on_every_page(hostile: TestClient, address: str) -> None:
    text = hostile.get(address).text
    assert "<img" not in text
    assert not re.search(r"<[^>]+onerror", re.sub(r'"[^"]*"', '""', text))


def test_it_is_there_as_text(hostile: TestClient) -> None:
    assert "&lt;img src=x onerror=alert(1)&gt;" in hostile.get("/standings?tournament=1").text
    assert EVIL in hostile.get("/standings.csv?tournament=1").text
    assert hostile.get("/standings.csv").headers["content-type"].startswith("text/csv")
    assert hostile.get("/standings.csv").headers["content-disposition"].startswith("attachment")


def test_a_stream_carries_no_markup(hostile: TestClient) -> None:
    answer = hostile.get("/api/v1/tournaments/1/events?after=0")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert "event: result" in answer.text
    assert "<img" not in answer.text


def test_control_characters_of_a_log_are_shown_and_its_length_is_cut(hostile: TestClient) -> None:
    assert visible("a\x1b[2J\u202eb") == "a\\u001b[2J\\u202eb"
    assert len(visible("x" * 100_000)) < 9_000
    name = "%3Cimg%20src=x%20onerror=alert(1)%3E"
    text = hostile.get(f"/bots/{name}/faults?tournament=1").text
    assert "\\u001b[2J" in text
    assert "\x1b" not in text


def test_traceback_and_log_are_for_those_who_may_see_them(client: TestClient, hostile: TestClient) -> None:
    public = client.get("/bots/random/faults?tournament=1").text
    assert "ValueError: no card fits" in public
    assert "Traceback:" not in public
    assert "thinking…" not in public
    assert "tournament reproduce" not in public
    private = hostile.get("/bots/%3Cimg%20src=x%20onerror=alert(1)%3E/faults?tournament=1").text
    assert "tournament reproduce" in private


def test_the_decision_of_a_fault_is_a_file_for_those_who_may_see_it(tmp_path: Path) -> None:
    with Store(str(tmp_path / "x.db")) as store:
        store.migrate()
        add_tournament(store, SAMPLES[0])
        (ada, hers), (_, his) = contestant(store), contestant(store, "Bob")
        with store.write() as connection:
            connection.exec_driver_sql("UPDATE entrant SET owner = ? WHERE name = 'random'", (ada,))
        fault = store.faults(1)[0]
        address = f"/games/1-{fault.number}-{fault.seating}/faults/{fault.ordinal}.json"
        app = create_app(store)
        with TestClient(app) as nobody, TestClient(app, headers=bearer(his)) as other:
            assert (nobody.get(address).status_code, other.get(address).status_code) == (403, 403)
            assert nobody.get(address.replace("/faults/1", "/faults/9")).status_code == 404
        with TestClient(app, headers=bearer(hers)) as owner:
            text = owner.get(address).text
    decision = decision_from(json.loads(text))
    assert (decision.player.bot, decision.seat) == ("random", fault.seat)
    last = decision.asked[-1]
    assert (last.deal, last.attempt, last.act, last.answer) == (fault.deal, fault.attempt, fault.act, None)
    assert '"demo"' not in text


def test_a_fault_leads_to_its_very_position(client: TestClient) -> None:
    text = client.get("/bots/random/faults?tournament=1").text
    link = re.findall(r'href="(/games/[^"]+act=\d+)"', text)[0].replace("&amp;", "&")
    page = client.get(link).text
    current = re.findall(r'aria-current="step"[^>]*>.*?</a>', page)
    assert "⚠" in current[0]
