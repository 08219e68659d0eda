"""The tests of deadlines and of held standings once more, on PostgreSQL."""

from tests.contest.test_clock import *  # noqa: F403
from tests.contest.test_hold import *  # noqa: F403
from tests.servers.test_people import store, store_url
from tests.servers.test_store import database

__all__ = ["database", "store", "store_url"]
