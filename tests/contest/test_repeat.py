"""A match that comes out otherwise when it is played again: whose doing it is."""

import random
from collections.abc import Mapping, Sequence

import pytest

from tests.store.play import THREE, TWO, play, play_all, play_game, started
from tournament import seeds
from tournament.models_contest import Verdict
from tournament.repeat import Suspect, first_difference, verdict_of
from tournament.replay import GameRecord, Player, document
from tournament.results import MatchResult
from tournament.rules import Rules
from tournament.source import BotSource
from tournament.store import Store
from tournament.store_values import LeasedMatch
from tournament.wire import MatchTask
from workers.local import MatchFailure
from workers.repeat import repeat_matches


@pytest.mark.parametrize(
    ("repeated", "trusted", "verdict", "suspect"),
    [
        ("A", None, Verdict.SAME, Suspect.NOBODY),
        ("B", ("A", "B"), Verdict.NOT_REPEATABLE, Suspect.NOBODY),
        ("B", ("C", "D"), Verdict.NOT_REPEATABLE, Suspect.NOBODY),
        ("B", ("A", "A"), Verdict.WORKER, Suspect.REPEATER),
        ("B", ("B", "B"), Verdict.WORKER, Suspect.ORIGINAL),
        ("B", ("C", "C"), Verdict.WORKER, Suspect.BOTH),
    ],
)
def test_the_trusted_worker_decides(
    repeated: str, trusted: tuple[str, str] | None, verdict: Verdict, suspect: Suspect
) -> None:
    assert verdict_of("A", repeated, trusted) == (verdict, suspect)


def test_without_a_trusted_worker_a_difference_is_not_judged() -> None:
    with pytest.raises(ValueError, match="two of a trusted worker"):
        verdict_of("A", "B", None)


def game(choices: int, faults: Sequence[int] = (), rules: Rules = THREE) -> dict[str, object]:
    seed = seeds.deal_seed("demo", "x")
    played, _ = play_game(rules, seed, random.Random(choices), faults)
    key = seeds.match_key(rules, ["a:1", "b:1", "c:1"][: rules.players], 1)
    players = tuple(Player(name, 1, None) for name in "abc"[: rules.players])
    return document(GameRecord(key, 1, rules, seed, players, bytes(played.acts), played.faults), played)


def test_the_first_act_that_differs_is_found() -> None:
    assert first_difference(game(1), game(1)) is None
    found = first_difference(game(1), game(2))
    assert found is not None
    seat, text = found
    assert seat in (0, 1, 2)
    assert text.startswith("deal 1/1 act ")
    faulted = first_difference(game(1), game(1, (2,)))
    assert faulted is not None
    assert faulted[0] == 2
    assert "then fault exception" in faulted[1]


class Changing:
    """An executor without processes, whose bots play otherwise in the attempts that are named."""

    def __init__(self, store: Store, odd: Mapping[int, int]) -> None:
        self.free = 1
        self._store, self._odd = store, odd
        self._waiting: list[MatchTask] = []

    def submit(self, task: MatchTask, sources: Mapping[str, BotSource]) -> None:
        assert {player.sha256 for player in task.players} <= set(sources)
        self._waiting.append(task)
        self.free = 0

    def poll(self, timeout_s: float) -> list[MatchResult | MatchFailure]:
        del timeout_s
        self.free = 1
        task = self._waiting.pop()
        match = self._store.match(1, task.match_id)
        leased = LeasedMatch(task.match_id, 1, match.number, 1, match.key, match.entrants, task.attempt)
        return [play(self._store, leased, salt=self._odd.get(task.attempt, 0))]

    def close(self) -> None:
        """Nothing to end."""


@pytest.mark.parametrize(
    ("odd", "verdict", "words"),
    [
        ({}, Verdict.SAME, ""),
        ({1: 5, 2: 6, 3: 7}, Verdict.NOT_REPEATABLE, "seating 1, deal 1/1 act"),
        ({1: 5, 2: 5, 3: 5}, Verdict.WORKER, "who played it first (first tests, again here)"),
        ({1: 5}, Verdict.WORKER, "who repeated it"),
    ],
)
def test_what_comes_of_a_repeat_is_recorded(store: Store, odd: dict[int, int], verdict: Verdict, words: str) -> None:
    tournament = started(store, 3, TWO)
    play_all(store, tournament)
    # The third has a fault that this executor does not play.
    (found,) = repeat_matches(store, tournament, [2], Changing(store, odd), "here")
    assert found.verdict is verdict
    assert words in found.text
    (kept,) = store.repeats(tournament)
    assert (kept.number, kept.verdict, kept.worker, kept.repeated_by) == (2, verdict, "tests", "here")
    assert (kept.entrant is not None) == (verdict is Verdict.NOT_REPEATABLE)
    assert any(line.act == verdict for line in store.audit_log()) == (verdict is not Verdict.SAME)
