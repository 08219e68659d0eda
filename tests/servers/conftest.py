"""Redis and PostgreSQL for the tests of this folder; see `finder`."""

import os
from collections.abc import Generator, Iterator
from itertools import count

import psycopg
import pytest

from tests.servers.finder import PrivatePostgres, PrivateRedis, missing, postgres_programs, redis_program

NUMBERS = count(1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Makes every skip of this folder a failure under REQUIRE_SERVERS=1, whatever its reason."""
    report = yield
    if report.skipped and os.environ.get("REQUIRE_SERVERS") == "1":
        report.outcome = "failed"
        report.longrepr = f"skipped under REQUIRE_SERVERS=1: {report.longrepr}"
    return report


@pytest.fixture
def private_redis() -> Iterator[PrivateRedis]:
    """A Redis that the test may kill; for one with users, make a `PrivateRedis` with `redis_program()`."""
    program = redis_program() or missing("redis")
    with PrivateRedis(program) as server:
        yield server


@pytest.fixture
def private_postgres() -> Iterator[PrivatePostgres]:
    """A PostgreSQL that the test may kill."""
    programs = postgres_programs() or missing("postgresql")
    with PrivatePostgres(programs) as server:
        yield server


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The address of a Redis for the session; a test clears the keys it made."""
    if url := os.environ.get("TEST_REDIS_URL"):
        yield url
        return
    with PrivateRedis(redis_program() or missing("redis")) as server:
        yield server.url


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of a PostgreSQL for the session, of a database that nobody writes to."""
    if url := os.environ.get("TEST_POSTGRES_URL"):
        yield url.replace("postgresql://", "postgresql+psycopg://")
        return
    with PrivatePostgres(postgres_programs() or missing("postgresql")) as server:
        yield server.url


@pytest.fixture
def database_url(postgres_url: str) -> Iterator[str]:
    """The address of an empty database of the test's own."""
    name = f"smear_test_{os.getpid()}_{next(NUMBERS)}"
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield postgres_url.rpartition("/")[0] + "/" + name
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
