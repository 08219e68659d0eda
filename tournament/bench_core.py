"""Measures the core alone: what random legal bots decide in a second of CPU time, for `tournament bench`.

Every act counts as a decision, forced ones too, as the peers that the figures are put beside count them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Final

from tournament import seeds
from tournament.deal import Deal
from tournament.game import Game, acts_in
from tournament.observation import QuestionReader, QuestionWriter
from tournament.rules import Limits, Rules
from tournament.view import VIEW_FIELDS

LOOK_AT_NOTHING: Final[tuple[str, ...]] = ("legal",)
LOOK_AT_ALL: Final = VIEW_FIELDS


@dataclass(frozen=True, slots=True)
class Rate:
    """Decisions and the CPU seconds that they took."""

    decisions: int
    cpu_s: float

    @property
    def per_s(self) -> float:
        """Decisions a second."""
        return self.decisions / self.cpu_s


def measure(rounds: Iterator[int], seconds: float, clock: Callable[[], float]) -> Rate:
    """Runs rounds, each of which tells how many decisions it took, until `seconds` of `clock` are over."""
    decisions, start = next(rounds), clock()
    decisions = 0
    while (spent := clock() - start) < seconds or not decisions:
        decisions += next(rounds)
    return Rate(decisions, spent)


def fixed_loop() -> Iterator[int]:
    """Counts rounds of a plain loop: how fast this machine runs Python just now."""
    while True:
        total = 0
        for number in range(100_000):
            total += number & 3
        yield 100_000


def deals(rules: Rules) -> Iterator[int]:
    """Plays deals from the dealt cards to the four points."""
    choose = Random(1).choice
    dealt = [seeds.dealt(rules, seeds.shuffled(rules, "bench", number, 1)) for number in range(50)]
    while True:
        for hands, undealt in dealt:
            deal = Deal(rules, 0, hands, undealt)
            while legal := deal.legal():
                deal.act_legal(choose(legal))
            yield acts_in(deal)


def games(rules: Rules) -> Iterator[int]:
    """Plays games from the seed to the outcome, shuffles included."""
    choose = Random(1).choice
    for number in count():
        game = Game(rules, f"{number:064x}")
        while legal := game.advance():
            game.act_legal(choose(legal))
        yield sum(acts_in(dealt.deal) for dealt in game.dealt)


def views(rules: Rules, fields: tuple[str, ...], *, shuffled: bool = True) -> Iterator[int]:
    """Plays games as `games` does, with a view made for each choice, of which `fields` are read.

    Args:
        rules: the rules of the games.
        fields: names of a view.
        shuffled: whether the decks are shuffled while it is measured, or fifty of them beforehand.
    """
    choose = Random(1).choice
    decks = [seeds.shuffled(rules, "bench", number, 1) for number in range(50)]
    for number in count():
        if shuffled:
            game = Game(rules, f"{number:064x}")
        else:
            game = Game(rules, None, shuffle=lambda deal, attempt: decks[(deal + attempt) % 50], first_dealer=0)
        writer = QuestionWriter(game)
        readers = [QuestionReader(rules, Limits(), seat, writer) for seat in range(rules.players)]
        while legal := game.advance():
            deal = game.deal
            assert deal is not None
            view = readers[deal.seat].look(deal.phase, legal)
            for field in fields:
                getattr(view, field)
            game.act_legal(choose(legal))
        yield sum(acts_in(dealt.deal) for dealt in game.dealt)
