"""The house bots: they play every mode without a fault, repeat, and do what their files say."""

import ast
import random
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from types import SimpleNamespace
from typing import Any

import pytest

import bots
from bots import counter_bot, searcher_bot, simple_bot
from tournament import Decisions, play_game
from tournament.bot import CARDS, Card, Deal, Trick, View
from tournament.rules import Rules
from tournament.seeds import dealt, shuffled
from tournament.source import BotSource

MODES = [
    Rules.make("cutthroat", players=2, deal_limit=2),
    Rules.make("cutthroat", deal_limit=2),
    *(Rules.make("wisconsin", bidder_takes=takes, deal_limit=1) for takes in range(4)),
]
BOTS = {name: import_module(f"bots.{name}_bot").Bot for name in bots.NAMES}


def mode_name(rules: Rules) -> str:
    return f"{rules.mode}/{rules.bidder_takes}"


@pytest.mark.parametrize("rules", MODES, ids=mode_name)
@pytest.mark.parametrize("name", bots.NAMES)
def test_a_house_bot_plays_every_mode_without_a_fault_and_repeats(name: str, rules: Rules) -> None:
    games = [play_game([BOTS[name]] * rules.side_count, rules, "house") for _ in range(2)]
    assert games[0].errors == ()
    assert games[0].record == games[1].record
    assert games[0].record.players[0].text == f"{name}:{bots.house_bot(name).version}"


@pytest.mark.parametrize("options", [{"high": "highest_in_play"}, {"win": "bid_reaches_target"}], ids=str)
@pytest.mark.parametrize("name", bots.NAMES)
def test_a_house_bot_plays_with_other_options(name: str, options: dict[str, str]) -> None:
    for game in ("cutthroat", "wisconsin"):
        rules = Rules.make(game, deal_limit=1, **options)
        assert play_game([BOTS[name]] * rules.side_count, rules, "options").errors == ()


@pytest.mark.parametrize("name", bots.NAMES)
def test_a_house_bot_goes_on_when_the_house_plays_another_seat(name: str) -> None:
    broken = BotSource.of_file(b"raise SystemExit")
    played = play_game([broken, BOTS[name], BOTS["simple"]], Rules.make("cutthroat", deal_limit=2), "house")
    assert len(played.errors) == 1


def test_the_catalogue_knows_versions_and_code() -> None:
    for name in bots.NAMES:
        bot = bots.house_bot(name)
        assert bot.name == name
        assert f"\nVERSION = {bot.version}\n" in bot.code.decode()
    with pytest.raises(ValueError, match="no house bot 'nobody'"):
        bots.house_bot("nobody")


@pytest.mark.parametrize("name", bots.NAMES)
def test_a_house_bot_is_short_enough_to_be_read_and_looks_at_no_clock(name: str) -> None:
    code = bots.house_bot(name).code.decode()
    assert len(code.splitlines()) <= 260
    imported = {
        alias.name for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import) for alias in node.names
    }
    assert "time" not in imported
    assert "time_left" not in code


def share(better: str, worse: str, rules: Rules, rounds: int) -> float:
    """What the first takes from the second over whole matches: both seatings of each seed."""
    wins = 0
    for number in range(rounds):
        for seats in ((better, worse), (worse, better)):
            outcome = play_game([BOTS[name] for name in seats], rules, f"order {number}", own_random=False).outcome
            wins += outcome.winner == seats.index(better)
    return wins / (2 * rounds)


@pytest.mark.parametrize(("better", "worse"), [("simple", "random"), ("counter", "simple")])
@pytest.mark.parametrize("rules", [Rules.make("cutthroat", players=2), Rules.make("wisconsin")], ids=mode_name)
def test_the_order_of_the_cheap_bots_shows_in_a_few_matches(better: str, worse: str, rules: Rules) -> None:
    random.seed(1)
    assert share(better, worse, rules, 12) > 0.6


def decisions_of(rules: Rules, seed: str) -> Iterator[View]:
    """The views of a game that `simple` plays at all seats."""
    for decision in Decisions([None] * rules.players, rules, seed):
        yield decision.view
        decision.answer = decision.ask(simple_bot.Bot())


def in_cards(action: Any, view: View) -> Any:
    """An action of the engine as the view writes it; in the bidding nobody knows trumps yet, nor has taken cards."""
    if isinstance(action, tuple):
        return tuple(CARDS[card] for card in action)
    bidding = len(view.bids) < view.rules.players and view.bid != 4
    return action if bidding else CARDS[action]


@pytest.mark.parametrize("rules", MODES, ids=mode_name)
def test_a_world_of_searcher_fits_all_that_was_seen(rules: Rules) -> None:
    views = 0
    for view in decisions_of(rules, "worlds"):
        worlds = searcher_bot.Worlds(view)
        for _ in range(3):
            deal = worlds.draw()
            assert deal.seat == view.seat
            assert [CARDS[card] for card in deal.hands[view.seat]] == list(view.hand)
            assert [in_cards(action, view) for action in deal.legal()] == list(view.legal)
            held = list(chain(*deal.hands, *(trick.cards for trick in deal.tricks), deal.trick, deal.discards))
            assert len(held) == len(set(held))
            for seat, void in enumerate(worlds.void[: rules.players]):
                assert void.isdisjoint(CARDS[card].suit for card in deal.hands[seat] if seat != view.seat)
            views += 1
    assert views > 12


def late_deals(rules: Rules, count: int) -> Iterator[Deal]:
    """Deals of which random play has left three tricks."""
    generator = random.Random(3)
    for number in range(count):
        hands, undealt = dealt(rules, shuffled(rules, "late", number, 1))
        deal = Deal(rules, number % rules.players, hands, undealt)
        while len(deal.tricks) < 3:
            legal = [action for action in deal.legal() if action != 0 or deal.bid]  # somebody bids
            deal.act_legal(generator.choice(legal))
        yield deal


def judge_of(rules: Rules, side: int) -> searcher_bot.Judge:
    view: Any = SimpleNamespace(rules=rules, side=side, scores=(0,) * rules.side_count, house=())
    return searcher_bot.Judge(view)


def best_worth(judge: searcher_bot.Judge, deal: Deal) -> float:
    """The definition of what `search` works out: every line of play, nothing left out."""
    if deal.over:
        return judge.worth(deal)
    worths = []
    for card in deal.legal():
        after = deal.copy()
        after.act(card)
        worths.append(best_worth(judge, after))
    return max(worths) if judge.rules.side_of(deal.seat) == judge.side else min(worths)


@pytest.mark.parametrize("rules", [MODES[0], MODES[1], MODES[2]], ids=mode_name)
def test_the_search_finds_what_trying_every_line_of_play_finds(rules: Rules) -> None:
    found = set()
    for number, deal in enumerate(late_deals(rules, 12)):
        judge = judge_of(rules, number % rules.side_count)
        worth = judge.search(deal.copy(), -99.0, 99.0)
        assert worth == best_worth(judge, deal)
        found.add(worth)
    assert len(found) > 2


def table_after(*tricks: Trick, trump: str) -> counter_bot.Table:
    view: Any = SimpleNamespace(
        rules=Rules.make("cutthroat"), side=0, seat=0, hand=(Card("2C"),), discards=(), tricks=tricks,
        trick=Trick(0, (), None),
    )  # fmt: skip
    return counter_bot.Table(view, trump)


def test_counter_knows_that_a_trump_in_proves_no_void_and_that_a_third_suit_does() -> None:
    table = table_after(Trick(0, (Card("AH"), Card("2S"), Card("3D")), 1), trump="S")
    assert table.void == [set(), set(), {"H"}]


def test_counter_counts_pips_and_the_cards_that_are_out() -> None:
    table = table_after(Trick(0, (Card("AH"), Card("TH"), Card("2S")), 2), trump="S")
    assert table.pips == [0, 0, 14]
    assert len(table.out) == 52 - 4
    assert Card("2C") not in table.out


@pytest.mark.parametrize("hand", ["AS KS QS JS TS 2S", "7S 9S 2H 3D 4C 5C", "AS 2H 3D 4C 5C 6C"])
def test_counters_chances_are_chances_and_its_sure_points_are_sure(hand: str) -> None:
    cards = [Card(text) for text in hand.split()]
    view: Any = SimpleNamespace(rules=Rules.make("cutthroat"), hand=cards, discards=(), taken=())
    chances = counter_bot.four_chances(view, "S")
    assert all(0 <= chance <= 1 for chance in chances)
    assert (chances[0] == 1) == (Card("AS") in cards)
    assert (chances[1] == 1) == (Card("2S") in cards)
