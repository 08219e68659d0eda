"""Secrets, match keys, seatings, seeds and the shuffle, exactly as the replay format says.

Everything here is a pure function that anybody can write again in another language: a deal follows from the deal
seed, its number and its attempt; a deal seed from the tournament's secret and the match key.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import re
import struct
from collections.abc import Iterable, Sequence
from typing import Final

from tournament.rules import HAND_SIZE, Rules

BOT_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,38}")
"""What a bot may be called (replay format, Seeds)."""


def commitment(secret: str) -> str:
    """Returns the hexadecimal SHA-256 of the secret's text, published before the first deal.

    >>> commitment("demo")[:16]
    '2a97516c354b6884'
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def entrant_text(name: str, version: int) -> str:
    """Returns how a match key writes a bot version: ``name:version``."""
    return f"{name}:{version}"


def match_key(rules: Rules, entrants: Iterable[str], round_number: int) -> str:
    """Returns ``game/players/entrants/round``; each distinct entrant text once, sorted by code point."""
    return f"{rules.mode}/{','.join(sorted(set(entrants)))}/{round_number}"


def deal_seed(secret: str, key: str) -> str:
    """Returns the seed of all deals of a match: HMAC-SHA-256 with the secret's text as key, 64 digits."""
    return _keyed_hash(secret, f"deal/{key}")


def bot_seed(secret: str, key: str, seating: int, seat: int) -> str:
    """Returns the 64 digits that a guest passes to `random.seed`: another text for each game and seat."""
    return _keyed_hash(secret, f"bot/{key}/{seating}/{seat}")


def _keyed_hash(secret: str, message: str) -> str:
    return hmac.new(secret.encode(), message.encode(), hashlib.sha256).hexdigest()


def seatings(rules: Rules, entrant_count: int) -> tuple[tuple[int, ...], ...]:
    """Returns all seatings of a match in their order; each gives every seat the position of its entrant in the key.

    Seating number `k` of the documents is element ``k - 1``. Every entrant sits at least once and partners are the
    same entrant; one bot alone has the one seating.

    Raises:
        ValueError: so many entrants cannot sit at this table.

    >>> seatings(Rules.make("wisconsin"), 2)
    ((0, 1, 0, 1), (1, 0, 1, 0))
    """
    sides = rules.side_count
    if not 1 <= entrant_count <= sides:
        raise ValueError(f"{entrant_count} entrants at a table of {sides} sides: expected 1 to {sides}")
    found = [
        tuple(by_side[rules.side_of(seat)] for seat in range(rules.players))
        for by_side in itertools.product(range(entrant_count), repeat=sides)
        if len(set(by_side)) == entrant_count
    ]
    return tuple(found)


def deck(rules: Rules) -> tuple[int, ...]:
    """Returns the game's cards by suit C D H S, within a suit from the lowest rank to the ace."""
    return _DECKS[rules.players]


_DECKS: Final = {
    players: tuple(suit * 13 + rank - 2 for suit in range(4) for rank in range(lowest, 15))
    for players, lowest in ((2, 2), (3, 2), (4, 7))
}
_EIGHT_BYTES_EACH: Final = {players: struct.Struct("8s" * len(cards)).unpack for players, cards in _DECKS.items()}


def shuffled(rules: Rules, seed: str, deal: int, attempt: int) -> list[int]:
    """Returns the deck as deal number `deal`, attempt `attempt` of a seed shuffles it (replay format, The shuffle)."""
    cards = _DECKS[rules.players]
    stream = hashlib.shake_256(f"{seed}/{deal}/{attempt}".encode("ascii")).digest(8 * len(cards))
    keys = dict(zip(cards, _EIGHT_BYTES_EACH[rules.players](stream), strict=True))
    # Python's sort is stable, so that cards with equal bytes keep the list's order, as the format asks.
    return sorted(cards, key=keys.__getitem__)


def dealt(rules: Rules, cards: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """Returns the hands, one a seat in seat order, and the undealt cards of a shuffled deck."""
    size = HAND_SIZE
    hands = [list(cards[size * seat : size * (seat + 1)]) for seat in range(rules.players)]
    return hands, list(cards[size * rules.players :])


def first_dealer(seed: str, players: int) -> int:
    """Returns the seat that deals first."""
    return int.from_bytes(hashlib.shake_256(f"{seed}/dealer".encode("ascii")).digest(8), "big") % players


def dealer_of(first: int, deal: int, players: int) -> int:
    """Returns the dealer of deal number `deal`: a thrown-in deal keeps its dealer, so only played deals count."""
    return (first + deal - 1) % players
