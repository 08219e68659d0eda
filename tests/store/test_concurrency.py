"""Several processes lease, fail, void and record at once: every match counts once, and the counts always add up."""

import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from tests.store.play import TWO, play, play_all, started
from tournament.models import TournamentState
from tournament.store import Store
from tournament.store_values import Recorded

PROCESSES = 3


def processes() -> ProcessPoolExecutor:
    """Processes that share no connection with this one, and import the store once for all of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return ProcessPoolExecutor(PROCESSES, mp_context=context)


def work(url: str, seed: int, tournament_id: int) -> dict[str, int]:
    """Leases, delivers some results twice and some never, gives back, and takes back what others have let go."""
    chance = random.Random(seed)
    counts = {"recorded": 0, "identities": 0, "sums": 0}
    with Store(url) as store:
        planned = store.counts(tournament_id).planned
        while store.tournament(tournament_id).state is TournamentState.RUNNING:
            leased = store.lease(chance.randint(1, 4), 60, worker=f"worker {seed}")
            results = [play(store, match) for match in leased if chance.random() < 0.8]
            # In any order, some of them twice, and next to what the others record at the same time.
            results += chance.sample(results, len(results) // 2)
            chance.shuffle(results)
            counts["recorded"] += store.record(results).count(Recorded.RECORDED)
            store.renew([(match.id, match.attempt) for match in leased], 60)
            store.release([(match.id, match.attempt) for match in leased[:1]])
            store.take_back(max_losses=1000, now=store.now() + (1000 if chance.random() < 0.5 else 0))
            counts["identities"] += 1
            counts["sums"] += store.counts(tournament_id).planned == planned
    return counts


def test_many_processes_record_every_match_exactly_once(store: Store, store_url: str) -> None:
    tournament = started(store, 6, TWO, rounds=2)
    with processes() as pool:
        done = [pool.submit(work, store_url, seed, tournament) for seed in range(PROCESSES)]
        counts = [future.result() for future in done]
    assert sum(each["recorded"] for each in counts) == 30
    assert all(each["identities"] == each["sums"] for each in counts)
    assert store.counts(tournament).finished == 30
    orders = sorted(match.record_order or 0 for match in store.latest_matches(tournament, 100))
    assert orders == list(range(1, 31))
    told = [event.payload["number"] for event in store.events(tournament) if event.topic == "match"]
    assert sorted(told) == list(range(1, 31))
    alone = started(store, 6, TWO, rounds=2)
    play_all(store, alone)
    assert figures_of(store, tournament) == figures_of(store, alone)


def figures_of(store: Store, tournament: int) -> Any:
    figures = store.figures(tournament)
    # Faults and so scores differ by what `play_all` does with every third match; sets of meetings do not.
    return [(block.entrants, block.matches) for block in figures.blocks]


def hand_out(url: str, count: int) -> list[int]:
    with Store(url) as store:
        return [match.id for _ in range(count) for match in store.lease(3, 60)]


def test_no_match_is_handed_to_two_processes(store: Store, store_url: str) -> None:
    started(store, 16)
    with processes() as pool:
        handed = [future.result() for future in [pool.submit(hand_out, store_url, 20) for _ in range(PROCESSES)]]
    ids = [match_id for each in handed for match_id in each]
    assert len(ids) == len(set(ids)) == 120
    assert store.lease(1, 60) == []


@pytest.mark.parametrize("times", [2])
def test_a_lease_is_committed_before_anyone_hears_of_it(store: Store, store_url: str, times: int) -> None:
    tournament = started(store, 3)
    for _ in range(times):
        (leased,) = store.lease(1, 60)
        with Store(store_url) as other:
            assert other.match(tournament, leased.number).attempt == leased.attempt
