"""counter: remembers every card, counts pips, and bids from what it can win. It does not look at the score.

The thought that carries it: all six cards of a hand get played. High goes to whoever plays the ace of trumps and Low to
whoever plays the low trump, so both are settled once trumps are named. *Bidding* is about all four points; *playing*
is about two, the jack and the Game point, and Game is counted in pips.
"""

from collections.abc import Iterable
from math import comb

from tournament.bot import CARDS, Card, View

VERSION = 1

PASS_WORTH = 0.6
"""Points that a seat wins on average when another holds the contract: a bid has to promise more."""

PIP = 0.05
"""What one pip is worth while the Game point is open: some twenty of them win it."""

JACK_KEEP = 0.5
"""What the jack of trumps is worth in the hand: so often it comes home in the end."""


class Bot:
    """Counts."""

    def bid(self, view: View) -> int:
        """Bids what promises most; the points are four coins whose chances can be worked out."""
        chances = max((four_chances(view, suit) for suit in "CDHS"), key=sum)
        spread = [1.0, 0.0, 0.0, 0.0, 0.0]  # spread[k]: how likely it is to win exactly k points
        for chance in chances:
            spread = [spread[k] * (1 - chance) + (spread[k - 1] * chance if k else 0.0) for k in range(5)]
        bids: list[int] = list(view.legal)
        return max(bids, key=lambda bid: (worth_of_bid(spread, bid), -bid))

    def discard(self, view: View) -> tuple[Card, ...]:
        """Keeps the hand that promises most; pips that go count for us already."""
        choices: list[tuple[Card, ...]] = list(view.legal)
        suit = max("CDHS", key=lambda suit: sum(four_chances(view, suit)))

        def worth(cards: tuple[Card, ...]) -> float:
            hand = [card for card in view.hand if card not in cards]
            return sum(four_chances(view, suit, hand)) + PIP * sum(card.pips for card in cards)

        return max(choices, key=worth)

    def play(self, view: View) -> Card:
        """Plays the card with the best balance of what it may win and what it gives up."""
        cards: list[Card] = list(view.legal)
        if view.trump is None:
            suit = max({card.suit for card in cards}, key=lambda suit: (sum(four_chances(view, suit, view.hand)), suit))
            cards = [card for card in cards if card.suit == suit]
            table = Table(view, suit)
        else:
            table = Table(view, view.trump)
        return max(cards, key=lambda card: (table.worth(card), -card.rank))


def four_chances(view: View, suit: str, hand: Iterable[Card] = ()) -> list[float]:
    """Returns the chances of High, Low, Jack and Game for our side, if we name `suit` as trumps."""
    wisconsin = view.rules.players == 4
    hand = list(hand or view.hand)
    known = {*view.hand, *view.discards}
    unseen = [card for card in CARDS if card.rank >= view.rules.lowest_rank and card not in known]
    ranks = [card.rank for card in hand if card.suit == suit]
    if not ranks:
        return [0.0] * 4
    out = [card.rank for card in unseen if card.suit == suit]
    in_play = 6 * (view.rules.players - 1) / len(unseen)  # how likely an unseen card is in another's hand
    ours = (in_play / 3 if wisconsin else 0.0) + (0 if view.taken else view.rules.bidder_takes / len(unseen))

    def none_in_play(cards: Iterable[int]) -> float:
        return (1 - in_play) ** len(list(cards))

    if view.rules.high == "ace":
        high = 1.0 if 14 in ranks else ours
    else:
        high = none_in_play(rank for rank in out if rank > max(ranks))
    low = (1.0 if 7 in ranks else ours) if wisconsin else none_in_play(rank for rank in out if rank < min(ranks))
    above = none_in_play(rank for rank in out if rank > 11)
    length = len(ranks) + sum(rank > 11 for rank in ranks)
    if 11 in ranks:
        jack = min(0.9, 0.3 + 0.5 * above + 0.04 * length)
    else:
        jack = min(0.7, in_play * (0.5 + 0.05 * length) if wisconsin else in_play * 0.08 * length)
    # A trick for each trump that is long or high, and for side aces; Game takes about half of them.
    tricks = sum(max(none_in_play(r for r in out if r > rank), 0.25) for rank in ranks)
    tricks += sum(none_in_play([0]) ** 2 for card in hand if card.suit != suit and card.rank == 14)
    tens = sum(card.pips == 10 for card in hand)
    base = 0.45 if wisconsin else 0.2 if view.rules.players == 2 else 0.1
    game = min(0.95, max(0.05, base + 0.17 * tricks + 0.05 * tens))
    return [high, low, jack, game]


def worth_of_bid(spread: list[float], bid: int) -> float:
    """Returns what a bid promises: the points if it is made, less the bid if it is not."""
    if not bid:
        return PASS_WORTH
    return sum(points * spread[points] for points in range(bid, 5)) - bid * sum(spread[:bid])


class Table:
    """What can be known of the other hands: which cards are out, who is void, who has how many pips."""

    def __init__(self, view: View, trump: str) -> None:
        """Remembers all cards of the deal."""
        self.view, self.trump = view, trump
        self.jack = Card("J" + trump)
        players = view.rules.players
        seen = {*view.hand, *view.discards}
        self.void: list[set[str]] = [set() for _ in range(players)]
        self.pips = [0] * view.rules.side_count
        self.pips[view.side] += sum(card.pips for card in view.discards)
        for trick in (*view.tricks, view.trick):
            seen.update(trick.cards)
            for seat, card in trick.plays(players):
                # A trump proves nothing, since anybody may trump; a third suit proves the lack of the suit led.
                if card.suit not in (trick.cards[0].suit, trump):
                    self.void[seat].add(trick.cards[0].suit)
            if trick.winner is not None:
                self.pips[view.rules.side_of(trick.winner)] += sum(card.pips for card in trick.cards)
        self.out = [card for card in CARDS if card.rank >= view.rules.lowest_rank and card not in seen]
        self.later = [(view.seat + step) % players for step in range(1, players - len(view.trick.cards))]
        others = max(score for side, score in enumerate(self.pips) if side != view.side)
        # Once a lead cannot be caught up with, pips are worth nothing any more.
        left = sum(card.pips for card in (*self.out, *view.hand, *view.trick.cards))
        self.pip = PIP if abs(self.pips[view.side] - others) <= left else 0.0

    def beats(self, card: Card, best: Card) -> bool:
        """Returns whether `card` takes the trick from `best`."""
        return card.index > best.index if card.suit == best.suit else card.suit == self.trump

    def held_by(self, seat: int, cards: list[Card]) -> float:
        """Returns how likely a seat holds at least one of these cards."""
        void = self.void[seat]
        possible = [card for card in self.out if card.suit not in void]
        wanted = sum(card.suit not in void for card in cards)
        played = sum(seat == who for trick in (*self.view.tricks, self.view.trick) for who, _ in
                     trick.plays(self.view.rules.players))  # fmt: skip
        size = min(6 - played, len(possible))
        return 1 - comb(len(possible) - wanted, size) / comb(len(possible), size) if possible else 0.0

    def worth(self, card: Card) -> float:
        """Returns what `card` promises in points: this trick, less what the card could do later."""
        view, rules = self.view, self.view.rules
        trick = [*view.trick.cards, card]
        best = trick[0]
        winner = view.trick.leader
        for place, other in enumerate(trick[1:], 1):
            if self.beats(other, best):
                best, winner = other, (view.trick.leader + place) % rules.players
        chance = 1.0 if rules.side_of(winner) == view.side else 0.0
        beaters = [other for other in self.out if self.beats(other, best)]
        for seat in self.later:
            held = self.held_by(seat, beaters)
            if rules.side_of(seat) == view.side:
                chance += (1 - chance) * held * 0.7
            else:
                chance *= 1 - held * 0.9
        stake = self.pip * (sum(other.pips for other in trick) + 0.5 * len(self.later))
        stake += 1.0 if self.jack in trick else 0.0
        return (2 * chance - 1) * stake - self.keep(card)

    def keep(self, card: Card) -> float:
        """Returns what a card may still win later."""
        if card is self.jack:
            return JACK_KEEP
        higher = sum(1 for other in self.out if other.suit == card.suit and other.rank > card.rank)
        return (0.25 if card.suit == self.trump else 0.1) * 0.6**higher
