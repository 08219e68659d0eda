"""Plays recorded matches again on this machine, compares, and records what that says (`tournament.repeat`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from tournament.models_contest import Verdict
from tournament.repeat import first_difference, verdict_of
from tournament.replay import GameRecord, document
from tournament.results import MatchResult
from tournament.source import BotSource
from tournament.store import Store
from tournament.wire import MatchTask
from workers.local import Executor

POLL_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Repeated:
    """A match that was played again: what came of it, and whom that concerns, in words."""

    number: int
    verdict: Verdict
    text: str


def repeat_matches(
    store: Store, tournament_id: int, numbers: Iterable[int], executor: Executor, name: str
) -> Iterator[Repeated]:
    """Plays matches again; one that comes out otherwise is played twice more, here, which is the trusted worker.

    Args:
        store: where they are recorded, and what comes of it.
        tournament_id: of this tournament.
        numbers: these matches; those without a result are left out.
        executor: plays them.
        name: of this machine.
    """
    info, entrants = store.tournament(tournament_id), store.entrants(tournament_id)
    tasks: dict[int, MatchTask] = {}
    sources: dict[str, BotSource] = {}
    for number in numbers:
        match = store.match(tournament_id, number)
        players = tuple(entrants[position].player for position in match.entrants)
        tasks[number] = MatchTask.of(info.secret, match.key, info.rules, info.limits, players, match_id=number)
        hashes = {each.sha256 for each in players if each.sha256 is not None}
        sources |= {sha256: store.source(sha256) for sha256 in hashes if sha256 not in sources}
    again = _play(tasks.values(), sources, executor)
    for number, task in tasks.items():
        original = [document(record) for _, record in store.game_records(tournament_id, [number])]
        if not original or (number, 1) not in again:
            continue  # it was voided meanwhile, or failed through us, which says nothing
        repeated = [document(record) for record in _records(task, again[number, 1])]
        before, after = ([each["digest"] for each in games] for games in (original, repeated))
        trusted = None
        if before != after:
            twice = _play((replace(task, attempt=attempt) for attempt in (2, 3)), sources, executor)
            if len(twice) < 2:
                continue
            one, two = ([game.digest for game in twice[number, attempt].games] for attempt in (2, 3))
            trusted = (one, two)
        verdict, suspect = verdict_of(before, after, trusted)
        match = store.match(tournament_id, number)
        entrant, text = None, ""
        if verdict is not Verdict.SAME:
            seating, seat, where = _first(original, repeated)
            position = match.entrants[task.seats(seating)[seat]]
            text = f"{entrants[position].text}, seating {seating}, {where}"
            if verdict is Verdict.NOT_REPEATABLE:
                entrant = position
            else:
                text = f"{suspect} (first {match.worker}, again {name}): {text}"
        store.add_repeat(tournament_id, number, name, verdict, entrant=entrant, detail=text)
        yield Repeated(number, verdict, text)


def _first(original: list[dict[str, Any]], repeated: list[dict[str, Any]]) -> tuple[int, int, str]:
    """Returns seating, seat and place of the first act that is not the same."""
    for seating, games in enumerate(zip(original, repeated, strict=True), 1):
        found = first_difference(*games)
        if found is not None:
            return seating, *found
    raise ValueError("no act differs: expected other digests to come from other acts")


def _records(task: MatchTask, result: MatchResult) -> Iterator[GameRecord]:
    for game in result.games:
        yield task.record(game.seating, game.acts, tuple(report.fault for report in game.reports))


def _play(
    tasks: Iterable[MatchTask], sources: dict[str, BotSource], executor: Executor
) -> dict[tuple[int, int], MatchResult]:
    """Returns the results by match number and attempt; what failed through us is not there."""
    waiting, out = list(tasks), 0
    found: dict[tuple[int, int], MatchResult] = {}
    while waiting or out:
        while waiting and executor.free > 0:
            executor.submit(waiting.pop(0), sources)
            out += 1
        for ended in executor.poll(POLL_S):
            out -= 1
            if isinstance(ended, MatchResult):
                found[ended.match_id, ended.attempt] = ended
    return found
