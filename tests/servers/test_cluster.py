"""A cluster of real processes: Redis with its access list, PostgreSQL, coordinator, Celery workers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
import redis

from tests.servers import chaos
from tests.servers.cluster import (
    BURNING_BOT,
    COMMAND,
    PASSWORDS,
    QUICK,
    ROOT,
    Cluster,
    make_tournament,
    redis_with_users,
    wait_for,
)
from tests.servers.finder import PrivateRedis, missing, redis_program
from tournament.environment import environment
from tournament.export import FILES, export_tournament
from tournament.models import TournamentState
from tournament.rules import Rules
from tournament.store import Store
from workers.app import make_app, redis_client
from workers.local import LocalExecutor
from workers.local_run import LocalRun
from workers.tasks import Broker
from workers.tickets import source_key


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with redis_with_users() as server, Cluster(database_url, tmp_path, server) as cluster:
        yield cluster


def exported(store: Store, tournaments: Sequence[int], folder: Path) -> dict[str, bytes]:
    for tournament in tournaments:
        export_tournament(store, tournament, folder / str(tournament))
    return {f"{n}/{name}": (folder / str(n) / name).read_bytes() for n in tournaments for name in FILES}


MODES = (
    QUICK,
    Rules.make("cutthroat", target=2, deal_limit=2),
    Rules.make("wisconsin", target=3, deal_limit=2),
)


def make_all(store: Store) -> list[int]:
    return [make_tournament(store, 3, 2, rules) for rules in MODES]


def played_here(folder: Path, jobs: int) -> dict[str, bytes]:
    with Store(str(folder / f"jobs{jobs}.db")) as store:
        store.migrate()
        tournaments = make_all(store)
        executor = LocalExecutor(jobs)
        try:
            run = LocalRun(store, executor)
            while run.step(1.0) or run.busy:
                pass
        finally:
            executor.close()
        return exported(store, tournaments, folder / f"jobs{jobs}")


def test_one_seed_gives_the_same_bytes_with_one_job_two_jobs_and_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    tournaments = make_all(cluster.store)
    cluster.coordinator()
    workers = [cluster.worker(f"worker{number}") for number in range(2)]
    for tournament in tournaments:
        cluster.wait_until_finished(tournament)
    found = exported(cluster.store, tournaments, tmp_path / "cluster")
    assert found == played_here(tmp_path, 1) == played_here(tmp_path, 2)
    assert all("NOPERM" not in worker.text() for worker in workers)
    lines = [line for worker in workers for line in worker.text().splitlines() if '"match"' in line]
    assert {"at", "level", "text", "tournament", "match", "attempt"} <= set(json.loads(lines[0]))


def test_no_match_is_lost_or_counted_twice_whatever_is_killed(tmp_path: Path) -> None:
    report = chaos.run(matches=510, events=25, seed=20, folder=tmp_path)
    print(report)
    assert report.wrong == []
    assert report.looks > 25


# What a worker may do -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded_redis() -> Iterator[PrivateRedis]:
    with redis_with_users() as server:
        yield server


FORBIDDEN = [
    "LRANGE results 0 -1", "BRPOP results 1", "LRANGE matches.a 0 -1", "DEL matches.a", "GET epoch",
    "SET epoch 1", "SET src:a evil", "SET environments []", "SADD cancelled 1", "GET unacked_r",
    "HGET unacked_r a", "FLUSHALL", "FLUSHDB", "CONFIG GET *", "KEYS *", "SCAN 0", "EVAL return 0", "PUBLISH a b",
    "SUBSCRIBE a", "CLIENT LIST", "CLIENT KILL ID 1", "ACL LIST", "MONITOR", "SHUTDOWN", "SAVE",
    "DUMP src:a", "RENAME matches.a results", "GET other", "ZADD other 1 a",
]  # fmt: skip


@pytest.mark.parametrize("command", FORBIDDEN)
def test_a_stolen_workers_password_cannot(guarded_redis: PrivateRedis, command: str) -> None:
    url = guarded_redis.url_of("worker", PASSWORDS["worker"])
    with redis.Redis.from_url(url) as client, pytest.raises(redis.exceptions.NoPermissionError):
        client.execute_command(*command.split())


def test_a_worker_reads_sources_and_the_notes_left_for_it(guarded_redis: PrivateRedis) -> None:
    with redis.Redis.from_url(guarded_redis.url_of("coordinator", PASSWORDS["coordinator"])) as client:
        client.set(source_key("a" * 64), b"packed")
        client.set("environments", "[]")
        client.sadd("cancelled", "3")
    with redis.Redis.from_url(guarded_redis.url_of("worker", PASSWORDS["worker"])) as client:
        assert client.get(source_key("a" * 64)) == b"packed"
        assert client.get("environments") == b"[]"
        assert client.sismember("cancelled", "3")


JUNK = [
    b"junk", b"\xff\xfe", b"null", b"{}", b'{"body": "e30="}', b'{"body": "e30=", "headers": {}, "properties": {}}',
    b'{"body": 3, "headers": 3, "properties": {"delivery_tag": "a", "delivery_info": 3}}',
]  # fmt: skip


def test_a_heap_of_junk_in_the_results_queue_holds_nobody_up(cluster: Cluster) -> None:
    url = cluster.redis.url_of("worker", PASSWORDS["worker"])
    with redis.Redis.from_url(url) as client:
        client.lpush("results", *JUNK * 20)
    tournament = make_tournament(cluster.store, 3, 1)
    coordinator = cluster.coordinator()
    cluster.worker()
    cluster.wait_until_finished(tournament)
    assert coordinator.text().count("no envelope") >= len(JUNK) - 1
    assert cluster.store.counts(tournament).finished == 3


# Workers come and go --------------------------------------------------------------------------------------------------


def test_a_worker_of_another_environment_gets_no_work_and_says_why(cluster: Cluster) -> None:
    other = {**environment(), "python": "CPython 2.7.18"}
    tournament = make_tournament(cluster.store, 3, 1, environment=other)
    cluster.coordinator()
    worker = cluster.worker()
    wait_for(lambda: any(each.slots and each.refused for each in cluster.store.workers()), "the worker's refusal")
    reason = next(each.refused for each in cluster.store.workers() if each.refused)
    assert "expected CPython 2.7.18" in reason
    assert cluster.store.counts(tournament).queued == 3
    worker.kill()
    # The coordinator's note is there by now, so that a worker which comes later says so in its own log.
    again = cluster.worker("again")
    wait_for(lambda: "expected CPython 2.7.18" in again.text(), "the worker's own word")
    done = subprocess.run(
        [sys.executable, "-c", "from tournament.cli import main; main()", "workers", "--json"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TOURNAMENT_DATABASE_URL": cluster.store.url},
        capture_output=True,
        check=True,
    )
    assert any(row["refused"] == reason for row in json.loads(done.stdout))


def slow_tournament(cluster: Cluster) -> int:
    rules = Rules.make("cutthroat", players=2, target=1000, deal_limit=2)
    return make_tournament(cluster.store, 3, 1, rules, text=BURNING_BOT.format(seconds=0.02))


def test_a_worker_told_to_end_finishes_what_it_plays_and_gives_the_rest_back(cluster: Cluster) -> None:
    tournament = slow_tournament(cluster)
    cluster.coordinator()
    worker = cluster.worker()
    wait_for(lambda: any(m.started_at for m in cluster.store.running_matches(tournament)), "a match that has begun")
    begun = [m.id for m in cluster.store.running_matches(tournament) if m.started_at]
    assert worker.term() == 0
    wait_for(lambda: not any(m.started_at for m in cluster.store.running_matches(tournament)), "its results")
    assert all(m.losses == 0 for m in cluster.store.matches(tournament))
    assert {m.id for m in cluster.store.latest_matches(tournament)} >= set(begun[:1])


def test_a_drained_cluster_has_nothing_out_and_goes_on_afterwards(cluster: Cluster) -> None:
    tournament = make_tournament(cluster.store, 4, 12)
    coordinator = cluster.coordinator()
    cluster.worker()
    wait_for(lambda: cluster.store.counts(tournament).finished > 10, "some results")
    assert coordinator.term() == 0
    assert cluster.coordinator("--drain").process.wait(60) == 0
    counts = cluster.store.counts(tournament)
    assert counts.running == 0 and counts.queued + counts.finished == counts.planned
    cluster.coordinator()
    cluster.wait_until_finished(tournament)


def test_a_cancelled_tournament_is_not_played_on_and_a_paused_one_later(cluster: Cluster) -> None:
    cancelled, paused = make_tournament(cluster.store, 4, 40), make_tournament(cluster.store, 3, 2)
    cluster.coordinator()
    cluster.store.set_state(paused, TournamentState.PAUSED)
    cluster.worker()
    wait_for(lambda: cluster.store.counts(cancelled).finished > 5, "some results")
    cluster.store.cancel(cancelled)
    before = cluster.store.counts(cancelled)
    cluster.store.set_state(paused, TournamentState.RUNNING)
    cluster.wait_until_finished(paused)
    assert cluster.store.counts(cancelled) == before
    assert cluster.store.counts(paused).finished == 6


def test_a_tournament_with_the_number_of_a_cancelled_one_is_played(cluster: Cluster) -> None:
    url = cluster.redis.url_of("coordinator", PASSWORDS["coordinator"])
    with redis.Redis.from_url(url) as client:
        client.sadd("cancelled", "1")  # as it was before the database was restored
    tournament = make_tournament(cluster.store, 3, 2)
    assert tournament == 1
    cluster.coordinator()
    cluster.worker()
    cluster.wait_until_finished(tournament)


def test_a_database_that_can_only_be_read_is_waited_for(cluster: Cluster, database_url: str) -> None:
    tournament = make_tournament(cluster.store, 4, 12)
    coordinator = cluster.coordinator()
    cluster.worker()
    wait_for(lambda: cluster.store.counts(tournament).finished > 5, "some results")
    name = database_url.rpartition("/")[2]
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"

    def let_write(how: str) -> None:
        url, writing = database_url.replace("+psycopg", ""), "-c default_transaction_read_only=off"
        with psycopg.connect(url, autocommit=True, options=writing) as connection:
            connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {how}".encode())
            connection.execute(others, [name])

    let_write("on")
    wait_for(lambda: "read-only transaction" in coordinator.text(), "the coordinator's word")
    assert main_refuses("contest", "pause", str(tournament), "--db", database_url) == (
        "tournament: the database cannot be used: cannot execute SELECT FOR NO KEY UPDATE in a read-only transaction"
    )
    let_write("off")
    cluster.wait_until_finished(tournament)
    assert coordinator.alive
    assert cluster.store.counts(tournament).finished == 72
    assert all(match.losses == 0 for match in cluster.store.matches(tournament))


def main_refuses(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *COMMAND, *arguments], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 2
    return done.stderr.strip()


def descendants(pid: int) -> set[int]:
    found = set(chaos.children(pid))
    return found.union(*(descendants(child) for child in found))


def alive(pids: set[int]) -> set[int]:
    return {pid for pid in pids if Path(f"/proc/{pid}").exists() and "Z" not in _state(pid)}


def _state(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return "Z"


@pytest.mark.parametrize("victim", ["worker", "pool process"])
def test_a_killed_worker_leaves_no_bot_alive_and_its_match_is_played_by_another(cluster: Cluster, victim: str) -> None:
    tournament = slow_tournament(cluster)
    cluster.coordinator("--beat-lease=3")
    worker = cluster.worker()
    wait_for(lambda: len(descendants(worker.process.pid)) >= 4, "a pool process, its fork server and two guests")
    pool = next(iter(chaos.children(worker.process.pid)))
    below = descendants(pool)
    if victim == "worker":
        worker.kill()
        cluster.worker("another")
    else:
        os.kill(pool, signal.SIGKILL)
    wait_for(lambda: not alive(below), "the end of the fork server and of its guests")
    cluster.wait_until_finished(tournament)
    assert cluster.store.counts(tournament).finished == 3


@pytest.mark.parametrize("connected", [True, False])
def test_a_result_waits_for_a_redis_that_is_away(private_redis: PrivateRedis, connected: bool) -> None:
    app = make_app(private_redis.url)
    broker = Broker(app, redis_client(private_redis.url))
    if connected:
        broker.tell({"kind": "alive"})
    private_redis.kill()
    broker.tell({"kind": "alive"})  # may be lost, and does not wait
    assert not broker.is_cancelled(1)
    sender = threading.Thread(target=broker.answer, args=('{"kind": "result"}',))
    sender.start()
    private_redis.start()
    sender.join(60)
    with redis.Redis.from_url(private_redis.url) as client:
        assert client.llen("results") == 1
    app.close()


# A second machine, over TLS -------------------------------------------------------------------------------------------


class TlsRedis(PrivateRedis):
    """A Redis that speaks TLS and nothing else."""

    def __init__(self, program: Path) -> None:
        super().__init__(program, redis_users())
        request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        subprocess.run(
            ["openssl", *request, *names, "-keyout", "key.pem", "-out", "ca.crt"],
            cwd=self.folder, check=True, capture_output=True,
        )  # fmt: skip

    def command(self) -> Sequence[str | Path]:
        plain = [part if part != "--port" else "--tls-port" for part in super().command()]
        files = ["--tls-cert-file", "ca.crt", "--tls-key-file", "key.pem", "--tls-ca-cert-file", "ca.crt"]
        return [*plain, "--port", "0", *files, "--tls-auth-clients", "no"]

    def answers(self) -> bool:
        with (
            suppress(redis.ConnectionError),
            redis.Redis.from_url(self.url_of("worker", PASSWORDS["worker"])) as client,
        ):
            return bool(client.ping())
        return False

    def url_of(self, user: str, password: str) -> str:
        plain = super().url_of(user, password)
        query = f"ssl_cert_reqs=required&ssl_ca_certs={self.folder / 'ca.crt'}"
        return f"rediss{plain.removeprefix('redis')}?{query}"


def redis_users() -> list[str]:
    from tests.servers.cluster import access_list

    return access_list()


def test_a_worker_joins_over_tls(database_url: str, tmp_path: Path) -> None:
    program = redis_program() or missing("redis")
    if b"tls-auth-clients" not in program.read_bytes() or not shutil.which("openssl"):
        pytest.skip("this Redis was built without TLS, or there is no openssl to make a certificate with")
    with TlsRedis(program) as server, Cluster(database_url, tmp_path, server) as cluster:
        tournament = make_tournament(cluster.store, 3, 2)
        cluster.coordinator()
        cluster.worker()
        cluster.wait_until_finished(tournament)
        assert cluster.store.counts(tournament).finished == 6
