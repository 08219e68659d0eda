"""The view: every field against the engine, whenever it is looked at; and the way from a view into a search."""

import copy
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest

from tests.core.table import MODES, WISCONSIN, any_legal, cards, mostly_pass, texts
from tournament import seeds
from tournament.cards import CARDS, INDEX, SUITS, TEXTS, Card
from tournament.deal import BID, DISCARD, PLAY, Action, Deal
from tournament.game import DealtDeal, FaultKind, Game
from tournament.observation import QuestionReader, QuestionWriter
from tournament.rules import Limits, Rules
from tournament.view import VIEW_FIELDS, Bid, PastDeal, Trick, View

LIMITS = Limits(decision_cpu_s=0.25, memory_bytes=64 << 20)


def as_cards(indices: Sequence[int]) -> tuple[Card, ...]:
    return tuple(CARDS[index] for index in indices)


def bids_of(deal: Deal) -> tuple[Bid, ...]:
    return tuple(Bid((deal.dealer + 1 + at) % deal.rules.players, bid) for at, bid in enumerate(deal.bids))


def tricks_of(deal: Deal) -> tuple[Trick, ...]:
    return tuple(Trick(trick.leader, as_cards(trick.cards), trick.winner) for trick in deal.tricks)


def past(dealt: DealtDeal, scores: tuple[int, ...]) -> PastDeal:
    deal = dealt.deal
    played = dealt.scores is not None
    return PastDeal(
        dealt.number, dealt.attempt, dealt.dealer, bids_of(deal), deal.bidder if played else None, deal.bid,
        SUITS[deal.trump] if played else None, tricks_of(deal), deal.points if played else None, scores,
    )  # fmt: skip


def expected_fields(game: Game, legal: Sequence[Action]) -> dict[str, Any]:
    """Returns what the view of the seat to act has to say, taken from the engine."""
    deal, rules = game.deal, game.rules
    assert deal is not None
    seat = deal.seat
    history, scores = [], (0,) * rules.side_count
    for dealt in game.dealt[:-1]:
        scores = dealt.scores or scores
        history.append(past(dealt, scores))
    own = deal.bidder == seat
    shown: tuple[Any, ...] = tuple(legal)  # type: ignore[arg-type]
    if deal.phase is PLAY:
        shown = as_cards(legal)  # type: ignore[arg-type]
    elif deal.phase is DISCARD:
        shown = tuple(as_cards(some) for some in legal)  # type: ignore[arg-type]
    leader = deal.leader if deal.leader >= 0 else seat
    return {
        "rules": rules, "limits": LIMITS, "seat": seat, "side": rules.side_of(seat), "dealer": deal.dealer,
        "deal": game.dealt[-1].number, "attempt": game.dealt[-1].attempt, "hand": as_cards(deal.hands[seat]),
        "legal": shown, "bids": bids_of(deal), "bidder": None if deal.bidder < 0 else deal.bidder, "bid": deal.bid,
        "trump": None if deal.trump < 0 else SUITS[deal.trump], "trick": Trick(leader, as_cards(deal.trick), None),
        "tricks": tricks_of(deal), "scores": tuple(game.scores), "taken": as_cards(deal.taken if own else ()),
        "discards": as_cards(deal.discards if own else ()), "history": tuple(history),
        "house": tuple(sorted(game.house)),
    }  # fmt: skip


@dataclass
class Asked:
    """One decision: the game as it stands there, and the view."""

    game: Game
    view: View
    kind: object
    legal_bytes: bytes
    question: bytes
    reader: QuestionReader


def choices(
    rules: Rules, seed: int, faults: float, deals: int
) -> Iterator[tuple[Game, QuestionWriter, Sequence[Action], Random]]:
    """Plays a game at random and stops at each choice, with what its readers need."""
    random = Random(f"{rules}/{seed}")
    game = Game(replace(rules, deal_limit=deals), f"{seed:064x}")
    writer = QuestionWriter(game)
    choose = random.choice((any_legal, mostly_pass))
    while legal := game.advance():
        deal = game.deal
        assert deal is not None
        if random.random() < faults:
            game.fault(deal.seat, FaultKind.EXITED)
            continue
        yield game, writer, legal, random
        game.act_legal(choose(deal, legal, random))


def decisions(rules: Rules, seed: int, *, faults: float = 0.0, deals: int = 6) -> Iterator[Asked]:
    """Plays a game at random, a reader at every seat, and stops at each decision."""
    readers: dict[int, QuestionReader] = {}
    for game, writer, legal, random in choices(rules, seed, faults, deals):
        deal = game.deal
        assert deal is not None
        number = random.randrange(65_536)
        question = writer.question(deal.seat, number, deal.phase, legal)
        assert int.from_bytes(question[:2], "little") == len(question) - 2
        reader = readers.setdefault(deal.seat, QuestionReader(game.rules, LIMITS, deal.seat))
        read_number, kind, legal_bytes, view = reader.read(question[2:])
        assert (read_number, kind) == (number, deal.phase)
        yield Asked(game, view, kind, legal_bytes, question[2:], reader)


def looks(rules: Rules, seed: int, *, faults: float = 0.0, deals: int = 6) -> Iterator[tuple[Game, View]]:
    """Plays a game at random with readers that have the writer at hand, and also read a question now and then."""
    readers: dict[int, QuestionReader] = {}
    for game, writer, legal, random in choices(rules, seed, faults, deals):
        deal = game.deal
        assert deal is not None
        reader = readers.setdefault(deal.seat, QuestionReader(game.rules, LIMITS, deal.seat, writer))
        if random.random() < 0.2:
            yield game, reader.read(writer.question(deal.seat, 0, deal.phase, legal)[2:])[3]
        else:
            yield game, reader.look(deal.phase, legal)


@pytest.mark.parametrize("rules", MODES, ids=lambda rules: f"{rules.mode}/{rules.bidder_takes}")
def test_a_view_without_a_question_is_the_view_of_the_question(rules: Rules) -> None:
    kept: list[tuple[View, dict[str, Any]]] = []
    for seed in range(8):
        for game, view in looks(rules, seed, faults=0.01 if rules.players == 3 else 0.0):
            kept.append((view, expected_fields(game, legal_of(game))))
            if len(kept) % 3 == 0:
                assert {name: getattr(view, name) for name in VIEW_FIELDS} == kept[-1][1]
    assert len(kept) > 200
    Random(6).shuffle(kept)  # however late they are looked at
    for view, expected in kept:
        assert {name: getattr(view, name) for name in VIEW_FIELDS} == expected


def test_a_look_costs_no_event_until_a_field_is_looked_at() -> None:
    rules = MODES[0]
    game = Game(rules, 64 * "a")
    writer = QuestionWriter(game)
    readers = [QuestionReader(rules, LIMITS, seat, writer) for seat in range(rules.players)]
    legal = game.advance()
    assert game.deal is not None
    seat = game.deal.seat
    view = readers[seat].look(game.deal.phase, legal)
    waiting = writer.waiting(seat)
    assert view.legal == tuple(legal)
    assert writer.waiting(seat) == waiting > 0
    assert len(view.hand) == 6
    assert writer.waiting(seat) == 0
    assert readers[seat].deals_begun_now() == 1


def legal_of(game: Game) -> Sequence[Action]:
    assert game.deal is not None
    return game.deal.legal()


@pytest.mark.parametrize("rules", MODES, ids=lambda rules: f"{rules.mode}/{rules.bidder_takes}")
def test_every_field_is_what_the_engine_says(rules: Rules) -> None:
    fields = set()
    for seed in range(12):
        for asked in decisions(rules, seed, faults=0.01 if rules.players == 3 else 0.0):
            expected = expected_fields(asked.game, legal_of(asked.game))
            assert {name: getattr(asked.view, name) for name in VIEW_FIELDS} == expected
            fields |= {name for name, value in expected.items() if value}
    needed = set(VIEW_FIELDS) if rules.bidder_takes else set(VIEW_FIELDS) - {"taken", "discards"}
    assert fields >= needed - (set() if rules.players == 3 else {"house"}), "every field had something to say"


@pytest.mark.parametrize("rules", MODES, ids=lambda rules: f"{rules.mode}/{rules.bidder_takes}")
def test_a_view_says_the_same_however_late_it_is_looked_at(rules: Rules) -> None:
    kept: list[tuple[View, dict[str, Any]]] = []
    for asked in decisions(rules, 99, faults=0.004 if rules.players == 3 else 0.0, deals=4):
        kept.append((asked.view, expected_fields(asked.game, legal_of(asked.game))))
        if len(kept) % 7 == 0:
            assert asked.view.hand == kept[-1][1]["hand"]  # some are looked at in between
    assert len(kept) > 40
    Random(5).shuffle(kept)
    for view, expected in kept:
        assert {name: getattr(view, name) for name in VIEW_FIELDS} == expected


def test_fields_have_the_types_that_the_guide_names() -> None:
    for asked in decisions(WISCONSIN, 3, deals=3):
        view = asked.view
        for name in ("hand", "legal", "bids", "tricks", "scores", "taken", "discards", "history", "house"):
            assert type(getattr(view, name)) is tuple
        for name in ("seat", "side", "dealer", "deal", "attempt", "bid"):
            assert type(getattr(view, name)) is int
        if asked.kind is BID:
            assert all(type(bid) is int for bid in view.legal)
        if asked.kind is PLAY:
            assert set(view.legal) <= set(view.hand)
            trick = view.trick
            assert [card for _, card in trick.plays(4)] == list(trick.cards)
            assert [seat for seat, _ in trick.plays(4)] == [(trick.leader + at) % 4 for at in range(len(trick.cards))]
        if asked.kind is DISCARD:
            assert all(type(some) is tuple and len(some) == 3 for some in view.legal)


def a_view() -> View:
    return next(decisions(WISCONSIN, 1)).view


def test_a_view_cannot_be_changed() -> None:
    view = a_view()
    for name in (*VIEW_FIELDS, "anything", "_origin"):
        with pytest.raises(AttributeError, match=f"a view cannot be changed: tried to set {name}"):
            setattr(view, name, 1)
        with pytest.raises(AttributeError, match="a view cannot be changed: tried to delete"):
            delattr(view, name)
    with pytest.raises(AttributeError):
        view.rules.target = 1  # type: ignore[misc]
    with pytest.raises(AttributeError):
        view.hand[0].rank = 14
    assert copy.copy(view) is view
    assert copy.deepcopy([view]) == [view]
    with pytest.raises(TypeError, match="a view cannot be pickled"):
        pickle.dumps(view)


def test_a_name_that_a_view_does_not_have_is_answered_with_those_it_has() -> None:
    view = a_view()
    for name in ("cards", "hands", "undealt", "time_left", "clock", "__len__"):
        with pytest.raises(AttributeError, match=f"a view has no '{name}'; it has rules, limits, .*, house"):
            getattr(view, name)
    assert not hasattr(object.__new__(View), "hand") or pytest.fail("an empty view has nothing")


def test_a_view_prints_itself_but_not_its_history() -> None:
    text = repr(a_view())
    assert text.startswith("View(rules=Rules(game=")
    assert all(f"{name}=" in text for name in VIEW_FIELDS if name != "history")
    assert "history" not in text


def test_a_stream_and_the_last_question_come_to_the_same_view_again() -> None:
    for asked in decisions(WISCONSIN, 7, deals=3):
        again = QuestionReader(asked.game.rules, LIMITS, asked.view.seat)
        stream = asked.reader.stream
        before = len(stream) - (len(asked.question) - 4 - len(asked.legal_bytes))
        again.resume(stream[:before])
        _, _, _, view = again.read(asked.question)
        assert repr(view) == repr(asked.view)
        assert view.history == asked.view.history
        assert again.deals_begun_now() == len(asked.game.dealt)


def test_a_view_is_filled_in_only_when_it_is_looked_at() -> None:
    view = a_view()
    assert view.legal  # what every bot needs is there at once
    with pytest.raises(AttributeError):
        object.__getattribute__(view, "hand")
    assert view.hand
    assert object.__getattribute__(view, "tricks") == ()


# imagine -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", MODES, ids=lambda rules: f"{rules.mode}/{rules.bidder_takes}")
def test_imagine_with_the_true_cards_is_the_engine_s_own_deal(rules: Rules) -> None:
    random = Random(8)
    for seed in range(4):
        for asked in decisions(rules, seed, deals=4):
            deal = asked.game.deal
            assert deal is not None
            imagined = asked.view.imagine(
                [as_cards(hand) for hand in deal.hands],
                discards=as_cards(deal.discards) if deal.bidder != deal.seat else (),
                undealt=as_cards(deal.undealt),
            )
            for name in (
                *("dealer", "phase", "seat", "bids", "bid", "bidder", "trump", "leader", "trick", "tricks"),
                "pips",
            ):
                assert getattr(imagined, name) == getattr(deal, name), name
            assert imagined.legal() == deal.legal()
            real = deal.copy()
            while not real.over:
                assert imagined.seat == real.seat
                assert set(imagined.legal()) == set(real.legal())
                action = random.choice(real.legal())
                real.act(action)
                imagined.act(action)
            assert (imagined.points, imagined.changes) == (real.points, real.changes)


def test_imagine_asks_for_the_cards_that_it_needs() -> None:
    needed = set()
    for asked in decisions(WISCONSIN, 2, deals=2):
        deal = asked.game.deal
        assert deal is not None
        hands = [as_cards(hand) for hand in deal.hands]
        if deal.bidder == deal.seat and deal.taken:
            asked.view.imagine(hands)
        else:
            with pytest.raises(ValueError, match="0 cards to take or given up: expected at least 3"):
                asked.view.imagine(hands)
            needed.add(asked.kind)
    assert needed == {BID, PLAY}


# Cards ---------------------------------------------------------------------------------------------------------------


def test_there_are_fifty_two_cards_and_each_is_one_object() -> None:
    assert len(set(CARDS)) == 52
    for index, card in enumerate(CARDS):
        assert (card.index, str(card), card.text, INDEX[str(card)]) == (index, TEXTS[index], TEXTS[index], index)
        assert Card(str(card)) is card
        assert repr(card) == f"Card('{card}')"
        assert f"{card.rank}{card.suit}" == f"{'0123456789TJQKA'.index(str(card)[0])}{str(card)[1]}"
        assert pickle.loads(pickle.dumps(card)) is card
        assert copy.deepcopy(card) is card
    assert sorted(as_cards(cards("AS TC 2S TD 2C"))) == list(as_cards(cards("2C 2S TC TD AS")))
    assert max(as_cards(cards("9S TC"))) is Card("TC")
    assert [card.pips for card in as_cards(cards("AS KS QS JS TS 9S"))] == [4, 3, 2, 1, 10, 0]


@pytest.mark.parametrize("text", ["", "T", "TSS", "10S", "ts", "T ", "1S", "TX", "XS", None, 5, b"TS"])
def test_what_is_no_card_says_so(text: Any) -> None:
    with pytest.raises(ValueError, match="is no card: expected a rank"):
        Card(text)


def test_a_card_cannot_be_changed_or_compared_with_anything_else() -> None:
    card = Card("TS")
    with pytest.raises(AttributeError, match="a card cannot be changed"):
        card.rank = 14
    with pytest.raises(AttributeError, match="a card cannot be changed"):
        del card.suit
    with pytest.raises(TypeError):
        _ = card < "TS"  # type: ignore[operator]
    assert card != "TS"


def test_limits_are_positive_numbers_and_come_back_from_their_own_dict() -> None:
    assert Limits.from_dict(LIMITS.to_dict()) == LIMITS
    assert Limits().game_cpu_allowance_s(4) == pytest.approx(3.0 + 4 * 0.5)
    wrong = {"decision_cpu_s": 0, "game_cpu_s": -1.0, "memory_bytes": 1.5, "deal_cpu_s": float("inf")}
    for name, value in (*wrong.items(), ("decision_wall_s", "5"), ("load_cpu_s", True), ("load_cpu_s", float("nan"))):
        with pytest.raises(ValueError, match=f"{name} is .*: expected a positive number"):
            Limits.from_dict({name: value})
    with pytest.raises(ValueError, match="unknown in limits: sleep_s"):
        Limits.from_dict({"sleep_s": 1})


def test_the_hand_is_as_dealt_then_what_was_taken_less_what_is_gone() -> None:
    rules = replace(WISCONSIN, bidder_takes=2)
    game = Game(rules, "21" * 32)
    writer, seen = QuestionWriter(game), []
    readers = [QuestionReader(rules, LIMITS, seat) for seat in range(4)]
    while len(seen) < 4:
        legal = game.advance()
        deal = game.deal
        assert deal is not None
        if deal.seat == deal.bidder or deal.phase is BID:
            seen.append(readers[deal.seat].read(writer.question(deal.seat, 0, deal.phase, legal)[2:])[3])
        game.act_legal(4 if deal.phase is BID else legal[-1])
    first = seeds.dealt(rules, game.dealt[0].deck)
    bidder, undealt = seen[0].seat, first[1]
    order = [*first[0][bidder], *undealt[:2]]
    assert texts([card.index for card in seen[0].hand]) == texts(order[:6])
    assert texts([card.index for card in seen[1].hand]) == texts(order)
    kept = [card for card in order if CARDS[card] not in seen[2].discards]
    assert texts([card.index for card in seen[2].hand]) == texts(kept)
    gone = seen[3].tricks[0].cards
    assert texts([card.index for card in seen[3].hand]) == texts([card for card in kept if CARDS[card] not in gone])
