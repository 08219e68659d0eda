"""A game: deals until the rules, a limit or a fault end it.

`Game` deals from the seed, keeps the scores, plays forced acts and the house's acts by itself and stops where a seat
has a choice. It knows nothing of bots or processes: a referee asks for an answer and calls `act_legal` or `fault`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import add
from typing import Any, Final, NamedTuple, Protocol

from tournament import seeds
from tournament.cards import LOWEST_FIRST
from tournament.deal import BID, DISCARD, PLAY, THROWN_IN, Action, Deal, IllegalAction
from tournament.rules import GameName, Rules, Win

BID_CODE = 0x40
"""Bids are told from cards in a game's acts by this bit: 0x40 is a pass, 0x42 a bid of two."""

# Plain names for these members: looking one up in its class costs more than the comparison, at every deal's end.
_CUTTHROAT: Final = GameName.CUTTHROAT
_BID_AT_TARGET: Final = Win.BID_AT_TARGET
_REACH_TARGET: Final = Win.REACH_TARGET

_HOUSE_RANK = {card: place for place, card in enumerate(LOWEST_FIRST)}


class End(StrEnum):
    """How play ended (replay format, `result.end`)."""

    TARGET = "target"
    BID_OF_FOUR = "bid_of_four"
    DEAL_LIMIT = "deal_limit"
    REDEAL_LIMIT = "redeal_limit"
    FORFEIT = "forfeit"


class FaultKind(StrEnum):
    """What a bot did wrong (replay format, Fault kinds)."""

    LOAD = "load"
    EXCEPTION = "exception"
    EXITED = "exited"
    KILLED = "killed"
    MEMORY = "memory"
    FORBIDDEN_CALL = "forbidden-call"
    TIMEOUT_CPU = "timeout-cpu"
    TIMEOUT_WALL = "timeout-wall"
    OFF_TURN = "off-turn"
    PROTOCOL = "protocol"
    INVALID = "invalid"
    ILLEGAL = "illegal"


@dataclass(frozen=True, slots=True)
class Fault:
    """A bot's fault and where in the game it happened.

    Attributes:
        seat: whose bot.
        kind: what it did.
        deal: number of the deal, from 1.
        attempt: which try at that deal, from 1.
        act: how many acts of that deal come before it; -1 for a fault at load.
    """

    seat: int
    kind: FaultKind
    deal: int
    attempt: int
    act: int

    def to_dict(self) -> dict[str, Any]:
        """Returns the fault as the replay document writes it."""
        return {
            "seat": self.seat,
            "kind": str(self.kind),
            "deal": self.deal,
            "attempt": self.attempt,
            "act": self.act,
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a game ended: why, and for whom; scores and places are one per side."""

    end: End
    winner: int | None
    scores: tuple[int, ...]
    places: tuple[int, ...]
    fault: Fault | None = None
    second_fault: Fault | None = None


class DealtDeal(NamedTuple):
    """One deal of a game with its number: the record that replays and histories are made from.

    `deck` is the shuffled deck, hands first; `scores` are those after the deal, None while it is played or if it was
    thrown in or cut off.
    """

    number: int
    attempt: int
    dealer: int
    deck: Sequence[int]
    deal: Deal
    scores: tuple[int, ...] | None


class Listener(Protocol):
    """Who is told what a game's acts alone do not say; the referee's question writer is one."""

    def deal_begun(self, dealt: DealtDeal) -> None:
        """A deal has been dealt."""

    def cards_taken(self, deal: Deal) -> None:
        """The bidding has ended and the bidder took its cards."""

    def cards_discarded(self, deal: Deal, act_start: int) -> None:
        """The bidder discarded; its discards are the game's acts from `act_start` on."""

    def deal_ended(self, dealt: DealtDeal) -> None:
        """A deal was scored or thrown in."""

    def house_plays(self, seat: int) -> None:
        """From now on the house plays `seat`."""


class Game:
    """One game between seats.

    Attributes:
        rules: the rules of the game.
        scores: one per side.
        dealt: every deal so far, thrown-in ones included.
        deal: the deal being played; None before the first.
        acts: all acts so far, a byte for each bid (with `BID_CODE`) and card, discards in hand order.
        house: the seats that the house plays on.
        faults: the faults so far, at most two.
        outcome: how the game ended; None while it is played.
        listener: told of what happens between acts, if set.
    """

    __slots__ = (
        "_attempt", "_first_dealer", "_number", "_shuffle", "_thrown_in", "acts", "deal", "dealt", "faults", "house",
        "listener", "outcome", "rules", "scores",
    )  # fmt: skip

    def __init__(
        self,
        rules: Rules,
        seed: str | None,
        *,
        shuffle: Callable[[int, int], Sequence[int]] | None = None,
        first_dealer: int | None = None,
    ) -> None:
        """Starts a game; the first deal is dealt by the first `advance`.

        Args:
            rules: the rules of the game.
            seed: the deal seed; None if the deals come from elsewhere.
            shuffle: gives the shuffled deck for a deal number and attempt; by default that of the seed.
            first_dealer: the seat that deals first; by default that of the seed.

        Raises:
            ValueError: there is neither a seed nor another source of deals.
        """
        if seed is None and (shuffle is None or first_dealer is None):
            raise ValueError("a game needs a seed, or a shuffle and a first dealer")
        self.rules = rules
        self.scores = [0] * rules.side_count
        self.dealt: list[DealtDeal] = []
        self.deal: Deal | None = None
        self.acts = bytearray()
        self.house: frozenset[int] = frozenset()
        self.faults: tuple[Fault, ...] = ()
        self.outcome: Outcome | None = None
        self.listener: Listener | None = None
        self._shuffle = shuffle or (lambda deal, attempt: seeds.shuffled(rules, seed or "", deal, attempt))
        self._first_dealer = seeds.first_dealer(seed or "", rules.players) if first_dealer is None else first_dealer
        self._number = 1
        self._attempt = 0
        self._thrown_in = 0

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self.outcome is not None

    @property
    def deals_begun(self) -> int:
        """How many deals have been dealt, thrown-in ones included."""
        return len(self.dealt)

    def start(self) -> None:
        """Deals the first deal, if that has not been done and the loads have left two sides."""
        if self.deal is None and self.outcome is None:
            self._next_deal()

    def advance(self) -> Sequence[Action]:
        """Plays on to the next choice: deals, forced acts and the house's acts.

        Returns:
            The legal actions, two or more, of the seat to act (`game.deal.seat`); nothing once the game is over.
        """
        if self.deal is None:
            self.start()
        while self.outcome is None:
            deal: Deal = self.deal  # type: ignore[assignment]  # begun by now
            legal = deal.legal()
            if self.house and deal.seat in self.house:
                self.act_legal(house_action(deal, legal))
            elif len(legal) > 1:
                return legal
            else:
                self.act_legal(legal[0])
        return ()

    def act(self, action: object) -> None:
        """Checks an action of the seat to act and carries it out.

        Raises:
            IllegalAction: the rules do not allow it, or the house plays this seat and plays otherwise.
        """
        deal = self.deal
        if deal is None or self.outcome is not None:
            raise IllegalAction("the game is over" if self.outcome else "no deal has begun")
        deal.check(action)
        if deal.seat in self.house and action != (expected := house_action(deal, deal.legal())):
            raise IllegalAction(f"the house plays seat {deal.seat} and chooses {expected}, not {action}")
        self.act_legal(action)  # type: ignore[arg-type]  # `check` has seen to it

    def act_legal(self, action: Action) -> None:
        """Carries out a legal action of the seat to act, unchecked."""
        deal: Deal = self.deal  # type: ignore[assignment]  # `advance` has begun one
        phase = deal.phase
        deal.act_legal(action)
        if phase is PLAY:
            self.acts.append(action)  # type: ignore[arg-type]  # in this phase an action is a card
            if deal.phase is not PLAY:
                self._end_deal(deal)
        elif phase is BID:
            self.acts.append(BID_CODE | action)  # type: ignore[operator]  # in this phase an action is a bid
            if deal.phase is THROWN_IN:
                self._end_deal(deal)
            elif deal.phase is DISCARD and self.listener is not None:
                self.listener.cards_taken(deal)
        else:
            start = len(self.acts)
            self.acts.extend(action)  # type: ignore[arg-type]  # in this phase an action is a tuple of cards
            if self.listener is not None:
                self.listener.cards_discarded(deal, start)

    def load_fault(self, seat: int, kind: FaultKind) -> None:
        """Records that the bot of `seat` could not be loaded; to be called in seat order before the first `advance`.

        Raises:
            ValueError: play has begun.
        """
        if self.dealt:
            raise ValueError("a fault at load comes before the first deal")
        self._fault(Fault(seat, kind, 1, 1, -1))

    def fault(self, seat: int, kind: FaultKind) -> None:
        """Records a fault of the seat to act, in place of its action.

        Raises:
            ValueError: it is not this seat's turn, it has no choice, or the house plays it.
        """
        deal = self.deal
        if deal is None or self.outcome is not None or deal.seat != seat or seat in self.house:
            raise ValueError(f"seat {seat} is not to act, so that it cannot fault")
        if len(deal.legal()) < 2:
            raise ValueError(f"seat {seat} has no choice here, so that it cannot fault")
        last = self.dealt[-1]
        self._fault(Fault(seat, kind, last.number, last.attempt, acts_in(deal)))

    def _fault(self, fault: Fault) -> None:
        if self.outcome is not None or fault.seat in self.house:
            raise ValueError(f"seat {fault.seat} cannot fault any more")
        self.faults += (fault,)
        if self.rules.side_count == 2 or len(self.faults) == 2:
            faulted = {self.rules.side_of(each.seat) for each in self.faults}
            self._end(End.FORFEIT, next(side for side in range(self.rules.side_count) if side not in faulted))
            return
        self.house |= {fault.seat}
        if self.listener is not None:
            self.listener.house_plays(fault.seat)

    def _next_deal(self) -> None:
        self._attempt += 1
        dealer = seeds.dealer_of(self._first_dealer, self._number, self.rules.players)
        cards = self._shuffle(self._number, self._attempt)
        hands, undealt = seeds.dealt(self.rules, cards)
        self.deal = Deal(self.rules, dealer, hands, undealt)
        dealt = DealtDeal(self._number, self._attempt, dealer, cards, self.deal, None)
        self.dealt.append(dealt)
        if self.listener is not None:
            self.listener.deal_begun(dealt)

    def _end_deal(self, deal: Deal) -> None:
        rules = self.rules
        finished: tuple[End, int | None] | None = None
        if deal.phase is THROWN_IN:
            self._thrown_in += 1
            if self._thrown_in >= rules.redeal_limit:
                finished = (End.REDEAL_LIMIT, None)
        else:
            before = self.scores
            self.scores = scores_after(rules, before, deal)
            self.dealt[-1] = DealtDeal(*self.dealt[-1][:5], tuple(self.scores))
            finished = deal_winner(rules, before, self.scores, deal, self.house)
            if finished is None and self._number >= rules.deal_limit:
                finished = (End.DEAL_LIMIT, None)
            self._thrown_in = self._attempt = 0
            self._number += 1
        if self.listener is not None:
            self.listener.deal_ended(self.dealt[-1])
        if finished is None:
            self._next_deal()
        else:
            self._end(*finished)

    def _end(self, end: End, winner: int | None) -> None:
        faulted = frozenset(self.rules.side_of(fault.seat) for fault in self.faults)
        fault, second = (*self.faults, None, None)[:2]
        places = places_of(self.scores, winner, faulted)
        self.outcome = Outcome(end, winner, tuple(self.scores), places, fault, second)


def acts_in(deal: Deal) -> int:
    """Returns how many acts a deal has seen: bids, the discard, cards."""
    return len(deal.bids) + bool(deal.discards) + sum(len(trick.cards) for trick in deal.tricks) + len(deal.trick)


def house_action(deal: Deal, legal: Sequence[Action]) -> Action:
    """Returns what the house does for a faulted seat: it passes, and plays its lowest legal card."""
    if deal.phase is BID:
        return 0
    return min(legal, key=_HOUSE_RANK.__getitem__)  # type: ignore[arg-type]  # the house never discards: two sides forfeit


def scores_after(rules: Rules, before: Sequence[int], deal: Deal) -> list[int]:
    """Returns the scores after a played deal, one per side (rules.md 1.8 and part 4, `cap_defenders`)."""
    after = list(map(add, before, deal.changes))
    if rules.cap_defenders:
        bidding = rules.side_of(deal.bidder)
        for side, score in enumerate(before):
            if side != bidding:
                after[side] = min(after[side], max(score, rules.target))
    return after


def deal_winner(
    rules: Rules, before: Sequence[int], after: Sequence[int], deal: Deal, house: frozenset[int]
) -> tuple[End, int] | None:
    """Returns how and for which side a played deal ends the game, or None (rules.md parts 2 to 4).

    A seat that the house plays never wins; it exists only where a seat is a side.
    """
    bidding = rules.side_of(deal.bidder)
    if rules.win is _REACH_TARGET:
        reached = [side for side, score in enumerate(after) if score >= rules.target and side not in house]
        top = [side for side in reached if after[side] == max(after[other] for other in reached)]
        winner = bidding if bidding in top else top[0] if len(top) == 1 else None
    else:
        held = before if rules.win is _BID_AT_TARGET else after
        winner = bidding if held[bidding] >= rules.target and deal.made and bidding not in house else None
    if deal.bid == 4 and rules.game is _CUTTHROAT and before[bidding] >= 1 and deal.made and bidding not in house:
        return End.BID_OF_FOUR, bidding
    return None if winner is None else (End.TARGET, winner)


def places_of(scores: Sequence[int], winner: int | None, faulted: frozenset[int]) -> tuple[int, ...]:
    """Returns each side's place: the winner first, then by score, faulted sides last; equals share a place.

    >>> places_of([3, 14, 7], 1, frozenset()), places_of([9, 2, 5], 2, frozenset({0, 1}))
    ((3, 1, 2), (2, 2, 1))
    """
    keys = [(side == winner, side not in faulted, 0 if side in faulted else score) for side, score in enumerate(scores)]
    return tuple(1 + sum(1 for other in keys if other > key) for key in keys)
