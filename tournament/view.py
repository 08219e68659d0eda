"""The view: what a bot is handed when it has to act, and how it looks ahead from there.

A view is made with its legal actions only; its reader (`tournament.observation`) fills in all other fields when one of
them is first looked at (docs/decisions/0002).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from tournament.cards import Card
from tournament.deal import DISCARD, Deal, Points
from tournament.rules import Limits, Rules


class Bid(NamedTuple):
    """One call of the bidding; `bid` 0 is a pass."""

    seat: int
    bid: int


class Trick(NamedTuple):
    """A trick: `cards` in playing order, the leader's first; `winner` is None while it is played."""

    leader: int
    cards: tuple[Card, ...]
    winner: int | None

    def plays(self, players: int) -> tuple[tuple[int, Card], ...]:
        """Returns who played which card, as (seat, card) in playing order."""
        return tuple(((self.leader + place) % players, card) for place, card in enumerate(self.cards))


class PastDeal(NamedTuple):
    """The public record of an earlier deal of this game.

    Thrown-in deals have no bidder (None), a bid of 0, no trump, no tricks and no points (None); `scores` are those
    after the deal, one per side.
    """

    deal: int
    attempt: int
    dealer: int
    bids: tuple[Bid, ...]
    bidder: int | None
    bid: int
    trump: str | None
    tricks: tuple[Trick, ...]
    points: Points | None
    scores: tuple[int, ...]


class View:
    """Everything one seat may know when it has to act, and nothing else. It cannot be changed.

    Attributes:
        rules: the rules of this game.
        limits: the time and memory limits.
        seat: your seat, 0 to players - 1, clockwise.
        side: whom you score for: your seat, or 0 for seats 0 and 2 and 1 for seats 1 and 3 in Wisconsin.
        dealer: the seat that dealt this deal; the seat to its left speaks first.
        deal: number of this deal, from 1.
        attempt: which try at this deal; more than 1 after a thrown-in deal.
        hand: your cards, as dealt, then those you took, less those that are gone.
        legal: the actions you may answer: bids for `bid`, cards for `play`, tuples of cards for `discard`.
        bids: the bids of this deal so far.
        bidder: the seat whose bid stands; None if nobody has bid.
        bid: the bid that stands; 0 if nobody has bid.
        trump: "C", "D", "H" or "S"; None before the first lead.
        trick: the trick being played; no cards if you lead.
        tricks: the complete tricks of this deal.
        scores: one per side, before this deal.
        taken: the cards you took as bidder; always empty for other seats.
        discards: the cards you discarded as bidder; always empty for other seats.
        history: the earlier deals of this game, thrown-in ones included.
        house: the seats whose bots are out and that the house plays on.
    """

    __slots__ = ("__dict__", "_origin")

    rules: Rules
    limits: Limits
    seat: int
    side: int
    dealer: int
    deal: int
    attempt: int
    hand: tuple[Card, ...]
    legal: tuple[Any, ...]
    bids: tuple[Bid, ...]
    bidder: int | None
    bid: int
    trump: str | None
    trick: Trick
    tricks: tuple[Trick, ...]
    scores: tuple[int, ...]
    taken: tuple[Card, ...]
    discards: tuple[Card, ...]
    history: tuple[PastDeal, ...]
    house: tuple[int, ...]

    if not TYPE_CHECKING:  # for type checkers the attributes are just there; they are filled in when first looked at

        def __getattr__(self, name):
            if name not in VIEW_FIELDS:
                raise AttributeError(f"a view has no {name!r}; it has {', '.join(VIEW_FIELDS)}")
            reader, end, legal = self._origin
            if name == "legal":
                actions = self.__dict__["legal"] = reader.discards(legal)
                return actions
            reader.fill(self, end, legal)
            return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a view cannot be changed: tried to set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a view cannot be changed: tried to delete {name}")

    def __copy__(self) -> View:
        return self

    def __deepcopy__(self, memo: object) -> View:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a view cannot be pickled: it belongs to its game")

    def __repr__(self) -> str:
        return f"View({', '.join(f'{name}={getattr(self, name)!r}' for name in VIEW_FIELDS if name != 'history')})"

    def imagine(
        self, hands: Sequence[Sequence[Card]], discards: Sequence[Card] = (), undealt: Sequence[Card] = ()
    ) -> Deal:
        """Returns the engine's deal at this point, if the seats held these cards: the way into a search.

        Args:
            hands: for each seat the cards it holds now; your own as in `hand`.
            discards: where another seat took cards and discarded, the cards it gave up.
            undealt: where nobody has taken cards yet, the cards left over, front first.

        Raises:
            ValueError: `discards` or `undealt` are needed and there are too few.
        """
        rules = self.rules
        held = [[card.index for card in hand] for hand in hands]
        tricks = (*self.tricks, self.trick)
        for trick in tricks:
            for seat, card in trick.plays(rules.players):
                held[seat].append(card.index)
        if self.taken and not self.discards:  # to be discarded from now: the bidding below takes them again
            front = [card.index for card in self.taken]
            held[self.seat] = [index for index in held[self.seat] if index not in front]
        elif self.trump is not None or self.trick.cards or self.discards:
            # Which of its cards the bidder took makes no difference any more: only what it gave up counts.
            front = [card.index for card in (self.discards or discards)]
        else:
            front = [card.index for card in undealt]
        if len(front) < rules.bidder_takes:
            raise ValueError(f"{len(front)} cards to take or given up: expected at least {rules.bidder_takes}")
        deal = Deal(rules, self.dealer, held, front)
        for bid in self.bids:
            deal.act_legal(bid.bid)
        if deal.phase is DISCARD and not (self.taken and not self.discards):
            deal.act_legal(tuple(front))
        for trick in tricks:
            for card in trick.cards:
                deal.act_legal(card.index)
        return deal


VIEW_FIELDS: Final[tuple[str, ...]] = (
    "rules", "limits", "seat", "side", "dealer", "deal", "attempt", "hand", "legal", "bids", "bidder", "bid", "trump",
    "trick", "tricks", "scores", "taken", "discards", "history", "house",
)  # fmt: skip
"""The names that a view has, in the order of the guide."""

# The ways round `View.__setattr__`, for readers.
new_view = object.__new__
set_fields, set_origin = (View.__dict__[name].__set__ for name in ("__dict__", "_origin"))
