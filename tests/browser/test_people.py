"""The story of taking part, in a real browser: claim, join, submit, read the verdict, repair."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from dashboard.app import create_app
from tests.browser.conftest import watch_context
from tests.browser.driver import Server
from tests.people.people import RANDOM
from tests.people.test_checker import BOTS, opponent
from tests.store.play import migrated
from tournament.models_people import InviteKind
from tournament.tokens import new_code
from workers.checker import Checker, ChildJudge
from workers.sandbox.faults import SandboxFailure
from workers.sandbox.host import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tournament.store import Store

VERDICT_MS = 60_000


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Store, str]]:
    """A new installation with its checker."""
    try:
        with Sandbox():
            pass
    except SandboxFailure as failure:
        pytest.skip(f"no sandbox here: {failure}")
    with migrated(tmp_path / "site.db") as store:
        server, stop = Server(create_app(store)), threading.Event()
        checks = threading.Thread(target=Checker(store, opponent(), ChildJudge()).run, args=(stop,))
        server.start()
        checks.start()
        yield store, server.address
        stop.set()
        checks.join()
        server.stop()


@pytest.fixture
def person(browser: Browser, site: tuple[Store, str]) -> Callable[..., contextmanager[Page]]:
    """Gives a function that opens a browser of its own for one person, and demands silence at its end."""

    @contextmanager
    def opened(*, js: bool = True, width: int = 1100) -> Iterator[Page]:
        context = browser.new_context(
            base_url=site[1],
            viewport={"width": width, "height": 800},
            java_script_enabled=js,
            reduced_motion="reduce",
            locale="en-GB",
        )
        watch = watch_context(context, site[1])
        yield context.new_page()
        context.close()
        # A refused form is an answer of 4xx, which the browser notes on its console.
        assert [line for line in watch.complaints() if "Failed to load resource" not in line] == []

    return opened  # type: ignore[return-value]


def checked(page: Page, axe: Callable[[Page], list[str]]) -> None:
    """The page has no violation in either scheme and fits a phone."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert axe(page) == [], page.url
    wide = page.viewport_size
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, page.url
    page.set_viewport_size(wide)  # type: ignore[arg-type]


def join(page: Page, link: str, name: str) -> None:
    page.goto(link)
    page.get_by_label("Name that others see").fill(name)
    page.get_by_role("button", name="Get my token").click()
    expect(page.get_by_role("heading", name="Your token")).to_be_visible()


def submit(page: Page, bot: str, code: bytes) -> None:
    page.goto("/submit")
    page.get_by_label("Bot: a new name").fill(bot)
    page.get_by_label("File (.py or .zip)").set_input_files(
        {"name": "my.py", "mimeType": "text/x-python", "buffer": code}
    )
    page.get_by_role("button", name="Submit").click()


def test_an_organiser_claims_three_join_submit_read_their_verdicts_and_repair(
    site: tuple[Store, str], person: Callable[..., contextmanager[Page]], axe: Callable[[Page], list[str]]
) -> None:
    store, _ = site
    code = new_code(RANDOM)
    store.invite(code, InviteKind.CLAIM, by=None)
    with person() as org:
        org.goto("/sign-in")
        checked(org, axe)
        org.get_by_role("link", name="claim it").click()
        org.get_by_label("Code").fill(code.upper())
        org.get_by_label("Name that others see").fill("Org")
        checked(org, axe)
        org.get_by_role("button", name="Get my token").click()
        checked(org, axe)
        org.get_by_role("link", name="Your account").click()
        org.get_by_role("link", name="People and settings").click()
        checked(org, axe)
        org.get_by_role("button", name="Make a join link").click()
        link = org.get_by_label("Link", exact=True).input_value()
        checked(org, axe)
    for name, bot, words in (
        ("Ada", "syntax", ("Not accepted", "line 2")),
        ("Bob", "crash", ("probe: stopped here", "line 5: exception: ZeroDivisionError", "about to divide")),
        ("Eve", "hang", ("probe: stopped here", "timeout-cpu", 'File "bot.py", line', "What to do")),
    ):
        with person() as page:
            join(page, link, name)
            submit(page, bot, BOTS[bot])
            verdict = page.locator("#verdict")
            expect(verdict).to_contain_text("Not accepted", timeout=VERDICT_MS)
            for each in words:
                expect(verdict).to_contain_text(each)
            expect(page.locator("script[src*=verdict]")).to_have_count(0)
            checked(page, axe)
            if bot == "crash":
                page.get_by_role("link", name="replay").click()
                expect(page.locator("h1")).to_have_text("Probe 1")
                page.go_back()
            page.get_by_role("link", name="Submit another version").click()
            expect(page.get_by_label("Bot: a new name")).to_have_value(bot)
            checked(page, axe)
            submit(page, bot, BOTS["good"])
            expect(verdict).to_contain_text("Accepted as version 1", timeout=VERDICT_MS)
            page.goto("/account")
            expect(page.get_by_role("cell", name="✓ enters")).to_be_visible()
            checked(page, axe)
    assert [entry.name for entry in store.entries()] == ["crash", "hang", "syntax"]


def test_without_script_a_bot_is_pasted_and_its_verdict_read_and_one_signs_in_again(
    site: tuple[Store, str], person: Callable[..., contextmanager[Page]]
) -> None:
    store, _ = site
    code = new_code(RANDOM)
    store.invite(code, InviteKind.JOIN, by=None)
    with person(js=False, width=360) as page:
        join(page, f"/join/{code}", "Ada")
        token = page.get_by_label("Token of").input_value()
        page.goto("/submit")
        page.get_by_label("Bot: a new name").fill("fox")
        page.get_by_label("Or the text of one file").fill(BOTS["good"].decode())
        page.get_by_role("button", name="Submit").click()
        expect(page.locator("#verdict")).to_contain_text("Accepted as version 1", timeout=VERDICT_MS)
        page.goto("/account")
        page.get_by_role("button", name="Sign out", exact=True).click()
        page.get_by_role("link", name="Sign in").click()
        page.get_by_label("Your token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("link", name="Ada")).to_be_visible()
