"""Cards: two characters outside (`TS`), one small integer inside the engine, `Card` for bots.

The integer of a card is ``suit * 13 + (rank - 2)``: suits count C D H S from 0, ranks run from 2 to 14 (ace). Within a
suit a higher integer is a higher card, so that the engine compares cards without looking anything up.
"""

from __future__ import annotations

from typing import Final

SUITS: Final = "CDHS"
RANKS: Final = "23456789TJQKA"
TEXTS: Final[tuple[str, ...]] = tuple(rank + suit for suit in SUITS for rank in RANKS)
INDEX: Final[dict[str, int]] = {text: index for index, text in enumerate(TEXTS)}

SUIT: Final[tuple[int, ...]] = tuple(index // 13 for index in range(52))
"""Suit number of each card, by the card's integer."""

SUIT_CARDS: Final[tuple[frozenset[int], ...]] = tuple(frozenset(range(13 * suit, 13 * suit + 13)) for suit in range(4))
"""All thirteen cards of each suit."""

POWER: Final[tuple[tuple[tuple[int, ...], ...], ...]] = tuple(
    tuple(
        tuple(
            100 + index if index in SUIT_CARDS[trump] else 1 + index if index in SUIT_CARDS[led] else 0
            for index in range(52)
        )
        for led in range(4)
    )
    for trump in range(4)
)
"""``POWER[trump][suit led][card]``: the card with the most takes the trick; 0 never does (rules.md 1.6)."""

PIPS: Final[tuple[int, ...]] = tuple({"T": 10, "A": 4, "K": 3, "Q": 2, "J": 1}.get(text[0], 0) for text in TEXTS)
"""What a card counts for the Game point (rules.md 1.7), by the card's integer."""

LOWEST_FIRST: Final[tuple[int, ...]] = tuple(sorted(range(52), key=lambda index: (index % 13, index // 13)))
"""All cards by rank and then by suit C D H S: the order in which the house picks its lowest card."""

_RANK_NUMBERS: Final = {rank: number for number, rank in enumerate(RANKS, start=2)}


class Card:
    """A card as bots see it: 52 objects, one for each card, compared by identity.

    Attributes:
        rank: 2 to 14; 11 jack, 12 queen, 13 king, 14 ace.
        suit: one of ``"C"``, ``"D"``, ``"H"``, ``"S"``.
        index: the engine's integer for the card, 0 to 51.
        pips: what the card counts for the Game point, 0 to 10.

    >>> Card("TS").rank, Card("TS").suit, str(Card("TS")), Card("TS") is Card("TS")
    (10, 'S', 'TS', True)
    """

    __slots__ = ("index", "pips", "rank", "suit", "text")

    rank: int
    suit: str
    index: int
    pips: int
    text: str

    def __new__(cls, text: str) -> Card:  # noqa: PYI034  # there are no others than these 52
        """Returns the one object for the card written `text`.

        Raises:
            ValueError: `text` is not a rank `2`-`9 T J Q K A` followed by a suit `C D H S`.
        """
        index = INDEX.get(text) if type(text) is str else None
        if index is None:
            raise ValueError(
                f"{text!r:.40} is no card: expected a rank (2-9 T J Q K A) and a suit (C D H S), like 'TS'"
            )
        return CARDS[index]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a card cannot be changed: tried to set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a card cannot be changed: tried to delete {name}")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Card({self.text!r})"

    def __hash__(self) -> int:
        # Not the address: a bot that goes through a set of cards shall meet them in one order in every process.
        return self.index

    def __lt__(self, other: Card) -> bool:
        """Orders by rank, then by suit C D H S: the natural order for "my lowest card"."""
        if not isinstance(other, Card):
            return NotImplemented
        return (self.rank, self.index) < (other.rank, other.index)

    def __reduce__(self) -> tuple[type[Card], tuple[str]]:
        return Card, (self.text,)


def _make_card(index: int) -> Card:
    card = object.__new__(Card)
    text = TEXTS[index]
    for name, value in (
        ("index", index),
        ("text", text),
        ("rank", _RANK_NUMBERS[text[0]]),
        ("suit", text[1]),
        ("pips", PIPS[index]),
    ):
        object.__setattr__(card, name, value)
    return card


CARDS: Final[tuple[Card, ...]] = tuple(_make_card(index) for index in range(52))
"""The 52 cards, by the engine's integer."""
