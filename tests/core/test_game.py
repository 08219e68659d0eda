"""A whole game: options, ends, limits, faults, the house."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.core.table import BARE, CUTTHROAT, DUEL, MODES, WISCONSIN, act, cards, game_of, mostly_pass, play, texts
from tournament.deal import BID, PLAY, IllegalAction
from tournament.game import End, Fault, FaultKind, Game, Outcome, house_action, places_of
from tournament.rules import GameName, High, Rules, Win

# Seat 0 holds all trumps it needs: bidding first, it makes High, Low and Game (3 points), with the jack all four.
THREE = ("AS 2S KS QS TS 9S", "3H 4H 5H 6H 7H 8H", "3D 4D 5D 6D 7D 8D")
FOUR = ("AS 2S KS QS JS 9S", "3H 4H 5H 6H 7H 8H", "3D 4D 5D 6D 7D 8D")


def play_first(game: Game, bids: str) -> Game:
    """Bids, then plays one whole deal, everybody's cards in their order."""
    deal = game.deal
    assert deal is not None
    act(game, *bids.split())
    while not deal.over:
        game.act(deal.legal()[0])
    return game


def outcome(game: Game) -> Outcome:
    assert game.outcome is not None
    return game.outcome


# Options -------------------------------------------------------------------------------------------------------------


def test_the_defaults_are_the_literal_reading_of_the_pages() -> None:
    assert Rules.make("cutthroat").to_dict() == {
        "game": "cutthroat", "players": 3, "target": 11, "bidder_takes": 0, "high": "ace", "win": "bid_at_target",
        "cap_defenders": False, "deal_limit": 100, "redeal_limit": 100,
    }  # fmt: skip
    assert Rules.make("wisconsin").to_dict() == {
        "game": "wisconsin", "players": 4, "target": 15, "bidder_takes": 3, "high": "ace", "win": "reach_target",
        "cap_defenders": False, "deal_limit": 100, "redeal_limit": 100,
    }  # fmt: skip


@pytest.mark.parametrize("rules", MODES, ids=lambda rules: f"{rules.mode}/{rules.bidder_takes}")
def test_rules_come_back_from_their_own_dict(rules: Rules) -> None:
    other = replace(rules, target=3, deal_limit=7, redeal_limit=8, high=High.HIGHEST_IN_PLAY, win=Win.REACH_TARGET)
    assert Rules.from_dict(other.to_dict()) == other
    assert Rules.make(str(rules.game), **{k: v for k, v in other.to_dict().items() if k != "game"}) == other


@pytest.mark.parametrize(
    ("game", "options", "text"),
    [
        ("hearts", {}, "game is 'hearts': expected one of cutthroat, wisconsin"),
        ("cutthroat", {"players": 4}, "players is 4: expected 2 or 3"),
        ("cutthroat", {"players": True}, "players is True: expected a whole number"),
        ("wisconsin", {"players": 3}, "players is 3: expected 4"),
        ("cutthroat", {"bidder_takes": 1}, "bidder_takes is 1: expected 0"),
        ("wisconsin", {"bidder_takes": 4}, "bidder_takes is 4: expected 0 to 3"),
        ("wisconsin", {"bidder_takes": -1}, "bidder_takes is -1"),
        ("cutthroat", {"target": 0}, "target is 0: expected 1 to"),
        ("cutthroat", {"target": 11.0}, "target is 11.0: expected a whole number"),
        ("cutthroat", {"target": 2**24 + 1}, "target is 16777217"),
        ("cutthroat", {"high": "king"}, "high is 'king': expected one of ace, highest_in_play"),
        ("cutthroat", {"win": None}, "win is None: expected one of bid_at_target"),
        ("cutthroat", {"cap_defenders": True}, "cap_defenders is True: expected false in cutthroat"),
        ("wisconsin", {"cap_defenders": 1}, "cap_defenders is 1: expected true or false"),
        ("cutthroat", {"deal_limit": 0}, "deal_limit is 0"),
        ("cutthroat", {"redeal_limit": -5}, "redeal_limit is -5"),
        ("cutthroat", {"jokers": 2}, "no such option of the rules: jokers"),
    ],
)
def test_an_option_that_is_not_allowed_is_refused_with_its_value(
    game: str, options: dict[str, object], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        Rules.make(game, **options)


def test_a_dict_of_rules_has_every_field_and_no_other() -> None:
    full = CUTTHROAT.to_dict()
    for name in full:
        with pytest.raises(ValueError, match=f"missing in rules: {name}"):
            Rules.from_dict({key: value for key, value in full.items() if key != name})
    with pytest.raises(ValueError, match="unknown in rules: jokers"):
        Rules.from_dict({**full, "jokers": 0})
    with pytest.raises(ValueError, match="rules are list"):
        Rules.from_dict([])  # type: ignore[arg-type]


def test_option_players_makes_a_table_of_two_or_three() -> None:
    assert [Game(rules, "00" * 32).rules.side_count for rules in (DUEL, CUTTHROAT, WISCONSIN)] == [2, 3, 2]
    assert (DUEL.mode, CUTTHROAT.mode, WISCONSIN.mode) == ("cutthroat/2", "cutthroat/3", "wisconsin/4")


@pytest.mark.parametrize("takes", range(4))
def test_option_bidder_takes_is_how_many_cards_are_taken_and_discarded(takes: int) -> None:
    rules = replace(WISCONSIN, bidder_takes=takes)
    game = Game(rules, "07" * 32)
    game.start()
    deal = game.deal
    assert deal is not None
    bidder, undealt = deal.seat, deal.undealt
    game.act(4)
    assert deal.taken == undealt[:takes]
    assert len(deal.hands[bidder]) == 6 + takes
    if takes:
        assert {len(action) for action in deal.legal()} == {takes}  # type: ignore[arg-type]
        game.act(deal.legal()[0])
    assert len(deal.discards) == takes
    assert len(deal.hands[bidder]) == 6
    assert (deal.phase, deal.seat) == (PLAY, bidder)


def test_option_high_decides_who_has_the_point_when_the_ace_is_not_played() -> None:
    hands = ("KS 2S 4H 5H 6H 7H", "QS 3S 8D 9D TD JD")
    for high, owner in (("ace", None), ("highest_in_play", 0)):
        game = game_of(Rules.make("cutthroat", players=2, high=high), 1, *hands)
        deal = play_first(game, "2 pass").dealt[0].deal
        assert deal.points.high == owner


def test_option_win_bid_at_target_asks_for_the_target_before_the_deal() -> None:
    for before, ended in ((10, False), (11, True), (12, True)):
        game = play_first(game_of(DUEL, 1, *THREE[:2], scores=[before, 0]), "2 pass")
        assert game.over is ended
    assert outcome(game) == Outcome(End.TARGET, 0, (15, 0), (1, 2))


def test_option_win_bid_reaches_target_asks_for_the_target_after_the_deal() -> None:
    rules = replace(DUEL, win=Win.BID_REACHES_TARGET)
    for before, ended in ((7, False), (8, True), (10, True)):
        game = play_first(game_of(rules, 1, *THREE[:2], scores=[before, 0]), "2 pass")
        assert game.over is ended
    assert outcome(game).winner == 0


def test_option_win_reach_target_lets_any_side_win_by_the_higher_score_then_by_the_bid() -> None:
    rules = replace(CUTTHROAT, win=Win.REACH_TARGET)
    # Each deal gives seat 0, the bidder, three points and nobody else any.
    for before, winner in (([8, 10, 0], 0), ([8, 12, 0], 1), ([8, 11, 0], 0), ([7, 12, 12], None), ([0, 10, 10], None)):
        game = play_first(game_of(rules, 2, *THREE, scores=before), "2 pass pass")
        assert (game.outcome.winner if game.outcome else None) == winner, before


def test_two_defenders_level_at_the_target_play_on_until_a_deal_separates_them() -> None:
    rules = replace(CUTTHROAT, win=Win.REACH_TARGET)
    game = play_first(game_of(rules, 2, *THREE, scores=[0, 12, 12]), "2 pass pass")
    assert not game.over
    # Seat 1 bids next and fails: the other one is ahead now.
    play_first(game, "4")
    assert outcome(game).winner == 2


def test_option_cap_defenders_counts_their_points_up_to_the_target_only() -> None:
    hands = ("AH KH QH TH 9H 8H", "7H JH AC KC AD KD", "7C 8C 9C TC 7S 8S", "7D 8D 9D TD 9S TS")
    rules = replace(BARE, cap_defenders=True)
    for before, after in ((10, 11), (14, 15), (15, 15), (17, 17)):
        game = play_first(game_of(rules, 3, *hands, scores=[0, before]), "2 pass pass pass")
        assert game.dealt[0].deal.won == [3, 1]  # the seven of hearts is Low, played by a defender
        assert game.dealt[0].scores == (3, after)


def test_a_side_that_the_cap_holds_at_the_target_still_wins() -> None:
    hands = ("AH KH QH TH 9H 8H", "7H JH AC KC AD KD", "7C 8C 9C TC 7S 8S", "7D 8D 9D TD 9S TS")
    game = play_first(game_of(replace(BARE, cap_defenders=True), 3, *hands, scores=[0, 14]), "2 pass pass pass")
    assert outcome(game) == Outcome(End.TARGET, 1, (3, 15), (2, 1))


def test_option_target_is_where_the_game_is_won() -> None:
    game = play_first(game_of(replace(DUEL, target=3), 1, *THREE[:2], scores=[3, 0]), "2 pass")
    assert outcome(game).winner == 0


# A bid of four -------------------------------------------------------------------------------------------------------


def test_a_made_bid_of_four_from_a_point_wins_whatever_win_says() -> None:
    for win in Win:
        for before, ended in ((0, False), (1, True), (-1, False)):
            game = play_first(game_of(replace(DUEL, win=win), 1, *FOUR[:2], scores=[before, 9]), "4")
            assert game.over is ended, (win, before)
            if ended:
                assert (outcome(game).end, outcome(game).winner) == (End.BID_OF_FOUR, 0)


def test_a_bid_of_four_that_reaches_the_target_too_is_named_bid_of_four() -> None:
    game = play_first(game_of(DUEL, 1, *FOUR[:2], scores=[11, 0]), "4")
    assert outcome(game).end is End.BID_OF_FOUR


def test_a_bid_of_four_beats_a_higher_score_of_another() -> None:
    rules = replace(DUEL, win=Win.REACH_TARGET)
    game = play_first(game_of(rules, 1, *FOUR[:2], scores=[1, 30]), "4")
    assert outcome(game) == Outcome(End.BID_OF_FOUR, 0, (5, 30), (1, 2))


# Limits --------------------------------------------------------------------------------------------------------------


def test_a_deal_that_ends_the_game_itself_is_not_ended_by_the_deal_limit() -> None:
    for before, end in ((11, End.TARGET), (10, End.DEAL_LIMIT)):
        game = play_first(game_of(replace(DUEL, deal_limit=1), 1, *THREE[:2], scores=[before, 0]), "2 pass")
        assert outcome(game).end is end
        assert outcome(game).winner == (0 if end is End.TARGET else None)


def test_thrown_in_deals_count_for_the_redeal_limit_only_in_a_row_and_never_for_the_deal_limit() -> None:
    game = game_of(replace(DUEL, deal_limit=2, redeal_limit=2), 1, *THREE[:2])
    act(game, "pass", "pass")
    assert not game.over
    play_first(game, "2 pass")
    act(game, "pass", "pass")
    assert not game.over
    assert [(dealt.number, dealt.attempt, dealt.dealer) for dealt in game.dealt] == [
        *((1, 1, 1), (1, 2, 1), (2, 1, 0), (2, 2, 0)),
    ]
    act(game, "pass", "pass")
    assert outcome(game) == Outcome(End.REDEAL_LIMIT, None, (3, 0), (1, 2))


@pytest.mark.parametrize(
    ("scores", "winner", "faulted", "places"),
    [
        ([3, 14, 7], 1, (), (3, 1, 2)),
        ([3, 14, 3], 1, (), (2, 1, 2)),
        ([5, 5, 5], None, (), (1, 1, 1)),
        ([5, 5, 4], None, (), (1, 1, 3)),
        ([5, -5, 4], None, (0,), (3, 2, 1)),
        ([5, 5, 9], 1, (2,), (2, 1, 3)),
        ([9, 2, 5], 2, (0, 1), (2, 2, 1)),
        ([-9, 2], 0, (1,), (1, 2)),
        ([4, 4], None, (), (1, 1)),
    ],
)
def test_places(scores: Sequence[int], winner: int | None, faulted: tuple[int, ...], places: tuple[int, ...]) -> None:
    assert places_of(scores, winner, frozenset(faulted)) == places


# Faults --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [rules for rules in MODES if rules.side_count == 2], ids=str)
@pytest.mark.parametrize("kind", FaultKind)
def test_a_fault_of_two_sides_ends_the_game_for_the_other(rules: Rules, kind: FaultKind) -> None:
    game = Game(rules, "03" * 32)
    game.advance()
    assert game.deal is not None
    seat = game.deal.seat
    game.fault(seat, kind)
    side = rules.side_of(seat)
    assert outcome(game) == Outcome(
        End.FORFEIT, 1 - side, (0, 0), (1, 2) if side else (2, 1), Fault(seat, kind, 1, 1, 0), None
    )
    assert list(game.advance()) == []


def test_a_fault_names_deal_attempt_and_the_acts_before_it() -> None:
    game = game_of(DUEL, 1, *THREE[:2])
    act(game, "pass", "pass", "pass", "pass")
    act(game, "2", "pass")
    play(game, "AS 3H 2S")
    game.fault(1, FaultKind.ILLEGAL)
    assert outcome(game).fault == Fault(1, FaultKind.ILLEGAL, 1, 3, 5)
    assert outcome(game).fault.to_dict() == {"seat": 1, "kind": "illegal", "deal": 1, "attempt": 3, "act": 5}  # type: ignore[union-attr]


def test_the_discard_is_one_act() -> None:
    game = Game(WISCONSIN, "05" * 32)
    game.advance()
    game.act(4)
    game.act(game.advance()[0])
    legal = game.advance()
    assert game.deal is not None
    assert len(legal) > 1
    game.fault(game.deal.seat, FaultKind.EXCEPTION)
    forced = len(game.deal.trick)  # a lead that left no choice
    assert len(game.acts) == 1 + 3 + forced
    assert outcome(game).fault is not None
    assert outcome(game).fault.act == 1 + 1 + forced  # type: ignore[union-attr]


def test_the_house_plays_a_faulted_seat_on_at_three() -> None:
    game = game_of(CUTTHROAT, 2, "TS 3S 3H 4D 9C 2C", "KS 5S 8H 8D 6C 7C", "QS 6S 9H 9D 8C 4C")
    game.fault(0, FaultKind.EXITED)
    assert game.house == {0}
    assert not game.over
    game.advance()
    assert game.deal is not None
    assert game.deal.bids == [0]
    act(game, "2", "pass")
    play(game, "KS QS")
    game.advance()
    assert texts(game.deal.tricks[0].cards) == ["KS", "QS", "3S"]  # its lowest of the suit led
    play(game, "8D 9D")
    game.advance()
    assert texts(game.deal.tricks[1].cards) == ["8D", "9D", "4D"]


def test_the_house_plays_the_lowest_legal_card_by_rank_then_by_suit() -> None:
    game = game_of(CUTTHROAT, 2, "3S 3H 3D 3C AS AH", "KS 5S 8H 8D 6C 7C", "QS 6S 9H 9D 8C 4C")
    act(game, "2", "pass", "pass")
    deal = game.deal
    assert deal is not None
    assert house_action(deal, deal.legal()) == cards("3C")[0]
    assert house_action(deal, cards("AS 3S 3H")) == cards("3H")[0]
    assert house_action(deal, cards("KS TC AD")) == cards("TC")[0]


def test_an_act_of_the_house_other_than_its_own_is_refused() -> None:
    game = game_of(CUTTHROAT, 2, *THREE)
    game.fault(0, FaultKind.EXITED)
    with pytest.raises(IllegalAction, match="the house plays seat 0 and chooses 0, not 2"):
        game.act(2)


def test_a_second_fault_at_three_ends_the_game_for_the_third() -> None:
    game = game_of(CUTTHROAT, 2, *THREE, scores=[4, 20, -3])
    game.fault(0, FaultKind.EXITED)
    game.advance()
    game.fault(1, FaultKind.ILLEGAL)
    assert outcome(game) == Outcome(
        End.FORFEIT,
        2,
        (4, 20, -3),
        (2, 2, 1),
        Fault(0, FaultKind.EXITED, 1, 1, 0),
        Fault(1, FaultKind.ILLEGAL, 1, 1, 1),
    )


def test_a_faulted_seat_is_last_whatever_its_score() -> None:
    game = game_of(replace(CUTTHROAT, deal_limit=1), 2, *THREE, scores=[0, 20, 0])
    act(game, "2")
    game.fault(1, FaultKind.KILLED)
    while legal := game.advance():
        game.act(legal[0])
    assert outcome(game).scores == (3, 20, 0)
    assert outcome(game).places == (1, 3, 2)
    assert outcome(game).end is End.DEAL_LIMIT


@pytest.mark.parametrize("win", Win)
@pytest.mark.parametrize("bid", [2, 4])
def test_the_house_never_wins(win: Win, bid: int) -> None:
    """The bidder holds everything it needs to win and faults at its first lead; the house makes its bid."""
    game = game_of(replace(CUTTHROAT, win=win, deal_limit=2), 2, "2S KS QS JS TS AS", *FOUR[1:], scores=[11, 0, 0])
    act(game, str(bid), *(["pass", "pass"] if bid == 2 else []))
    game.fault(0, FaultKind.MEMORY)
    first = game.dealt[0]
    while not first.deal.over:
        game.act(game.advance()[0])
    first = game.dealt[0]
    assert first.deal.made
    assert first.scores == (15, 0, 0)
    assert not game.over
    assert game.dealt[1].number == 2


def test_the_score_of_a_faulted_seat_is_not_compared_where_the_target_is_to_be_reached() -> None:
    """Seat 1 is far ahead and out; seat 2 has the target too and is the highest of the others."""
    game = game_of(replace(CUTTHROAT, win=Win.REACH_TARGET), 2, *THREE, scores=[0, 30, 12])
    act(game, "2")
    game.fault(1, FaultKind.MEMORY)
    while not game.over:
        legal = game.advance()
        if legal:
            game.act(legal[0])
    assert (outcome(game).end, outcome(game).winner, outcome(game).places) == (End.TARGET, 2, (2, 3, 1))


def test_no_fault_is_recorded_where_the_seat_has_no_choice_or_is_not_to_act() -> None:
    game = game_of(CUTTHROAT, 2, *THREE)
    with pytest.raises(ValueError, match="seat 1 is not to act"):
        game.fault(1, FaultKind.OFF_TURN)
    game.fault(0, FaultKind.OFF_TURN)
    with pytest.raises(ValueError, match="seat 0 is not to act"):
        game.fault(0, FaultKind.OFF_TURN)
    duel = game_of(DUEL, 1, "AS KS QS JS TS 9S", "2S 3H 4H 5H 6H 7H")
    act(duel, "2", "pass")
    play(duel, "AS 2S KS 3H QS 4H JS 5H TS 6H")
    with pytest.raises(ValueError, match="seat 0 has no choice"):
        duel.fault(0, FaultKind.OFF_TURN)
    assert list(duel.advance()) != [], "the forced last trick was played, the next deal is dealt"


# Faults at load ------------------------------------------------------------------------------------------------------


def test_a_fault_at_load_has_deal_one_attempt_one_and_act_minus_one() -> None:
    game = Game(DUEL, "00" * 32)
    game.load_fault(1, FaultKind.LOAD)
    assert outcome(game) == Outcome(End.FORFEIT, 0, (0, 0), (1, 2), Fault(1, FaultKind.LOAD, 1, 1, -1))
    assert game.dealt == []
    assert list(game.advance()) == []
    assert game.dealt == []


def test_loads_are_judged_in_seat_order_until_one_side_is_left() -> None:
    game = Game(CUTTHROAT, "00" * 32)
    game.load_fault(0, FaultKind.LOAD)
    assert not game.over
    game.load_fault(2, FaultKind.MEMORY)
    assert outcome(game).winner == 1
    assert (outcome(game).places, game.dealt) == ((2, 1, 2), [])
    with pytest.raises(ValueError, match="cannot fault any more"):
        game.load_fault(1, FaultKind.LOAD)


def test_the_house_plays_from_the_start_for_a_seat_that_did_not_load() -> None:
    game = Game(replace(CUTTHROAT, deal_limit=6), "0a" * 32)
    game.load_fault(1, FaultKind.LOAD)
    random = Random(4)
    while legal := game.advance():
        assert game.deal is not None
        assert game.deal.seat != 1
        game.act(mostly_pass(game.deal, legal, random))
    assert outcome(game).places[1] == 3
    assert all(dealt.deal.bidder != 1 for dealt in game.dealt)
    with pytest.raises(ValueError, match="before the first deal"):
        game.load_fault(0, FaultKind.LOAD)


def test_a_load_fault_then_a_fault_in_play_end_the_game_for_the_third() -> None:
    game = Game(CUTTHROAT, "00" * 32)
    game.load_fault(2, FaultKind.TIMEOUT_CPU)
    game.advance()
    assert game.deal is not None
    seat = game.deal.seat
    game.fault(seat, FaultKind.INVALID)
    assert outcome(game).winner == 1 - seat
    assert outcome(game).fault == Fault(2, FaultKind.TIMEOUT_CPU, 1, 1, -1)


# What a game refuses -------------------------------------------------------------------------------------------------


def test_a_game_needs_deals_from_somewhere() -> None:
    with pytest.raises(ValueError, match="a game needs a seed"):
        Game(DUEL, None)


def test_nothing_can_be_done_before_the_first_deal_or_after_the_end() -> None:
    game = Game(DUEL, "00" * 32)
    with pytest.raises(IllegalAction, match="no deal has begun"):
        game.act(0)
    game.advance()
    assert game.deal is not None
    assert game.deal.phase is BID
    game.fault(game.deal.seat, FaultKind.ILLEGAL)
    with pytest.raises(IllegalAction, match="the game is over"):
        game.act(0)


def test_forced_acts_are_played_without_asking_and_are_among_the_acts() -> None:
    game = game_of(DUEL, 1, "AS KS QS JS TS 9S", "2S 3H 4H 5H 6H 7H")
    act(game, "2", "pass")
    game.act(cards("AS")[0])
    legal = game.advance()
    assert game.deal is not None
    assert texts(game.deal.tricks[0].cards) == ["AS", "2S"]  # the only spade of seat 1
    assert game.deal.seat == 0
    assert len(legal) == 5
    assert game.acts == bytes([0x42, 0x40, *cards("AS 2S")])


def test_only_one_side_scores_at_a_made_bid_and_games_are_named_by_their_game() -> None:
    assert {rules.game for rules in MODES} == set(GameName)
    game = play_first(game_of(CUTTHROAT, 2, *THREE), "2 pass pass")
    assert game.scores == [3, 0, 0]


def test_the_rules_page_names_every_option_with_its_values_and_defaults() -> None:
    page = (Path(__file__).parents[2] / "docs" / "rules.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*)$", page, re.MULTILINE))
    one, other = Rules.make("cutthroat").to_dict(), Rules.make("wisconsin").to_dict()
    assert list(rows) == list(one)
    for name, row in rows.items():
        default = row.split(" | ")[1].replace("`", "")
        if name != "game":
            values = [str(rules[name]).lower() for rules in (one, other)]
            assert default == (values[0] if values[0] == values[1] else "; ".join(values)), name
    for member in (*GameName, *High, *Win):
        assert f"`{member}`" in page
