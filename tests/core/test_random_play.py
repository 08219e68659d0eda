"""Thousands of games at random, over all modes and options: the rules hold after every single act."""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from tests.core import reference
from tests.core.table import MODES, any_legal, bid_if_good, bold, mostly_pass, texts
from tournament import seeds
from tournament.deal import BID, DISCARD, DONE, PLAY, THROWN_IN, Action, Deal, IllegalAction, Phase
from tournament.game import BID_CODE, End, FaultKind, Game, Listener, acts_in
from tournament.rules import GameName, High, Rules, Win

STATE = [name for name, what in vars(Deal).items() if inspect.isdatadescriptor(what) and not name.startswith("__")]
"""All attributes of a deal, those that it keeps to itself and those that it counts too."""

STYLES = (any_legal, mostly_pass, bid_if_good, bold)


def variations() -> Iterator[Rules]:
    """Yields every mode with every combination of the options, with a small target and few deals."""
    for mode, high, win, capped in product(MODES, High, Win, (False, True)):
        if not (capped and mode.game is GameName.CUTTHROAT):
            yield replace(mode, high=high, win=win, cap_defenders=capped, target=4, deal_limit=12, redeal_limit=4)


def expected_legal(deal: Deal) -> list[object]:
    hand = texts(deal.hands[deal.seat])
    if deal.phase is BID:
        return list(reference.legal_bids(deal.bids))
    if deal.phase is DISCARD:
        return [tuple(some) for some in reference.legal_discards(hand, len(deal.taken))]
    trump = "CDHS"[deal.trump] if deal.trump >= 0 else None
    openable = reference.openable_suits(hand + texts(deal.discards), texts(deal.discards))
    return list(reference.legal_cards(hand, texts(deal.trick), trump, openable))


def as_text(deal: Deal, actions: Sequence[Action]) -> list[object]:
    if deal.phase is BID:
        return list(actions)
    return [tuple(texts(a)) if isinstance(a, tuple) else texts([a])[0] for a in actions]


def check_state(deal: Deal) -> None:
    """Cards are conserved, and somebody has something to do unless the deal is over."""
    seen = [card for hand in deal.hands for card in hand]
    seen += [card for trick in deal.tricks for card in trick.cards]
    seen += [*deal.trick, *deal.discards, *deal.undealt[len(deal.taken) :]]
    assert sorted(seen) == sorted(seeds.deck(deal.rules))
    legal = deal.legal()
    if deal.over:
        assert list(legal) == []
        assert deal.phase in (DONE, THROWN_IN)
    else:
        assert len(legal) > 0
        assert as_text(deal, legal) == expected_legal(deal)
    assert len(deal.trick) < deal.rules.players
    sizes = [len(hand) for hand in deal.hands]
    if deal.phase is PLAY:
        assert max(sizes) - min(sizes) <= 1
        assert sizes[deal.seat] == max(sizes) == 6 - len(deal.tricks)
    played = [card for trick in deal.tricks for card in trick.cards]
    sides = [deal.rules.side_of(trick.winner) for trick in deal.tricks]
    assert sum(deal.pips) == sum(reference.PIPS.get(text[0], 0) for text in texts([*played, *deal.discards]))
    assert all(pips == 0 for side, pips in enumerate(deal.pips) if side not in sides and not deal.discards)


def check_points(deal: Deal) -> None:
    points = [side for side in deal.points if side is not None]
    assert len(points) <= 4
    assert sum(deal.won) == len(points)


def check_refusals(deal: Deal, random: Random) -> None:
    """What `legal` does not list is refused with a reason, and nothing moves."""
    legal = set(deal.legal())
    tries: list[object] = [None, "TS", True, -1, 1.0, (), (99,), random.randrange(52), random.randrange(52)]
    if deal.phase is BID:
        tries += [1, 2, 3, 4, 5]
    if deal.phase is DISCARD:
        tries += [tuple(random.sample(range(52), len(deal.taken))), tuple(deal.hands[deal.seat][: len(deal.taken)])]
        tries += [tuple(reversed(action)) for action in random.sample(sorted(legal), 2)]  # type: ignore[call-overload]
    before = (deal.seat, deal.phase, [hand[:] for hand in deal.hands], deal.bids[:], deal.trick[:])
    for action in tries:
        if type(action) in (int, tuple) and action in legal:
            deal.check(action)  # type: ignore[arg-type]
        else:
            with pytest.raises(IllegalAction, match=r"\w \w"):
                deal.act(action)  # type: ignore[arg-type]
    assert before == (deal.seat, deal.phase, deal.hands, deal.bids, deal.trick)


def check_scored(game: Game, deal: Deal, before: list[int], after: list[int]) -> None:
    """The reference rules give the same points, scores and winner."""
    check_points(deal)
    tricks = [(trick.leader, texts(trick.cards)) for trick in deal.tricks]
    assert deal.trump >= 0
    scored = reference.score(
        game.rules, tricks, "CDHS"[deal.trump], deal.bidder, deal.bid, texts(deal.discards), before, game.house
    )
    assert tuple(deal.points) == scored.points
    assert deal.pips == scored.pips
    assert deal.won == scored.won
    assert deal.made is scored.made
    assert after == scored.after
    for trick, (leader, cards) in zip(deal.tricks, tricks, strict=True):
        assert trick.winner == reference.trick_winner(leader, cards, "CDHS"[deal.trump], game.rules.players)
    if game.outcome is not None and game.outcome.end is not End.FORFEIT:
        assert game.outcome.winner == scored.winner
        assert (game.outcome.end is End.BID_OF_FOUR) is scored.by_four
    else:
        assert scored.winner is None


class Watcher:
    """Checks every deal of a game when it ends."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.ended = 0
        self.scores = game.scores[:]

    def follow(self) -> None:
        """Looks at the deals that have ended since the last time."""
        game = self.game
        done = [dealt for dealt in game.dealt if dealt.deal.over]
        for dealt in done[self.ended :]:
            if dealt.scores is None:
                assert dealt.deal.phase is THROWN_IN
                assert dealt.deal.bids == [0] * game.rules.players
            else:
                check_scored(game, dealt.deal, self.scores, list(dealt.scores))
                self.scores = list(dealt.scores)
        self.ended = len(done)
        assert game.scores == self.scores


def watch(game: Game, random: Random, style: object, *, thorough: bool, faults: float = 0.0) -> None:
    """Plays a game step by step, forced acts included, and checks the state after each."""
    watcher = Watcher(game)
    choose = style
    while asked := game.advance():
        watcher.follow()
        deal = game.deal
        assert deal is not None
        assert len(asked) >= 2
        assert deal.seat not in game.house
        assert list(asked) == list(deal.legal())
        if thorough:
            check_state(deal)
            if random.random() < 0.1:
                check_refusals(deal, random)
        if random.random() < faults:
            game.fault(deal.seat, random.choice(list(FaultKind)))
        else:
            action = choose(deal, asked, random)  # type: ignore[operator]
            copy = deal.copy()
            copy.act(action)
            game.act(action)
            if thorough and game.deal is deal:
                assert all(getattr(copy, name) == getattr(deal, name) for name in STATE)
                check_state(copy)
        watcher.follow()
    watcher.follow()
    assert game.outcome is not None
    assert len(game.acts) == sum(acts_in(dealt.deal) for dealt in game.dealt) + sum(
        max(0, len(dealt.deal.discards) - 1) for dealt in game.dealt
    )


@pytest.mark.parametrize("mode", MODES, ids=lambda rules: f"{rules.mode}/{rules.bidder_takes}")
def test_the_rules_hold_after_every_act(mode: Rules) -> None:
    all_rules = [rules for rules in variations() if replace(rules, bidder_takes=0).game is mode.game]
    all_rules = [r for r in all_rules if (r.players, r.bidder_takes) == (mode.players, mode.bidder_takes)]
    assert len(all_rules) == (6 if mode.game is GameName.CUTTHROAT else 12)
    for number in range(72):
        rules = all_rules[number % len(all_rules)]
        random = Random(f"{mode}/{number}")
        faults = 0.01 if number % 3 == 0 else 0.0
        watch(Game(rules, f"{number:064}"), random, STYLES[number % len(STYLES)], thorough=True, faults=faults)


def test_thousands_of_games_come_out_as_the_reference_says() -> None:
    all_rules = list(variations())
    ends: dict[object, int] = {}
    for number in range(2_400):
        rules = all_rules[number % len(all_rules)]
        random = Random(number)
        game = Game(rules, f"{number:064x}")
        watch(game, random, random.choice(STYLES), thorough=False, faults=0.004)
        assert game.outcome is not None
        ends[game.outcome.end] = ends.get(game.outcome.end, 0) + 1
    assert set(ends) == set(End), "every way to end was seen"
    assert min(ends.values()) >= 10, ends


def test_the_same_seed_and_the_same_choices_give_the_same_acts() -> None:
    for mode in MODES:
        acts = set()
        for _ in range(2):
            game, random = Game(replace(mode, deal_limit=5), "ab" * 32), Random(1)
            while legal := game.advance():
                game.act_legal(random.choice(legal))
            acts.add(bytes(game.acts))
        assert len(acts) == 1


def test_the_acts_alone_play_a_game_again() -> None:
    for number, rules in enumerate(variations()):
        game, random = Game(rules, f"{number:064}"), Random(number)
        while legal := game.advance():
            game.act_legal(random.choice(legal))
        again = Game(rules, f"{number:064}")
        again.start()
        at = 0
        while not again.over:
            deal = again.deal
            assert deal is not None
            size = len(deal.taken) if deal.phase is DISCARD else 1
            code = game.acts[at : at + size]
            again.act(
                code[0] & ~BID_CODE
                if deal.phase is BID
                else tuple(code)
                if size > 1 or deal.phase is DISCARD
                else code[0]
            )
            at += size
        assert at == len(game.acts)
        assert again.outcome == game.outcome
        assert again.acts == game.acts


def test_a_deal_is_no_base_class_whether_it_is_compiled_or_not() -> None:
    with pytest.raises(TypeError):
        type("Mine", (Deal,), {})


def test_a_copy_goes_its_own_way() -> None:
    random = Random(3)
    for rules in MODES:
        hands, undealt = seeds.dealt(rules, seeds.shuffled(rules, "copy", 1, 1))
        deal = Deal(rules, 0, hands, undealt)
        deal.act(4)
        while not deal.over:
            state = {name: getattr(deal, name) for name in ("hands", "bids", "trick", "tricks", "pips", "points")}
            frozen = {
                name: [list(each) for each in value] if name == "hands" else list(value)
                for name, value in state.items()
            }
            copy = deal.copy()
            assert {name: getattr(copy, name) for name in STATE} == {name: getattr(deal, name) for name in STATE}
            while not copy.over:
                copy.act_legal(random.choice(copy.legal()))
            assert copy.phase is Phase.DONE
            assert {name: [list(e) for e in v] if name == "hands" else list(v) for name, v in state.items()} == frozen
            deal.act_legal(random.choice(deal.legal()))


# Bots without sense --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", MODES, ids=lambda rules: f"{rules.mode}/{rules.bidder_takes}")
def test_bots_that_always_pass_end_by_the_redeal_limit(rules: Rules) -> None:
    game = Game(replace(rules, redeal_limit=7), "00" * 32)
    while game.advance():
        game.act(0)
    assert game.outcome is not None
    assert (game.outcome.end, game.outcome.winner) == (End.REDEAL_LIMIT, None)
    assert game.outcome.places == (1,) * rules.side_count
    assert [(dealt.number, dealt.attempt) for dealt in game.dealt] == [(1, attempt) for attempt in range(1, 8)]


@pytest.mark.parametrize("rules", MODES, ids=lambda rules: f"{rules.mode}/{rules.bidder_takes}")
def test_bots_that_always_bid_four_and_never_win_end_by_the_deal_limit(rules: Rules) -> None:
    # `bid_at_target` with a target out of reach: nobody can win but by a bid of four, and that needs a point first.
    game = Game(replace(rules, win=Win.BID_AT_TARGET, target=10_000, deal_limit=9), "01" * 32)
    random = Random(0)
    while legal := game.advance():
        assert game.deal is not None
        # The lowest card first: with it as trumps a bid of four is hardly ever made.
        game.act(
            4
            if game.deal.phase is BID
            else min(legal, key=lambda a: (a % 13, a))
            if game.deal.phase is PLAY
            else random.choice(legal)
        )  # type: ignore[operator]
    assert game.outcome is not None
    assert (game.outcome.end, game.outcome.winner) == (End.DEAL_LIMIT, None)
    assert len([dealt for dealt in game.dealt if dealt.scores]) == 9
    assert all(dealt.deal.bids == [4] for dealt in game.dealt)
    order = sorted(game.outcome.scores, reverse=True)
    assert game.outcome.places == tuple(order.index(score) + 1 for score in game.outcome.scores)


def test_a_listener_is_what_the_question_writer_is() -> None:
    from tournament.observation import QuestionWriter

    listener: Listener = QuestionWriter(Game(MODES[0], "02" * 32))
    assert listener is not None
