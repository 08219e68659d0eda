"""Tables to test at: deals written as text, games over given cards, seats that choose at random."""

from collections.abc import Callable, Sequence
from random import Random

from tournament import seeds
from tournament.cards import INDEX, TEXTS
from tournament.deal import BID, Action, Deal, Phase
from tournament.game import Game
from tournament.rules import Rules

CUTTHROAT = Rules.make("cutthroat")
DUEL = Rules.make("cutthroat", players=2)
WISCONSIN = Rules.make("wisconsin")
BARE = Rules.make("wisconsin", bidder_takes=0)

MODES = (
    DUEL,
    CUTTHROAT,
    BARE,
    Rules.make("wisconsin", bidder_takes=1),
    Rules.make("wisconsin", bidder_takes=2),
    WISCONSIN,
)


def cards(text: str) -> list[int]:
    return [INDEX[each] for each in text.split()]


def texts(some: Sequence[int]) -> list[str]:
    return [TEXTS[card] for card in some]


def deck_of(rules: Rules, *hands: str, undealt: str = "") -> list[int]:
    """Returns a whole deck: the hands, the undealt cards named, then the rest of the deck in its order."""
    front = cards(" ".join((*hands, undealt)))
    assert len(set(front)) == len(front)
    return front + [card for card in seeds.deck(rules) if card not in front]


def deal_of(rules: Rules, dealer: int, *hands: str, undealt: str = "") -> Deal:
    given, rest = seeds.dealt(rules, deck_of(rules, *hands, undealt=undealt))
    return Deal(rules, dealer, given, rest)


def game_of(rules: Rules, dealer: int, *hands: str, undealt: str = "", scores: Sequence[int] = ()) -> Game:
    """Returns a game that has begun: every deal of it has these cards."""
    deck = deck_of(rules, *hands, undealt=undealt)
    game = Game(rules, None, shuffle=lambda deal, attempt: deck, first_dealer=dealer)  # noqa: ARG005
    game.scores = list(scores) or game.scores
    game.advance()
    return game


def action_of(deal: Deal, text: str) -> Action:
    """Reads `pass`, a bid, a card, or discards (in any order) as the deal expects them next."""
    if deal.phase is BID:
        return 0 if text == "pass" else int(text)
    found = cards(text)
    if deal.phase is Phase.DISCARD:
        return tuple(card for card in deal.hands[deal.seat] if card in found)
    return found[0]


def act(table: Deal | Game, *actions: str) -> None:
    """Carries out actions written as text, checked."""
    for text in actions:
        deal = table.deal if isinstance(table, Game) else table
        assert deal is not None
        table.act(action_of(deal, text))


def play(table: Deal | Game, tricks: str) -> None:
    """Plays cards written one after the other."""
    act(table, *tricks.split())


Choose = Callable[[Deal, Sequence[Action], Random], Action]


def any_legal(deal: Deal, legal: Sequence[Action], random: Random) -> Action:  # noqa: ARG001
    return random.choice(legal)


def mostly_pass(deal: Deal, legal: Sequence[Action], random: Random) -> Action:
    """Bids seldom, so that scores grow and games end at the target."""
    return 0 if deal.phase is BID and random.random() < 0.6 else random.choice(legal)


def bid_if_good(deal: Deal, legal: Sequence[Action], random: Random) -> Action:
    """Bids two with an ace and another high card of its suit, and plays high: contracts are often made."""
    if deal.phase is BID:
        hand = texts(deal.hands[deal.seat])
        good = [c for c in hand if c[0] == "A" and any(f"{r}{c[1]}" in hand for r in "KQJ")]
        return 2 if good and 2 in legal else 0
    return max(legal, key=lambda c: (c % 13, random.random())) if deal.phase is Phase.PLAY else random.choice(legal)  # type: ignore[operator]


def bold(deal: Deal, legal: Sequence[Action], random: Random) -> Action:
    """Bids four with the ace and the jack of a suit of three or more, else as `bid_if_good`."""
    if deal.phase is BID and 4 in legal:
        hand = texts(deal.hands[deal.seat])
        if any({f"A{suit}", f"J{suit}"} <= set(hand) and sum(c[1] == suit for c in hand) > 2 for suit in "CDHS"):
            return 4
    if deal.phase is Phase.PLAY and deal.trump < 0:
        return max(legal, key=lambda c: (sum(o // 13 == c // 13 for o in deal.hands[deal.seat]), c))  # type: ignore[operator]
    return bid_if_good(deal, legal, random)


def play_out(game: Game, random: Random, choose: Choose = any_legal) -> Game:
    """Plays a game to its end."""
    while legal := game.advance():
        deal = game.deal
        assert deal is not None
        game.act_legal(choose(deal, legal, random))
    return game
