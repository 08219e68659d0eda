"""The schema: made by migrations, with its indexes and keys, and refusing what a row may not hold."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import inspect
from sqlalchemy.exc import IntegrityError

from tests.store.play import migrated, play, started
from tournament import store as store_module
from tournament.store import Store
from tournament.store_tables import ENTRANT, GAME, MATCH, SOURCE, TOURNAMENT

# What quick answers and the uniqueness of names and numbers rest on, beside the primary keys.
INDEXES = {
    "bot (account_id)",
    "entrant (name, version)",
    "event (tournament_id, id)",
    "fault (tournament_id, entrant, match_id)",
    "match (lease_until) where lease_until IS NOT NULL",
    "match (state, id)",
    "match (tournament_id, e0, e1, e2)",
    "match (tournament_id, record_order)",
    "match (tournament_id, state)",
    "repeat (tournament_id, match_id)",
    "session (token_id)",
    "submission (account_id, received_at)",
    "submission (bot_id, id)",
    "submission (state, account_id, id) where state IN ('waiting', 'checking')",
    "token (account_id)",
    "tournament (state)",
    "void (match_id)",
    "void (tournament_id, id)",
}
UNIQUE = {
    "account (name_key)",
    "bot (name)",
    "entrant (tournament_id, name, version)",
    "match (tournament_id, key)",
    "match (tournament_id, number)",
    "submission (bot_id, version)",
}
LOOSE = {"audit.account_id"}
"""Columns that name a row which need not be there: the record of acts outlives accounts."""


def test_a_database_has_the_indexes_and_the_unique_keys_that_are_counted_on(store: Store) -> None:
    with store.read() as connection:
        database = inspect(connection)
        indexes, unique = set(), set()
        for table in database.get_table_names():
            for index in database.get_indexes(table):
                where = index["dialect_options"].get("sqlite_where")
                text = f"{table} ({', '.join(filter(None, index['column_names']))})"
                indexes.add(text if where is None else f"{text} where {where}")
            unique |= {f"{table} ({', '.join(key['column_names'])})" for key in database.get_unique_constraints(table)}
    assert indexes == INDEXES
    assert unique == UNIQUE


def test_what_names_a_row_of_another_table_is_a_foreign_key(store: Store) -> None:
    with store.read() as connection:
        database = inspect(connection)
        loose = {
            f"{table}.{column['name']}"
            for table in database.get_table_names()
            for column in database.get_columns(table)
            if column["name"].endswith("_id")
            and not any(column["name"] in key["constrained_columns"] for key in database.get_foreign_keys(table))
        }
    assert loose == LOOSE


def test_migrating_again_changes_nothing_and_keeps_the_rows(store: Store) -> None:
    tournament = started(store, 3)
    store.migrate()
    assert store.counts(tournament).planned == 3


def test_a_second_migration_waits_until_the_first_is_written_out() -> None:
    first, *others = sorted(Path(store_module.__file__).with_name("migrations").glob("versions/*.py"))
    assert not others or "create_all" not in first.read_text("utf-8"), "see docs/decisions/0032"


def test_the_path_of_a_database_may_hold_any_character(tmp_path: Path) -> None:
    path = tmp_path / "100% of ours; 'quoted' ünd mehr.db"
    with migrated(path) as store:
        assert started(store, 2) == 1
    assert path.exists()


@pytest.mark.parametrize(
    ("table", "values"),
    [
        (MATCH, {"state": "banana"}),
        (MATCH, {"state": "leased"}),
        (MATCH, {"record_order": None}),
        (MATCH, {"s01": None}),
        (MATCH, {"e0": 1, "e1": 0}),
        (MATCH, {"e1": 77}),
        (MATCH, {"tournament_id": 77}),
        (TOURNAMENT, {"state": "banana"}),
        (TOURNAMENT, {"rounds": 0}),
        (TOURNAMENT, {"secret": ""}),
        (ENTRANT, {"sha256": "0" * 64}),
        (ENTRANT, {"version": 0}),
        (SOURCE, {"sha256": "short"}),
        (GAME, {"end_kind": "banana"}),
        (GAME, {"match_id": 77}),
    ],
)
def test_the_schema_refuses_a_row_that_makes_no_sense(store: Store, table: object, values: dict[str, object]) -> None:
    started(store, 2)
    (leased,) = store.lease(1, 60)
    store.record([play(store, leased)])
    assert hasattr(table, "update")
    with pytest.raises(IntegrityError), store.write() as connection:
        connection.execute(table.update().values(**values))


def test_no_two_matches_of_a_tournament_have_one_number_or_one_key(store: Store) -> None:
    started(store, 3)
    for column, value in (("number", 1), ("key", store.match(1, 1).key)):
        with pytest.raises(IntegrityError), store.write() as connection:
            connection.execute(MATCH.update().where(MATCH.c.id == 2).values({column: value}))


def test_sqlite_runs_with_the_measured_settings(store: Store) -> None:
    with store.read() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert found == {"journal_mode": "wal", "synchronous": 1, "foreign_keys": 1, "busy_timeout": 15_000}


def test_a_writer_takes_its_lock_when_it_begins_and_a_reader_takes_none(store: Store, store_url: str) -> None:
    other = sqlite3.connect(store_url, timeout=0, isolation_level=None)
    try:
        with store.read() as connection:
            connection.exec_driver_sql("SELECT count(*) FROM match")
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
        with store.write(), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
    finally:
        other.close()


def test_a_store_that_is_up_to_date_is_opened_while_somebody_writes(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path / 'busy.db'}") as first:
        first.migrate()
        with first.write(), Store(first.url) as second:
            second.migrate()
            assert second.tournaments() == []
