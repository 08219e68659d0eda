"""One deal, from the shuffled cards to its four points: the engine that referees use and bots may search with.

A `Deal` is one mutable object over small integers (see `tournament.cards`) with a cheap `copy`; docs/decisions/0001
says why it has this shape. Actions are a bid (0 passes), a tuple of discarded cards, or a card.

Rules are cited by the numbers of the rule page, `docs/rules.md`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from tournament.cards import BIT, PIPS, SUIT, SUIT_MASK, TEXTS
from tournament.rules import HAND_SIZE, GameName, High, Rules

Action = int | tuple[int, ...]
"""A bid, the discards in hand order, or a card."""


class Phase(IntEnum):
    """What a deal waits for; the first three are also the kinds of question that a bot is asked."""

    BID = 0
    DISCARD = 1
    PLAY = 2
    DONE = 3
    THROWN_IN = 4


BID: Final = Phase.BID
DISCARD: Final = Phase.DISCARD
PLAY: Final = Phase.PLAY
DONE: Final = Phase.DONE
THROWN_IN: Final = Phase.THROWN_IN

_LEGAL_BIDS: Final[dict[int, tuple[int, ...]]] = {0: (0, 2, 3, 4), 2: (0, 3, 4), 3: (0, 4)}
_ALL_SUITS: Final = sum(SUIT_MASK)


class IllegalAction(ValueError):
    """An action that the rules do not allow here; its text says why."""


class Trick(NamedTuple):
    """A complete trick: who led, the cards in playing order, and the seat that won it."""

    leader: int
    cards: tuple[int, ...]
    winner: int


class Points(NamedTuple):
    """The side that won each of the four points of a deal, or None (rules.md 1.7)."""

    high: int | None
    low: int | None
    jack: int | None
    game: int | None


class Deal:
    """The state of one deal.

    Attributes:
        rules: the rules it is played by.
        dealer: the seat that dealt.
        hands: the cards each seat holds now, in seat order; as dealt, then taken, less what is gone.
        undealt: the cards that nobody was dealt, the taken ones included, front first.
        phase: what the deal waits for.
        seat: the seat to act, meaningless once the deal is over.
        bids: the bids so far in speaking order, from the seat left of the dealer; 0 is a pass.
        bid: the highest bid so far, 0 if nobody has bid.
        bidder: its seat, -1 if nobody has bid.
        taken: the undealt cards that the bidder took.
        discards: what it gave up for them, in hand order.
        trump: the trump suit's number, -1 before the first lead.
        leader: the seat that led the current trick.
        trick: the cards of the current trick in playing order.
        tricks: the complete tricks.
        pips: card points of each side in the tricks it won, discards counted for the bidder's side.
    """

    __slots__ = (
        "_best", "_best_seat", "_jack_side", "_lead_mask", "_low", "_low_seat", "_sides", "_top", "_top_seat",
        "bid", "bidder", "bids", "dealer", "discards", "hands", "leader", "phase", "pips", "rules", "seat", "taken",
        "trick", "tricks", "trump", "undealt",
    )  # fmt: skip

    def __init__(self, rules: Rules, dealer: int, hands: Sequence[Sequence[int]], undealt: Sequence[int]) -> None:
        """Starts the bidding.

        Args:
            rules: the rules of the game.
            dealer: the seat that deals.
            hands: six cards a seat, in seat order.
            undealt: the cards left over; what the bidder takes comes from their front.
        """
        self.rules = rules
        self.dealer = dealer
        self.hands = [list(hand) for hand in hands]
        self.undealt = tuple(undealt)
        self.phase: Phase = BID
        self.seat = (dealer + 1) % rules.players
        self.bids: list[int] = []
        self.bid = 0
        self.bidder = -1
        self.taken: tuple[int, ...] = ()
        self.discards: tuple[int, ...] = ()
        self.trump = -1
        self.leader = -1
        self.trick: list[int] = []
        self.tricks: list[Trick] = []
        self.pips = [0] * rules.side_count
        self._sides = (0, 1, 0, 1) if rules.players == 4 else (0, 1, 2)
        self._lead_mask = _ALL_SUITS
        self._best = self._best_seat = -1
        self._low, self._low_seat = 99, -1
        self._top, self._top_seat = -1, -1
        self._jack_side = -1

    def copy(self) -> Deal:
        """Returns an independent deal in the same state, for a bot that searches."""
        other = object.__new__(Deal)
        other.rules = self.rules
        other.dealer = self.dealer
        other.hands = [hand[:] for hand in self.hands]
        other.undealt = self.undealt
        other.phase = self.phase
        other.seat = self.seat
        other.bids = self.bids[:]
        other.bid = self.bid
        other.bidder = self.bidder
        other.taken = self.taken
        other.discards = self.discards
        other.trump = self.trump
        other.leader = self.leader
        other.trick = self.trick[:]
        other.tricks = self.tricks[:]
        other.pips = self.pips[:]
        other._sides = self._sides
        other._lead_mask = self._lead_mask
        other._best = self._best
        other._best_seat = self._best_seat
        other._low = self._low
        other._low_seat = self._low_seat
        other._top = self._top
        other._top_seat = self._top_seat
        other._jack_side = self._jack_side
        return other

    @property
    def over(self) -> bool:
        """Whether nobody has anything left to do in this deal."""
        return self.phase >= DONE

    # What may be done --------------------------------------------------------------------------------------------

    def legal(self) -> Sequence[Action]:
        """Returns every action the seat to act may choose, in the order that answers are numbered by.

        Bids ascend from 0; cards are in hand order; discards are the combinations of the hand in `itertools` order.
        Empty once the deal is over, never before.
        """
        if self.phase is PLAY:
            hand = self.hands[self.seat]
            if self.trick:
                led = SUIT_MASK[SUIT[self.trick[0]]]
                # Follow suit or trump; who holds no card of the suit led may play anything (rules.md 1.6).
                allowed = led | SUIT_MASK[self.trump]
                followed = False
                cards = []
                for card in hand:
                    bit = BIT[card]
                    if allowed & bit:
                        cards.append(card)
                        if led & bit:
                            followed = True
                return cards if followed else hand[:]
            if self.trump < 0 and self._lead_mask != _ALL_SUITS:
                return [card for card in hand if self._lead_mask & BIT[card]]
            return hand[:]
        if self.phase is BID:
            return _LEGAL_BIDS[self.bid]
        if self.phase is DISCARD:
            return legal_discards(self.hands[self.seat], len(self.taken))
        return ()

    def check(self, action: Action) -> None:
        """Says no, and why, if the seat to act may not choose `action`.

        Raises:
            IllegalAction: with the reason.
        """
        if self.phase is BID:
            self._check_bid(action)
        elif self.phase is PLAY:
            self._check_card(action)
        elif self.phase is DISCARD:
            self._check_discards(action)
        else:
            raise IllegalAction("the deal is over")

    def _check_bid(self, action: Action) -> None:
        if type(action) is not int or action not in (0, 2, 3, 4):
            raise IllegalAction(f"bid {action!r:.40}: expected 0 to pass, or 2, 3 or 4")
        if action and action <= self.bid:
            raise IllegalAction(f"bid {action}: the bid stands at {self.bid}, expected more, or 0 to pass")

    def _check_card(self, action: Action) -> None:
        hand = self.hands[self.seat]
        if type(action) is not int or action not in hand:
            text = TEXTS[action] if type(action) is int and 0 <= action < 52 else repr(action)[:40]
            raise IllegalAction(f"card {text}: not in the hand {cards_text(hand)}")
        if action not in self.legal():
            if self.trick:
                led = "CDHS"[SUIT[self.trick[0]]]
                raise IllegalAction(f"card {TEXTS[action]}: {led} was led and is held, expected {led} or a trump")
            raise IllegalAction(f"card {TEXTS[action]}: its suit cannot be trumps, cards of it were discarded")

    def _check_discards(self, action: Action) -> None:
        hand, count = self.hands[self.seat], len(self.taken)
        if not isinstance(action, tuple) or len(action) != count:
            raise IllegalAction(f"discards {action!r:.60}: expected {count} cards, as many as were taken")
        if not all(type(card) is int and card in hand for card in action) or len(set(action)) != count:
            raise IllegalAction(f"discards {action!r:.60}: expected different cards of the hand {cards_text(hand)}")
        if list(action) != [card for card in hand if card in action]:
            raise IllegalAction("discards are not in the order of the hand")
        if not trump_suits(hand, action):
            raise IllegalAction(f"discards {cards_text(action)}: they leave no suit that could be led as trumps")

    # What is done ------------------------------------------------------------------------------------------------

    def act(self, action: Action) -> None:
        """Checks an action of the seat to act and carries it out.

        Raises:
            IllegalAction: the rules do not allow it; nothing has changed then.
        """
        self.check(action)
        self.act_legal(action)

    def act_legal(self, action: Action) -> None:
        """Carries out one of the actions that `legal` lists, unchecked: for referees and searches."""
        if self.phase is PLAY:
            self._play(action)  # type: ignore[arg-type]  # phases and actions go together, by the contract above
        elif self.phase is BID:
            self._bid(action)  # type: ignore[arg-type]
        else:
            self._discard(action)  # type: ignore[arg-type]

    def _bid(self, bid: int) -> None:
        self.bids.append(bid)
        if bid:
            self.bid, self.bidder = bid, self.seat
        if bid != 4 and self.seat != self.dealer:
            self.seat = (self.seat + 1) % self.rules.players
            return
        if not self.bid:
            self.phase = THROWN_IN
            return
        self.seat = self.leader = self.bidder
        takes = self.rules.bidder_takes
        if takes:
            self.taken = self.undealt[:takes]
            self.hands[self.bidder].extend(self.taken)
            self.phase = DISCARD
        else:
            self.phase = PLAY

    def _discard(self, cards: tuple[int, ...]) -> None:
        hand = self.hands[self.seat]
        self._lead_mask = 0
        for suit in trump_suits(hand, cards):
            self._lead_mask |= SUIT_MASK[suit]
        self.discards = cards
        side = self._sides[self.seat]
        for card in cards:
            hand.remove(card)
            self.pips[side] += PIPS[card]
        self.phase = PLAY

    def _play(self, card: int) -> None:  # noqa: C901  # one card in one place: calls would cost a third of the speed
        seat, trick = self.seat, self.trick
        self.hands[seat].remove(card)
        suit = SUIT[card]
        if not trick:
            if self.trump < 0:
                self.trump = suit
            self._best, self._best_seat = card, seat
        elif suit == SUIT[self._best]:
            if card > self._best:
                self._best, self._best_seat = card, seat
        elif suit == self.trump:
            self._best, self._best_seat = card, seat
        if suit == self.trump:
            if card < self._low:
                self._low, self._low_seat = card, seat
            if card > self._top:
                self._top, self._top_seat = card, seat
        trick.append(card)
        players = self.rules.players
        if len(trick) < players:
            self.seat = seat + 1 if seat + 1 < players else 0
            return
        winner = self._best_seat
        side = self._sides[winner]
        self.tricks.append(Trick(self.leader, tuple(trick), winner))
        pips = self.pips
        for card in trick:
            pips[side] += PIPS[card]
        if self.trump * 13 + 9 in trick:
            self._jack_side = side
        trick.clear()
        self.seat = self.leader = winner
        if len(self.tricks) == HAND_SIZE:
            self.phase = DONE

    # What came of it ---------------------------------------------------------------------------------------------

    @property
    def points(self) -> Points:
        """Which side has won each of the four points; final once the phase is DONE (rules.md 1.7)."""
        sides = self._sides
        ace_or_top = self._top >= 0 and (self._top % 13 == 12 or self.rules.high is High.HIGHEST_IN_PLAY)
        lowest_counts = self._low < 99 and (self.rules.game is GameName.CUTTHROAT or self._low % 13 == 5)
        most = max(self.pips)
        return Points(
            high=sides[self._top_seat] if ace_or_top else None,
            low=sides[self._low_seat] if lowest_counts else None,
            jack=self._jack_side if self._jack_side >= 0 else None,
            game=self.pips.index(most) if self.pips.count(most) == 1 else None,
        )

    @property
    def won(self) -> list[int]:
        """How many of the four points each side has won, before the bid is looked at."""
        points = self.points
        return [points.count(side) for side in range(self.rules.side_count)]

    @property
    def made(self) -> bool:
        """Whether the bidder's side has won at least as many points as it bid."""
        return self.bid > 0 and self.won[self._sides[self.bidder]] >= self.bid

    @property
    def changes(self) -> list[int]:
        """What the deal adds to each side's score, before `cap_defenders` (rules.md 1.8); nothing if thrown in."""
        changes = self.won
        if self.bid and changes[self._sides[self.bidder]] < self.bid:
            changes[self._sides[self.bidder]] = -self.bid
        return changes


def trump_suits(hand: Sequence[int], discards: Sequence[int]) -> list[int]:
    """Returns the suits that may still be led as trumps when `discards` go from `hand` (rules.md 3, Discarding).

    From such a suit exactly the surplus over six cards was discarded, and the hand holds it.
    """
    suits = []
    for suit in range(4):
        mask = SUIT_MASK[suit]
        held = sum(1 for card in hand if mask & BIT[card])
        if held and sum(1 for card in discards if mask & BIT[card]) == max(0, held - HAND_SIZE):
            suits.append(suit)
    return suits


def legal_discards(hand: Sequence[int], count: int) -> list[tuple[int, ...]]:
    """Returns every way to discard `count` cards that leaves a suit to be led as trumps, in `itertools` order."""
    lengths = [sum(1 for card in hand if SUIT[card] == suit) for suit in range(4)]
    everything = itertools.combinations(hand, count)
    if max(lengths) <= HAND_SIZE and sum(map(bool, lengths)) > count:
        return list(everything)  # with more suits than discards one suit always stays whole
    return [cards for cards in everything if trump_suits(hand, cards)]


def default_discards(hand: Sequence[int], legal: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Returns the discards of a bot that has no method for it (replay format, Order of actions).

    Of the legal discards the one with the fewest cards of the longest suit of the hand, the first of C D H S where
    suits are level; then the first in order.
    """
    lengths = [sum(1 for card in hand if SUIT[card] == suit) for suit in range(4)]
    longest = lengths.index(max(lengths))
    return min(legal, key=lambda cards: sum(1 for card in cards if SUIT[card] == longest))


def cards_text(cards: Sequence[int]) -> str:
    """Returns cards as people write them: ``TS 4H``."""
    return " ".join(TEXTS[card] for card in cards)
