"""Matches that are played again on another worker, with a real Redis, its access list and real workers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.cluster import BOT, Cluster, make_tournament, redis_with_users, wait_for
from tournament.models_contest import Verdict
from tournament.store_repeats import RepeatInfo, order_repeats, repeats

CLOCK_BOT = """
import time


class Bot:
    def bid(self, view):
        return view.legal[time.perf_counter_ns() // 7 % len(view.legal)]

    def play(self, view):
        return view.legal[time.perf_counter_ns() // 7 % len(view.legal)]
"""
MATCHES = 3


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with redis_with_users() as server, Cluster(database_url, tmp_path, server) as cluster:
        yield cluster


def played_by(cluster: Cluster, worker: str, text: str = BOT) -> int:
    """Has a tournament played by one worker, the only one that listens."""
    tournament = make_tournament(cluster.store, MATCHES, 1, text=text)
    cluster.wait_until_finished(tournament)
    assert {match.worker for match in cluster.store.latest_matches(tournament)} == {worker}
    return tournament


def repeated(cluster: Cluster, tournament: int) -> list[RepeatInfo]:
    known = len(repeats(cluster.store, tournament))
    order_repeats(cluster.store, tournament, range(1, MATCHES + 1))
    wait_for(lambda: len(repeats(cluster.store, tournament)) == known + MATCHES, "the matches that are played again")
    return repeats(cluster.store, tournament)[:MATCHES]


def heard(cluster: Cluster, worker: str, after: float = 0.0) -> float:
    """Waits until the coordinator has heard of a worker, and returns when that was."""

    def seen() -> float:
        return max((each.seen_at for each in cluster.store.workers() if each.name == worker), default=0.0)

    wait_for(lambda: seen() > after, f"{worker}")
    return seen()


def test_another_worker_repeats_a_match_and_the_one_that_cheats_is_named(cluster: Cluster) -> None:
    cluster.coordinator()
    honest = cluster.worker("honest")
    fair, odd = played_by(cluster, "honest"), played_by(cluster, "honest", CLOCK_BOT)
    # Nobody else is there: the coordinator's own machine, which is trusted, plays them again.
    found = repeated(cluster, fair)
    assert {each.verdict for each in found} == {Verdict.SAME}
    assert all(each.repeated_by.startswith("coordinator:") for each in found)
    honest.term()
    before = heard(cluster, "honest")
    cluster.cheat()
    bent = played_by(cluster, "cheat")
    cluster.worker("honest")
    heard(cluster, "honest", before)

    found = repeated(cluster, bent)
    assert {(each.worker, each.repeated_by, each.verdict) for each in found} == {("cheat", "honest", Verdict.WORKER)}
    assert all(each.detail.startswith("who played it first (first cheat, again honest): bot") for each in found)
    # What was played in good order and is repeated by the cheat does not harm the one who played it.
    found = repeated(cluster, fair)
    assert {(each.repeated_by, each.verdict) for each in found} == {("cheat", Verdict.WORKER)}
    assert {each.detail for each in found} == {"who repeated it (first honest, again cheat)"}
    # A bot that goes by the clock comes out otherwise wherever it is played: no worker is suspected.
    found = repeated(cluster, odd)
    assert {(each.repeated_by, each.verdict) for each in found} == {("cheat", Verdict.NOT_REPEATABLE)}
    assert all(each.entrant is not None for each in found)
    assert all("NOPERM" not in program.text() for program in cluster.programs)
