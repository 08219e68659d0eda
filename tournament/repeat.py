"""Which matches are played again, by whom, and whose doing it is when one comes out otherwise: a bot's, or a worker's.

Pure functions; `workers.repeat` plays.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import zip_longest
from typing import Any, Final

from tournament.environment import fingerprint, served
from tournament.models_contest import Verdict
from tournament.store_repeats import Order
from tournament.store_values import TournamentInfo, WorkerInfo

MOST_TRIES: Final = 3
"""Workers that may fail to answer before the trusted one plays a match again itself."""


class Suspect(StrEnum):
    """Which worker a difference is laid to."""

    NOBODY = ""
    ORIGINAL = "who played it first"
    REPEATER = "who repeated it"
    BOTH = "both workers"


def is_drawn(tournament: TournamentInfo, key: str) -> bool:
    """Tells whether a match belongs to the sample that is played again; nobody knows before the secret is out."""
    drawn = hmac.digest(tournament.secret.encode(), f"repeat/{key}".encode(), "sha256")
    return int.from_bytes(drawn[:8]) < tournament.plan.repeat_share * 2**64


def other_workers(order: Order, workers: Iterable[WorkerInfo], since: float) -> list[WorkerInfo]:
    """Returns who may play a match again: workers of its environment that were heard of since, save its own."""
    mark = fingerprint(order.environment)
    return [
        each for each in workers
        if each.slots and each.seen_at > since and each.name != order.worker
        and mark in map(fingerprint, served(each.environment))
    ]  # fmt: skip


def assign(orders: Sequence[Order], workers: Sequence[WorkerInfo], since: float) -> list[tuple[Order, str]]:
    """Chooses a worker for each order that waits, at most as many for each worker as it has slots.

    One on another host is preferred, for two workers of one host (``host:process``) are likely to be of one mind.
    """
    out = Counter(order.given_to for order in orders if order.out)
    found = []
    for order in orders:
        free = [each for each in other_workers(order, workers, since) if out[each.name] < each.slots]
        if free and not (order.out or order.digests or order.tries >= MOST_TRIES):
            best = min(free, key=lambda each: (_host(each.name) == _host(order.worker), out[each.name], each.name))
            out[best.name] += 1
            found.append((order, best.name))
    return found


def for_the_trusted(orders: Iterable[Order], workers: Sequence[WorkerInfo], since: float) -> list[Order]:
    """Returns the orders that nobody but the trusted worker can settle."""
    return [
        order for order in orders
        if not order.out and (order.digests or order.tries >= MOST_TRIES or not other_workers(order, workers, since))
    ]  # fmt: skip


def _host(worker: str) -> str:
    return worker.partition(":")[0]


def verdict_of(
    original: Sequence[str], repeated: Sequence[str], trusted: Sequence[Sequence[str]]
) -> tuple[Verdict, Suspect]:
    """Says what came of playing a match again, from the digests of its games.

    Args:
        original: as they were recorded.
        repeated: as another worker played them.
        trusted: as one trusted worker played them, twice; needed only where the first two differ.

    Raises:
        ValueError: they differ and nobody trusted has played.

    >>> verdict_of(["a"], ["b"], [["c"], ["d"]])[0].value, verdict_of(["a"], ["b"], [["a"], ["a"]])[1].value
    ('not repeatable', 'who repeated it')
    """
    if original == repeated:
        return Verdict.SAME, Suspect.NOBODY
    if len(trusted) != 2:
        raise ValueError("the results differ: expected two of a trusted worker")
    if trusted[0] != trusted[1]:
        return Verdict.NOT_REPEATABLE, Suspect.NOBODY
    if trusted[0] == original:
        return Verdict.WORKER, Suspect.REPEATER
    return Verdict.WORKER, Suspect.ORIGINAL if trusted[0] == repeated else Suspect.BOTH


def first_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[int, str] | None:
    """Returns whose seat acted otherwise first in two documents of one game, and where; None if nobody did."""
    for mine, theirs in zip_longest(_acts(one), _acts(other)):
        if mine != theirs:
            where, seat, did = mine or theirs
            then = theirs[2] if mine and theirs else "nothing"
            return seat, f"{where}: {did}, then {then}"
    return None


def _acts(document: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    """Yields every act of a game: where it is, whose it is and what it is; a fault takes the place of an act."""
    result, players = document["result"], len(document["players"])
    faults = [each for each in (result["fault"], result["second_fault"]) if each is not None]
    for fault in faults:
        if fault["act"] < 0:
            yield "at load", fault["seat"], f"fault {fault['kind']}"
    for deal in document["deals"]:
        at = deal["deal"], deal["attempt"]
        acts = [(bid["seat"], f"bid {bid['bid']}") for bid in deal["bids"]]
        if deal["discards"]:
            acts.append((deal["bidder"], f"discards {' '.join(deal['discards'])}"))
        for trick in deal["tricks"]:
            acts += [((trick["leader"] + place) % players, card) for place, card in enumerate(trick["cards"])]
        for number in range(len(acts) + 1):
            where = f"deal {at[0]}/{at[1]} act {number}"
            for fault in faults:
                if (fault["deal"], fault["attempt"], fault["act"]) == (*at, number):
                    yield where, fault["seat"], f"fault {fault['kind']}"
            if number < len(acts):
                yield where, *acts[number]
