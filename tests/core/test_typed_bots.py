"""Bots as their writers type them. mypy checks this file too, strictly: every `type: ignore` here has to be needed."""

from collections.abc import Sequence
from typing import assert_type

import pytest

from tests.core.adapters import question
from tests.core.table import DUEL, WISCONSIN
from tournament.adapter import BotError, SeatAdapter
from tournament.bot import Bot, Card, Deal, DiscardingBot, Limits, PastDeal, Rules, Trick, View, data, time_left
from tournament.deal import BID, DISCARD, PLAY


class Plain:
    """The least that a bot may be."""

    def bid(self, view: View) -> int:
        return 0 if view.bid else 2

    def play(self, view: View) -> Card:
        return max(view.hand) if view.trick.cards else view.hand[0]


class Texts:
    """Answers texts, and a list of them."""

    def bid(self, view: View) -> int:
        highest: int = max(view.legal)
        return highest

    def play(self, view: View) -> str:
        return str(view.legal[0])

    def discard(self, view: View) -> Sequence[str]:
        return [str(card) for card in view.legal[0]]


class Wrong:
    """Passes with a word."""

    def bid(self, view: View) -> str:
        return "pass" if not view.bid else "2"

    def play(self, view: View) -> Card:
        return view.hand[0]


plain: Bot = Plain()
texts: DiscardingBot = Texts()
wrong: Bot = Wrong()  # type: ignore[assignment]
lacking: DiscardingBot = Plain()  # type: ignore[assignment]


def look_at(view: View) -> None:
    """Names the types of the fields, for mypy alone."""
    assert_type(view.rules, Rules)
    assert_type(view.limits, Limits)
    assert_type(view.hand, tuple[Card, ...])
    assert_type(view.bidder, int | None)
    assert_type(view.trump, str | None)
    assert_type(view.trick, Trick)
    assert_type(view.tricks, tuple[Trick, ...])
    assert_type(view.history, tuple[PastDeal, ...])
    assert_type(view.imagine([view.hand]), Deal)
    assert_type(view.hand[0].suit, str)
    assert_type(time_left(), float)
    assert_type(data("weights.json"), bytes)
    view.cards  # type: ignore[attr-defined]  # noqa: B018


def answer(player: object, kind: int) -> int:
    rules = WISCONSIN if kind == DISCARD else DUEL
    adapter = SeatAdapter(rules, Limits(), 0)
    adapter.use(player)
    return adapter.answer(question(DISCARD if kind == DISCARD else BID if kind == BID else PLAY, rules))[1]


def test_what_the_types_allow_is_what_the_adapter_takes() -> None:
    assert [answer(plain, kind) for kind in (BID, PLAY, DISCARD)] == [1, 0, answer(plain, DISCARD)]
    assert [answer(texts, kind) for kind in (BID, PLAY, DISCARD)] == [3, 0, 0]
    with pytest.raises(BotError, match="bid answered 'pass': expected an int"):
        answer(wrong, BID)
