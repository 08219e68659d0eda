"""Bots for the tests of the adapter, and the questions that they are asked."""

from textwrap import dedent

import pytest

from tests.core.table import DUEL, WISCONSIN, game_of
from tournament.adapter import BotError, SeatAdapter
from tournament.deal import BID, DISCARD, PLAY, Phase
from tournament.observation import QuestionWriter
from tournament.rules import Limits, Rules
from tournament.source import BotSource

HANDS = ("AS KS QS 4H 5H 6D", "2S 3S 7D 8D 9C TC", "2C 3C 4C 5C 6C 7C")


def source(code: str, files: dict[str, str] | None = None) -> BotSource:
    others = [(path, text.encode()) for path, text in (files or {}).items()]
    return BotSource.of_files([("bot.py", dedent(code).encode()), *others])


def loaded(bot_source: BotSource, rules: Rules = DUEL) -> SeatAdapter:
    adapter = SeatAdapter(rules, Limits(), 0)
    adapter.load(bot_source, "00" * 32)
    return adapter


def question(phase: Phase, rules: Rules = DUEL, number: int = 7) -> bytes:
    """Returns a question to seat 0: to bid first, to lead, or to discard."""
    hands = HANDS if rules.players == 3 else HANDS[:2]
    if rules.players == 4:
        hands = ("AS KS QS 8H 9H 7D", "JS TS 8D 9D 9C TC", "7C 8C JC QC KC AC", "7H TH JH QH KH AH")
    game = game_of(rules, rules.players - 1, *hands, undealt="AD KD QD" if rules.players == 4 else "")
    writer = QuestionWriter(game)
    writer.deal_begun(game.dealt[0])
    deal = game.deal
    assert deal is not None
    if phase is not BID:
        game.act(4)
    if phase is PLAY and deal.phase is DISCARD:
        game.act(deal.legal()[0])
    assert deal.phase is phase
    return writer.question(0, number, phase, deal.legal())[2:]


METHODS = {BID: "bid", PLAY: "play", DISCARD: "discard"}


def bot_answering(phase: Phase, expression: str, before: str = "") -> BotSource:
    methods = dict.fromkeys(METHODS.values(), "return view.legal[0]") | {METHODS[phase]: f"return {expression}"}
    body = "\n".join(f"    def {name}(self, view):\n        {text}" for name, text in methods.items())
    return source(f"from tournament.bot import Card\n{dedent(before)}\nclass Bot:\n{body}\n")


def fault_of(phase: Phase, expression: str, before: str = "") -> BotError:
    rules = WISCONSIN if phase is DISCARD else DUEL
    with pytest.raises(BotError) as caught:
        loaded(bot_answering(phase, expression, before), rules).answer(question(phase, rules))
    return caught.value


def index_of(phase: Phase, expression: str, before: str = "") -> int:
    rules = WISCONSIN if phase is DISCARD else DUEL
    number, index = loaded(bot_answering(phase, expression, before), rules).answer(question(phase, rules, 65_535))
    assert number == 65_535
    return index
