"""The recorder: what it takes from workers, once, and what it does not believe."""

import copy
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cluster.fakes import HERE
from tests.store.play import play, started
from tournament.store import Store
from tournament.store_values import LeasedMatch
from tournament.wire import result_to_json
from workers.estimates import Estimates
from workers.recorder import Recorder, Rejected
from workers.tickets import MAX_MESSAGE_BYTES, Ticket, Tickets

Message = dict[str, Any]


@dataclass(frozen=True)
class Desk:
    """A recorder with a tournament of three matches, all leased."""

    store: Store
    recorder: Recorder
    estimates: Estimates
    tickets: Tickets
    tournament: int
    leased: list[LeasedMatch]

    def ticket(self, match: LeasedMatch) -> list[Any]:
        ticket, _ = self.tickets.issue(match)
        return json.loads(json.dumps(ticket.to_json()))  # type: ignore[no-any-return]

    def answer(self, *matches: LeasedMatch, faults: bool = False) -> Message:
        results = [
            {"ticket": self.ticket(match), "result": result_to_json(play(self.store, match, faults=faults))}
            for match in matches
        ]
        return {"kind": "result", "worker": "w:1", "failures": [], "unplayed": [], "results": results}

    def send(self, message: Message) -> None:
        self.recorder.accept(json.dumps(message))


@pytest.fixture
def desk(store: Store) -> Desk:
    tournament = started(store)
    tickets, estimates = Tickets(store, "signing key"), Estimates()
    recorder = Recorder(store, tickets, estimates, beat_lease_s=60, max_losses=2)
    return Desk(store, recorder, estimates, tickets, tournament, store.lease(3, 600))


def test_results_are_recorded_once_however_often_they_come(desk: Desk) -> None:
    message = desk.answer(*desk.leased[:2], faults=True)
    for _ in range(3):
        desk.send(message)
    assert desk.store.counts(desk.tournament).finished == 2
    assert [each.record_order for each in desk.store.latest_matches(desk.tournament)] == [2, 1]
    assert {each.worker for each in desk.store.latest_matches(desk.tournament)} == {"w:1"}
    assert len(desk.store.faults(desk.tournament)) == 2
    assert desk.estimates.match_s(desk.tournament, desk.leased[0].entrants) == 0.5


def test_the_first_result_counts_whatever_lease_it_was_played_under(desk: Desk) -> None:
    match = desk.leased[0]
    desk.store.fail(match.id, match.attempt, "lost")
    again = next(each for each in desk.store.lease(9, 600) if each.id == match.id)
    desk.send(desk.answer(match))
    desk.send(desk.answer(again))
    assert desk.store.match(desk.tournament, match.number).record_order == 1


def test_a_late_result_of_a_voided_lease_is_dropped(desk: Desk) -> None:
    message = desk.answer(desk.leased[0])
    desk.send(message)
    desk.store.void(desk.tournament, 1, "ours")
    desk.send(message)
    assert desk.store.match(desk.tournament, 1).state == "queued"


def test_results_of_a_cancelled_tournament_are_dropped(desk: Desk) -> None:
    message = desk.answer(*desk.leased)
    desk.store.cancel(desk.tournament)
    desk.send(message)
    counts = desk.store.counts(desk.tournament)
    assert (counts.cancelled, counts.finished) == (3, 0)


def test_a_beat_prolongs_leases_and_says_who_plays(desk: Desk) -> None:
    match = desk.leased[0]
    before = desk.store.match(desk.tournament, match.number)
    assert before.started_at is None
    desk.send({"kind": "started", "worker": "w:1", "tickets": [desk.ticket(match)]})
    after = desk.store.match(desk.tournament, match.number)
    assert after.started_at is not None and after.worker == "w:1"
    assert after.lease_until is not None and before.lease_until is not None
    assert after.lease_until < before.lease_until, "from now on silence is noticed sooner"


def test_what_was_not_played_goes_back_and_what_failed_costs_a_lease(desk: Desk) -> None:
    unplayed, failed, _ = desk.leased
    desk.send(
        {
            "kind": "result", "worker": "w:1", "results": [], "unplayed": [desk.ticket(unplayed)],
            "failures": [[desk.ticket(failed), "the fork server has died"]],
        }
    )  # fmt: skip
    first, second = (desk.store.match(desk.tournament, match.number) for match in (unplayed, failed))
    assert (first.state, first.losses, first.error) == ("queued", 0, None)
    assert (second.state, second.losses, second.error) == ("queued", 1, "the fork server has died")


def test_a_worker_that_says_hello_is_known_and_told_why_it_gets_no_work(desk: Desk) -> None:
    with desk.store.write() as connection:
        connection.exec_driver_sql("UPDATE tournament SET environment = ?", (json.dumps(HERE),))
    desk.send({"kind": "hello", "worker": "w:1", "slots": 4, "environment": {**HERE, "layers": ["own-uid"]}})
    desk.send({"kind": "hello", "worker": "w:2", "slots": 4, "environment": {**HERE, "modules": ["math"]}})
    good, other = desk.store.workers()
    assert (good.name, good.slots, good.environment, good.refused) == ("w:1", 4, {**HERE, "layers": ["own-uid"]}, None)
    assert other.refused is not None and "without numpy 2.4.6" in other.refused


@pytest.mark.parametrize(
    "strange",
    [{"layers": ["x"]}, {"layers": ["landlock\n"]}, {"python": "CPython \x1b[2J"}, {"engine": "\0"}, {"modules": [1]}],
    ids=["an unknown layer", "a layer and more", "an escape sequence", "a character no database takes", "no name"],
)
def test_a_hello_that_no_worker_of_ours_sends_is_rejected(desk: Desk, strange: Message) -> None:
    with pytest.raises(Rejected):
        desk.send({"kind": "hello", "worker": "w:1", "slots": 4, "environment": {**HERE, **strange}})
    assert desk.store.workers() == []


def test_a_reason_that_a_bot_may_have_written_is_noted_whatever_it_holds(desk: Desk) -> None:
    failed = desk.leased[0]
    message = {"kind": "result", "worker": "w:1", "results": [], "unplayed": [],
               "failures": [[desk.ticket(failed), "\0\ud800\x1b"]]}  # fmt: skip
    desk.send(message)
    assert desk.store.match(desk.tournament, failed.number).error == "\\x00\\ud800\x1b"


def change(path: str, value: object) -> Callable[[Message], None]:
    def apply(message: Message) -> None:
        place: Any = message
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        for step in steps:
            place = place[step]
        if value is ...:
            del place[last]
        else:
            place[last] = value(place[last]) if callable(value) else value

    return apply


FORGERIES = {
    "another match under this ticket": change("results.0.ticket.1", 2),
    "a later lease": change("results.0.ticket.3", 2),
    "other entrants": change("results.0.ticket.5", [1, 2]),
    "another key": change("results.0.ticket.4", lambda text: text.replace("bot0", "bot2")),
    "no signature": change("results.0.ticket.6", ""),
    "a tournament that is not there": change("results.0.ticket.0", 99),
    "a number beyond every database": change("results.0.ticket.0", 10**30),
    "a ticket that is none": change("results.0.ticket", ["x"]),
    "an unknown kind": change("kind", "shutdown"),
    "an unknown field": change("task", "celery.map"),
    "a name with an escape sequence": change("worker", "w\x1b[2J"),
    "the name of a coordinator": change("worker", "coordinator:1"),
    "the name of a local run": change("worker", "local:1"),
    "no results at all": change("results", ...),
    "a result that is a list": change("results.0.result", []),
    "a ticket that is a text": change("results.0.ticket", "1"),
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_message_is_rejected_and_changes_nothing(desk: Desk, forgery: Callable[[Message], None]) -> None:
    message = desk.answer(desk.leased[0])
    forgery(message)
    with pytest.raises(Rejected):
        desk.send(message)
    assert desk.store.counts(desk.tournament).running == 3


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe", b"[]", b"null", b'{"kind": "result"', b'{"kind":"hello","worker":"w","slots":1}', b"[" * 10**5],
    ids=["empty", "no text", "a list", "null", "half", "a hello without environment", "deep"],
)  # fmt: skip
def test_what_is_no_message_is_rejected(desk: Desk, body: bytes) -> None:
    with pytest.raises(Rejected):
        desk.recorder.accept(body)


def test_a_message_beyond_the_limit_is_rejected_unread(desk: Desk) -> None:
    with pytest.raises(Rejected, match="expected 8388608 at most"):
        desk.recorder.accept(b" " * (MAX_MESSAGE_BYTES + 1))


IMPOSSIBLE = {
    "a game too few": change("results.0.result.games", lambda games: games[:1]),
    "the same game twice": change("results.0.result.games", lambda games: [games[0], games[0]]),
    "the games exchanged": change("results.0.result.games", lambda games: games[::-1]),
    "acts of another game": change("results.0.result.games.0.acts", "c$~{YU|<-"),
    "no acts": change("results.0.result.games.0.acts", ""),
    "acts that are a number": change("results.0.result.games.0.acts", 7),
    "a fault that nobody made": change(
        "results.0.result.games.0.reports",
        [{"seat": 0, "kind": "exception", "deal": 1, "attempt": 1, "act": 0, "message": "", "traceback": "",
          "log_tail": "", "measured": None, "limit": None, "question": ""}],
    ),
    "a time that is none": change("results.0.result.play_s", float("nan")),
    "a time without end": change("results.0.result.play_s", float("inf")),
    "a time before the beginning": change("results.0.result.play_s", -1.0),
    "games that are a text": change("results.0.result.games", "all"),
    "a seating that is none": change("results.0.result.games.0.seating", 9),
}  # fmt: skip


@pytest.mark.parametrize("forgery", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_a_game_that_cannot_be_is_not_recorded_and_the_others_of_the_message_are(
    desk: Desk, forgery: Callable[[Message], None], caplog: pytest.LogCaptureFixture
) -> None:
    message = desk.answer(*desk.leased[:2])
    forgery(message)
    with caplog.at_level(logging.ERROR):
        desk.send(message)
    assert "a result that cannot be" in caplog.text
    impossible, sound = (desk.store.match(desk.tournament, match.number) for match in desk.leased[:2])
    assert (impossible.state, impossible.losses) == ("queued", 1)
    assert sound.state == "done"


def test_a_claimed_score_changes_nothing_for_only_acts_are_believed(desk: Desk) -> None:
    message = desk.answer(desk.leased[0])
    honest = copy.deepcopy(message)
    change("results.0.result.games.0.outcome", {"end": "won", "winner": 1, "scores": [0, 99], "places": [2, 1]})(
        message
    )
    change("results.0.result.games.0.digest", "sha256:" + "0" * 64)(message)
    change("results.0.result.games.0.tallies", [])(message)
    desk.send(message)
    match = desk.store.match(desk.tournament, 1)
    games = desk.store.games(match.id)
    assert games[0].digest == honest["results"][0]["result"]["games"][0]["digest"]
    assert games[0].scores != (0, 99)


def test_a_ticket_is_as_good_as_its_signing_key(desk: Desk) -> None:
    ticket, task = Tickets(desk.store, "another key").issue(desk.leased[0])
    with pytest.raises(ValueError, match="signature of match 1, attempt 1, is wrong"):
        desk.tickets.check(ticket)
    desk.tickets.check(ticket.signed("signing key", task.seed))
    assert Ticket.from_json(ticket.to_json()) == ticket
