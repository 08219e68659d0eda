"""One sandbox for the tests of this folder, and a table for one bot."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from tournament.rules import Limits, Rules
from tournament.source import BotSource
from workers.sandbox.frames import GuestInit
from workers.sandbox.host import Sandbox
from workers.sandbox.remote import Guest

RULES = Rules.make("cutthroat", players=2)

Seat = Callable[..., Guest]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(numpy=False) as running:
        yield running


@pytest.fixture
def seat(sandbox: Sandbox) -> Iterator[Seat]:
    """Seats a bot: its module's text and, by name, its other files; closes it at the end."""
    with contextlib.ExitStack() as stack:

        def make(text: str, limits: Limits | None = None, slot: int = 0, seed: str = "0" * 64, **files: bytes) -> Guest:
            source = BotSource.of_files(
                [("bot.py", text.encode()), *((n.replace("__", "."), f) for n, f in files.items())]
            )
            guest = sandbox.spawn(source, GuestInit(RULES, limits or Limits(), 0, seed), slot)
            stack.callback(guest.close)
            return guest

        yield make
