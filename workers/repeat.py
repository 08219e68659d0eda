"""The trusted worker: plays recorded matches again on this machine, compares, and records what that says."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final

from tournament.environment import Environment, difference, environment, is_pinned
from tournament.models_contest import Verdict
from tournament.repeat import first_difference, for_the_trusted, verdict_of
from tournament.replay import document
from tournament.results import MatchResult
from tournament.source import BotSource
from tournament.store import Store
from tournament.store_cluster import ALIVE_S, COORDINATOR
from tournament.store_repeats import Order, add_repeat, open_orders, take_order
from tournament.store_values import EntrantInfo
from tournament.wire import MatchTask
from workers.local import LocalExecutor
from workers.sandbox.doctor import layers_here
from workers.sandbox.faults import SandboxFailure
from workers.tickets import Tasks

LOOK_S: Final = 2.0
TRUSTED_LEASE_S: Final = 600.0
_AT_ONCE: Final = 20

Documents = list[dict[str, Any]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Repeated:
    """A match that was played again: what came of it, and whom that concerns, in words."""

    number: int
    verdict: Verdict
    text: str


def environment_here() -> Environment:
    """Returns the environment of this process, with the layers of its sandbox."""
    return {**environment(), "layers": sorted(layers_here())}


def left_to_us(store: Store) -> list[Order]:
    """Returns what nobody but the trusted worker can settle now."""
    orders = open_orders(store)
    return for_the_trusted(orders, store.workers(), store.now() - ALIVE_S) if orders else []


def settle(
    store: Store,
    orders: Sequence[Order],
    executor: LocalExecutor,
    here: Environment,
) -> Iterator[Repeated]:
    """Plays matches again here, on the trusted worker: once if nobody else did, and twice more where one differs.

    Args:
        store: where they are recorded, and what comes of it.
        orders: what is to be played again; what somebody else has taken meanwhile is left to him.
        executor: plays them.
        here: its environment; under another one a match would differ through nobody's fault, and is left.
    """
    name = COORDINATOR + socket.gethostname()
    taken = [each for order in orders if (each := _take(store, order, name, here)) is not None]
    hashes = {player.sha256 for each in taken for player in each.task.players}
    sources = {sha256: store.source(sha256) for sha256 in hashes if sha256 is not None}
    again = _play([each.task for each in taken if each.order.digests is None], sources, executor)
    for each in taken:
        repeated, by = each.order.digests, each.order.given_to
        if repeated is None:
            found = again.get((each.task.match_id, each.task.attempt))
            if found is None:
                continue  # we failed, which says nothing
            repeated, by = _digests(found), name
        trusted: list[Documents] = []
        if repeated != _digests(each.recorded):
            twice = _play([replace(each.task, attempt=attempt) for attempt in (1, 2)], sources, executor)
            if len(twice) < 2:
                continue
            trusted = [twice[key] for key in sorted(twice)]
        yield _record(store, each, by, repeated, trusted)


@dataclass(frozen=True, slots=True)
class _Taken:
    """What is played again, and the games as they are recorded."""

    order: Order
    task: MatchTask
    entrants: Sequence[EntrantInfo]
    recorded: Documents


def _take(store: Store, order: Order, name: str, here: Environment) -> _Taken | None:
    match = order.match
    if reason := difference(order.environment, here) if is_pinned(order.environment) else None:
        if take_order(store, order, name, TRUSTED_LEASE_S):  # so that it is said now and then, not at every look
            logger.error("not played again here: %s", reason, extra={"tournament": match.tournament_id})
        return None
    recorded = [document(record) for _, record in store.game_records(match.tournament_id, [match.number])]
    if not recorded or not take_order(store, order, name, TRUSTED_LEASE_S):
        return None
    return _Taken(order, Tasks(store).of(match), store.entrants(match.tournament_id), recorded)


def _record(store: Store, each: _Taken, by: str, repeated: Sequence[str], trusted: Sequence[Documents]) -> Repeated:
    match, before = each.order.match, _digests(each.recorded)
    verdict, suspect = verdict_of(before, repeated, [_digests(games) for games in trusted])
    entrant, text = None, ""
    if verdict is Verdict.NOT_REPEATABLE:
        entrant, text = _first(each, *trusted)
    elif verdict is Verdict.WORKER:
        text = f"{suspect} (first {each.order.worker}, again {by})"
        if _digests(trusted[0]) != before:
            text += f": {_first(each, each.recorded, trusted[0])[1]}"
    add_repeat(store, match.tournament_id, match.number, by, verdict, entrant=entrant, detail=text)
    return Repeated(match.number, verdict, text)


def _first(each: _Taken, one: Documents, other: Documents) -> tuple[int, str]:
    """Returns the position of the entrant whose act is the first that differs, and where that is."""
    for seating, games in enumerate(zip(one, other, strict=True), 1):
        found = first_difference(*games)
        if found is not None:
            position = each.order.match.entrants[each.task.seats(seating)[found[0]]]
            return position, f"{each.entrants[position].text}, seating {seating}, {found[1]}"
    raise ValueError("no act differs: expected other digests to come from other acts")


def _digests(games: Documents) -> tuple[str, ...]:
    return tuple(str(each["digest"]) for each in games)


def _play(
    tasks: Sequence[MatchTask], sources: dict[str, BotSource], executor: LocalExecutor
) -> dict[tuple[int, int], Documents]:
    """Returns the games by match and attempt; what failed through us is not there."""
    return {
        (task.match_id, task.attempt): [
            document(task.record(game.seating, game.acts, tuple(report.fault for report in game.reports)))
            for game in ended.games
        ]
        for task, ended in executor.play(tasks, sources)
        if isinstance(ended, MatchResult)
    }


def watch_repeats(store: Store, stop: threading.Event) -> None:
    """Settles what is left to the trusted worker until told to stop; a sandbox or an executor runs only meanwhile."""
    here: Environment | None = None
    while not stop.wait(LOOK_S):
        try:
            if orders := left_to_us(store)[:_AT_ONCE]:
                here = here or environment_here()
                with closing(LocalExecutor(1)) as executor:
                    for found in settle(store, orders, executor, here):
                        logger.info("match %d played again: %s %s", found.number, found.verdict, found.text)
        except SandboxFailure as failure:
            logger.error("nothing is played again here: %s", failure)  # noqa: TRY400  # its text says what to do
            return
        except Exception:  # a database that is away for a while must not end this for good
            logger.exception("playing again was interrupted")
