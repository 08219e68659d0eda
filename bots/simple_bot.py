"""simple: a page of rules of thumb, each said in one line. It looks at the cards before it and remembers nothing."""

from tournament.bot import Card, View

VERSION = 1


class Bot:
    """Bids what its best suit looks worth and plays by rules of thumb."""

    def bid(self, view: View) -> int:
        """Bids the worth of the best suit, rounded down, if that is more than the bid that stands."""
        worth = max(worth_as_trump(view, suit) for suit in "CDHS")
        bid = min(4, int(worth))
        return bid if bid in view.legal else 0

    def discard(self, view: View) -> tuple[Card, ...]:
        """Keeps the trumps to be, then the high cards; of those that go, tens count for us."""
        trump = max("CDHS", key=lambda suit: worth_as_trump(view, suit))

        def kept_rank(cards: tuple[Card, ...]) -> int:
            return sum(100 if card.suit == trump else 0 if card.rank == 10 else card.rank for card in cards)

        choice: tuple[Card, ...] = min(view.legal, key=kept_rank)
        return choice

    def play(self, view: View) -> Card:
        """Leads trumps from the top; takes what is worth taking as cheaply as it can; else throws its least card."""
        legal: list[Card] = list(view.legal)
        if not view.trick.cards:
            return self.lead(view, legal)
        best = winning_card(view)
        winners = [card for card in legal if beats(card, best, view.trump)]
        last = len(view.trick.cards) == view.rules.players - 1
        partner_wins = view.rules.players == 4 and view.trick.cards[-2:-1] == (best,)
        if partner_wins:
            # A ten for our side; a jack of trumps is brought home by the partner's higher trump.
            return max(legal, key=lambda card: (is_jack(card, view), card.pips)) if last else least(view, legal)
        if winners and last:
            worth = [card for card in winners if card.pips == 10 or is_jack(card, view)]
            if worth:
                return worth[0]  # nobody can take it from us any more
            if any(card.pips for card in view.trick.cards):
                return min(winners)
        elif winners and (max(winners).rank == 14 or any(card.pips >= 4 for card in view.trick.cards)):
            return max(winners)
        return least(view, legal)

    def lead(self, view: View, legal: list[Card]) -> Card:
        """Leads the best suit first, high trumps after that, then aces, then the least card."""
        if view.trump is None:
            return max(legal, key=lambda card: (worth_as_trump(view, card.suit), card.rank))
        high = [card for card in legal if card.suit == view.trump and card.rank >= 12]
        aces = [card for card in legal if card.rank == 14]
        return max(high or aces, default=least(view, legal))


def worth_as_trump(view: View, suit: str) -> float:
    """Returns about how many of the four points the hand may win with `suit` as trumps."""
    ranks = [card.rank for card in view.hand if card.suit == suit]
    if not ranks:
        return 0.0
    high = 1.0 if 14 in ranks else 0.0  # whoever plays the ace has High
    low = 0.6 if min(ranks) <= (7 if view.rules.players == 4 else 3) else 0.0  # Low is ours, whoever takes it
    jack = 0.5 if 11 in ranks else 0.0  # the jack has to be brought home
    return high + low + jack + 0.2 * len(ranks)  # many trumps win tricks, and so the Game point


def winning_card(view: View) -> Card:
    """Returns the card that is winning the trick."""
    best = view.trick.cards[0]
    for card in view.trick.cards[1:]:
        if beats(card, best, view.trump):
            best = card
    return best


def beats(card: Card, best: Card, trump: str | None) -> bool:
    """Returns whether `card` takes the trick from `best`."""
    return card.rank > best.rank if card.suit == best.suit else card.suit == trump


def is_jack(card: Card, view: View) -> bool:
    """Returns whether `card` is the jack of trumps, a point by itself."""
    return card.rank == 11 and card.suit == view.trump


def least(view: View, cards: list[Card]) -> Card:
    """Returns the card that costs least: not the jack of trumps, few pips, no trump, low."""
    return min(cards, key=lambda card: (is_jack(card, view), card.pips, card.suit == view.trump, card.rank))
