"""Secrets, keys, seatings and the shuffle, with the check values of the replay format."""

import hashlib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.core.table import CUTTHROAT, DUEL, MODES, WISCONSIN, texts
from tournament import seeds
from tournament.game import FaultKind
from tournament.replay import FORMAT
from tournament.rules import Rules

ZEROS = "0" * 64


def test_the_commitment_and_the_deal_seed_of_the_replay_format() -> None:
    assert seeds.commitment("demo") == "2a97516c354b68848cdbd8f54a226a0a55b21ed138e207ad6c5cbb9c00aa5aea"
    key = seeds.match_key(DUEL, ["simple:1", "counter:1"], 1)
    assert key == "cutthroat/2/counter:1,simple:1/1"
    assert seeds.deal_seed("demo", key) == "95123ba7c454a41da4ecd3df282687c91552d6d33257c07f1aa59c9a1bc5351f"


def test_the_shuffle_of_the_replay_format() -> None:
    deck = seeds.shuffled(CUTTHROAT, ZEROS, 1, 1)
    hands, undealt = seeds.dealt(CUTTHROAT, deck)
    assert texts(hands[0]) == "TH 4D 2C 7S 3S 6D".split()
    assert [len(hand) for hand in hands] == [6, 6, 6]
    assert [*hands[0], *hands[1], *hands[2], *undealt] == deck
    assert seeds.first_dealer(ZEROS, 3) == 1


@pytest.mark.parametrize("rules", MODES, ids=str)
def test_the_shuffle_is_that_of_the_four_steps_done_by_hand(rules: Rules) -> None:
    for deal, attempt in ((1, 1), (1, 2), (12, 3), (100, 100)):
        ranks = "789TJQKA" if rules.players == 4 else "23456789TJQKA"
        deck = [rank + suit for suit in "CDHS" for rank in ranks]
        stream = hashlib.shake_256(f"{ZEROS}/{deal}/{attempt}".encode("ascii")).digest(8 * len(deck))
        keyed = sorted((stream[8 * at : 8 * at + 8], at) for at in range(len(deck)))
        assert texts(seeds.shuffled(rules, ZEROS, deal, attempt)) == [deck[at] for _, at in keyed]


def test_the_first_dealer_is_drawn_and_every_seat_can_be_it() -> None:
    for players in (2, 3, 4):
        found = Counter(seeds.first_dealer(f"{number:064x}", players) for number in range(300))
        assert set(found) == set(range(players))
        assert min(found.values()) > 300 // players // 2


def test_the_dealer_passes_left_with_every_played_deal() -> None:
    assert [seeds.dealer_of(2, deal, 3) for deal in range(1, 6)] == [2, 0, 1, 2, 0]


def test_a_match_key_names_each_entrant_once_sorted_by_code_point() -> None:
    assert seeds.match_key(CUTTHROAT, ["counter:2", "counter:10", "a:1"], 3) == "cutthroat/3/a:1,counter:10,counter:2/3"
    assert seeds.match_key(WISCONSIN, ["a:1", "a-b:1", "a:1"], 1) == "wisconsin/4/a-b:1,a:1/1"


@pytest.mark.parametrize(
    ("rules", "entrants", "expected"),
    [
        (DUEL, 2, "01 10"),
        (CUTTHROAT, 3, "012 021 102 120 201 210"),
        (CUTTHROAT, 2, "001 010 011 100 101 110"),
        (WISCONSIN, 2, "0101 1010"),
        (DUEL, 1, "00"),
        (CUTTHROAT, 1, "000"),
        (WISCONSIN, 1, "0000"),
    ],
    ids=str,
)
def test_seatings_are_numbered_in_lexicographic_order(rules: Rules, entrants: int, expected: str) -> None:
    assert ["".join(map(str, seating)) for seating in seeds.seatings(rules, entrants)] == expected.split()


@pytest.mark.parametrize(("rules", "entrants"), [(DUEL, 3), (WISCONSIN, 3), (CUTTHROAT, 4), (DUEL, 0)], ids=str)
def test_more_entrants_than_sides_cannot_sit_down(rules: Rules, entrants: int) -> None:
    with pytest.raises(ValueError, match=f"{entrants} entrants at a table of"):
        seeds.seatings(rules, entrants)


def test_the_seed_of_a_bot_is_another_one_for_every_game_and_seat_and_tells_nothing_of_the_deals() -> None:
    key = "cutthroat/2/counter:1,simple:1/1"
    texts_ = [seeds.bot_seed("demo", key, seating, seat) for seating in (1, 2) for seat in (0, 1)]
    texts_.append(seeds.bot_seed("demo", key.replace("/1", "/2"), 1, 0))
    texts_.append(seeds.deal_seed("demo", key))
    assert len(set(texts_)) == len(texts_)
    assert all(len(text) == 64 and set(text) <= set("0123456789abcdef") for text in texts_)
    # Written out by hand: HMAC-SHA-256, block of 64 bytes.
    pad = b"demo".ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in pad) + f"bot/{key}/2/1".encode()).digest()
    outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in pad) + inner).hexdigest()
    assert seeds.bot_seed("demo", key, 2, 1) == outer


def test_deals_of_a_seed_do_not_repeat() -> None:
    decks = [tuple(seeds.shuffled(WISCONSIN, ZEROS, deal, attempt)) for deal in range(1, 20) for attempt in (1, 2)]
    assert len(set(decks)) == len(decks)
    assert all(sorted(deck) == sorted(seeds.deck(WISCONSIN)) for deck in decks)
    assert all(one != other for one, other in pairwise(decks))


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("a", True), ("a-b_c9", True), ("9x", True), ("a" * 39, True), ("a" * 40, False), ("-a", False), ("A", False),
     ("", False), ("a:1", False), ("a b", False), ("ä", False), ("a\n", False)],
)  # fmt: skip
def test_names_of_bots(name: str, allowed: bool) -> None:
    assert bool(seeds.BOT_NAME.fullmatch(name)) is allowed


def test_the_document_of_the_format_says_what_the_code_says() -> None:
    text = (Path(__file__).parents[2] / "docs" / "replay-format.md").read_text()
    assert FORMAT in text
    assert " ".join(FaultKind) in text
    assert seeds.commitment("demo") in text
    assert seeds.deal_seed("demo", "cutthroat/2/counter:1,simple:1/1") in text
