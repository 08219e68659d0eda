"""The worked scenarios: deals, biddings, discards and tricks with answers that were worked out by hand."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.core.table import act, action_of, cards, deal_of, deck_of, play, texts
from tournament import seeds
from tournament.cards import SUITS
from tournament.deal import BID, DISCARD, PLAY, THROWN_IN, Deal, IllegalAction, Phase, legal_discards
from tournament.game import Game
from tournament.rules import Rules

SCENARIOS: list[dict[str, Any]] = yaml.load(
    (Path(__file__).parent.parent / "data" / "scenarios.yaml").read_text("utf-8"), yaml.CSafeLoader
)["scenarios"]


def of_kind(*kinds: str) -> pytest.MarkDecorator:
    found = [scenario for scenario in SCENARIOS if scenario["kind"] in kinds]
    return pytest.mark.parametrize("scenario", found, ids=[scenario["id"] for scenario in found])


def rules_of(scenario: dict[str, Any]) -> Rules:
    return Rules.make(scenario["game"], players=scenario["players"], **scenario["options"])


def test_there_are_all_the_scenarios() -> None:
    kinds = [scenario["kind"] for scenario in SCENARIOS]
    assert len(kinds) == 46
    assert set(kinds) == {"deal", "auction", "discard", "legal_plays", "rotation"}


@of_kind("deal")
def test_a_deal_comes_out_as_worked_out_by_hand(scenario: dict[str, Any]) -> None:
    rules, expected = rules_of(scenario), scenario["expected"]
    hands = [" ".join(scenario["hands"][seat]) for seat in range(rules.players)]
    deck = deck_of(rules, *hands, undealt=" ".join(scenario.get("undealt", [])))
    game = Game(rules, None, shuffle=lambda deal, attempt: deck, first_dealer=scenario["dealer"])  # noqa: ARG005
    game.scores = list(scenario["scores_before"])
    game.advance()
    deal = game.deal
    assert deal is not None

    for step in scenario["auction"]:
        assert deal.seat == step["seat"]
        act(game, str(step["action"]))
    assert (deal.bidder, deal.bid) == (expected["bidder"], expected["bid"])
    if rules.bidder_takes:
        assert deal.seat == expected["bidder"]
        assert texts(deal.taken) == scenario.get("taken", scenario["undealt"][: rules.bidder_takes])
        act(game, " ".join(scenario["discards"]))
        assert sorted(texts(deal.discards)) == sorted(scenario["discards"])
    for trick in scenario["tricks"]:
        assert deal.phase is PLAY
        assert deal.seat == trick["leader"]
        act(game, *trick["cards"])
        assert (deal.tricks[-1].leader, deal.tricks[-1].winner) == (trick["leader"], trick["winner"])

    def side(seat: int | None) -> int | None:
        return None if seat is None else rules.side_of(seat)

    assert SUITS[deal.trump] == expected["trump"]
    assert deal.points == (side(expected["high"]), side(expected["low"]), side(expected["jack"]), expected["game"])
    assert deal.pips == expected["game_counts"]
    assert deal.won == expected["points"]
    assert deal.made is expected["made"]
    changes = [after - before for after, before in zip(game.scores, scenario["scores_before"], strict=True)]
    assert changes == expected["change"]
    assert game.scores == expected["scores_after"]
    assert game.over is expected["game_over"]
    if game.over:
        assert game.outcome is not None
        assert game.outcome.winner == expected["winner"]
    else:
        assert game.deal is not deal
        assert game.deal is not None
        assert game.deal.dealer == expected["next_dealer"]


@of_kind("auction")
def test_a_bidding_goes_as_worked_out_by_hand(scenario: dict[str, Any]) -> None:
    rules, expected = rules_of(scenario), scenario["expected"]
    game = Game(
        rules, None, shuffle=lambda deal, _: seeds.shuffled(rules, "any", deal, 1), first_dealer=scenario["dealer"]
    )
    game.advance()
    deal = game.deal
    assert deal is not None
    for step in scenario["steps"]:
        action = 0 if step["action"] == "pass" else step["action"]
        if step.get("legal", True):
            assert deal.seat == step["seat"]
            game.act(action)
        elif deal.seat == step["seat"]:
            assert action not in deal.legal()
            with pytest.raises(IllegalAction):
                game.act(action)
            assert deal.seat == step["seat"]
        else:
            # Out of turn: the engine takes actions of the seat to act only, so that the turn stays where it is.
            assert deal.phase is BID
    assert expected["next_to_act"] is None
    if expected["result"] == "bidder":
        assert deal.phase is PLAY
        assert (deal.bidder, deal.bid, deal.seat) == (expected["bidder"], expected["bid"], expected["bidder"])
    else:
        assert deal.phase is THROWN_IN
        assert game.deal is not None
        assert game.deal.dealer == expected["next_dealer"]
        assert game.scores == [0] * rules.side_count


@of_kind("discard")
def test_discards_are_judged_as_worked_out_by_hand(scenario: dict[str, Any]) -> None:
    rules = rules_of(scenario)
    hand, taken = " ".join(scenario["hand"]), " ".join(scenario["taken"])
    left = [card for card in texts(seeds.deck(rules)) if card not in f"{hand} {taken}"]
    others = [" ".join(left[at : at + 6]) for at in (0, 6, 12)]
    for case in scenario["cases"]:
        deal = deal_of(rules, 3, hand, *others, undealt=taken)
        act(deal, "4")
        wanted = case["discards"]
        if not rules.bidder_takes:
            assert deal.phase is PLAY
            assert (() in legal_discards(cards(hand), 0)) is True
            if case["legal"]:
                assert wanted == []
            else:
                with pytest.raises(IllegalAction):
                    deal.act(tuple(cards(" ".join(wanted))))
                continue
        else:
            assert deal.phase is DISCARD
            if not case["legal"]:
                assert tuple(cards(" ".join(wanted))) not in deal.legal()
                with pytest.raises(IllegalAction):
                    deal.act(tuple(cards(" ".join(wanted))))
                assert deal.phase is DISCARD
                continue
            action = action_of(deal, " ".join(wanted))
            assert action in deal.legal()
            deal.act(action)
        assert {text[1] for text in texts(deal.legal())} == set(case["opening_suits"])  # type: ignore[arg-type]
        for card in deal.hands[0]:
            if texts([card])[0][1] not in case["opening_suits"]:
                with pytest.raises(IllegalAction, match="cannot be trumps"):
                    deal.check(card)
        if "count_for_bidder" in case:
            assert deal.pips == [case["count_for_bidder"], 0]


@of_kind("legal_plays")
def test_what_may_be_played_to_a_trick(scenario: dict[str, Any]) -> None:
    rules = rules_of(scenario)
    for case in scenario["cases"]:
        hands = [cards(card) for card in case["trick"]] + [cards(" ".join(case["hand"]))]
        seat = len(case["trick"])
        deal = Deal(rules, 0, [*hands, [], []][:3], ())
        deal.phase, deal.seat, deal.leader, deal.trump = Phase.PLAY, 0, 0, SUITS.index(case["trump"])
        for card in cards(" ".join(case["trick"])):
            deal.act_legal(card)
        assert deal.seat == seat
        assert texts(deal.legal()) == case["legal"], case["note"]  # type: ignore[arg-type]
        for card in deal.hands[seat]:
            if texts([card])[0] in case["legal"]:
                deal.check(card)
            else:
                with pytest.raises(IllegalAction):
                    deal.check(card)


@of_kind("rotation")
def test_the_deal_passes_left_and_stays_after_a_thrown_in_deal(scenario: dict[str, Any]) -> None:
    rules = rules_of(scenario)
    game = Game(
        rules, None, shuffle=lambda *at: seeds.shuffled(rules, "any", *at), first_dealer=scenario["first_dealer"]
    )
    for step in scenario["steps"]:
        game.advance()
        deal = game.deal
        assert deal is not None
        assert deal.dealer == step["dealer"]
        if step["outcome"] == "all_passed":
            act(game, "pass", "pass", "pass")
            assert deal.phase is THROWN_IN
        else:
            act(game, "4")
            while not deal.over:
                game.act(deal.legal()[0])
            assert deal.phase is Phase.DONE
    assert game.deal is not None
    assert game.deal.dealer == scenario["expected"]["next_dealer"]


def test_the_helper_that_plays_text_refuses_what_is_against_the_rules() -> None:
    deal = deal_of(Rules.make("cutthroat", players=2), 1, "KH 2H 3H 4H 5H 6H", "AH 2C 3C 4C 5C 6C")
    act(deal, "2", "pass")
    with pytest.raises(IllegalAction, match="H was led and is held"):
        play(deal, "KH 2C")
