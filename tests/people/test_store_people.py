"""Accounts, codes, tokens and sessions in the store."""

import pytest
from sqlalchemy import Table, select
from sqlalchemy.exc import IntegrityError

from tests.people.people import RANDOM, accept, contestant, entropy, organiser, submit
from tests.store.play import new, play_all, started
from tournament.models_people import FIRST_ACCOUNT, InviteKind, Role
from tournament.people import SiteOptions
from tournament.store import NotFound, Store, WrongState
from tournament.store_people import NameTaken
from tournament.store_tables import ACCOUNT, INVITE, SOURCE, SUBMISSION, TOKEN
from tournament.store_tokens import IDLE_S
from tournament.tokens import Scope, hashed, new_code, new_token


def test_a_new_installation_is_claimed_once(store: Store) -> None:
    first, second = new_code(RANDOM), new_code(RANDOM)
    assert not store.has_organiser()
    store.invite(first, InviteKind.CLAIM, by=None)
    store.invite(second, InviteKind.CLAIM, by=None)
    with pytest.raises(NotFound, match="code"):
        store.take_invite(first, "Eve", new_token(RANDOM))
    claimed = store.take_invite(second.upper(), "Org", new_token(RANDOM))
    assert claimed.role is Role.ORGANISER
    assert claimed.account_id == FIRST_ACCOUNT
    assert store.has_organiser()
    with pytest.raises(NotFound, match="code"):
        store.take_invite(second, "Eve", new_token(RANDOM))
    with pytest.raises(WrongState, match="organiser"):
        store.invite(first, InviteKind.CLAIM, by=None)


def test_a_join_code_is_good_as_often_and_as_long_as_it_says(store: Store) -> None:
    org, _ = organiser(store)
    code = new_code(RANDOM)
    store.invite(code, InviteKind.JOIN, by=org, cap=2, ends_at=store.now() + 1000)
    assert {store.take_invite(code, name, new_token(RANDOM)).role for name in ("Ada", "Bob")} == {Role.CONTESTANT}
    assert store.find_invite(code) is None
    with pytest.raises(NotFound, match="used up"):
        store.take_invite(code, "Eve", new_token(RANDOM))
    over = new_code(RANDOM)
    store.invite(over, InviteKind.JOIN, by=org, cap=9, ends_at=store.now() - 1)
    with pytest.raises(NotFound, match="ended"):
        store.take_invite(over, "Eve", new_token(RANDOM))
    assert [account.name for account in store.accounts()] == ["Org", "Ada", "Bob"]


def test_a_refused_name_uses_nothing_up(store: Store) -> None:
    org, _ = organiser(store)
    code = new_code(RANDOM)
    store.invite(code, InviteKind.JOIN, by=org, cap=1)
    for name, error in (("org ", NameTaken), ("a\u202eb", ValueError)):
        with pytest.raises(error):
            store.take_invite(code, name, new_token(RANDOM))
    assert store.find_invite(code) is not None
    store.take_invite(code, "Ada", new_token(RANDOM))


def test_an_account_made_for_somebody_is_taken_over_with_its_code(store: Store) -> None:
    org, _ = organiser(store)
    ada, bob = store.add_accounts(["Ada", "Bob"], by=org)
    code, token = new_code(RANDOM), new_token(RANDOM)
    store.invite(new_code(RANDOM), InviteKind.ACCOUNT, by=org, account_id=ada)
    store.invite(code, InviteKind.ACCOUNT, by=org, account_id=ada)
    assert len(store.invites()) == 1
    assert store.take_invite(code, "another name", token).name == "Ada"
    found = store.identify_token(token.text)
    assert found is not None
    assert found.account_id == ada != bob


def test_accounts_in_bulk_are_made_all_or_none(store: Store) -> None:
    with pytest.raises(NameTaken):
        store.add_accounts(["Ada", "Bob", "ADA"], by=None)
    assert store.accounts() == []


def open_doors(store: Store) -> list[bytes]:
    """Returns what opens the doors of an organiser's account: code, token and session."""
    code, token, key = new_code(RANDOM), new_token(RANDOM), "k" * 43
    store.invite(code, InviteKind.CLAIM, by=None, cap=2)
    store.take_invite(code, "Org", token)
    store.open_session(token.id, key, "csrf")
    return [text.encode() for text in (code, code.replace("-", ""), token.text, key)]


def test_nothing_that_opens_a_door_is_stored(store: Store) -> None:
    secrets = open_doors(store)
    store.close()
    assert store.path is not None
    for part in store.path.parent.glob(store.path.name + "*"):
        content = part.read_bytes()
        assert not any(secret in content for secret in secrets)


def test_a_team_has_several_tokens_and_a_revoked_one_opens_nothing(store: Store) -> None:
    ada, first = contestant(store)
    second = new_token(RANDOM)
    store.add_token(ada, second, "laptop", by=ada, scopes=frozenset({Scope.READ}))
    assert [token.label for token in store.tokens(ada)] == ["test", "laptop"]
    store.open_session(second.id, "key", "csrf")
    store.revoke_token(ada, second.id, by=ada)
    assert store.identify_token(second.text) is None
    assert store.identify_session("key") is None
    assert store.identify_token(first) is not None
    with pytest.raises(NotFound):
        store.revoke_token(ada, second.id, by=ada)


def test_a_token_allows_no_more_than_its_scopes_and_its_role(store: Store) -> None:
    ada, _ = contestant(store)
    org, token = organiser(store)
    with pytest.raises(WrongState, match="organise"):
        store.add_token(ada, new_token(RANDOM), "", by=ada, scopes=frozenset({Scope.ORGANISE}))
    narrow = new_token(RANDOM)
    store.add_token(org, narrow, "", by=org, scopes=frozenset({Scope.READ}))
    found, full = store.identify_token(narrow.text), store.identify_token(token)
    assert found is not None
    assert full is not None
    assert (found.organises, full.organises) == (False, True)


def test_another_contestants_token_cannot_be_revoked(store: Store) -> None:
    ada, token = contestant(store)
    bob, _ = contestant(store, "Bob")
    with pytest.raises(NotFound):
        store.revoke_token(bob, store.tokens(ada)[0].id, by=bob)
    assert store.identify_token(token) is not None


def test_a_token_ends_when_it_says_and_a_wrong_one_is_nobody(store: Store) -> None:
    ada, token = contestant(store)
    short = new_token(RANDOM)
    now = store.now()
    store.add_token(ada, short, "", by=ada, expires_at=now + 100)
    assert store.identify_token(short.text, now=now + 99) is not None
    assert store.identify_token(short.text, now=now + 100) is None
    for wrong in (token[:-1] + ("A" if token[-1] != "A" else "B"), new_token(entropy(99)).text, "", "smr_"):
        assert store.identify_token(wrong) is None


def test_a_session_ends_after_twelve_idle_hours_and_with_its_token(store: Store) -> None:
    ada, _ = contestant(store)
    token_id = store.tokens(ada)[0].id
    now = store.now()
    store.open_session(token_id, "one", "csrf", now=now)
    found = store.identify_session("one", now=now + IDLE_S - 1)
    assert found is not None
    assert (found.account_id, found.csrf) == (ada, "csrf")
    assert store.identify_session("one", now=now + 2 * IDLE_S - 2) is not None, "use keeps it open"
    assert store.identify_session("one", now=now + 3 * IDLE_S) is None
    store.open_session(token_id, "two", "csrf", now=now)
    store.close_session("two")
    assert store.identify_session("two", now=now) is None
    store.open_session(token_id, "three", "csrf")
    store.revoke_all(ada, by=None)
    assert store.identify_session("three") is None


def test_reading_with_a_token_writes_at_most_once_a_minute(store: Store) -> None:
    ada, token = contestant(store)
    now = store.now()
    store.identify_token(token, now=now)
    store.identify_token(token, now=now + 59)
    assert store.tokens(ada)[0].used_at == now
    store.identify_token(token, now=now + 61)
    assert store.tokens(ada)[0].used_at == now + 61


def test_a_display_name_is_changed_and_stays_unlike_all_others(store: Store) -> None:
    ada, _ = contestant(store)
    contestant(store, "Bob")
    store.rename(ada, "Countess", by=None)
    assert store.find_account("COUNTESS").id == ada
    with pytest.raises(NameTaken):
        store.rename(ada, "bob", by=None)
    store.rename(ada, "countess", by=None)


def test_the_settings_of_a_site_are_kept_and_wrong_ones_refused(store: Store) -> None:
    assert store.options() == SiteOptions()
    store.set_options(SiteOptions(public=False, bots=7), by=None)
    assert store.options() == SiteOptions(public=False, bots=7)
    assert [line.act for line in store.audit_log()] == ["set options"]
    for wrong in ({"bots": 0}, {"public": 1}, {"uploads_per_hour": True}, {"waiting": "9"}):
        with pytest.raises(ValueError, match="expected"):
            SiteOptions(**wrong)  # type: ignore[arg-type]


def test_erasing_replaces_account_name_texts_and_sources_and_leaves_the_games(store: Store) -> None:
    organiser(store)
    ada, token = contestant(store)
    bob, _ = contestant(store, "Bob")
    for account, bot, text in ((ada, "ada-bot", "her own"), (ada, "shared", "same"), (bob, "bob-bot", "same")):
        submit(store, account, bot, text)
        accept(store)
    entrants = store.entries(all_bots=True)
    running = store.create_running(new(), entrants)
    with pytest.raises(WrongState, match="plays"):
        store.erase(ada, by=None)
    play_all(store, running)
    games = [record for _, record in store.game_records(running)]
    store.erase(ada, by=None)
    assert [record for _, record in store.game_records(running)] == games
    assert [each.name for each in store.accounts()] == ["Org", f"erased {ada}", "Bob"]
    assert store.identify_token(token) is None
    own, shared = (each.sha256 for each in sorted(store.entrants(running), key=lambda each: each.name)[::2])
    assert own is not None
    assert shared is not None
    assert b"same" in store.source(shared).files[0][1], "somebody else handed in the same file"
    with store.read() as connection:
        left = connection.scalar(select(SOURCE.c.files).where(SOURCE.c.sha256 == own))
    assert b"her own" not in bytes(left)
    assert [bot.withdrawn_at is None for bot in store.bots(account_id=ada)] == [False, False]
    assert [entrant.name for entrant in store.entries()] == ["bob-bot"]


def test_nobody_keeps_another_from_being_erased_by_a_name(store: Store) -> None:
    organiser(store)
    ada, _ = contestant(store)
    eve, _ = contestant(store, f"erased {ada}")
    store.erase(ada, by=None)
    assert store.account(ada).name == store.account(eve).name == f"erased {ada}"
    assert store.find_account(f"erased {ada}").id == eve
    store.rename(eve, "Eve", by=None)
    store.erase(eve, by=None)
    assert store.account(eve).name == f"erased {eve}"


def test_the_only_organiser_is_not_erased(store: Store) -> None:
    org, _ = organiser(store)
    with pytest.raises(WrongState, match="only organiser"):
        store.erase(org, by=org)


def test_owners_of_bots_run_from_a_path_are_no_accounts(store: Store) -> None:
    ada, _ = contestant(store)
    tournament = started(store, 3)
    assert ada not in {entrant.owner for entrant in store.entrants(tournament)}


def test_the_audit_log_tells_who_did_what_by_numbers(store: Store) -> None:
    org, _ = organiser(store)
    (ada,) = store.add_accounts(["Ada"], by=org)
    store.rename(ada, "Countess", by=org)
    store.erase(ada, by=org)
    lines = store.audit_log()
    assert [(line.account_id, line.act, line.subject) for line in lines[:3]] == [
        (org, "erase", f"account {ada}"),
        (org, "rename", f"account {ada}"),
        (org, "add contestant", f"account {ada}"),
    ]
    assert not any(name in repr(lines) for name in ("Ada", "Countess"))


def test_the_hash_of_a_code_ends_it(store: Store) -> None:
    code = new_code(RANDOM)
    store.invite(code, InviteKind.JOIN, by=None, cap=5)
    (listed,) = store.invites()
    assert listed.hash == hashed(code.replace("-", ""))
    store.end_invite(listed.hash, by=None)
    assert store.find_invite(code) is None


@pytest.mark.parametrize(
    ("table", "values"),
    [
        (ACCOUNT, {"role": "banana"}),
        (ACCOUNT, {"id": FIRST_ACCOUNT - 1}),
        (TOKEN, {"hash": "short"}),
        (INVITE, {"used": 2, "cap": 1}),
        (INVITE, {"kind": "account"}),
        (SUBMISSION, {"state": "banana"}),
        (SUBMISSION, {"state": "accepted", "version": None}),
        (SUBMISSION, {"state": "checking", "version": None}),
        (SUBMISSION, {"state": "waiting", "version": None, "sha256": None}),
        (SUBMISSION, {"sha256": "0" * 64}),
    ],
)
def test_the_schema_refuses_a_row_that_makes_no_sense(store: Store, table: Table, values: dict[str, object]) -> None:
    ada, _ = contestant(store)
    store.invite(new_code(RANDOM), InviteKind.JOIN, by=None)
    submit(store, ada, "fox")
    accept(store)
    with pytest.raises(IntegrityError), store.write() as connection:
        connection.execute(table.update().values(**values))


def test_two_versions_of_a_bot_never_have_one_number(store: Store) -> None:
    ada, _ = contestant(store)
    for text in ("1", "2"):
        submit(store, ada, "fox", text)
        accept(store)
    with pytest.raises(IntegrityError), store.write() as connection:
        connection.execute(SUBMISSION.update().values(version=1))
