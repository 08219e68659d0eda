"""searcher: imagines where the hidden cards may be, tries every action in each such world, takes the best on average.

A world is a deal of the unseen cards that fits all that was seen: the cards played, the suits that seats have shown not
to hold, the bids, what may be discarded. Before the third trick a world is played out by rules of thumb; from the third
on it is searched exactly, by the real rules, as if all cards lay open.

The end of a world is worth our change of score less the other side's, and the game on top if it wins or loses it. With
three at the table it is our own change of score alone, and the search takes both others to play against us. The number
of worlds is fixed and no clock is looked at, so that a game can be played again.
"""

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

from tournament.bot import CARDS, Card, Deal, Phase, Points, View
from tournament.cards import PIPS, POWER, SUIT
from tournament.game import deal_winner, scores_after

VERSION = 1

WORLDS = {Phase.BID: 100, Phase.DISCARD: 16, Phase.PLAY: 20}
"""How many worlds are played out for a decision before the third trick."""

SEARCHED = (0, 0, 4, 10, 16)
"""How many worlds are searched, by the number of tricks that lie: late ones take little."""

DRAWS = 3
"""How many deals of the unseen cards are drawn for a world; the one that fits the bids best is taken."""

GAME_WORTH = 10.0
"""What the game is worth, in points."""


class Bot:
    """Samples and searches."""

    def bid(self, view: View) -> int:
        """Lets thumbs bid on after each bid, and play out what the bidder got."""
        judge, worlds = Judge(view), Worlds(view)
        totals: dict[int, float] = dict.fromkeys(view.legal, 0.0)
        for _ in range(WORLDS[Phase.BID]):
            deal = worlds.draw()
            ends: dict[int, Deal] = {}  # by bidder: the thumbs play alike, however high it bid
            for bid in totals:
                after = deal.copy()
                after.act_legal(bid)
                while after.phase is Phase.BID:
                    after.act_legal(thumb(after, view.scores))
                end = ends.setdefault(after.bidder, after)
                while not end.over:
                    end.act_legal(thumb(end, view.scores))
                end.bid = after.bid
                totals[bid] += judge.worth(end)
        return max(totals, key=lambda bid: totals[bid])

    def discard(self, view: View) -> tuple[Card, ...]:
        """Tries one way for each suit that may become trumps: the suit and the winners stay."""
        hand = [card.index for card in view.hand]
        ways = {keep_for(hand, suit, len(view.legal[0])) for suit in range(4)}
        choices = [cards for cards in view.legal if as_engine(cards) in ways] or list(view.legal[:1])
        cards: tuple[Card, ...] = self.best(view, choices, WORLDS[Phase.DISCARD])
        return cards

    def play(self, view: View) -> Card:
        """Tries every card."""
        card: Card = self.best(view, view.legal, SEARCHED[len(view.tricks)] or WORLDS[Phase.PLAY])
        return card

    def best(self, view: View, actions: Sequence[Any], count: int) -> Any:
        """Returns the action that does best, summed over the same worlds for all."""
        judge, worlds = Judge(view), Worlds(view)
        totals = [0.0] * len(actions)
        for _ in range(count):
            deal = worlds.draw()
            for place, action in enumerate(actions):
                after = deal.copy()
                after.act_legal(as_engine(action))
                while len(view.tricks) < 2 and not after.over:
                    after.act_legal(thumb(after, view.scores))
                totals[place] += judge.search(after, -99.0, 99.0)
        return actions[totals.index(max(totals))]


def as_engine(action: Any) -> Any:
    """Returns a card or discards as the engine writes them: cards are integers."""
    return action.index if isinstance(action, Card) else tuple(card.index for card in action)


class Judge:
    """Says what the end of a deal is worth to our side."""

    def __init__(self, view: View) -> None:
        """Remembers the scores before the deal."""
        self.rules, self.side, self.before, self.house = view.rules, view.side, view.scores, frozenset(view.house)
        self.known: dict[tuple[int, int, Points], float] = {}

    def worth(self, deal: Deal) -> float:
        """Returns the worth of a deal that is over; bidder, bid and points decide it."""
        key = deal.bidder, deal.bid, deal.points
        if key not in self.known:
            after = scores_after(self.rules, self.before, deal)
            changes = [new - old for new, old in zip(after, self.before, strict=True)]
            worth = float(changes[self.side])
            if len(changes) == 2:
                worth -= changes[1 - self.side]
            won = deal_winner(self.rules, self.before, after, deal, self.house)
            if won is not None:
                worth += GAME_WORTH if won[1] == self.side else -GAME_WORTH
            self.known[key] = worth
        return self.known[key]

    def search(self, deal: Deal, low: float, high: float) -> float:
        """Returns the worth of a deal if our side plays for the most and all others for the least (alpha-beta).

        Args:
            deal: the deal; it is played on in place.
            low: what we can have elsewhere: as soon as a branch gives no more, it is left.
            high: what the others can hold us to elsewhere.
        """
        cards: Any = deal.legal()
        while len(cards) == 1 or (cards and not deal.trick and settled(deal)):
            deal.act_legal(cards[0])
            cards = deal.legal()
        if not cards:
            return self.worth(deal)
        ours = self.rules.side_of(deal.seat) == self.side
        for card in cards:
            after = deal.copy()
            after.act_legal(card)
            worth = self.search(after, low, high)
            if ours:
                low = max(low, worth)
            else:
                high = min(high, worth)
            if low >= high:
                break
        return low if ours else high


def settled(deal: Deal) -> bool:
    """Returns whether play can change nothing more: the jack is gone and the pips left cannot turn the Game point.

    High and Low are no matter of play: a hand plays all its cards.
    """
    left = [card for hand in deal.hands for card in hand]
    second, first = sorted(deal.pips)[-2:]
    return deal.trump * 13 + 9 not in left and first - second > sum(PIPS[card] for card in left)


class Worlds:
    """Draws deals of the unseen cards that fit all that was seen."""

    def __init__(self, view: View) -> None:
        """Notes what is known of each hand."""
        self.view = view
        players = view.rules.players
        self.played: list[list[Card]] = [[] for _ in range(players)]
        self.void: list[set[str]] = [set() for _ in range(players)]
        for trick in (*view.tricks, view.trick):
            for seat, card in trick.plays(players):
                self.played[seat].append(card)
                if card.suit not in (trick.cards[0].suit, view.trump):  # a trump proves nothing
                    self.void[seat].add(trick.cards[0].suit)
        known = {*view.hand, *view.discards, *(card for cards in self.played for card in cards)}
        self.unseen = [card for card in CARDS if card.rank >= view.rules.lowest_rank and card not in known]
        self.sizes = [0 if seat == view.seat else 6 - len(cards) for seat, cards in enumerate(self.played)]
        # After the hands come the discards, where another seat has made some: no trump is among them.
        self.sizes.append(view.rules.bidder_takes if view.trump and view.bidder != view.seat else 0)
        self.void.append({view.trump} if view.trump else set())

    def draw(self) -> Deal:
        """Returns the deal at this point in one world."""
        view, players = self.view, self.view.rules.players
        others = [each for each in view.bids if each.seat != view.seat]

        def misfit(hands: list[list[Card]]) -> float:
            total = 0.0
            for seat, bid in others:
                worth = max(promises([card.index for card in (*hands[seat], *self.played[seat])], players))
                total += max(0.0, bid - worth if bid else worth - 2.5)
            return total

        best = min((self.deal_out() for _ in range(DRAWS if others else 1)), key=misfit)
        *hands, discards, rest = best
        hands[view.seat] = list(view.hand)
        return view.imagine(hands, discards, rest)

    def deal_out(self) -> list[list[Card]]:
        """Returns hands without the suits that are void, and the rest; drawn again until it comes out."""
        order = sorted(range(len(self.sizes)), key=lambda place: -len(self.void[place]))
        while True:
            rest = random.sample(self.unseen, len(self.unseen))
            hands: list[list[Card]] = [[] for _ in order]
            for place in order:
                void, size = self.void[place], self.sizes[place]
                hands[place] = ([card for card in rest if card.suit not in void] if void else rest)[:size]
                rest = [card for card in rest if card not in hands[place]] if void else rest[size:]
            if [len(hand) for hand in hands] == self.sizes:
                return [*hands, rest]


@cache
def promise(ranks: int, players: int) -> float:
    """Returns the points that a suit promises as trumps; bit 0 of `ranks` is the two, bit 12 the ace."""
    if not ranks:
        return 0.0
    lowest = (ranks & -ranks).bit_length() - 1
    low = float(lowest == 5) if players == 4 else (0.86 if players == 2 else 0.74) ** lowest
    high = 1.0 * (ranks >> 12 & 1) + 0.3 * (ranks >> 11 & 1)
    return high + low + 0.5 * (ranks >> 9 & 1) + 0.22 * ranks.bit_count()


def promises(hand: Sequence[int], players: int) -> list[float]:
    """Returns what each suit of a hand promises."""
    cards = sum(1 << card for card in hand)
    return [promise(cards >> 13 * suit & 0x1FFF, players) for suit in range(4)]


def keep_for(hand: list[int], suit: int, count: int) -> tuple[int, ...]:
    """Returns the discards, in hand order, that keep `suit` and then high cards; tens go first, they count already."""
    gone = sorted(hand, key=lambda card: (SUIT[card] == suit, -1 if PIPS[card] == 10 else card % 13))[:count]
    return tuple(card for card in hand if card in gone)


def thumb(deal: Deal, scores: Sequence[int]) -> Any:
    """Returns what a sensible player might do, at little cost."""
    legal: Any = deal.legal()
    if deal.trump >= 0:
        return thumb_card(deal, legal)
    hand = deal.hands[deal.seat]
    worth = promises(hand, deal.rules.players)
    if deal.phase is Phase.BID:
        eager = scores[deal.rules.side_of(deal.seat)] >= deal.rules.target  # only a bidder can win there
        return max(bid for bid in legal if bid <= max(worth) + eager)
    if deal.phase is Phase.DISCARD:
        cards = keep_for(hand, worth.index(max(worth)), len(deal.taken))
        return cards if cards in legal else legal[0]
    return max(legal, key=lambda card: (worth[SUIT[card]], card))


def thumb_card(deal: Deal, cards: list[int]) -> int:
    """Returns a sensible card: high trumps and aces lead; cheap winners, and tens to the partner."""
    jack = deal.trump * 13 + 9
    if not deal.trick:
        high = [card for card in cards if card % 13 > 9]
        return max(high, key=lambda card: (SUIT[card] == deal.trump, card), default=min(cards, key=PIPS.__getitem__))
    power = POWER[deal.trump][SUIT[deal.trick[0]]]
    best = max(deal.trick, key=power.__getitem__)
    winners = [card for card in cards if power[card] > power[best]]
    last = len(deal.trick) == deal.rules.players - 1
    if deal.rules.players == 4 and deal.trick[-2:-1] == [best] and (last or best % 13 == 12):
        return max(cards, key=lambda card: (card == jack, PIPS[card]))
    if winners and last:
        return max(winners, key=lambda card: (card == jack, PIPS[card], -card))
    if winners and max(winners) % 13 > 10:
        return max(winners)
    return min(cards, key=lambda card: (card == jack, PIPS[card], SUIT[card] == deal.trump, card))
