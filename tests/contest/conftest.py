"""A store on SQLite for contests."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.play import migrated
from tournament.store import Store


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with tables and no rows, to be copied."""
    path = tmp_path_factory.mktemp("store") / "empty.db"
    migrated(path).close()
    return path


@pytest.fixture
def store_url(empty_database: Path, tmp_path: Path) -> str:
    return str(shutil.copy(empty_database, tmp_path / "tournament.db"))


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with Store(store_url) as store:
        yield store
