"""Backups as docs/operators.md makes them: the commands are taken from there and carried out."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.servers.cluster import ROOT
from tests.servers.finder import missing, postgres_programs
from tests.store.play import migrated, play, play_all, started
from tournament.export import FILES, export_tournament
from tournament.store import Store

GUIDE = (ROOT / "docs" / "operators.md").read_text("utf-8")


def carry_out(name: str, folder: Path, **environment: str) -> None:
    found = re.search(rf"<!-- test: {name} -->\n```sh\n(.*?)```", GUIDE, re.DOTALL)
    assert found is not None, name
    command = ["bash", "-euc", found[1]]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def exported(store: Store, folder: Path) -> list[bytes]:
    export_tournament(store, 1, folder)
    return [(folder / name).read_bytes() for name in FILES]


def play_half(store: Store) -> None:
    started(store, count=5)
    store.record([play(store, match, faults=match.number % 3 == 0) for match in store.lease(4, 600)])
    store.lease(2, 600)  # on their way while the backup is made


def play_rest_as_after_a_restart(store: Store) -> None:
    counts = store.counts(1)
    assert (counts.finished, counts.running, counts.queued) == (4, 2, 4)
    store.take_back_all()
    play_all(store, 1)


@pytest.fixture
def undisturbed(tmp_path: Path) -> list[bytes]:
    with migrated(tmp_path / "undisturbed.db") as store:
        started(store, count=5)
        play_all(store, 1)
        return exported(store, tmp_path / "undisturbed")


def test_a_restored_sqlite_file_goes_on_and_ends_like_an_undisturbed_run(
    tmp_path: Path, undisturbed: list[bytes]
) -> None:
    database = tmp_path / "tournament.db"
    with migrated(database) as store:
        play_half(store)
        carry_out("back up sqlite", tmp_path)
        play_rest_as_after_a_restart(store)
    database.write_bytes(b"ruined")
    carry_out("restore sqlite", tmp_path)
    with Store(str(database)) as store:
        store.migrate()
        play_rest_as_after_a_restart(store)
        assert exported(store, tmp_path / "restored") == undisturbed


@pytest.fixture
def second_database(database_url: str) -> Iterator[str]:
    """Another empty database on the same server."""
    name = f"{database_url.rpartition('/')[2]}_restored"
    with psycopg.connect(database_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        yield f"{database_url.rpartition('/')[0]}/{name}"
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def test_a_restored_postgresql_database_goes_on_and_ends_like_an_undisturbed_run(
    database_url: str, second_database: str, tmp_path: Path, undisturbed: list[bytes]
) -> None:
    programs = postgres_programs() or missing("postgresql")
    if not (programs / "pg_dump").exists():
        pytest.skip("this PostgreSQL came without pg_dump")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    with migrated(database_url) as store:
        play_half(store)
        carry_out("back up postgresql", tmp_path, PATH=path, DATABASE=database_url.replace("+psycopg", ""))
        play_rest_as_after_a_restart(store)
    carry_out("restore postgresql", tmp_path, PATH=path, DATABASE=second_database.replace("+psycopg", ""))
    with Store(second_database) as store:
        store.migrate()
        play_rest_as_after_a_restart(store)
        assert exported(store, tmp_path / "restored") == undisturbed
