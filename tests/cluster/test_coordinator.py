"""The coordinator: what it hands out, when, and what it takes back."""

import json
from collections.abc import Sequence

import pytest
from kombu.exceptions import OperationalError

from tests.cluster.fakes import HERE, MemoryBroker
from tests.store.play import play, started
from tournament.environment import demanding
from tournament.models import TournamentState
from tournament.store import Store
from tournament.store_cluster import active
from tournament.store_values import LeasedMatch
from workers.coordinator import Coordinator, Pace, chunks
from workers.estimates import FIRST_GUESS_S, Estimates
from workers.tickets import Tickets, match_queue

KEY = "signing key"


def make(store: Store, broker: MemoryBroker, pace: Pace = Pace(), **options: object) -> Coordinator:  # noqa: B008
    estimates = Estimates(store.match_seconds)
    environment = options.get("environment", HERE)
    assert isinstance(environment, dict)
    return Coordinator(store, Tickets(store, KEY), broker, estimates, environment, "tests", pace)


def leases(broker: MemoryBroker) -> list[tuple[int, int]]:
    return [ticket.lease for _, chunk in broker.published for ticket, _ in chunk.matches]


def test_nothing_is_handed_out_where_nobody_plays(store: Store) -> None:
    tournament, broker = started(store), MemoryBroker()
    assert make(store, broker).tick() == 0
    assert store.counts(tournament).queued == 3


def test_what_is_published_is_leased_with_its_seeds_and_sources_but_not_the_secret(store: Store) -> None:
    tournament, broker = started(store), MemoryBroker()
    store.announce("w", 2, HERE)
    assert make(store, broker).tick() == 3
    assert store.counts(tournament).running == 3
    assert {queue for queue, _ in broker.published} == {match_queue(HERE)}
    ticket, task = broker.published[0][1].matches[0]
    assert (ticket.id, ticket.attempt) == (task.match_id, task.attempt) == (1, 1)
    assert {player.sha256 for player in task.players} <= set(broker.sources)
    assert len(task.seed) == 64
    assert '"demo"' not in str(broker.published).replace("'", '"')


def test_a_tournament_without_an_environment_is_pinned_to_the_coordinators(store: Store) -> None:
    tournament, broker = started(store), MemoryBroker()
    make(store, broker).tick()
    assert store.tournament(tournament).environment == HERE
    assert broker.wanted == [(tournament, HERE)]


def test_a_worker_of_another_environment_gets_no_work(store: Store) -> None:
    broker = MemoryBroker()
    started(store)
    store.announce("old", 8, {**HERE, "python": "CPython 3.12.1"})
    assert make(store, broker).tick() == 0


def test_a_tournament_that_demands_a_layer_waits_for_workers_that_have_it(store: Store) -> None:
    tournament, broker = started(store), MemoryBroker()
    demands = demanding(["own-uid"])
    with store.write() as connection:
        connection.exec_driver_sql(
            "UPDATE tournament SET environment = ?", (json.dumps(demands, separators=(",", ":")),)
        )
    coordinator = make(store, broker)
    store.announce("bare", 8, {**HERE, "layers": ["landlock"]})
    assert coordinator.tick() == 0
    assert store.tournament(tournament).environment == {**HERE, **demands}
    store.announce("root", 8, {**HERE, "layers": ["landlock", "own-uid"]})
    assert coordinator.tick() == 3
    assert {queue for queue, _ in broker.published} == {match_queue({**HERE, **demands})}


def test_a_coordinator_with_another_rules_engine_hands_out_nothing(store: Store) -> None:
    tournament, broker = started(store), MemoryBroker()
    make(store, broker).tick()
    store.announce("w", 8, HERE)
    assert make(store, broker, environment={**HERE, "engine": "0" * 64}).tick() == 0
    assert store.counts(tournament).queued == 3


def test_no_more_is_in_flight_than_the_slots_want(store: Store) -> None:
    broker = MemoryBroker()
    started(store, count=10)
    store.announce("w", 1, HERE)
    pace = Pace(least_chunks=1, chunks_per_slot=3, chunk_s=2.0)
    coordinator = make(store, broker, pace)
    per_chunk = int(pace.chunk_s / FIRST_GUESS_S)
    assert coordinator.tick() == 3 * per_chunk
    assert coordinator.tick() == 0


def test_nothing_is_handed_out_while_results_pile_up(store: Store) -> None:
    broker = MemoryBroker()
    started(store)
    store.announce("w", 1, HERE)
    broker.waiting = 501
    assert make(store, broker).tick() == 0
    broker.waiting = 500
    assert make(store, broker).tick() == 3


def test_what_could_not_be_published_goes_back_at_once_and_costs_nothing(store: Store) -> None:
    tournament, broker = started(store), MemoryBroker()
    store.announce("w", 1, HERE)
    broker.away = True
    with pytest.raises(OperationalError):
        make(store, broker).tick()
    assert store.counts(tournament).queued == 3
    assert all(match.losses == 0 for match in store.matches(tournament))


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it."""


def test_a_coordinator_killed_between_commit_and_publish_costs_a_lease_time_and_nothing_else(store: Store) -> None:
    class Deadly(MemoryBroker):
        def publish(self, *_: object, **__: object) -> None:
            raise Killed

    tournament = started(store)
    store.announce("w", 1, HERE)
    with pytest.raises(Killed):
        make(store, Deadly(), Pace(queue_lease_s=-1.0)).tick()
    assert store.counts(tournament).running == 3, "committed, and never published"
    broker = MemoryBroker()
    assert make(store, broker).tick() == 3
    assert {match.losses for match in store.matches(tournament)} == {0}


def test_a_redis_that_lost_its_memory_gives_back_what_was_not_started(store: Store) -> None:
    tournament, broker = started(store), MemoryBroker()
    store.announce("w", 1, HERE)
    coordinator = make(store, broker)
    coordinator.tick()
    store.renew([leases(broker)[0]], 600, worker="w")
    broker.marked = False
    broker.published.clear()
    assert coordinator.tick() == 2
    assert sorted(leases(broker)) == [(2, 2), (3, 2)]
    assert store.match(tournament, 1).attempt == 1


def test_a_lease_that_waited_too_long_costs_nothing_one_whose_worker_fell_silent_does(store: Store) -> None:
    tournament, broker = started(store), MemoryBroker()
    waiting, begun, _ = store.lease(3, 60, now=1.0)
    store.renew([(begun.id, begun.attempt)], 60, now=2.0)
    make(store, broker).tick()
    assert store.match(tournament, waiting.number).losses == 0
    assert store.match(tournament, begun.number).losses == 1
    assert store.counts(tournament).queued == 3


def test_a_match_that_always_kills_its_worker_fails_in_the_end_and_alone(store: Store) -> None:
    tournament, broker = started(store), MemoryBroker()
    store.announce("w", 1, HERE)
    coordinator = make(store, broker, Pace(max_losses=3))
    for _ in range(3):
        coordinator.tick()
        for chunk in broker.taken():
            poison = [ticket.lease for ticket, _ in chunk.matches if ticket.number == 1]
            if poison:
                store.renew(poison, -1.0)
    coordinator.tick()
    assert store.match(tournament, 1).state == "failed"
    assert store.counts(tournament).failed == 1
    assert store.retry(tournament) == 1


def test_a_paused_tournament_is_not_handed_out_and_a_cancelled_one_is_made_known(store: Store) -> None:
    tournament, broker = started(store), MemoryBroker()
    store.announce("w", 1, HERE)
    coordinator = make(store, broker)
    store.set_state(tournament, TournamentState.PAUSED)
    assert coordinator.tick() == 0
    store.set_state(tournament, TournamentState.RUNNING)
    assert coordinator.tick() == 3
    store.cancel(tournament)
    coordinator.tick()
    assert broker.cancelled == {tournament}


def test_what_runs_is_not_told_as_cancelled_though_its_number_was_before_a_restore(store: Store) -> None:
    tournament, broker = started(store), MemoryBroker()
    broker.cancelled = {tournament, tournament + 1}
    make(store, broker).tick()
    assert broker.cancelled == {tournament + 1}


def test_a_drain_hands_out_nothing_and_counts_what_is_out(store: Store) -> None:
    tournament, broker = started(store), MemoryBroker()
    store.announce("w", 1, HERE)
    assert make(store, broker).tick(hand_out=False) == 0
    (leased,) = store.lease(1, 600)
    assert [each.leased for each in active(store)] == [1]
    store.record([play(store, leased)])
    assert [each.leased for each in active(store)] == [0]
    assert store.counts(tournament).finished == 1


def test_two_tournaments_of_different_environments_share_nothing(store: Store) -> None:
    first, second, broker = started(store), started(store), MemoryBroker()
    other = {**HERE, "python": "CPython 3.12.1"}
    coordinator = make(store, broker)
    coordinator.tick()
    with store.write() as connection:
        connection.exec_driver_sql(
            "UPDATE tournament SET environment = replace(environment, '3.11.9', '3.12.1') WHERE id = ?", (second,)
        )
    store.announce("new", 1, other)
    assert coordinator.tick() == 3
    assert {ticket.tournament_id for _, chunk in broker.published for ticket, _ in chunk.matches} == {second}
    assert {queue for queue, _ in broker.published} == {match_queue(other)}
    store.announce("old", 1, HERE)
    assert coordinator.tick() == 3
    assert store.counts(first).running == 3


def leased(*attempts: int) -> list[LeasedMatch]:
    return [LeasedMatch(n, 1, n, 1, f"key {n}", (0, n), attempt) for n, attempt in enumerate(attempts, 1)]


def sizes(parts: Sequence[Sequence[LeasedMatch]]) -> list[list[int]]:
    return [[match.id for match in part] for part in parts]


def test_a_chunk_is_filled_up_to_its_time_in_order() -> None:
    estimates = Estimates()
    estimates.observe(1, (0, 3), 5.0)
    estimates.observe(1, (0, 1), 0.5)
    for number in (1, 2, 4, 5):
        estimates.observe(1, (0, number), 0.9)
    parts = chunks(leased(1, 1, 1, 1, 1), estimates, Pace(chunk_s=2.0))
    assert sizes(parts) == [[1, 2], [3], [4, 5]]


def test_a_chunk_holds_no_more_than_its_most_matches() -> None:
    estimates = Estimates(lambda _: 0.001)
    assert sizes(chunks(leased(1, 1, 1, 1, 1), estimates, Pace(chunk_matches=2))) == [[1, 2], [3, 4], [5]]


def test_a_match_that_was_leased_before_travels_alone() -> None:
    estimates = Estimates(lambda _: 0.001)
    assert sizes(chunks(leased(1, 2, 1, 3, 1), estimates, Pace())) == [[1, 3, 5], [2], [4]]


def test_an_estimate_begins_with_what_the_store_knows_and_follows_what_comes() -> None:
    estimates = Estimates({1: 4.0}.get)
    assert estimates.match_s(1, (0, 1)) == 4.0
    assert estimates.match_s(2, (0, 1)) == FIRST_GUESS_S
    estimates.observe(1, (0, 1), 10.0)
    assert estimates.match_s(1, (0, 1)) == 10.0
    estimates.observe(1, (0, 1), 5.0)
    assert estimates.match_s(1, (0, 1)) == pytest.approx(9.0)
