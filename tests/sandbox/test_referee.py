"""The referee plays a match with whatever bots there are, and what they do costs nobody but them."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from tournament.cards import CARDS
from tournament.game import FaultKind
from tournament.replay import Player
from tournament.results import MatchResult
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from tournament.wire import MatchTask, checked_result, result_to_json
from workers.recorder import _check_sizes
from workers.referee import Referee
from workers.sandbox.faults import GuestFault, SandboxFailure
from workers.sandbox.frames import GuestInit

SECRET = "ab" * 32
SOURCES = {source.sha256: source for source in (BotSource.of_file(b"a"), BotSource.of_file(b"b"))}


class LoudBot:
    """Prints what a log may hold at most, and answers the first question with a fault."""

    slowest_decision_cpu_s = last_decision_cpu_s = cpu_s = load_cpu_s = 0.0
    memory_bytes = 0

    def __init__(self, text: str, *, fails_to_close: bool) -> None:
        self.text = text
        self.fails_to_close = fails_to_close
        self.closed = False

    def wait_ready(self) -> None: ...

    def ask(self, question: bytes, number: int, legal_count: int, deals_begun: int) -> int:
        del question, number, legal_count, deals_begun
        raise GuestFault(FaultKind.EXCEPTION, "m" * 500, "t" * 8_192)

    def log(self) -> str:
        return self.text

    def close(self) -> None:
        self.closed = True
        if self.fails_to_close:
            raise SandboxFailure("the fork server is gone")


class Stage:
    """Seats loud bots."""

    def __init__(self, text: str = "", *, fails_to_close: bool = False) -> None:
        self.text = text
        self.fails_to_close = fails_to_close
        self.seated: list[LoudBot] = []

    def spawn(self, source: BotSource, init: GuestInit, slot: int) -> LoudBot:
        del source, init, slot
        self.seated.append(LoudBot(self.text, fails_to_close=self.fails_to_close))
        return self.seated[-1]


def task() -> MatchTask:
    one, two = sorted(SOURCES)
    players = Player("one", 1, one), Player("two", 1, two)
    return MatchTask.of(SECRET, "cutthroat/2 one:1 two:1 1", Rules.make("cutthroat", players=2), Limits(), players)


def test_all_bots_are_closed_though_one_cannot_be() -> None:
    stage = Stage(fails_to_close=True)
    with pytest.raises(SandboxFailure, match="the fork server is gone"):
        Referee(stage, SOURCES).play_match(task())
    assert len(stage.seated) == 2
    assert all(bot.closed for bot in stage.seated)


@pytest.mark.parametrize("text", ["x" * 65_536, "\u00e9" * 32_768, "\ufffd\n" * 32_768])
def test_no_text_of_a_bot_is_too_long_to_be_recorded(text: str) -> None:
    games = Referee(Stage(text), SOURCES).play_match(task())
    sent: dict[str, Any] = json.loads(json.dumps(result_to_json(MatchResult(0, 1, games, "here", 1.0))))
    result = checked_result(task(), sent)
    _check_sizes(result)
    for game in result.games:
        report = dataclasses.astuple(game.reports[0])
        assert "m" * 500 in report
        assert len(game.reports[0].log_tail) <= 8_192


def test_a_set_of_cards_has_one_order_in_every_process() -> None:
    assert [card.index for card in set(CARDS)] == list(range(52))
