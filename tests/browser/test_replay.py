"""The replay in a browser: keys and addresses meet at the same markup, and nothing plays by itself."""

from __future__ import annotations

import json
import re
import urllib.request
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

GAMES = ["1-1-1", "2-1-3", "3-1-2"]


def played_deal(base_url: str, game: str) -> str:
    """Give the address of the first deal of a game in which cards were played to the end."""
    with urllib.request.urlopen(f"{base_url}/api/v1/games/{game}/replay") as answer:
        deals = json.load(answer)["deals"]
    entry = next(entry for entry in deals if "scores" in entry)
    return f"/games/{game}/replay?deal={entry['deal']}&attempt={entry['attempt']}"


def ready(page: Page) -> None:
    """Wait until the keys work."""
    page.wait_for_selector("#player:not([hidden])")


def press(page: Page, key: str, text: str) -> None:
    """Press a key and wait for the step that it leads to."""
    page.keyboard.press(key)
    expect(page.locator(".sentence")).to_contain_text(re.compile(text))


@pytest.mark.parametrize("game", GAMES)
def test_a_fresh_load_equals_the_step_reached_by_keys_byte_for_byte(
    open_page: Callable[..., Page], base_url: str, game: str
) -> None:
    start = played_deal(base_url, game)
    keyed, fresh = open_page(start), open_page(start)
    ready(keyed)
    last = int(keyed.locator("#step").get_attribute("max") or 0)
    for step in range(1, last + 1):
        press(keyed, "ArrowRight", rf"Step {step} of {last}\b")
        fresh.goto(keyed.url)
        assert keyed.locator("#replay").evaluate("one => one.outerHTML") == fresh.locator("#replay").evaluate(
            "one => one.outerHTML"
        )
        assert keyed.title() == fresh.title()
    assert last > 12
    assert keyed.locator("[data-key=ArrowRight]").count() == 0


def test_every_key_does_what_the_help_says(open_page: Callable[..., Page], base_url: str) -> None:
    page = open_page(played_deal(base_url, "3-1-1"))
    ready(page)
    press(page, "End", r"Step (\d+) of \1\b")
    press(page, "Home", r"Step 0 of")
    press(page, "ArrowDown", r"wins trick 1")
    press(page, "ArrowUp", r"Step 0 of")
    press(page, "n", r"Deal \d")
    press(page, "b", r"Step 0 of")
    press(page, "d", r"Step 1 of")
    page.keyboard.press("1")
    expect(page.locator(".card.back").first).to_be_visible()
    page.keyboard.press("a")
    expect(page.locator(".card.back")).to_have_count(0)
    page.keyboard.press("/")
    expect(page.locator("#step")).to_be_focused()
    page.keyboard.press("3")  # a digit typed into the field is no key
    expect(page.locator(".card.back")).to_have_count(0)
    page.locator("h1").click()
    page.keyboard.press("?")
    page.wait_for_url("**/help#keys")


def test_keys_rest_with_a_modifier_and_when_they_are_switched_off(open_page: Callable[..., Page]) -> None:
    page = open_page("/games/3-1-1/replay")
    ready(page)
    page.keyboard.press("Control+ArrowRight")
    page.get_by_label("keys").uncheck()
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    page.get_by_label("keys").check()
    page.locator("h1").click()
    press(page, "ArrowRight", r"Step 1 of")


def test_back_leaves_the_replay_after_keys_and_a_click_makes_a_stop(open_page: Callable[..., Page]) -> None:
    page = open_page("/matches/3-1")
    page.get_by_role("link", name="watch").first.click()
    ready(page)
    press(page, "Home", r"Step 0 of") if "step" in page.url else None
    press(page, "ArrowRight", r"Step 1 of")
    press(page, "ArrowRight", r"Step 2 of")
    page.locator("a[rel=next]").click()
    expect(page.locator(".sentence")).to_contain_text("Step 3 of")
    page.go_back()
    expect(page.locator(".sentence")).to_contain_text("Step 2 of")
    page.go_back()
    page.wait_for_url("**/matches/3-1**")


def test_focus_stays_on_the_pressed_control_and_the_step_is_spoken(open_page: Callable[..., Page]) -> None:
    page = open_page("/games/3-1-1/replay")
    ready(page)
    expect(page.locator("#spoken")).to_be_empty()
    page.locator("a[rel=next]").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".sentence")).to_contain_text("Step 1 of")
    expect(page.locator("a[rel=next]")).to_be_focused()
    press(page, "ArrowRight", r"Step 2 of")
    expect(page.locator("#spoken")).to_contain_text("in seat")


def test_nothing_plays_by_itself_until_it_is_started_and_any_key_stops_it(open_page: Callable[..., Page]) -> None:
    page = open_page("/games/3-1-1/replay")
    ready(page)
    play = page.locator("#play")
    expect(play).to_have_attribute("aria-pressed", "false")
    page.get_by_label("Speed").select_option("4")
    play.click()
    expect(page.locator(".sentence")).to_contain_text(re.compile(r"Step [3-9] of"))
    page.keyboard.press("Escape")
    expect(play).to_have_attribute("aria-pressed", "false")


def test_the_longest_replay_opens_and_steps_on_a_phone(open_page: Callable[..., Page]) -> None:
    page = open_page("/games/1-1-1/replay", width=360)
    ready(page)
    box = page.locator(".controls a, .controls span.button").first.bounding_box()
    assert box is not None
    assert box["height"] >= 44
    assert box["y"] + box["height"] <= 800
