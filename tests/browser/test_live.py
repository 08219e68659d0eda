"""A page that moves while a tournament runs, and goes on after the web process was restarted."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from dashboard.app import create_app
from dashboard.feed import Feed
from tests.browser.conftest import watch_context
from tests.browser.driver import Server
from tests.dashboard.sample import Sample, add_tournament, play_match
from tests.dashboard.test_hostile import EVIL, hostile_store
from tournament.rules import Rules
from tournament.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

SAMPLE = Sample(Rules.make("cutthroat", players=2, target=1, deal_limit=1), [("ada", 1), ("bob", 1)], 20, leave=12)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give a store with a tournament of which twelve matches are left."""
    with Store(str(tmp_path / "live.db")) as made:
        made.migrate()
        add_tournament(made, SAMPLE)
        yield made


def record_some(store: Store, count: int) -> None:
    """Play and record some matches."""
    for leased in store.lease(count, 60.0):
        store.record([play_match(SAMPLE, store, 1, leased, random.Random(leased.id))])


def test_the_page_follows_and_survives_a_restart_of_the_web_process(store: Store, browser: Browser) -> None:
    def make(port: int = 0) -> Server:
        return Server(create_app(store, feed=Feed(store, poll_s=0.05)), port)

    server = make()
    server.start()
    context = browser.new_context(base_url=server.address)
    watch = watch_context(context, server.address)
    page = context.new_page()
    page.goto("/tournaments/1")
    finished = page.locator("[data-count=finished]")
    expect(finished).to_have_text("8")
    record_some(store, 4)
    expect(finished).to_have_text("12")
    expect(page.locator("#live tbody th a").filter(has_text="12")).to_have_count(1)
    server.stop()
    record_some(store, 4)
    server = make(server.port)
    server.start()
    expect(finished).to_have_text("16", timeout=15_000)
    record_some(store, 4)
    expect(finished).to_have_text("20", timeout=15_000)
    expect(page.locator("#live")).to_contain_text("finished", timeout=15_000)
    parts = {name: int(page.locator(f"[data-count={name}]").inner_text()) for name in ("planned", "finished", "queued")}
    assert parts == {"planned": 20, "finished": 20, "queued": 0}
    assert watch.foreign == []
    context.close()
    server.stop()


def test_a_name_full_of_markup_runs_nowhere(tmp_path: Path, browser: Browser) -> None:
    with hostile_store(tmp_path / "x.db") as store:
        server = Server(create_app(store))
        server.start()
        context = browser.new_context(base_url=server.address)
        watch = watch_context(context, server.address)
        page = context.new_page()
        page.on("dialog", lambda dialog: watch.errors.append(dialog.message))
        for address in (
            "/standings?tournament=1",
            "/matches?tournament=1",
            "/head-to-head?tournament=1",
            "/tournaments/1",
            "/games/2-1-1/replay",
        ):
            page.goto(address)
            assert page.locator("img").count() == 0
            assert EVIL in page.locator("body").inner_text()
        assert watch.complaints() == []
        context.close()
        server.stop()


def test_the_big_screen_shows_the_standings_and_plays_only_when_started(
    open_page: Callable[..., object],
) -> None:
    page = open_page("/tournaments/1/screen")
    expect(page.locator(".leaders li")).to_have_count(4)  # type: ignore[attr-defined]
    size = page.locator(".leaders li").first.evaluate("one => parseFloat(getComputedStyle(one).fontSize)")  # type: ignore[attr-defined]
    assert size >= 25
    expect(page.locator("#play")).to_have_attribute("aria-pressed", "false")  # type: ignore[attr-defined]
