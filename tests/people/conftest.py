"""A store for the tests of people: SQLite here; tests/servers runs some of them on PostgreSQL."""

from tests.store.conftest import empty_database, store, store_url

__all__ = ["empty_database", "store", "store_url"]
