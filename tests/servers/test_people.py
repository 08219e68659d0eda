"""The tests of people and submissions in the store once more, on PostgreSQL, and what only two connections show."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.people.people import HOUSE, RANDOM, contestant, organiser, submit
from tests.people.test_store_people import *  # noqa: F403
from tests.people.test_store_people import open_doors
from tests.people.test_submissions import *  # noqa: F403
from tests.servers.test_store import TABLES, database
from tournament.models_people import InviteKind, SubmissionState
from tournament.people import SiteOptions
from tournament.store import NotFound, Store, WrongState
from tournament.store_submissions import NewSubmission
from tournament.tokens import new_code, new_token

__all__ = ["database"]

PEOPLE = "account, token, session, invite, bot, submission, trial, site_option, audit"


@pytest.fixture
def store_url(database: str) -> str:
    """The database without rows."""
    with psycopg.connect(database.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"TRUNCATE {TABLES}, {PEOPLE} RESTART IDENTITY CASCADE".encode())
    return database


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with Store(store_url) as store:
        yield store


def test_nothing_that_opens_a_door_is_stored(store: Store) -> None:
    secrets, content = open_doors(store), b""
    with psycopg.connect(store.url.replace("+psycopg", "")) as connection:
        for table in f"{TABLES}, {PEOPLE}".split(", "):
            with connection.cursor().copy(f"COPY {table} TO STDOUT".encode()) as rows:
                content += b"".join(rows)
    assert b"Org" in content
    assert not any(secret in content or secret.hex().encode() in content for secret in secrets)


def test_sixty_who_join_at_once_are_sixty_accounts_and_no_more(store: Store) -> None:
    org, _ = organiser(store)
    code = new_code(RANDOM)
    store.invite(code, InviteKind.JOIN, by=org, cap=60)

    def join(number: int) -> int:
        try:
            return store.take_invite(code, f"c{number}", new_token(RANDOM)).account_id
        except NotFound:
            return 0

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(join, range(70)))
    assert made.count(0) == 10
    assert len(set(made)) == 61
    assert len(store.accounts()) == 61


def test_one_upload_sent_eight_times_at_once_is_one_submission(store: Store) -> None:
    ada, _ = contestant(store)
    submit(store, ada, "fox", "0")
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: submit(store, ada, "fox"), range(8)))) == 1


def test_a_name_that_two_ask_for_at_once_is_one_contestants_and_nothing_waits_under_another(store: Store) -> None:
    accounts = [contestant(store, name)[0] for name in ("Ada", "Bob")]
    store.set_options(SiteOptions(bots=100, uploads_per_hour=1000), by=None)

    def ask(account: int, name: str) -> bool:
        try:
            return submit(store, account, name) > 0
        except WrongState:
            return False

    with ThreadPoolExecutor(2) as pool:
        for name in map("fox-{}".format, range(30)):
            store.submit(NewSubmission(accounts[0], name, "x.zip", None, ("not a bot",)), HOUSE)
            assert sorted(pool.map(ask, accounts, [name] * 2)) == [False, True], name
    refused = {each.bot for each in store.submissions(limit=100) if each.state is SubmissionState.REJECTED}
    waiting = {each.bot for each in store.submissions(limit=100) if each.state is SubmissionState.WAITING}
    assert len(refused) == len(waiting) == 30
    assert all("(" not in name for name in waiting)
    with ThreadPoolExecutor(2) as pool:
        for name in map("new-{}".format, range(10)):
            assert sorted(pool.map(ask, accounts, [name] * 2)) == [False, True], name


def test_two_checkers_never_check_one_account_at_a_time(store: Store) -> None:
    for name in ("a", "b", "c"):
        account, _ = contestant(store, name)
        for number in range(3):
            submit(store, account, name, str(number))
    with ThreadPoolExecutor(6) as pool:
        leased = [check for check in pool.map(lambda _: store.lease_check(60), range(9)) if check is not None]
    assert sorted(check.bot for check in leased) == ["a", "b", "c"]
