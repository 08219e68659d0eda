"""What a seat may not know is in no message to it.

At many points of many games all unseen cards of the current deal are moved about, among deals under which the public
acts so far stay legal. The seat to act must then be asked the same questions, byte for byte.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest

from tests.core.table import MODES, any_legal, cards, game_of, mostly_pass
from tournament.deal import DISCARD, Action, Deal, Phase
from tournament.game import FaultKind, Game, house_action
from tournament.observation import QuestionWriter
from tournament.rules import HAND_SIZE, Rules

MakeWriter = Callable[[Game], Any]


@dataclass
class Table:
    """A game up to a decision: its decks by deal and attempt, what was done, and who is asked.

    `steps` are actions; discards are kept as places in the hand, since the cards at these places may be moved, and a
    fault as None.
    """

    rules: Rules
    first_dealer: int
    decks: dict[tuple[int, int], Sequence[int]]
    steps: list[Action | None]
    seat: int


def places(hand: Sequence[int], discards: Sequence[int]) -> tuple[int, ...]:
    return tuple(hand.index(card) for card in discards)


def random_table(rules: Rules, random: Random) -> Table:
    """Plays a game at random up to some decision."""
    game = Game(rules, f"{random.getrandbits(256):064x}")
    choose = random.choice((any_legal, mostly_pass))
    steps: list[Action | None] = []
    left = random.randrange(60)
    game.start()
    while True:
        deal = game.deal
        assert deal is not None
        legal = deal.legal()
        asked = len(legal) > 1 and deal.seat not in game.house
        if asked and (left := left - 1) < 0:
            break
        if asked and rules.players == 3 and not game.house and random.random() < 0.01:
            steps.append(None)
            game.fault(deal.seat, FaultKind.EXITED)
            continue
        forced = house_action(deal, legal) if deal.seat in game.house else legal[0]
        action = choose(deal, legal, random) if asked else forced
        steps.append(places(deal.hands[deal.seat], action) if isinstance(action, tuple) else action)
        game.act(action)
        if game.over:
            return random_table(rules, random)
    decks = {(dealt.number, dealt.attempt): dealt.deck for dealt in game.dealt}
    return Table(rules, game.dealt[0].dealer, decks, steps, deal.seat)


def questions(table: Table, decks: dict[tuple[int, int], Sequence[int]], make: MakeWriter) -> list[bytes]:
    """Plays the table's game over these decks; returns all questions to its seat, the last one open.

    Raises:
        ValueError: an act is not legal over these decks, or there is no choice where a seat faulted.
    """
    game = Game(table.rules, None, shuffle=lambda *at: decks[at], first_dealer=table.first_dealer)
    writer = make(game)
    game.start()
    found: list[bytes] = []

    def ask() -> Deal:
        deal = game.deal
        assert deal is not None
        legal = deal.legal()
        if deal.seat == table.seat and len(legal) > 1 and deal.seat not in game.house:
            found.append(writer.question(table.seat, len(found), deal.phase, legal))
        return deal

    for step in table.steps:
        deal = ask()
        if step is None:
            game.fault(deal.seat, FaultKind.EXITED)
        else:
            hand = deal.hands[deal.seat]
            game.act(tuple(hand[place] for place in step) if isinstance(step, tuple) else step)
    ask()
    return found


def moved(table: Table, random: Random, swaps: int) -> dict[tuple[int, int], Sequence[int]]:
    """Returns the decks with unseen cards of the current deal swapped, as far as the public acts stay legal."""
    current = max(table.decks)
    deck = list(table.decks[current])
    seen = set(range(HAND_SIZE * table.seat, HAND_SIZE * (table.seat + 1)))
    if taker(table) == table.seat:
        front = HAND_SIZE * table.rules.players
        seen |= set(range(front, front + table.rules.bidder_takes))
    unseen = [place for place in range(len(deck)) if place not in seen]
    for _ in range(swaps):
        one, other = random.sample(unseen, 2)
        deck[one], deck[other] = deck[other], deck[one]
        try:
            questions(table, {**table.decks, current: deck}, QuestionWriter)
        except ValueError:  # an illegal act, or a fault where there is no choice
            deck[one], deck[other] = deck[other], deck[one]
    return {**table.decks, current: deck}


def replayed(table: Table) -> Deal:
    """Returns the current deal as it stands."""
    found: list[Game] = []

    def keep(game: Game) -> QuestionWriter:
        found.append(game)
        return QuestionWriter(game)

    questions(table, table.decks, keep)
    deal = found[0].deal
    assert deal is not None
    return deal


def taker(table: Table) -> int | None:
    deal = replayed(table)
    return deal.bidder if deal.taken else None


class Leaky:
    """Tells every seat a little of what the others hold: whether their cards are even or odd in sum."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.writer = QuestionWriter(game)

    def question(self, seat: int, number: int, kind: Phase, legal: Sequence[Action]) -> bytes:
        deal = self.game.deal
        assert deal is not None
        others = sum(sum(hand) for place, hand in enumerate(deal.hands) if place != seat)
        return self.writer.question(seat, number, kind, legal) + bytes([others & 1])


@pytest.mark.parametrize("mode", MODES, ids=lambda rules: f"{rules.mode}/{rules.bidder_takes}")
def test_a_question_is_the_same_whatever_the_unseen_cards_are(mode: Rules) -> None:
    random = Random(str(mode))
    rules = replace(mode, deal_limit=3)
    seats: Counter[int] = Counter()
    phases: Counter[object] = Counter()
    leaks = different = 0
    for _ in range(60):
        table = random_table(rules, random)
        expected = questions(table, table.decks, QuestionWriter)
        assert expected
        decks = moved(table, random, 25)
        assert questions(table, decks, QuestionWriter) == expected
        seats[table.seat] += 1
        deal = replayed(table)
        phases[deal.phase] += 1
        if deal.taken:
            phases["taker" if deal.bidder == table.seat else "not the taker"] += 1
        different += decks != table.decks
        leaks += questions(table, decks, Leaky) != questions(table, table.decks, Leaky)
    assert set(seats) == set(range(mode.players))
    assert different >= 50, "cards were moved"
    assert leaks >= 10, "a writer that tells something would have been found"
    if mode.bidder_takes:
        assert phases[DISCARD] >= 1
        assert min(phases["taker"], phases["not the taker"]) >= 3


@pytest.mark.parametrize("takes", [1, 2, 3])
def test_taken_and_discarded_cards_are_told_to_their_seat_alone(takes: int) -> None:
    """Two games that differ only in what the bidder takes and discards look alike to the other three seats."""
    rules = replace(next(rules for rules in MODES if rules.bidder_takes == takes), deal_limit=1)
    hands = ("AS KS QS AH KH AD", "JS TS 9S JH TH 9H", "QH QD JD TD 9D KD", "8S 8H 8D 7D AC KC")
    told: list[list[list[bytes]]] = []
    for undealt in ("7S 7H QC", "TC JC 9C"):
        game = game_of(rules, 3, *hands, undealt=undealt)
        writer = QuestionWriter(game)
        writer.deal_begun(game.dealt[0])
        deal = game.deal
        assert deal is not None
        game.act(4)
        game.act(deal.taken)  # gives back what it took, whatever that is
        asked: list[list[bytes]] = [[] for _ in range(4)]
        for card in cards("AD 9S QD 8D AH JH"):
            asked[deal.seat].append(writer.question(deal.seat, 0, deal.phase, deal.legal()))
            game.act(card)
        told.append(asked)
    assert told[0][0] != told[1][0]
    assert told[0][1:] == told[1][1:]
