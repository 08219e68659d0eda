"""What a worker does with a chunk."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.fakes import Table, WorkerBroker, break_down, fault
from tests.store.play import started
from tournament.game import FaultKind
from tournament.store import Store
from workers.estimates import Estimates
from workers.recorder import Recorder
from workers.referee import BEAT_S, silence_limit_s
from workers.sandbox.faults import GuestFault, SandboxFailure
from workers.tasks import MAX_FAILURES_IN_A_ROW, Player, claim_place
from workers.tickets import CHUNK_LIMIT_S, MAX_MESSAGE_BYTES, Chunk, Tickets

ROOT = Path(__file__).parents[2]


class Clock:
    """Seconds that pass when a bot is asked."""

    def __init__(self, per_answer_s: float = 0.0) -> None:
        self.now_s = 0.0
        self.per_answer_s = per_answer_s

    def __call__(self) -> float:
        return self.now_s

    def tick(self) -> None:
        self.now_s += self.per_answer_s


@dataclass
class Desk:
    """A player, the chunk it gets, and the recorder that takes its answers."""

    store: Store
    recorder: Recorder
    chunk: Chunk
    broker: WorkerBroker
    clock: Clock = field(default_factory=Clock)
    table: Table = field(default_factory=Table)
    seated: int = 0
    left: int = 0
    failing: bool = False
    watched: list[float] = field(default_factory=list)

    def player(self) -> Player:
        return Player("w:1", self.broker, self.seat, self.leave, self.watched.append, self.clock)

    def seat(self) -> tuple[Table, int]:
        if self.failing:
            raise SandboxFailure("no seccomp")
        self.seated += 1
        return self.table, 0

    def leave(self) -> None:
        self.left += 1

    def message(self) -> list[dict[str, Any]]:
        return json.loads(json.dumps(self.chunk.to_json()))  # type: ignore[no-any-return]

    def answers(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.broker.answers]

    def record(self) -> None:
        for message in self.broker.told:
            self.recorder.accept(json.dumps(message))
        for text in self.broker.answers:
            self.recorder.accept(text)
        self.broker.told.clear()
        self.broker.answers.clear()


@pytest.fixture
def desk(store: Store) -> Desk:
    started(store)
    tickets = Tickets(store, "signing key")
    chunk = Chunk(tuple(tickets.issue(match) for match in store.lease(3, 600)))
    hashes = {player.sha256 or "" for _, task in chunk.matches for player in task.players}
    broker = WorkerBroker({sha256: store.source(sha256).pack() for sha256 in hashes})
    return Desk(store, Recorder(store, tickets, Estimates(), beat_lease_s=60, max_losses=5), chunk, broker)


def test_a_chunk_is_announced_played_answered_and_recorded(desk: Desk) -> None:
    desk.player().play(desk.message())
    assert [message["kind"] for message in desk.broker.told] == ["started"]
    assert len(desk.broker.told[0]["tickets"]) == 3
    assert len(desk.broker.answers) == 1
    desk.record()
    assert desk.store.counts(1).finished == 3
    assert desk.seated == 1, "one sandbox serves all matches"


def test_a_chunk_delivered_twice_equals_one_delivered_once(desk: Desk) -> None:
    player = desk.player()
    player.play(desk.message())
    desk.record()
    digests = [game.digest for number in (1, 2, 3) for game in desk.store.games(number)]
    player.play(desk.message())
    desk.record()
    assert [game.digest for number in (1, 2, 3) for game in desk.store.games(number)] == digests
    assert desk.store.tournament(1).last_order == 3


def test_a_fault_of_a_bot_is_a_result_like_any_other(desk: Desk) -> None:
    desk.table.answering = fault
    desk.player().play(desk.message())
    desk.record()
    assert desk.store.counts(1).finished == 3
    assert {each.message for each in desk.store.faults(1)} == {"ValueError: no"}


def test_only_an_answer_of_a_bot_makes_a_worker_say_that_a_match_goes_on(desk: Desk) -> None:
    answers = []

    def answering() -> None:
        desk.clock.now_s += BEAT_S * 0.6
        answers.append(desk.clock.now_s)

    desk.table.answering = answering
    desk.player().play(desk.message())
    beats = [message for message in desk.broker.told if message["kind"] == "alive"]
    assert len(beats) == len(answers) // 2, "every second answer comes later than a beat"
    assert len(beats[0]["tickets"]) == 3, "what waits behind it in the chunk is prolonged too"
    desk.record()


def test_a_process_is_ended_that_gives_no_sign_of_life_and_only_then(desk: Desk) -> None:
    desk.clock.per_answer_s = BEAT_S * 1.1
    desk.table.answering = desk.clock.tick
    desk.player().play(desk.message())
    told = [message for message in desk.broker.told if message["kind"] in ("started", "alive")]
    limit_s = silence_limit_s(desk.chunk.matches[0][1].limits)
    assert desk.watched == [*[limit_s] * len(told), 0], "again with every beat, and never once it is over"


def test_a_process_that_hangs_ends() -> None:
    program = "import time; from workers.tasks import *; end_unless_told_again(0.05); time.sleep(1000)"
    done = subprocess.run([sys.executable, "-c", program], check=False, cwd=ROOT)
    assert done.returncode == -signal.SIGALRM
    program = "from workers.tasks import *; end_unless_told_again(1000); end_unless_told_again(0)"
    assert subprocess.run([sys.executable, "-c", program], check=False, cwd=ROOT).returncode == 0


def test_a_chunk_that_takes_long_is_cut_and_the_rest_given_back(desk: Desk) -> None:
    desk.clock.per_answer_s = CHUNK_LIMIT_S
    desk.table.answering = desk.clock.tick
    desk.player().play(desk.message())
    (answer,) = desk.answers()
    assert (len(answer["results"]), len(answer["unplayed"])) == (1, 2)
    desk.record()
    assert (desk.store.counts(1).finished, desk.store.counts(1).queued) == (1, 2)


def test_matches_of_a_cancelled_tournament_are_not_played(desk: Desk) -> None:
    desk.broker.cancelled.add(1)
    desk.player().play(desk.message())
    (answer,) = desk.answers()
    assert (answer["results"], len(answer["unplayed"])) == ([], 3)


@pytest.mark.parametrize("change", [lambda _: b"", lambda packed: packed + b"#", lambda packed: packed[:-1] + b" "])
def test_a_source_is_believed_by_its_hash_only(desk: Desk, change: Callable[[bytes], bytes]) -> None:
    sha256 = desk.chunk.matches[0][1].players[0].sha256 or ""
    desk.broker.sources[sha256] = change(desk.broker.sources[sha256])
    desk.player().play(desk.message())
    (answer,) = desk.answers()
    assert (len(answer["results"]), len(answer["unplayed"])) == (1, 2)
    assert desk.left == 0, "that is no fault of the worker's"


def test_a_broken_sandbox_costs_a_lease_each_and_then_the_worker_leaves(desk: Desk) -> None:
    desk.table.answering = break_down
    desk.player().play(desk.message())
    (answer,) = desk.answers()
    assert [reason for _, reason in answer["failures"]] == ["the fork server has died"] * 3
    assert (desk.seated, desk.table.closed, desk.left) == (MAX_FAILURES_IN_A_ROW, True, 1)
    desk.record()
    assert {match.losses for match in desk.store.matches(1)} == {1}


def test_a_worker_whose_sandbox_does_not_start_gives_everything_back_and_leaves(desk: Desk) -> None:
    desk.failing = True
    desk.player().play(desk.message())
    (answer,) = desk.answers()
    assert (answer["results"], answer["failures"], len(answer["unplayed"])) == ([], [], 3)
    assert desk.left == 1
    desk.record()
    assert {match.losses for match in desk.store.matches(1)} == {0}


def test_a_result_too_large_for_a_message_is_our_failure(desk: Desk) -> None:
    def at_length() -> None:  # which no guest can: its texts are cut
        raise GuestFault(FaultKind.EXCEPTION, "ValueError: no", "x" * MAX_MESSAGE_BYTES)

    desk.table.answering = at_length
    desk.player().play(desk.message())
    (answer,) = desk.answers()
    assert len(answer["failures"]) == 3 and "more than fit into a message" in answer["failures"][0][1]


def test_no_two_processes_of_a_machine_have_the_same_place() -> None:
    (first, one), (second, other) = claim_place(), claim_place()
    assert first != second
    for claim in (one, other):
        claim.close()
    again, claim = claim_place()
    assert again == first, "a process that ends gives its place back"
    claim.close()
