"""A decision is cut out of a recorded game, so that its bot can be put there again."""

import json

import pytest

from tests.replays.games import game_seed
from tournament import seeds
from tournament.decision import decision_at, decision_from
from tournament.game import FaultKind, Game
from tournament.replay import GameRecord, Player
from tournament.rules import Limits, Rules

RULES = Rules.make("cutthroat", deal_limit=12)
KEY = seeds.match_key(RULES, ["a:1", "b:2", "c:3"], 1)
PLAYERS = (Player("a", 1, None), Player("b", 2, None), Player("c", 3, None))


def record_with_faults(places: tuple[int, ...], load: int | None = None) -> GameRecord:
    """Plays a game in which whoever has the choices of these numbers faults, and maybe one bot does not load."""
    game = Game(RULES, game_seed(KEY))
    if load is not None:
        game.load_fault(load, FaultKind.LOAD)
    number = 0
    while legal := game.advance():
        assert game.deal is not None
        if number in places:
            game.fault(game.deal.seat, FaultKind.EXITED)
        else:
            game.act_legal(legal[-1])
        number += 1
    return GameRecord(KEY, 1, RULES, game_seed(KEY), PLAYERS, bytes(game.acts), game.faults)


def test_the_decision_of_a_fault_is_the_last_question_and_has_no_answer() -> None:
    record = record_with_faults((4,))
    decision = decision_at(record, None, None, Limits())
    fault = record.faults[0]
    last = decision.asked[-1]
    assert (decision.seat, last.deal, last.attempt, last.act) == (fault.seat, fault.deal, fault.attempt, fault.act)
    assert last.answer is None
    assert all(asked.answer is not None for asked in decision.asked[:-1])
    assert decision_from(json.loads(decision.to_text())) == decision


def test_of_two_faults_one_has_to_be_named() -> None:
    record = record_with_faults((4, 60))
    first, second = record.faults
    with pytest.raises(ValueError, match=rf"two bots faulted: expected --at {first.deal}/1:{first.act} \(seat "):
        decision_at(record, None, None, Limits())
    decision = decision_at(record, (second.deal, second.attempt, second.act), None, Limits())
    assert decision.seat == second.seat
    assert decision.asked[-1].answer is None


def test_a_fault_in_play_is_found_behind_one_at_load() -> None:
    record = record_with_faults((4,), load=0)
    assert decision_at(record, None, None, Limits()).seat == record.faults[1].seat


def test_a_game_without_a_fault_in_play_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="no fault in play: expected the place of a decision"):
        decision_at(record_with_faults((), load=0), None, None, Limits())
    with pytest.raises(ValueError, match="nobody had a choice in deal 99/1 at act 0"):
        decision_at(record_with_faults(()), (99, 1, 0), None, Limits())
