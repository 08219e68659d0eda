"""One store of small recorded tournaments and one application over it, for all tests that only read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from dashboard.app import create_app
from tests.dashboard.sample import STARTED, sample_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI

    from tournament.store import Store

NOW = datetime.fromtimestamp(STARTED + 600, UTC)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Three recorded tournaments: 1 two at a table with matches left, 2 three at a table, 3 partners."""
    with sample_store(tmp_path_factory.mktemp("store") / "site.db") as made:
        yield made


@pytest.fixture(scope="session")
def app(store: Store) -> FastAPI:
    """The site over it, at a fixed time."""
    return create_app(store, clock=lambda: NOW)


@pytest.fixture(scope="session")
def client(app: FastAPI) -> Iterator[TestClient]:
    """A client of the site."""
    with TestClient(app) as made:
        yield made
