"""A match that comes out otherwise when it is played again: whose doing it is."""

import json
import random
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from tests.cluster.fakes import MemoryBroker
from tests.store.play import THREE, TWO, entrants, new, play, play_all, play_game, started
from tournament import seeds
from tournament.models_contest import Verdict
from tournament.planning import Plan
from tournament.repeat import MOST_TRIES, Suspect, assign, first_difference, is_drawn, verdict_of
from tournament.replay import GameRecord, Player, document
from tournament.results import MatchResult
from tournament.rules import Rules
from tournament.source import BotSource
from tournament.store import Store
from tournament.store_repeats import (
    REPEATED,
    answer_order,
    open_orders,
    order_repeats,
    release_order,
    repeats,
    take_order,
)
from tournament.store_values import LeasedMatch, WorkerInfo
from tournament.wire import MatchTask, result_to_json
from workers.coordinator import Coordinator
from workers.estimates import Estimates
from workers.local import LocalExecutor, MatchFailure
from workers.recorder import Recorder
from workers.repeat import Repeated, left_to_us, settle
from workers.tickets import Ticket, Tickets


@pytest.mark.parametrize(
    ("repeated", "trusted", "verdict", "suspect"),
    [
        ("A", "", Verdict.SAME, Suspect.NOBODY),
        ("B", "AB", Verdict.NOT_REPEATABLE, Suspect.NOBODY),
        ("B", "CD", Verdict.NOT_REPEATABLE, Suspect.NOBODY),
        ("B", "AA", Verdict.WORKER, Suspect.REPEATER),
        ("B", "BB", Verdict.WORKER, Suspect.ORIGINAL),
        ("B", "CC", Verdict.WORKER, Suspect.BOTH),
    ],
)
def test_the_trusted_worker_decides(repeated: str, trusted: str, verdict: Verdict, suspect: Suspect) -> None:
    assert verdict_of("A", repeated, trusted) == (verdict, suspect)


def test_without_a_trusted_worker_a_difference_is_not_judged() -> None:
    with pytest.raises(ValueError, match="two of a trusted worker"):
        verdict_of("A", "B", ())


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


class Changing(LocalExecutor):
    """An executor without processes, whose bots play otherwise in the attempts that are named."""

    def __init__(self, store: Store, odd: Mapping[int, int]) -> None:
        self._store, self._odd = store, odd
        self._waiting: list[MatchTask] = []
        self.played = 0

    @property
    def free(self) -> int:
        return 1 - len(self._waiting)

    def submit(self, task: MatchTask, sources: Mapping[str, BotSource]) -> None:
        assert {player.sha256 for player in task.players} <= set(sources)
        self._waiting.append(task)

    def poll(self, timeout_s: float) -> list[MatchResult | MatchFailure]:
        del timeout_s
        self.played += 1
        task = self._waiting.pop()
        match = self._store.match(1, task.match_id)
        leased = LeasedMatch(task.match_id, 1, match.number, 1, match.key, match.entrants, task.attempt)
        return [play(self._store, leased, salt=self._odd.get(task.attempt, 0))]

    def close(self) -> None:
        """Nothing to end."""


@pytest.fixture
def played(store: Store) -> Store:
    """Three matches, all recorded by the worker `tests`; the third has a fault that `Changing` does not play."""
    play_all(store, started(store, 3, TWO))
    return store


TRUSTED = f"coordinator:{socket.gethostname()}"
HERE = {"engine": "e", "python": "p", "modules": []}


def settled(store: Store, odd: Mapping[int, int] = {}) -> list[Repeated]:  # never written to
    return list(settle(store, left_to_us(store), Changing(store, odd), HERE))


@pytest.mark.parametrize(
    ("odd", "verdict", "words"),
    [
        ({}, Verdict.SAME, ""),
        ({0: 5, 1: 6, 2: 7}, Verdict.NOT_REPEATABLE, "seating 1, deal 1/1 act"),
        ({0: 5, 1: 5, 2: 5}, Verdict.WORKER, f"who played it first (first tests, again {TRUSTED})"),
        ({0: 5}, Verdict.WORKER, "who repeated it"),
        ({0: 5, 1: 6, 2: 6}, Verdict.WORKER, "both workers"),
    ],
)
def test_where_nobody_else_plays_the_trusted_worker_repeats_it(
    played: Store, odd: dict[int, int], verdict: Verdict, words: str
) -> None:
    assert order_repeats(played, 1, [2]) == 1
    (found,) = settled(played, odd)
    assert found.verdict is verdict
    assert words in found.text
    (kept,) = repeats(played, 1)
    assert (kept.number, kept.verdict, kept.worker, kept.repeated_by) == (2, verdict, "tests", TRUSTED)
    assert (kept.entrant is not None) == (verdict is Verdict.NOT_REPEATABLE)
    assert any(line.act == verdict for line in played.audit_log()) == (verdict is not Verdict.SAME)
    assert open_orders(played) == []


def announce(store: Store, *names: str, slots: int = 1) -> list[WorkerInfo]:
    for name in names:
        store.announce(name, slots, {})
    return store.workers()


def hand_out(store: Store) -> list[tuple[int, str]]:
    """Does what a coordinator does in a look."""
    given = [pair for pair in assign(open_orders(store), store.workers(), 0) if take_order(store, *pair, 600)]
    return [(order.match.number, to) for order, to in given]


def digests(store: Store, number: int) -> list[str]:
    return [document(record)["digest"] for _, record in store.game_records(1, [number])]


def test_another_worker_plays_it_one_for_each_slot(played: Store) -> None:
    announce(played, "tests", "other")
    order_repeats(played, 1, [1, 2, 3])
    assert hand_out(played) == [(1, "other")]
    assert left_to_us(played) == []
    assert not answer_order(played, 1, "tests", digests(played, 1))
    assert answer_order(played, 1, "other", digests(played, 1))
    assert not answer_order(played, 1, "other", digests(played, 1))
    assert [(each.repeated_by, each.verdict) for each in repeats(played, 1)] == [("other", Verdict.SAME)]
    assert hand_out(played) == [(2, "other")]


def test_another_host_is_preferred(played: Store) -> None:
    workers = announce(played, "tests:1", "tests:2", "zebra:7")
    order_repeats(played, 1, [1])
    (order,) = open_orders(played)
    order = replace(order, worker="tests:1")
    assert assign([order], workers, 0) == [(order, "zebra:7")]
    assert assign([order], workers[:2], 0) == [(order, "tests:2")]
    assert assign([order], workers[:1], 0) == []


def test_a_difference_is_settled_by_the_trusted_worker_and_told_of_the_one_who_answered(played: Store) -> None:
    announce(played, "tests", "other")
    order_repeats(played, 1, [1])
    hand_out(played)
    assert answer_order(played, 1, "other", ["changed", "changed"])
    assert not answer_order(played, 1, "other", digests(played, 1))
    (order,) = left_to_us(played)
    assert not list(settle(played, [order], Failing(), HERE))
    assert left_to_us(played) == []  # for as long as the trusted worker may take
    changing = Changing(played, {})
    (found,) = settle(played, [replace(order, tries=2)], changing, HERE)
    assert (found.verdict, changing.played) == (Verdict.WORKER, 2)
    assert found.text == "who repeated it (first tests, again other)"
    (kept,) = repeats(played, 1)
    assert kept.repeated_by == "other"


class Failing(Changing):
    """An executor on which nothing works."""

    def __init__(self) -> None:
        self._waiting = []

    def poll(self, timeout_s: float) -> list[MatchResult | MatchFailure]:
        del timeout_s
        task = self._waiting.pop()
        return [MatchFailure(task.match_id, task.attempt, "broken")]


def test_a_worker_that_does_not_answer_is_asked_a_few_times(played: Store) -> None:
    announce(played, "tests", "other")
    order_repeats(played, 1, [1])
    for _ in range(MOST_TRIES):
        assert left_to_us(played) == []
        assert hand_out(played) == [(1, "other")]
        release_order(played, 1, "tests")
        assert hand_out(played) == []
        release_order(played, 1, "other")
    assert hand_out(played) == []
    assert [each.verdict for each in settled(played)] == [Verdict.SAME]


def test_a_match_that_is_voided_meanwhile_is_not_compared(played: Store) -> None:
    announce(played, "tests", "other")
    order_repeats(played, 1, [1])
    hand_out(played)
    played.void(1, 1, "overloaded machine")
    assert not answer_order(played, 1, "other", ["changed", "changed"])
    assert open_orders(played) == []
    play_all(played, 1)
    assert order_repeats(played, 1, [1, 2]) == 2
    assert order_repeats(played, 1, [1, 2, 99]) == 0


def test_what_was_played_under_another_environment_is_left_and_said_once(
    played: Store, caplog: pytest.LogCaptureFixture
) -> None:
    order_repeats(played, 1, [1])
    (order,) = open_orders(played)
    strange = replace(order, environment={**HERE, "python": "q"})
    for _ in range(2):
        assert not list(settle(played, [strange], Changing(played, {}), HERE))
    assert [record.message for record in caplog.records] == ["not played again here: p, expected q"]
    assert repeats(played, 1) == left_to_us(played) == []


def test_a_sample_is_drawn_with_the_secret(store: Store) -> None:
    def share(wanted: float, secret: str) -> float:
        info = replace(store.tournament(1), secret=secret, plan=Plan(repeat_share=wanted))
        return sum(is_drawn(info, f"cutthroat/2/a:1,b:1/{number}") for number in range(10_000)) / 10_000

    started(store, 2, TWO)
    assert (share(0.0, "demo"), share(1.0, "demo")) == (0.0, 1.0)
    assert share(0.02, "demo") == pytest.approx(0.02, abs=0.005)
    assert share(0.02, "demo") != share(0.02, "other")
    assert not is_drawn(store.tournament(1), "cutthroat/2/a:1,b:1/1")


def test_a_worker_is_sent_what_another_played_by_a_queue_of_its_own_and_its_answer_is_taken(store: Store) -> None:
    tickets, broker, estimates = Tickets(store, "key"), MemoryBroker(), Estimates()
    coordinator = Coordinator(store, tickets, broker, estimates, HERE, "x")
    recorder = Recorder(store, tickets, estimates, beat_lease_s=60, max_losses=2)
    for worker in ("w:1", "v:2"):
        store.announce(worker, 1, HERE)
    rules = replace(new(TWO), plan=Plan(repeat_share=1.0))
    store.create_running(rules, entrants(2))
    coordinator.tick()
    (ticket, _), = broker.taken()[0].matches  # fmt: skip

    def answer(worker: str, ticket: Ticket, **others: object) -> None:
        match = store.match(1, ticket.number)
        leased = LeasedMatch(match.id, 1, match.number, 1, match.key, match.entrants, ticket.attempt)
        result = {"ticket": ticket.to_json(), "result": result_to_json(play(store, leased))}
        message = {"kind": "result", "worker": worker, "results": [result], "failures": [], "unplayed": []}
        recorder.accept(json.dumps({**message, **others}))

    answer("w:1", ticket)
    coordinator.tick()
    (queue, chunk), = broker.published  # fmt: skip
    broker.published.clear()
    (again, _), = chunk.matches  # fmt: skip
    assert (queue, again.number, again.attempt) == ("matches.to.v:2", ticket.number, REPEATED)
    recorder.accept(json.dumps({"kind": "started", "worker": "v:2", "tickets": [again.to_json()]}))
    answer("v:2", again, results=[], unplayed=[again.to_json()])
    coordinator.tick()
    assert len(broker.taken()) == 1
    answer("v:2", again, results=[], failures=[[again.to_json(), "no memory"]])
    coordinator.tick()
    assert len(broker.taken()) == 1
    answer("w:1", again)
    assert repeats(store, 1) == []
    answer("v:2", again)
    (kept,) = repeats(store, 1)
    assert (kept.worker, kept.repeated_by, kept.verdict) == ("w:1", "v:2", Verdict.SAME)
    assert store.match(1, ticket.number).worker == "w:1"
    coordinator.tick()
    assert broker.taken() == []
