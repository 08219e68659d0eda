"""A run on PostgreSQL that is killed leaves no match behind: its leases bear the name of a session."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.servers.cluster import ROOT, wait_for
from tests.servers.finder import PrivatePostgres
from tests.store.play import migrated, started
from tournament.store import Store
from tournament.store_queue import Holder
from tournament.store_values import Counts

FOR_EVER_S = 1e9

HOLDING = f"""
import sys, time
from tournament.store import Store
from tournament.store_queue import Holder

store = Store(sys.argv[1])
store.lease(2, {FOR_EVER_S}, worker=Holder(store).name)
print("held", flush=True)
time.sleep(1000)
"""


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    with migrated(database_url) as store:
        started(store)
        yield store


def test_the_leases_of_a_killed_run_go_back_at_once_and_cost_nothing(store: Store) -> None:
    command = [sys.executable, "-c", HOLDING, store.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as run:
        assert run.stdout is not None and run.stdout.readline() == b"held\n"
        assert store.take_back() == 0, "it lives"
        assert store.take_back_all(started_too=False) == 0, "and has nothing to do with the broker's memory"
        assert store.counts(1) == Counts(running=2, queued=1)
        run.kill()
    wait_for(store.take_back, "PostgreSQL to see that it is gone")
    assert store.counts(1) == Counts(queued=3)
    assert {match.losses for match in store.matches(1)} == {0}


def test_a_match_that_has_failed_for_good_stays_so_when_its_holder_is_gone(store: Store) -> None:
    holder = Holder(store)
    (leased,) = store.lease(1, FOR_EVER_S, worker=holder.name)
    store.fail(leased.id, leased.attempt, "ours", max_losses=1)
    holder.close()
    assert store.take_back() == 0
    assert store.counts(1).failed == 1


def test_who_is_no_holder_keeps_its_leases_until_their_end(store: Store) -> None:
    store.lease(1, FOR_EVER_S, worker="host:17")
    assert store.take_back() == 0


def test_a_holder_survives_a_restart_of_the_server(private_postgres: PrivatePostgres) -> None:
    with migrated(private_postgres.url) as store:
        started(store)
        holder = Holder(store)
        store.lease(2, FOR_EVER_S, worker=holder.name)
        private_postgres.restart()
        store.wait_until_ready(60)
        holder.stay()
        assert store.take_back() == 0
        holder.close()
        wait_for(store.take_back, "the end of its session")
