"""One test for each trap of the rule page's part 5 that concerns an engine."""

from tests.core.table import BARE, CUTTHROAT, DUEL, act, deal_of, game_of, play, texts
from tournament.deal import PLAY, THROWN_IN
from tournament.game import End, deal_winner
from tournament.observation import QuestionReader, QuestionWriter
from tournament.rules import Limits, Rules

ONE = ("AS 2S 3H 4H 5H 6H", "KS QS 7H 8H 9H TH")


def test_low_is_not_given_to_the_winner_of_the_trick() -> None:
    deal = deal_of(DUEL, 1, "AS KS QS 4H 5H 6H", "2S 3S 7D 8D 9D TD")
    act(deal, "2", "pass")
    play(deal, "AS 2S")
    assert deal.tricks[0].winner == 0
    assert deal.points.low == 1


def test_a_pass_of_the_dealer_cancels_no_earlier_bid() -> None:
    deal = deal_of(CUTTHROAT, 2, *ONE, "2D 3D 4D 5D 6D 7D")
    act(deal, "2", "pass", "pass")
    assert (deal.phase, deal.bidder, deal.bid, deal.seat) == (PLAY, 0, 2, 0)


def test_a_player_void_of_the_suit_led_need_not_trump() -> None:
    deal = deal_of(CUTTHROAT, 2, "AS KD QD JD TD 9D", "2S 7H 8H 9H TH JH", "3S 4S 2C 3C 4C 5C")
    act(deal, "2", "pass", "pass")
    play(deal, "AS 2S 3S KD 7H")  # seat 1 threw a heart on a diamond
    assert texts(deal.legal()) == ["4S", "2C", "3C", "4C", "5C"]  # type: ignore[arg-type]


def test_after_a_ruff_the_suit_led_binds_and_not_the_trump() -> None:
    deal = deal_of(CUTTHROAT, 2, "AS KD QD JD TD 9D", "2S KS 8H 9H TH JH", "3S 4S 2D 3C 4C 5C")
    act(deal, "2", "pass", "pass")
    play(deal, "AS 2S 3S KD KS")  # seat 1 trumps the king of diamonds
    assert texts(deal.legal()) == ["4S", "2D"]  # type: ignore[arg-type]
    play(deal, "2D")
    assert deal.tricks[1].winner == 1


def test_a_card_off_suit_never_wins() -> None:
    deal = deal_of(DUEL, 1, "2S 2D 3D 4D 5D 6D", "AH KH QH JH TH 9H")
    act(deal, "2", "pass")
    play(deal, "2S AH 2D KH")
    assert [trick.winner for trick in deal.tricks] == [0, 0]


def test_ranks_are_not_compared_as_text() -> None:
    # As text "9" < "A" < "J" < "K" < "Q" < "T": every trick here would go the other way.
    deal = deal_of(DUEL, 1, "AS QS JS AD KD TC", "KS TS 9S JD QD 9C")
    act(deal, "2", "pass")
    play(deal, "AS KS QS TS JS 9S AD JD KD QD TC 9C")
    assert [trick.winner for trick in deal.tricks] == [0] * 6
    assert deal.points.low == 1  # the nine


def test_a_tie_for_game_is_not_given_to_the_first_in_the_list() -> None:
    deal = deal_of(DUEL, 1, "AS KS 2D 3D 4D 5D", "QS JS AD 6D 7D 8D")
    act(deal, "2", "pass")
    # 0: A K Q J of spades, 4 + 3 + 2 + 1; 1: the ace of diamonds, 4. Then level: only the ten is missing.
    play(deal, "AS QS KS JS 2D AD 6D 3D 7D 4D 8D 5D")
    assert deal.pips == [10, 4]
    level = deal_of(DUEL, 1, "AS 2S 3S 4D 5D 6D", "5S 6S 7S AD 8D 9D")
    act(level, "2", "pass")
    play(level, "AS 5S 2S 6S 7S 3S AD 4D 8D 5D 9D 6D")
    assert level.pips == [4, 4]
    assert level.points.game is None
    nothing = deal_of(DUEL, 1, "2S 3S 4S 4D 5D 6D", "5S 6S 7S 7D 8D 9D")
    act(nothing, "2", "pass")
    play(nothing, "2S 5S 6S 3S 7S 4S 7D 4D 8D 5D 9D 6D")
    assert nothing.pips == [0, 0]
    assert nothing.points.game is None


def test_an_absent_jack_is_scored_for_nobody() -> None:
    deal = deal_of(DUEL, 1, "AS 2S 3S 4D 5D 6D", "5S 6S 7S JD 8D 9D")
    act(deal, "2", "pass")
    play(deal, "AS 5S 2S 6S 7S 3S JD 4D 8D 5D 9D 6D")
    assert deal.points.jack is None


def test_game_is_counted_by_side_and_not_by_player() -> None:
    # Seat 1 alone has the most pips of a player, seats 0 and 2 together have more.
    deal = deal_of(BARE, 3, "AH 7S 8S 9S 9C TC", "KH TS 8D 9D 7C 8C", "8H AS JS KD AC KC", "7H QS KS JD QC JC")
    act(deal, "2", "pass", "pass", "pass")
    play(deal, "AH KH 8H 7H")  # 0 takes 7
    play(deal, "7S TS AS QS")  # 2 takes 16
    play(deal, "AC QC TC 7C")  # 2 takes 16
    assert deal.pips == [39, 0]
    play(deal, "KC JC 9C 8C KD JD 8S 8D")
    play(deal, "JS KS 9S 9D")
    assert deal.pips == [39 + 4 + 4, 4]
    assert deal.points.game == 0


def test_the_end_is_not_tested_on_the_points_of_the_deal() -> None:
    # A target of 2, won in one deal from nothing: at the target only after it, so that nothing is won by the default.
    rules = Rules.make("cutthroat", players=2, target=2)
    game = game_of(rules, 1, "AS 2S KS QS TS 9S", "3H 4H 5H 6H 7H 8H")
    act(game, "2", "pass")
    play(game, "AS 3H 2S 4H KS 5H QS 6H TS 7H 9S 8H")
    assert game.scores == [3, 0]
    assert not game.over


def test_where_the_target_is_to_be_reached_the_end_is_not_tested_on_the_score_before_the_deal() -> None:
    rules = Rules.make("cutthroat", players=2, target=3, win="reach_target")
    game = game_of(rules, 1, "AS 2S KS QS TS 9S", "3H 4H 5H 6H 7H 8H")
    act(game, "2", "pass")
    play(game, "AS 3H 2S 4H KS 5H QS 6H TS 7H 9S 8H")
    assert game.outcome is not None
    assert (game.outcome.end, game.outcome.winner, game.outcome.scores) == (End.TARGET, 0, (3, 0))
    # And one that held it before the deal and lost it in the deal does not win.
    game = game_of(rules, 1, "2S 3S 4H 5H 6H 7H", "AS KS QS JS TS 9S", scores=[5, 0])
    act(game, "4")
    play(game, "2S AS KS 3S QS 4H JS 5H TS 6H 9S 7H")
    assert game.outcome is not None
    assert (game.outcome.winner, game.outcome.scores) == (1, (1, 3))


def test_no_bids_or_trumps_are_left_over_from_the_last_deal() -> None:
    game = game_of(DUEL, 1, "AS 2S KS QS TS 9S", "3H 4H 5H 6H 7H 8H")
    reader, writer = QuestionReader(DUEL, Limits(), 1), QuestionWriter(game)
    writer.deal_begun(game.dealt[0])
    act(game, "2", "pass")
    play(game, "AS 3H 2S 4H KS 5H QS 6H TS 7H 9S 8H")
    deal = game.deal
    assert deal is not None
    assert (deal.bids, deal.bid, deal.bidder, deal.trump, deal.tricks, deal.trick) == ([], 0, -1, -1, [], [])
    assert (deal.taken, deal.discards, deal.points) == ((), (), (None, None, None, None))
    view = reader.read(writer.question(1, 0, deal.phase, deal.legal())[2:])[3]
    assert (view.deal, view.bids, view.bid, view.bidder, view.trump, view.tricks, view.trick.cards) == (
        *(2, (), 0, None, None, (), ()),
    )


def test_trumps_are_not_known_before_the_first_lead() -> None:
    deal = deal_of(DUEL, 1, *ONE)
    act(deal, "2", "pass")
    assert deal.trump == -1
    assert texts(deal.legal()) == ONE[0].split()  # type: ignore[arg-type]
    play(deal, "4H")  # not the suit that the bid was made on
    assert deal.trump == 2
    game = game_of(DUEL, 1, *ONE)
    reader, writer = QuestionReader(DUEL, Limits(), 0), QuestionWriter(game)
    writer.deal_begun(game.dealt[0])
    act(game, "2", "pass")
    assert game.deal is not None
    assert reader.read(writer.question(0, 0, PLAY, game.deal.legal())[2:])[3].trump is None


def test_cards_are_matched_to_seats_from_the_leader_and_not_from_the_bidder() -> None:
    deal = deal_of(CUTTHROAT, 2, "AS 2S 3D 4D 5D 6D", "KS QS AD KD QD JD", "3S 2D 7C 8C 9C TC")
    act(deal, "2", "pass", "pass")
    play(deal, "AS KS 3S 3D AD 2D")
    assert (deal.tricks[1].winner, deal.seat) == (1, 1)
    play(deal, "QS TC 2S")  # 1 leads, then 2, then 0
    assert (deal.tricks[2].leader, deal.tricks[2].winner) == (1, 1)
    assert deal.points.low == 0  # the two of spades, played by 0


def test_a_trump_put_in_proves_no_void() -> None:
    deal = deal_of(DUEL, 1, "AS KD 2H 3H 4H 5H", "KS QS 2D 3D 6H 7H")
    act(deal, "2", "pass")
    play(deal, "AS KS KD QS")  # 1 trumps the king of diamonds though it holds diamonds
    play(deal, "2D")
    assert deal.trick == [13]


def test_all_pass_is_thrown_in_only_when_the_dealer_has_passed_too() -> None:
    deal = deal_of(CUTTHROAT, 2, *ONE, "2D 3D 4D 5D 6D 7D")
    act(deal, "pass", "pass")
    assert not deal.over
    assert deal.seat == 2
    act(deal, "pass")
    assert deal.phase is THROWN_IN


def test_a_deal_that_is_not_won_by_the_rules_has_no_winner() -> None:
    deal = deal_of(DUEL, 1, "AS 2S KS QS TS 9S", "3H 4H 5H 6H 7H 8H")
    act(deal, "4")
    play(deal, "AS 3H 2S 4H KS 5H QS 6H TS 7H 9S 8H")
    assert deal.made is False
    assert deal_winner(DUEL, [11, 0], [7, 0], deal, frozenset()) is None
