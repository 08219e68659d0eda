"""The life of a match: handed out, taken back, recorded once, voided, failed, cancelled."""

import pytest

from tests.store.play import PARTNERS, THREE, TWO, entrants, new, play, play_all, started
from tournament.models import MatchState, TournamentState
from tournament.rules import Rules
from tournament.store import NotFound, Store, WrongState
from tournament.store_values import Counts, Recorded, Topic


def test_matches_are_leased_in_the_order_of_their_numbers_and_none_twice(store: Store) -> None:
    started(store, 4)
    first = store.lease(4, 60, worker="one", now=1000)
    second = store.lease(4, 60, worker="two", now=1000)
    assert [match.number for match in first + second] == [1, 2, 3, 4, 5, 6]
    assert store.lease(4, 60, now=1000) == []
    assert {match.attempt for match in first} == {1}
    assert store.match(1, 1).worker == "one"
    assert store.match(1, 1).lease_until == 1060


def test_only_running_tournaments_hand_out_matches(store: Store) -> None:
    store.create(new(), now=1000)
    paused, other = started(store), started(store)
    store.set_state(paused, TournamentState.PAUSED)
    assert {match.tournament_id for match in store.lease(10, 60)} == {other}
    store.set_state(paused, TournamentState.RUNNING)
    assert len(store.lease(10, 60, tournaments=[other])) == 0
    assert len(store.lease(10, 60, tournaments=[paused])) == 3


def test_a_lease_that_is_over_goes_back_and_one_that_is_renewed_does_not(store: Store) -> None:
    tournament = started(store)
    one, two, _ = store.lease(3, 60, now=1000)
    assert store.renew([(one.id, one.attempt)], 60, worker="w", now=1050) == [one.id]
    assert store.take_back(now=1061) == 2
    assert store.counts(tournament) == Counts(running=1, queued=2)
    assert store.match(tournament, 1).started_at == 1050
    again = store.lease(1, 60, now=1061)[0]
    assert (again.id, again.attempt) == (two.id, 2)
    # The first holder of the second match is too late to keep it.
    assert store.renew([(two.id, 1)], 60, now=1062) == []


def test_a_match_that_loses_every_lease_fails_and_is_retried_on_demand(store: Store) -> None:
    tournament = started(store, 2)
    for attempt in range(1, 6):
        assert store.counts(tournament).queued == 1
        (leased,) = store.lease(1, 60, now=1000)
        assert leased.attempt == attempt
        store.take_back(now=2000)
    assert store.counts(tournament) == Counts(failed=1)
    assert store.match(tournament, 1).error == "the lease ran out"
    assert store.tournament(tournament).state is TournamentState.FINISHED
    assert store.retry(tournament) == 1
    assert store.tournament(tournament).state is TournamentState.RUNNING
    play_all(store, tournament)
    assert store.counts(tournament) == Counts(finished=1)


def test_our_failures_count_as_lost_leases_and_name_the_last_error(store: Store) -> None:
    tournament = started(store, 2)
    for number in range(2):
        (leased,) = store.lease(1, 60)
        store.fail(leased.id, leased.attempt, f"no memory {number}", max_losses=2)
        store.fail(leased.id, leased.attempt, "told twice", max_losses=2)
    match = store.match(tournament, 1)
    assert (match.state, match.error, match.losses) == (MatchState.FAILED, "no memory 1", 2)
    with pytest.raises(NotFound):
        store.fail(999, 1, "no such match")


def test_released_matches_and_those_of_a_lost_broker_cost_no_attempt(store: Store) -> None:
    tournament = started(store, 2)
    for _ in range(8):
        (leased,) = store.lease(1, 60)
        assert store.release([(leased.id, leased.attempt)]) == 1
        assert store.release([(leased.id, leased.attempt)]) == 0
    (leased,) = store.lease(1, 60)
    store.renew([(leased.id, leased.attempt)], 60)
    assert store.take_back_all(started_too=False) == 0
    assert store.take_back_all(tournament_id=tournament + 1) == 0
    assert store.take_back_all(tournament_id=tournament) == 1
    assert store.match(tournament, 1).losses == 0


@pytest.mark.parametrize(("rules", "count", "games"), [(TWO, 3, 2), (THREE, 3, 6), (THREE, 2, 6), (PARTNERS, 3, 2)])
def test_a_result_is_recorded_with_all_its_games(store: Store, rules: Rules, count: int, games: int) -> None:
    tournament = started(store, count, rules)
    (leased,) = store.lease(1, 60)
    result = play(store, leased, worker="w", faults=True)
    assert store.record([result], now=2000) == [Recorded.RECORDED]
    match = store.match(tournament, 1)
    assert (match.state, match.games, match.faults, match.worker) == (MatchState.DONE, games, 1, "w")
    assert (match.record_order, match.recorded_at, match.play_s) == (1, 2000, 0.5)
    assert [game.digest for game in store.games(leased.id)] == [game.digest for game in result.games]
    records = [record for _, record in store.game_records(tournament)]
    assert [record.acts for record in records] == [game.acts for game in result.games]
    for record, game in zip(records, result.games, strict=True):
        assert record.play_again().outcome == game.outcome
    (fault,) = store.faults(tournament)
    assert (fault.seating, fault.seat, fault.question, fault.measured, fault.limit) == (games, 1, b"question", 1.5, 1.0)
    assert fault.message == "oh\\x00no 1 \\udc80"


def test_a_result_delivered_twice_is_recorded_once(store: Store) -> None:
    tournament = started(store, 2)
    (leased,) = store.lease(1, 60)
    result = play(store, leased)
    assert store.record([result, result]) == [Recorded.RECORDED, Recorded.DUPLICATE]
    assert store.record([result]) == [Recorded.DUPLICATE]
    assert store.figures(tournament).blocks[0].matches == 1
    assert len(store.games(leased.id)) == 2


def test_the_first_result_wins_whichever_lease_it_was_played_under(store: Store) -> None:
    tournament = started(store, 2)
    (first,) = store.lease(1, 60, now=1000)
    store.take_back(now=2000)
    late = play(store, first, worker="late")
    assert store.record([late]) == [Recorded.RECORDED]
    assert store.lease(1, 60) == []
    assert store.match(tournament, 1).worker == "late"


def test_a_result_without_all_its_games_is_refused_and_nothing_of_its_batch_recorded(store: Store) -> None:
    tournament = started(store, 3)
    one, two, _ = (play(store, leased) for leased in store.lease(3, 60))
    cut = type(two)(two.match_id, two.attempt, two.games[:1])
    with pytest.raises(ValueError, match="expected each of 2 seatings once"):
        store.record([one, cut])
    assert store.counts(tournament).finished == 0
    assert store.record([]) == []


def test_a_result_for_a_match_that_is_not_there_is_unknown(store: Store) -> None:
    started(store, 2)
    (leased,) = store.lease(1, 60)
    result = play(store, leased)
    assert store.record([type(result)(77, 1, result.games)]) == [Recorded.UNKNOWN]


def test_a_void_queues_the_match_again_and_drops_late_results_of_its_leases(store: Store) -> None:
    tournament = started(store, 3)
    one, *others = store.lease(3, 60)
    result = play(store, one, worker="bad", faults=True)
    store.record([result, *(play(store, other) for other in others)])
    assert store.tournament(tournament).state is TournamentState.FINISHED
    before = store.figures(tournament)
    store.void(tournament, 1, "the machine was overloaded", now=3000)
    assert store.tournament(tournament).state is TournamentState.RUNNING
    assert store.counts(tournament) == Counts(finished=2, queued=1)
    assert store.games(one.id) == []
    assert store.faults(tournament) == []
    assert store.record([result]) == [Recorded.VOIDED]
    after = store.figures(tournament)
    assert sum(block.matches for block in after.blocks) == 2
    (voided,) = store.voids(tournament)
    assert (voided.number, voided.reason, voided.worker) == (1, "the machine was overloaded", "bad")
    assert result.games[0].digest in voided.result
    (again,) = store.lease(5, 60)
    assert again.attempt == 2
    assert store.record([result]) == [Recorded.VOIDED]
    assert store.record([play(store, again, faults=True)]) == [Recorded.RECORDED]
    assert store.figures(tournament).blocks == before.blocks
    assert store.figures(tournament).totals == before.totals


def test_only_recorded_matches_can_be_voided(store: Store) -> None:
    tournament = started(store, 2)
    with pytest.raises(WrongState, match="is queued"):
        store.void(tournament, 1, "why not")
    with pytest.raises(NotFound):
        store.void(tournament, 2, "no such match")


def test_a_cancelled_tournament_plays_and_records_nothing_more(store: Store) -> None:
    tournament = started(store, 3)
    done, leased = store.lease(2, 60)
    store.record([play(store, done)])
    assert store.cancel(tournament) == 2
    assert store.record([play(store, leased)]) == [Recorded.CANCELLED]
    assert store.counts(tournament) == Counts(finished=1, cancelled=2)
    assert store.lease(5, 60) == []
    with pytest.raises(WrongState, match="is cancelled"):
        store.cancel(tournament)
    with pytest.raises(WrongState, match="cancelled tournament"):
        store.void(tournament, 1, "too late")


def test_a_tournament_finishes_with_its_last_match_and_every_step_is_told_in_order(store: Store) -> None:
    tournament = started(store, 3)
    play_all(store, tournament, chunk=2)
    assert store.tournament(tournament).state is TournamentState.FINISHED
    events = store.events(tournament)
    assert [event.topic for event in events] == [Topic.STATE, Topic.MATCH, Topic.MATCH, Topic.MATCH, Topic.STATE]
    assert [event.payload.get("number") for event in events[1:4]] == [1, 2, 3]
    assert [event.id for event in store.events(tournament, after=events[2].id)] == [event.id for event in events[3:]]
    assert store.last_event(tournament) == events[-1].id


def test_the_secret_is_out_when_the_tournament_has_ended_and_nothing_is_held_back(store: Store) -> None:
    tournament = started(store, 2)
    assert not store.tournament(tournament).secret_is_out
    play_all(store, tournament)
    assert store.tournament(tournament).secret_is_out
    store.hold(tournament, 1500)
    assert not store.tournament(tournament).secret_is_out
    store.hold(tournament, None)
    assert store.tournament(tournament).secret_is_out


def test_a_tournament_starts_with_all_its_matches_or_not_at_all(store: Store) -> None:
    tournament = store.create(new(THREE))
    bots = entrants(4)
    with pytest.raises(ValueError, match="same entrant twice"):
        store.start(tournament, [*bots, bots[0]])
    assert store.tournament(tournament).state is TournamentState.DRAFT
    assert store.entrants(tournament) == []
    store.start(tournament, bots[::-1])
    assert store.counts(tournament) == Counts(queued=4)
    assert [entrant.text for entrant in store.entrants(tournament)] == ["bot0:1", "bot1:1", "bot2:1", "bot3:1"]
    with pytest.raises(WrongState, match="started already"):
        store.start(tournament, bots)


def test_sources_are_kept_by_hash_and_shared_by_tournaments(store: Store) -> None:
    first, second = started(store, 2), started(store, 3)
    for tournament in (first, second):
        for entrant, bot in zip(store.entrants(tournament), entrants(3), strict=False):
            assert entrant.sha256 is not None
            assert store.source(entrant.sha256) == bot.source
    with pytest.raises(NotFound):
        store.source("0" * 64)


ALLOWED = {
    ("draft", "open"), ("open", "closed"), ("closed", "open"), ("running", "paused"), ("paused", "running"),
    ("running", "finished"), ("paused", "finished"),
}  # fmt: skip


def in_state(store: Store, state: TournamentState) -> int:
    tournament = store.create(new())
    path = {
        "draft": [], "open": ["open"], "closed": ["open", "closed"], "running": ["running"],
        "paused": ["running", "paused"], "finished": ["running", "finished"], "cancelled": ["cancelled"],
    }  # fmt: skip
    for step in path[state]:
        if step == "running":
            store.start(tournament, entrants(2))
        elif step == "cancelled":
            store.cancel(tournament)
        else:
            store.set_state(tournament, TournamentState(step))
    return tournament


@pytest.mark.parametrize("state", TournamentState)
def test_a_tournament_moves_only_where_its_state_allows(store: Store, state: TournamentState) -> None:
    for target in TournamentState:
        tournament = in_state(store, state)
        if (state, target) in ALLOWED:
            store.set_state(tournament, target)
            assert store.tournament(tournament).state is target
        else:
            with pytest.raises(WrongState):
                store.set_state(tournament, target)
            assert store.tournament(tournament).state is state


def test_workers_are_known_by_their_last_announcement_until_they_are_silent(store: Store) -> None:
    store.announce("one", 2, {"python": "3.11"}, now=1000)
    store.announce("two", 4, {}, refused="another rules engine", now=1005)
    store.announce("one", 3, {"python": "3.12"}, task="match 7", now=1010)
    one, two = store.workers()
    assert (one.slots, one.environment, one.task, one.seen_at) == (3, {"python": "3.12"}, "match 7", 1010)
    assert two.refused == "another rules engine"
    assert store.forget_workers(silent_s=60, now=1066) == 1
    assert [worker.name for worker in store.workers()] == ["one"]
