"""The tests of the store once more, on PostgreSQL."""

import os
from collections.abc import Iterator

import psycopg
import pytest

from tests.store.play import migrated
from tests.store.test_concurrency import *  # noqa: F403
from tests.store.test_figures import *  # noqa: F403
from tests.store.test_queue import *  # noqa: F403
from tests.store.test_reads import *  # noqa: F403
from tournament.store import Store

TABLES = "event, fault, game, match, source, tally, tournament, entrant, void, worker"


@pytest.fixture(scope="module")
def database(postgres_url: str) -> Iterator[str]:
    """A database with tables, for all tests of this file."""
    name = f"smear_store_{os.getpid()}"
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        url = postgres_url.rpartition("/")[0] + "/" + name
        migrated(url).close()
        try:
            yield url
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def store_url(database: str) -> str:
    """The same database without rows; to empty it is far quicker than to make another."""
    with psycopg.connect(database.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"TRUNCATE {TABLES} RESTART IDENTITY CASCADE".encode())
    return database


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with Store(store_url) as store:
        yield store


def test_two_processes_may_migrate_at_the_same_time(database_url: str) -> None:
    with migrated(database_url) as one, migrated(database_url) as two:
        assert one.counts(1) == two.counts(1)
