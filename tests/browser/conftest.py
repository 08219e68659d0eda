"""A real browser against a real server on loopback; nothing may leave it and nothing may complain."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest

from dashboard.app import create_app
from tests.browser.driver import FLAGS, Server, find_browser
from tests.dashboard.sample import sample_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Route


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """Launch the system's Chromium; skip without one, fail where one is required."""
    found = find_browser()
    if found is None:
        text = "no Chromium found: apt-get install chromium-headless-shell fonts-dejavu-core, or set CHROMIUM"
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(text)
        pytest.skip(text)
    return {"executable_path": found, "args": FLAGS, "headless": True}


@dataclass
class Watch:
    """What went wrong in a browser context: must be empty at the end of a test."""

    foreign: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def complaints(self) -> list[str]:
        """All complaints, each with its kind."""
        return [
            *(f"foreign request: {line}" for line in self.foreign),
            *(f"console: {line}" for line in self.console),
            *(f"error: {line}" for line in self.errors),
        ]


def watch_context(context: BrowserContext, origin: str) -> Watch:
    """Record every foreign request, console line, page error and failed answer of a context."""
    watch = Watch()

    def guard(route: Route) -> None:
        if route.request.url.startswith((origin + "/", "data:")):
            route.continue_()
        else:
            watch.foreign.append(route.request.url)
            route.abort()

    def said(message: ConsoleMessage) -> None:
        watch.console.append(f"{message.type}: {message.text}")

    context.route("**/*", guard)
    context.on("console", said)
    context.on("weberror", lambda error: watch.errors.append(str(error.error)))
    context.on("response", lambda answer: watch.errors.append(answer.url) if answer.status >= 500 else None)
    return watch


@pytest.fixture
def open_page(browser: Browser, base_url: str) -> Iterator[Callable[..., Page]]:
    """Give a function that opens an address in a fresh, watched context."""
    opened: list[tuple[BrowserContext, Watch]] = []

    def opener(path: str, *, scheme: str = "light", width: int = 1100, js: bool = True, strict: bool = True) -> Page:
        context = browser.new_context(
            base_url=base_url,
            color_scheme=scheme,  # type: ignore[arg-type]
            viewport={"width": width, "height": 800},
            java_script_enabled=js,
            reduced_motion="reduce",
            locale="en-GB",
            timezone_id="UTC",
            service_workers="block",
        )
        watch = watch_context(context, base_url)
        if strict:
            opened.append((context, watch))
        page = context.new_page()
        page.watch = watch  # type: ignore[attr-defined]
        page.goto(path)
        return page

    yield opener
    complaints = [line for _context, watch in opened for line in watch.complaints()]
    for context, _watch in opened:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def axe_source() -> str:
    """The text of axe, from the installed package."""
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()


@pytest.fixture(scope="session")
def axe(axe_source: str) -> Callable[[Page], list[str]]:
    """Give a function that lists a page's violations, one line each.

    The script goes in through the debugger, so the page's policy stays as strict as it is.
    """

    def check(page: Page) -> list[str]:
        page.evaluate(axe_source)
        found = page.evaluate("async () => (await axe.run()).violations")
        return [
            f"{violation['id']}: {node['target']} {node['failureSummary']}"
            for violation in found
            for node in violation["nodes"]
        ]

    return check


@pytest.fixture(scope="session")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the site over a few small recorded tournaments."""
    store = sample_store(tmp_path_factory.mktemp("site") / "site.db")
    server = Server(create_app(store))
    server.start()
    yield server.address
    server.stop()
    store.close()
