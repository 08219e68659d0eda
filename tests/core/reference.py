"""The rules once more, over text cards, in the plainest words: no speed, nothing shared with the engine.

Written from the rule page alone. The engine is compared with it after every act of random play.
"""

from dataclasses import dataclass
from itertools import combinations

from tournament.rules import Rules

RANKS = "23456789TJQKA"
PIPS = {"T": 10, "A": 4, "K": 3, "Q": 2, "J": 1}


def rank(card: str) -> int:
    return RANKS.index(card[0])


def legal_bids(bids: list[int]) -> list[int]:
    return [0, *(bid for bid in (2, 3, 4) if bid > max(bids, default=0))]


def openable_suits(hand: list[str], discards: list[str]) -> set[str]:
    """Rule 3, Discarding: exactly max(0, held - 6) cards of the suit were discarded, and some are left to lead."""
    suits = set()
    for suit in "CDHS":
        held = [card for card in hand if card[1] == suit]
        gone = [card for card in discards if card[1] == suit]
        if len(gone) == max(0, len(held) - 6) and len(held) > len(gone):
            suits.add(suit)
    return suits


def legal_discards(hand: list[str], count: int) -> list[list[str]]:
    return [list(some) for some in combinations(hand, count) if openable_suits(hand, list(some))]


def legal_cards(hand: list[str], trick: list[str], trump: str | None, openable: set[str]) -> list[str]:
    """Rule 1.6, and for the first lead rule 3."""
    if not trick:
        return list(hand) if trump else [card for card in hand if card[1] in openable]
    led = trick[0][1]
    if any(card[1] == led for card in hand):
        return [card for card in hand if card[1] in (led, trump)]
    return list(hand)


def trick_winner(leader: int, trick: list[str], trump: str, players: int) -> int:
    trumps = [card for card in trick if card[1] == trump]
    best = max(trumps or [card for card in trick if card[1] == trick[0][1]], key=rank)
    return (leader + trick.index(best)) % players


@dataclass
class Scored:
    """What a deal came to, one entry a side."""

    points: tuple[int | None, int | None, int | None, int | None]
    pips: list[int]
    won: list[int]
    made: bool
    after: list[int]
    winner: int | None
    by_four: bool


def score(
    rules: Rules,
    tricks: list[tuple[int, list[str]]],
    trump: str,
    bidder: int,
    bid: int,
    discards: list[str],
    before: list[int],
    house: frozenset[int],
) -> Scored:
    """Rules 1.7, 1.8, 2, 3 and 4 for a deal that was played: `tricks` as (leader, cards)."""
    sides = [0, 1, 0, 1] if rules.game == "wisconsin" else list(range(rules.players))
    count = len(set(sides))
    pips = [0] * count
    pips[sides[bidder]] += sum(PIPS.get(card[0], 0) for card in discards)
    player_of: dict[str, int] = {}
    jack = None
    for leader, trick in tricks:
        winner = sides[trick_winner(leader, trick, trump, rules.players)]
        pips[winner] += sum(PIPS.get(card[0], 0) for card in trick)
        for place, card in enumerate(trick):
            player_of[card] = sides[(leader + place) % rules.players]
        if f"J{trump}" in trick:
            jack = winner
    best = sorted(pips, reverse=True)
    game = pips.index(best[0]) if best[0] > best[1] else None
    points = (high_point(rules, player_of, trump), low_point(rules, player_of, trump), jack, game)

    won = [sum(1 for point in points if point == side) for side in range(count)]
    mine = sides[bidder]
    made = won[mine] >= bid
    after = []
    for side in range(count):
        if side == mine:
            after.append(before[side] + (won[side] if made else -bid))
        elif rules.cap_defenders:
            after.append(min(before[side] + won[side], max(before[side], rules.target)))
        else:
            after.append(before[side] + won[side])

    by_four = rules.game == "cutthroat" and made and bid == 4 and before[mine] >= 1 and mine not in house
    winner_side = mine if by_four else winner_at_target(rules, mine, made, before, after, house)
    return Scored(points, pips, won, made, after, None if winner_side in house else winner_side, by_four)


def high_point(rules: Rules, player_of: dict[str, int], trump: str) -> int | None:
    if rules.high == "highest_in_play":
        return player_of[max((card for card in player_of if card[1] == trump), key=rank)]
    return player_of.get(f"A{trump}")


def low_point(rules: Rules, player_of: dict[str, int], trump: str) -> int | None:
    if rules.game == "cutthroat":
        return player_of[min((card for card in player_of if card[1] == trump), key=rank)]
    return player_of.get(f"7{trump}")


def winner_at_target(
    rules: Rules, mine: int, made: bool, before: list[int], after: list[int], house: frozenset[int]
) -> int | None:
    """Rule 4, `win`: the side that the target makes the winner; `mine` is the bidder's side."""
    if rules.win == "bid_at_target":
        return mine if made and before[mine] >= rules.target else None
    if rules.win == "bid_reaches_target":
        return mine if made and after[mine] >= rules.target else None
    there = {side: score for side, score in enumerate(after) if score >= rules.target and side not in house}
    top = [side for side in there if there[side] == max(there.values())]
    return mine if mine in top else top[0] if len(top) == 1 else None
