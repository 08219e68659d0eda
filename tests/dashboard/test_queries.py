"""How many statements a page needs does not grow with what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import Engine, event
from starlette.testclient import TestClient

from dashboard.app import create_app
from tests.dashboard.sample import Sample, add_tournament
from tournament.rules import Rules
from tournament.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RULES = Rules.make("cutthroat", players=2, target=1, deal_limit=1)
PAGES = ("/", "/standings", "/head-to-head", "/history", "/matches", "/matches?bot=ada&versus=bob", "/matches/1-1",
         "/games/1-1-1/replay", "/tournaments/1", "/tournaments/1/screen", "/bots/ada", "/bots/bob/faults")  # fmt: skip
MOST = 23  # three of them for what stands above every page, and whether anything is held back


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int, str], int]]:
    """Give a function that counts the statements of a page over a tournament of some rounds."""
    stores: dict[int, Store] = {}
    for rounds in (2, 60):
        stores[rounds] = store = Store(str(tmp_path_factory.mktemp("q") / f"{rounds}.db"))
        store.migrate()
        add_tournament(store, Sample(RULES, [("ada", 1), ("bob", 1), ("cy", 1)], rounds, clumsy="bob", clumsiness=0.1))

    def count(rounds: int, address: str) -> int:
        statements: list[str] = []

        def note(_conn: object, _cursor: object, statement: str, *_: object) -> None:
            if not statement.startswith(("BEGIN", "PRAGMA")):
                statements.append(statement)

        # A fresh application over a fresh store object has nothing kept.
        with Store(stores[rounds].url) as store, TestClient(create_app(store)) as client:
            event.listen(Engine, "before_cursor_execute", note)
            try:
                assert client.get(address).status_code == 200
            finally:
                event.remove(Engine, "before_cursor_execute", note)
        return len(statements)

    yield count
    for store in stores.values():
        store.close()


@pytest.mark.parametrize("address", PAGES)
def test_a_page_needs_as_many_statements_for_much_as_for_little(
    counted: Callable[[int, str], int], address: str
) -> None:
    little, much = counted(2, address), counted(60, address)
    assert little == much
    assert 0 < much <= MOST
