"""Accounts and uploads for the tests."""

import random
from collections.abc import Callable

from tournament.models_people import InviteKind, Role
from tournament.people import LeasedCheck
from tournament.source import BotSource
from tournament.store import Store
from tournament.store_submissions import NewSubmission
from tournament.tokens import new_code, new_token

HOUSE = ("random", "simple", "counter")
GOOD = b"""
class Bot:
    def bid(self, view): return view.legal[0]
    def discard(self, view): return view.legal[0]
    def play(self, view): return view.legal[0]
"""


def entropy(seed: int = 1) -> Callable[[int], bytes]:
    return random.Random(seed).randbytes


RANDOM = entropy()


def organiser(store: Store, name: str = "Org") -> tuple[int, str]:
    """Claims the installation; returns the account and its token."""
    code, token = new_code(RANDOM), new_token(RANDOM)
    store.invite(code, InviteKind.CLAIM, by=None)
    return store.take_invite(code, name, token).account_id, token.text


def contestant(store: Store, name: str = "Ada") -> tuple[int, str]:
    """Adds a contestant; returns the account and a token."""
    token = new_token(RANDOM)
    (account,) = store.add_accounts([name], by=None, role=Role.CONTESTANT)
    store.add_token(account, token, "test", by=None)
    return account, token.text


def files(text: str) -> BotSource:
    return BotSource.of_file(GOOD + f"# {text}\n".encode())


def submit(store: Store, account: int, bot: str, text: str = "1", now: float | None = None) -> int:
    return store.submit(NewSubmission(account, bot, "my_bot.py", files(text)), HOUSE, now=now)


def accept(store: Store, now: float | None = None, **more: object) -> LeasedCheck:
    """Accepts whatever submission comes next."""
    check = store.lease_check(60, now=now)
    assert check is not None
    assert store.decide(check, "accepted", {}, [], 1.0, accepted=True, now=now, **more)  # type: ignore[arg-type]
    return check
