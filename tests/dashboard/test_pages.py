"""Every page: well formed, small, without inline code, and with no dead link."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING

import html5lib
import pytest
from starlette.testclient import TestClient

from dashboard.app import WARMED, create_app, warm
from dashboard.headers import CONTENT_SECURITY_POLICY
from dashboard.site import Cache
from tests.dashboard.addresses import PAGES
from tournament.store import Store

if TYPE_CHECKING:
    from pathlib import Path

LINK = re.compile(r'(?:href|src|action)="([^"#]+)')


@pytest.mark.parametrize("address", PAGES)
def test_a_page_is_well_formed_small_and_free_of_inline_code(client: TestClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == (404 if address == "/nothing-here" else 200)
    assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    text = answer.text
    parser = html5lib.HTMLParser()
    parser.parse(text)
    assert [error[1] for error in parser.errors] == []
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert sorted(ids) == sorted(set(ids))
    assert text.count("<h1") == 1
    assert re.search(r"<title>[^<]+ · Smear</title>", text)
    assert " style=" not in text
    assert not re.search(r"<script(?![^>]* src=)|\son[a-z]+=|javascript:", text)
    assert len(answer.content) < 60_000


def test_no_page_links_to_nothing(client: TestClient) -> None:
    seen: set[str] = set()
    for page in PAGES:
        seen.update(link.replace("&amp;", "&") for link in LINK.findall(client.get(page).text))
    local = sorted(link for link in seen if link.startswith("/") and not link.endswith("/events") and link != "/theme")
    # One link of each shape stands for its kind: the numbers in it are all that differs.
    shapes = {re.sub(r"\d+", "0", link): link for link in local}
    dead = [link for link in shapes.values() if client.get(link).status_code != 200]
    assert len(shapes) > 60
    assert dead == []
    assert [link for link in seen if not link.startswith(("/", "http://testserver"))] == []


def test_every_table_has_a_caption_and_scoped_headers(client: TestClient) -> None:
    for page in PAGES:
        text = client.get(page).text
        assert text.count("<table") == text.count("<caption>"), page
        assert "<th>" not in text, page


def test_the_style_and_the_scripts_stay_within_their_budgets(client: TestClient) -> None:
    files = client.app.state.site.renderer.files  # type: ignore[attr-defined]
    sizes = {name: len(file.body) for name, file in files.items()}
    assert sizes["site.css"] < 12_288
    assert sizes["replay.js"] + sizes["live.js"] < 10_240


def test_a_static_file_is_kept_for_ever_under_the_hash_of_its_content(client: TestClient) -> None:
    address = client.app.state.site.renderer.static("site.css")  # type: ignore[attr-defined]
    assert "immutable" in client.get(address).headers["cache-control"]
    assert client.get("/static/000000000000/site.css").status_code == 404


def test_the_choice_of_colours_is_rendered_by_the_server(client: TestClient) -> None:
    answer = client.post("/theme", data={"theme": "dark", "back": "/help"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/help")
    assert '<html lang="en" data-theme="dark">' in client.get("/help").text
    client.cookies.clear()


@pytest.mark.parametrize("back", ["//elsewhere.invalid", "https://elsewhere.invalid", "/\\elsewhere.invalid", "x"])
def test_the_choice_of_colours_leads_to_no_other_site(client: TestClient, back: str) -> None:
    answer = client.post("/theme", data={"theme": "", "back": back}, follow_redirects=False)
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "https://elsewhere.invalid"}, 403),
        ({"sec-fetch-site": "same-origin"}, 303),
        ({"origin": "http://testserver"}, 303),
        ({}, 303),
    ],
)
def test_a_change_is_taken_from_this_site_only(client: TestClient, headers: dict[str, str], status: int) -> None:
    answer = client.post("/theme", data={"theme": ""}, headers=headers, follow_redirects=False)
    assert answer.status_code == status


def test_health_and_readiness_are_told_apart(client: TestClient) -> None:
    assert client.get("/healthz").text == "ok\n"
    assert client.get("/readyz").text == "ready\n"


def test_a_warmed_site_has_worked_out_the_newest_standings_and_histories(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(store)
    warm(app)
    for name in ("field._field", "standings_pages._checkpoints"):
        monkeypatch.setattr(f"dashboard.{name}", lambda *_: pytest.fail("worked out again"))
    with TestClient(app) as client:
        for info in store.tournaments(limit=WARMED):
            assert client.get(f"/standings?tournament={info.id}").status_code == 200
            assert client.get(f"/history?tournament={info.id}").status_code == 200


def test_who_asks_while_a_value_is_made_waits_for_it() -> None:
    cache: Cache[int] = Cache(2)
    begun, go = Event(), Event()
    made: list[int] = []

    def slow() -> int:
        begun.set()
        go.wait()
        made.append(1)
        return 17

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.get, "key", slow)
        begun.wait()
        second = pool.submit(cache.get, "key", slow)
        go.set()
        assert (first.result(), second.result(), made) == (17, 17, [1])


def test_who_asks_for_another_value_does_not_wait() -> None:
    cache: Cache[int] = Cache(2)
    begun, go = Event(), Event()

    def slow() -> int:
        begun.set()
        return 17 if go.wait(30) else 0

    with ThreadPoolExecutor(2) as pool:
        try:
            first = pool.submit(cache.get, "slow", slow)
            assert begun.wait(30)
            assert pool.submit(cache.get, "quick", lambda: 4).result(10) == 4
        finally:
            go.set()
        assert first.result() == 17


def test_the_value_that_was_not_asked_for_the_longest_gives_way() -> None:
    cache: Cache[str] = Cache(2)
    made: list[str] = []

    def make() -> str:
        made.append(key)
        return key

    for key in "ababacab":
        assert cache.get(key, make) == key
    assert made == ["a", "b", "c", "b"]


def test_a_value_that_could_not_be_made_is_made_again() -> None:
    cache: Cache[int] = Cache(2)
    with pytest.raises(ZeroDivisionError):
        cache.get("key", lambda: 1 // 0)
    assert cache.get("key", lambda: 17) == 17
    assert cache.get("key", lambda: 1 // 0) == 17


def test_a_site_without_tables_is_warmed_as_far_as_it_goes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Store(str(tmp_path / "none.db")) as store:
        warm(create_app(store))
    assert "could not be worked out ahead" in caplog.text
