"""The site with its player in one program, and the commands of the containers without containers."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError

import pytest
import yaml

from tests.servers.cluster import (
    PASSWORDS,
    PATIENCE_S,
    ROOT,
    SIGNING_KEY,
    Cluster,
    Program,
    access_list,
    make_tournament,
    wait_for,
)
from tests.servers.finder import PrivateRedis, free_port, missing, redis_program
from tournament.lock import CoordinatorLock
from tournament.store import Store
from tournament.store_cluster import COORDINATOR
from workers.heartbeat import VARIABLE


def get(port: int, path: str) -> str:
    """Returns what the site answers, or nothing while it does not."""
    with suppress(URLError, ConnectionError), urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
        return str(answer.read().decode())
    return ""


@pytest.fixture
def programs() -> Iterator[list[Program]]:
    started: list[Program] = []
    yield started
    for program in started:
        program.kill()


def test_serve_goes_on_with_what_was_running_and_a_second_one_takes_over(
    tmp_path: Path, programs: list[Program]
) -> None:
    database = tmp_path / "tournament.db"
    with Store(str(database)) as store:
        store.migrate()
        tournament = make_tournament(store, 4, 40)
        ports = [free_port(), free_port()]

        def serve(port: int) -> Program:
            command = ["serve", "--port", str(port), "--db", str(database), "--jobs", "1"]
            programs.append(Program(command, {}, tmp_path / f"serve{port}.log"))
            return programs[-1]

        first = serve(ports[0])
        wait_for(lambda: store.counts(tournament).finished > 0, "the first result")
        second = serve(ports[1])
        wait_for(lambda: get(ports[1], "/healthz"), "the second site")
        wait_for(lambda: "plays the matches of this database" in second.text(), "its word that another one plays")
        assert "smear_matches_per_minute" in get(ports[1], "/metrics")
        assert store.counts(tournament).queued > 0, "the tournament was too short for this test"
        first.kill()
        wait_for(lambda: store.counts(tournament).open == 0, "the end of the tournament")
        assert store.counts(tournament).finished == store.counts(tournament).planned
        assert second.term() == 0
        line = next(json.loads(line) for line in second.text().splitlines() if '"match"' in line)
        assert {"tournament", "match", "attempt"} <= set(line)


def test_a_run_beside_serve_leaves_its_matches_to_it_and_plays_them_when_it_is_killed(
    tmp_path: Path, programs: list[Program]
) -> None:
    database, port = str(tmp_path / "tournament.db"), free_port()
    options = ["--jobs", "1", "--db", database]
    programs.append(Program(["serve", "--port", str(port), *options], {}, tmp_path / "serve.log"))
    wait_for(lambda: get(port, "/healthz"), "the site")
    wait_for(lambda: CoordinatorLock(Path(database)).holder() == programs[0].process.pid, "serve to hold the lock")
    command = ["run", "simple", "random", "--rounds", "40", "--seed", "x", *options]
    programs.append(Program(command, {}, tmp_path / "run.log"))
    with Store(database) as store:
        wait_for(lambda: store.tournaments() and store.counts(1).finished > 2, "some results")
        serve, run = programs
        assert '"match"' in serve.text(), "serve plays them"
        assert "plays the matches of this database; this shows its progress" in run.text()
        serve.kill()
        assert run.process.wait(PATIENCE_S) == 0
        assert store.counts(1).finished == 40
        assert {match.losses for match in store.matches(1)} == {0}


def secret_files(folder: Path, values: dict[str, str]) -> dict[str, Path]:
    paths = {}
    for name, value in values.items():
        paths[name] = folder / name
        paths[name].write_text(value + "\n")
    return paths


def test_every_command_of_the_containers_works_without_containers(
    database_url: str, tmp_path: Path, programs: list[Program]
) -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    port = free_port()
    with PrivateRedis(redis_program() or missing("redis"), access_list()) as redis, Store(database_url) as store:
        files = secret_files(
            tmp_path,
            {
                "database_url": database_url,
                "broker_url_coordinator": redis.url_of("coordinator", PASSWORDS["coordinator"]),
                "broker_url_worker": redis.url_of("worker", PASSWORDS["worker"]),
                "signing_key": SIGNING_KEY,
            },
        )

        def run(service: str) -> Program:
            given = services[service].get("environment", {})
            environment = {
                name: str(files[Path(value).name]) for name, value in given.items() if name.endswith("_FILE")
            }
            assert len(environment) == len(services[service]["secrets"])
            environment[VARIABLE] = str(tmp_path / f"{service}.heartbeat")
            command = [str(port) if part == "8000" else part for part in services[service]["command"]]
            programs.append(Program(command, environment, tmp_path / f"{service}.log"))
            return programs[-1]

        def is_healthy(service: str) -> bool:
            command = services[service]["healthcheck"]["test"]
            assert command[:2] == ["CMD", "python"]
            environment = {**os.environ, VARIABLE: str(tmp_path / f"{service}.heartbeat"), "PYTHONPATH": str(ROOT)}
            return subprocess.run([sys.executable, *command[2:]], env=environment, check=False).returncode == 0

        assert run("migrate").process.wait(60) == 0
        assert not is_healthy("coordinator") and not is_healthy("worker")
        tournament = make_tournament(store, 3, 2)
        coordinator, web, worker = run("coordinator"), run("web"), run("worker")
        wait_for(lambda: store.counts(tournament).open == 0, "the end of the tournament")
        assert store.counts(tournament).finished == 6
        wait_for(lambda: get(port, "/readyz"), "the site")
        assert is_healthy("coordinator") and is_healthy("worker")
        os.utime(tmp_path / "worker.heartbeat", (0, 0))
        assert not is_healthy("worker"), "it was silent for long"
        wait_for(lambda: is_healthy("worker"), "its next sign of life")
        assert "smear_workers 1" in get(port, "/metrics")
        known = {each.name.startswith(COORDINATOR): each for each in store.workers()}
        assert known[False].slots == len(os.sched_getaffinity(0))
        assert [program.term() for program in (web, worker, coordinator)] == [0, 0, 0]
        text = "".join(path.read_text() for path in tmp_path.glob("*.log"))
        assert not any(re.search(rf"\b{password}\b", text) for password in (*PASSWORDS.values(), SIGNING_KEY))


def test_serve_refuses_to_play_on_a_server_and_says_what_to_do(database_url: str, tmp_path: Path) -> None:
    program = Program(["serve"], {"TOURNAMENT_DATABASE_URL": database_url}, tmp_path / "serve.log")
    assert program.process.wait(60) == 2
    assert "use --web-only" in program.text()


@pytest.mark.parametrize("command", ["worker", "coordinator"])
def test_a_program_of_a_cluster_without_a_broker_says_what_is_missing(command: str, tmp_path: Path) -> None:
    program = Program([command], {"TOURNAMENT_DATABASE_URL": str(tmp_path / "x.db")}, tmp_path / "log")
    assert program.process.wait(60) == 2
    assert "TOURNAMENT_BROKER_URL is not set" in program.text()


def test_only_one_coordinator_takes_an_sqlite_file(tmp_path: Path) -> None:
    program = redis_program() or missing("redis")
    with PrivateRedis(program, access_list()) as redis, Cluster(str(tmp_path / "t.db"), tmp_path, redis) as cluster:
        tournament = make_tournament(cluster.store, 3, 2)
        cluster.coordinator()
        wait_for(cluster.store.workers, "the first coordinator")
        second = cluster.coordinator()
        assert second.process.wait(60) == 2
        assert "another process plays the matches" in second.text()
        cluster.worker()
        cluster.wait_until_finished(tournament)
