"""Coordinator, recorder and player on SQLite, without a broker; tests/servers has the real ones."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.play import migrated
from tournament.store import Store


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cluster") / "empty.db"
    migrated(path).close()
    return path


@pytest.fixture
def store(empty_database: Path, tmp_path: Path) -> Iterator[Store]:
    with Store(str(shutil.copy(empty_database, tmp_path / "tournament.db"))) as store:
        yield store
