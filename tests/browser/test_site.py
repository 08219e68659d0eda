"""All addresses in a real browser: nothing foreign, nothing on the console, no violation, nothing sideways."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.dashboard.addresses import PAGES

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

WIDTHS = (360, 1100)
EXISTING = [address for address in PAGES if address != "/nothing-here"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", EXISTING)
def test_an_address_is_clean_in_both_widths(
    open_page: Callable[..., Page], axe: Callable[[Page], list[str]], address: str, scheme: str
) -> None:
    page = open_page(address, scheme=scheme)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_error_page_is_clean_too(open_page: Callable[..., Page], axe: Callable[[Page], list[str]]) -> None:
    page = open_page("/nothing-here", strict=False)
    assert page.locator("h1").text_content() == "There is nothing here"
    assert axe(page) == []
    assert page.watch.foreign == []  # type: ignore[attr-defined]
    page.context.close()


def test_every_card_is_drawn_with_its_own_suit_symbol(open_page: Callable[..., Page]) -> None:
    page = open_page("/games/3-1-1/replay")
    suits = page.locator(".card svg use").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert set(suits) == {"#spades", "#hearts", "#diamonds", "#clubs"}
    box = page.locator(".card svg").first.bounding_box()
    assert box is not None
    assert box["width"] > 8


def test_the_chosen_colours_stay_and_win_over_the_system(open_page: Callable[..., Page]) -> None:
    page = open_page("/help", scheme="light")
    light = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.get_by_label("Colours").select_option("dark")
    page.get_by_role("button", name="Set").click()
    page.wait_for_selector("html[data-theme=dark]")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != light
    page.goto("/standings?tournament=1")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_without_script_matches_are_filtered_and_a_whole_deal_is_stepped_through(
    open_page: Callable[..., Page],
) -> None:
    page = open_page("/", js=False)
    page.get_by_role("link", name="Matches", exact=True).click()
    page.goto("/matches?tournament=1")
    page.get_by_label("Bot", exact=True).fill("random")
    page.get_by_label("with", exact=True).fill("counter")
    page.get_by_role("button", name="Filter").click()
    rows = page.locator("tbody tr")
    assert rows.count() > 3
    assert all("random" in text and "counter" in text for text in rows.all_text_contents())
    rows.first.locator("th a").click()
    page.get_by_role("link", name="watch").first.click()
    page.locator(".deals a").filter(has_text=re.compile(r"\d:[234]")).first.click()
    last = int(page.locator("#step").get_attribute("max") or 0)
    for step in range(1, last + 1):
        page.locator("a[rel=next]").click()
        assert page.locator(".sentence").inner_text().startswith(f"Step {step} of {last}")
    assert last > 12
    assert page.locator("a[rel=next]").count() == 0
    assert page.locator("#player").is_hidden()


def test_from_the_start_to_the_third_decision_of_deal_two_by_keys_alone(open_page: Callable[..., Page]) -> None:
    page = open_page("/")
    for key in ("Tab", "Enter", "Tab", "Enter"):  # past the navigation by the skip link, then the newest result
        page.keyboard.press(key)
    page.wait_for_url("**/replay")
    page.wait_for_selector("#player:not([hidden])")
    for key in ("n", "d", "d", "d"):
        before = page.url
        page.keyboard.press(key)
        page.wait_for_url(lambda url, before=before: url != before)
    assert "deal=2" in page.url
    assert page.locator(".strip [aria-current=step]").count() == 1


def test_focus_is_always_to_be_seen(open_page: Callable[..., Page]) -> None:
    page = open_page("/standings?tournament=1")
    for _ in range(12):
        page.keyboard.press("Tab")
        outline: Any = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
