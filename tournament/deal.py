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

from tournament.cards import PIPS, POWER, SUIT, SUIT_CARDS, TEXTS
from tournament.rules import HAND_SIZE, High, Rules

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
_HIGHEST_IN_PLAY: Final = High.HIGHEST_IN_PLAY  # a plain name: looking a member up costs more than the comparison
_SEVEN, _JACK, _ACE = 5, 9, 12  # a card's integer modulo 13
_CARDS_WITHOUT: Final = tuple(  # by a bit for each suit left out
    frozenset().union(*(cards for suit, cards in enumerate(SUIT_CARDS) if not left_out >> suit & 1))
    for left_out in range(16)
)
_WISCONSIN_SIDES: Final[tuple[int, ...]] = (0, 1, 0, 1)
_CUTTHROAT_SIDES: Final[tuple[int, ...]] = (0, 1, 2)


class IllegalAction(ValueError):
    """An action that the rules do not allow here; its text says why."""


class Trick(NamedTuple):
    """A complete trick: who led, the cards in playing order, and the seat that won it."""

    leader: int
    cards: tuple[int, ...]
    winner: int


# `Trick(...)` goes through a function of Python that does just this, and takes twice as long.
_new_trick: Final = tuple.__new__


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
        "_best", "_best_seat", "_led", "_openers", "_players", "_points", "_power", "_sides", "bid", "bidder", "bids",
        "dealer", "discards", "hands", "leader", "phase", "pips", "rules", "seat", "taken", "trick", "tricks", "trump",
        "undealt",
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
        self._players = players = rules.players
        self.seat = (dealer + 1) % players
        self.bids: list[int] = []
        self.bid = 0
        self.bidder = -1
        self.taken: tuple[int, ...] = ()
        self.discards: tuple[int, ...] = ()
        self.trump = -1
        self.leader = -1
        self.trick: list[int] = []
        self.tricks: list[Trick] = []
        if players == 4:
            self._sides, self.pips = _WISCONSIN_SIDES, [0, 0]
        else:
            self._sides, self.pips = _CUTTHROAT_SIDES, [0] * players
        self._openers: frozenset[int] | None = None  # what the first lead may be, where discards limit it
        self._led = SUIT_CARDS[0]  # the cards of the suit led, and each card's power; set by every lead
        self._power = POWER[0][0]
        self._best = self._best_seat = -1  # the power of the best card of the trick, and whose it is
        self._points: Points | None = None  # counted once, when the deal ends

    def __init_subclass__(cls) -> None:
        raise TypeError("Deal is no base class, compiled it cannot be one: hold a deal instead")

    def copy(self) -> Deal:
        """Returns an independent deal in the same state, for a bot that searches."""
        other = Deal(self.rules, self.dealer, self.hands, self.undealt)
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
        other._openers = self._openers
        other._led = self._led
        other._power = self._power
        other._best = self._best
        other._best_seat = self._best_seat
        other._points = self._points
        return other

    def __copy__(self) -> Deal:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Deal:
        return self.copy()

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
        phase = self.phase
        if phase is PLAY:
            hand = self.hands[self.seat]
            if self.trick:
                # Follow suit or trump; who holds no card of the suit led may play anything (rules.md 1.6).
                if self._led.isdisjoint(hand):
                    return hand[:]
                power = self._power
                return [card for card in hand if power[card]]
            if self._openers is None or self.tricks:
                return hand[:]
            return [card for card in hand if card in self._openers]
        if phase is BID:
            return _LEGAL_BIDS[self.bid]
        if phase is DISCARD:
            return legal_discards(self.hands[self.seat], len(self.taken))
        return ()

    def check(self, action: object) -> None:
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

    def _check_bid(self, action: object) -> None:
        if type(action) is not int or action not in (0, 2, 3, 4):
            raise IllegalAction(f"bid {action!r:.40}: expected 0 to pass, or 2, 3 or 4")
        if action and action <= self.bid:
            raise IllegalAction(f"bid {action}: the bid stands at {self.bid}, expected more, or 0 to pass")

    def _check_card(self, action: object) -> None:
        hand = self.hands[self.seat]
        if type(action) is not int or action not in hand:
            text = TEXTS[action] if type(action) is int and 0 <= action < 52 else repr(action)[:40]
            raise IllegalAction(f"card {text}: not in the hand {cards_text(hand)}")
        if action not in self.legal():
            if self.trick:
                led = "CDHS"[SUIT[self.trick[0]]]
                raise IllegalAction(f"card {TEXTS[action]}: {led} was led and is held, expected {led} or a trump")
            raise IllegalAction(f"card {TEXTS[action]}: its suit cannot be trumps, cards of it were discarded")

    def _check_discards(self, action: object) -> None:
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

    def act(self, action: object) -> None:
        """Checks an action of the seat to act and carries it out.

        Raises:
            IllegalAction: the rules do not allow it; nothing has changed then.
        """
        self.check(action)
        self.act_legal(action)  # type: ignore[arg-type]  # `check` has seen to it

    def act_legal(self, action: Action) -> None:
        """Carries out one of the actions that `legal` lists, unchecked: for referees and searches."""
        # The play of a card, most of all acts, stands here and not in a method: a call would cost a tenth.
        if self.phase is not PLAY:
            if self.phase is BID:
                self._bid(action)  # type: ignore[arg-type]  # phases and actions go together, by the contract above
            else:
                self._discard(action)  # type: ignore[arg-type]
            return
        card: int = action  # type: ignore[assignment]
        seat, trick = self.seat, self.trick
        self.hands[seat].remove(card)
        if trick:
            power = self._power[card]
            if power > self._best:
                self._best, self._best_seat = power, seat
        else:
            suit = SUIT[card]
            if self.trump < 0:
                self.trump = suit
            self._led = SUIT_CARDS[suit]
            self._power = powers = POWER[self.trump][suit]
            self._best, self._best_seat = powers[card], seat
        trick.append(card)
        if len(trick) == self._players:
            self._end_trick(trick)
        else:
            seat += 1
            self.seat = seat if seat < self._players else 0

    def _bid(self, bid: int) -> None:
        self.bids.append(bid)
        if bid:
            self.bid, self.bidder = bid, self.seat
        if bid != 4 and self.seat != self.dealer:
            self.seat = (self.seat + 1) % self._players
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
        self.discards = cards
        side = self._sides[self.seat]
        broken = 0
        for card in cards:
            hand.remove(card)
            self.pips[side] += PIPS[card]
            broken |= 1 << SUIT[card]
        # What `trump_suits` says of the six cards left: whole suits, and a single one of which the surplus went.
        left = {SUIT[card] for card in hand}
        self._openers = SUIT_CARDS[left.pop()] if len(left) == 1 else _CARDS_WITHOUT[broken]
        self.phase = PLAY

    def _end_trick(self, trick: list[int]) -> None:
        winner = self._best_seat
        pips = 0
        for card in trick:
            pips += PIPS[card]
        self.pips[self._sides[winner]] += pips
        tricks = self.tricks
        tricks.append(_new_trick(Trick, (self.leader, tuple(trick), winner)))
        trick.clear()
        self.seat = self.leader = winner
        if len(tricks) == HAND_SIZE:
            self._points = self._count_points()
            self.phase = DONE

    # What came of it ---------------------------------------------------------------------------------------------

    @property
    def points(self) -> Points:
        """Which side has won each of the four points so far; final once the phase is DONE (rules.md 1.7)."""
        return self._points or self._count_points()

    def _count_points(self) -> Points:
        sides, players = self._sides, self._players
        trumps = SUIT_CARDS[self.trump] if self.trump >= 0 else frozenset()
        players_of: dict[int, int] = {}
        jack = None
        for leader, cards, winner in (*self.tricks, (self.leader, self.trick, -1)):
            if not trumps.isdisjoint(cards):
                for place, card in enumerate(cards, leader):
                    if card in trumps:
                        players_of[card] = place % players
                        if card % 13 == _JACK and winner >= 0:
                            jack = sides[winner]
        high = low = None
        if players_of:
            top, bottom = max(players_of), min(players_of)
            if top % 13 == _ACE or self.rules.high is _HIGHEST_IN_PLAY:
                high = sides[players_of[top]]
            if self._sides is _CUTTHROAT_SIDES or bottom % 13 == _SEVEN:
                low = sides[players_of[bottom]]
        pips = self.pips
        most = max(pips)
        return Points(high, low, jack, pips.index(most) if pips.count(most) == 1 else None)

    @property
    def won(self) -> list[int]:
        """How many of the four points each side has won, before the bid is looked at."""
        count = self.points.count
        return [count(side) for side in range(len(self.pips))]

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
    for suit, cards in enumerate(SUIT_CARDS):
        held = len(cards.intersection(hand))
        if held and len(cards.intersection(discards)) == max(0, held - HAND_SIZE):
            suits.append(suit)
    return suits


def legal_discards(hand: Sequence[int], count: int) -> list[tuple[int, ...]]:
    """Returns every way to discard `count` cards that leaves a suit to be led as trumps, in `itertools` order."""
    suits = [SUIT[card] for card in hand]
    held = len({*suits})
    everything = itertools.combinations(hand, count)
    if held > count:
        return list(everything)  # with more suits than discards one suit always stays whole
    if max(map(suits.count, suits)) > HAND_SIZE:
        return [cards for cards in everything if trump_suits(hand, cards)]
    broken = itertools.combinations(suits, count)
    return [cards for cards, gone in zip(everything, broken, strict=True) if len({*gone}) < held]


def default_discards(hand: Sequence[int], legal: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Returns the discards of a bot that has no method for it (replay format, Order of actions).

    Of the legal discards the one with the fewest cards of the longest suit of the hand, the first of C D H S where
    suits are level; then the first in order.
    """
    lengths = [len(cards.intersection(hand)) for cards in SUIT_CARDS]
    longest = lengths.index(max(lengths))
    others = [card for card in hand if SUIT[card] != longest]
    count = len(legal[0])
    if len(others) >= count and lengths[longest] <= HAND_SIZE:
        return tuple(others[:count])  # the longest suit stays whole: legal, and none without its cards comes before it
    return min(legal, key=lambda cards: sum(1 for card in cards if SUIT[card] == longest))


def cards_text(cards: Sequence[int]) -> str:
    """Returns cards as people write them: ``TS 4H``."""
    return " ".join(TEXTS[card] for card in cards)
