"""`play_game` and `Decisions`: the games of a contest, between plain objects in one process."""

import random
from typing import ClassVar

import pytest

import tournament
from bots.counter_bot import Bot as Counter
from bots.simple_bot import Bot as Simple
from tournament import seeds
from tournament.bot import Card, View
from tournament.deal import BID
from tournament.play import Decisions, play_game
from tournament.rules import Rules
from tournament.source import BotSource
from tournament.verify import check_document

TWO = Rules.make("cutthroat", players=2)
THREE = Rules.make("cutthroat")
FOUR = Rules.make("wisconsin")


class Broken:
    def bid(self, view: View) -> int:
        raise RuntimeError(f"out of order in deal {view.deal}")

    def play(self, view: View) -> Card:
        raise RuntimeError(f"out of order in deal {view.deal}")


class Drawing:
    """Notes what the first number of its `random` was."""

    first: dict[int, float]

    def bid(self, view: View) -> int:
        number = random.random()
        type(self).first.setdefault(view.seat, number)
        bid: int = random.choice(view.legal)
        return bid

    def play(self, view: View) -> Card:
        type(self).first.setdefault(view.seat, random.random())
        card: Card = random.choice(view.legal)
        return card


def test_the_package_itself_offers_the_call() -> None:
    assert tournament.play_game is play_game
    assert tournament.Rules is Rules
    with pytest.raises(AttributeError, match="no attribute 'play_gam'"):
        _ = tournament.play_gam  # type: ignore[attr-defined]


def test_the_deals_are_those_of_the_replay_format() -> None:
    played = play_game([Counter, Simple], TWO, "demo")
    assert played.record.match_key == "cutthroat/2/counter:1,simple:1/1"
    assert played.record.seed == "95123ba7c454a41da4ecd3df282687c91552d6d33257c07f1aa59c9a1bc5351f"
    assert played.record.seating == 1
    assert play_game([Simple, Counter], TWO, "demo").record.seating == 2


@pytest.mark.parametrize("rules", [TWO, THREE, FOUR], ids=lambda rules: rules.mode)
def test_its_document_passes_verification(rules: Rules) -> None:
    bots = [Simple, Counter] if rules.side_count == 2 else [Simple, Counter, Simple]
    document = play_game(bots, rules, "a seed").document()
    check_document(document, "a seed")
    assert {player["sha256"] for player in document["players"]} == {None}


def test_each_seat_draws_from_a_random_of_its_own_and_the_caller_keeps_its_own() -> None:
    Drawing.first = {}
    random.seed(5)
    expected = random.Random(5).random()
    played = play_game([Drawing, Drawing, Simple], THREE, "draw")
    assert random.random() == expected
    for seat, first in Drawing.first.items():
        text = seeds.bot_seed("draw", played.record.match_key, played.record.seating, seat)
        assert first == random.Random(text).random()
    assert set(Drawing.first) == {0, 1}


class Gaussian(Simple):
    """Draws pairs of numbers of which `random.gauss` keeps the second for later, and whole states."""

    drawn: ClassVar[dict[int, list[object]]] = {}

    def play(self, view: View) -> Card:
        self.drawn.setdefault(view.seat, []).append((random.gauss(0, 1), random.random(), random.getstate()))
        return super().play(view)


def test_what_a_seat_draws_is_what_its_generator_draws_alone() -> None:
    Gaussian.drawn.clear()
    random.seed(1)
    random.gauss(0, 1)
    before = random.getstate()
    played = play_game([Gaussian, Gaussian, Gaussian], THREE, "gauss")
    assert random.getstate() == before, "the caller's stays as it was, its half pair too"
    for seat, drawn in Gaussian.drawn.items():
        alone = random.Random(seeds.bot_seed("gauss", played.record.match_key, played.record.seating, seat))
        assert drawn == [(alone.gauss(0, 1), alone.random(), alone.getstate()) for _ in drawn]
        assert len(drawn) > 3


def test_a_game_repeats() -> None:
    Drawing.first = {}
    games = [play_game([Drawing, Drawing], FOUR, "again") for _ in range(2)]
    assert games[0].record == games[1].record


def test_without_a_random_of_their_own_the_bots_draw_from_the_callers() -> None:
    Drawing.first = {}
    random.seed(7)
    play_game([Drawing, Simple], TWO, "x", own_random=False)
    assert Drawing.first[0] == random.Random(7).random()


def test_a_fault_costs_the_game_where_two_sides_play() -> None:
    played = play_game([Broken, Simple], TWO, "x")
    assert (played.outcome.end, played.outcome.winner) == ("forfeit", 1)
    (error,) = played.errors
    assert error.startswith("RuntimeError: out of order")
    check_document(played.document(), "x")


def test_at_three_the_house_plays_on_and_a_second_fault_ends_the_game() -> None:
    one = play_game([Broken, Simple, Counter], THREE, "x")
    assert one.outcome.places[0] == 3
    assert len(one.errors) == 1
    two = play_game([Broken, Broken, Counter], THREE, "x")
    assert (two.outcome.end, two.outcome.winner) == ("forfeit", 2)
    assert len(two.errors) == 2


def test_a_source_that_does_not_load_is_a_fault_at_load() -> None:
    played = play_game([BotSource.of_file(b"import nowhere"), Simple], TWO, "x")
    assert played.outcome.fault is not None
    assert (played.outcome.fault.kind, played.outcome.fault.act) == ("load", -1)
    assert "nowhere" in played.errors[0]
    assert played.document()["deals"] == []


def test_a_class_that_cannot_be_made_is_a_fault_at_load_as_well() -> None:
    class Unmade(Simple):
        def __init__(self) -> None:
            raise KeyError("weights")

    played = play_game([Simple, Unmade], TWO, "x")
    assert played.outcome.fault is not None
    assert (played.outcome.fault.seat, played.outcome.fault.kind) == (1, "load")
    assert played.errors[0].startswith("KeyError: 'weights'")


def test_empty_seats_are_asked_and_the_others_play() -> None:
    decisions = Decisions([None, Simple, Counter], THREE, "learn")
    seats, kinds = set(), set()
    for decision in decisions:
        assert decision.answer is None
        assert decision.view.seat == decision.seat
        seats.add(decision.seat)
        kinds.add(decision.kind)
        decision.answer = decision.ask(Simple())
    assert seats == {0}
    assert BID in kinds
    # An object that answers like `simple` makes the game of `simple`.
    names = ["learner", "simple", "counter"]
    assert decisions.played.record == play_game([Simple, Simple, Counter], THREE, "learn", names=names).record


def test_an_answer_of_the_caller_that_is_not_legal_is_the_callers_mistake() -> None:
    decisions = iter(Decisions([None, Simple], TWO, "x"))
    next(decisions).answer = 7
    with pytest.raises(ValueError, match=r"answered 7: expected one of 0, 2"):
        next(decisions)


def test_a_card_may_be_answered_as_its_text() -> None:
    decisions = Decisions([None, Simple], TWO, "x")
    for decision in decisions:
        decision.answer = decision.view.legal[0] if decision.kind is BID else str(decision.view.legal[0])
    assert decisions.played.outcome.end != "forfeit"


def test_a_game_that_is_not_over_has_no_outcome() -> None:
    with pytest.raises(ValueError, match="not over"):
        _ = Decisions([None, Simple], TWO, "x").played


@pytest.mark.parametrize(
    ("bots", "rules", "options", "problem"),
    [
        ([Simple], TWO, {}, "1 bots at 2 seats"),
        ([Simple, None], TWO, {}, "seat without a bot"),
        ([Simple(), Simple()], FOUR, {}, "two objects at four seats"),
        ([Simple, Counter, Counter, Simple], FOUR, {}, "partners have different names"),
        ([Simple, Counter], TWO, {"names": ["a"]}, "1 names for 2 bots"),
        ([Simple, Counter], TWO, {"names": ["A", "b"]}, "name 'A'"),
        ([Simple, Counter], TWO, {"names": ["a:0", "b"]}, "name 'a:0'"),
    ],
)
def test_what_does_not_fit_is_refused(
    bots: list[object], rules: Rules, options: dict[str, list[str]], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        play_game(bots, rules, "x", names=options.get("names"))


def test_one_object_cannot_sit_at_two_seats() -> None:
    bot = Simple()
    with pytest.raises(ValueError, match="one object at two seats"):
        play_game([bot, bot], TWO, "x")


def test_an_empty_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="seed is empty"):
        play_game([Simple, Counter], TWO, "")


def test_names_come_from_classes_and_modules() -> None:
    class Clever(Simple):
        pass

    class Another(Simple):
        pass

    Another.__name__ = "Clever"
    played = play_game([Clever, Another, Simple], THREE, "x")
    assert [player.text for player in played.record.players] == ["clever:1", "clever:2", "simple:1"]
