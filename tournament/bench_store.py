"""Measures what a full store costs, for `tournament bench`: one match more among many, and the standings after it."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from tournament.game import Game
from tournament.results import GameResult, MatchResult
from tournament.rules import Rules
from tournament.store import Store
from tournament.store_values import NewEntrant, NewTournament
from tournament.table import ladder_of

BOTS: Final = 100
PAIRS: Final = BOTS * (BOTS - 1) // 2
_RULES: Final = Rules.make("cutthroat", players=2, deal_limit=12)
_CHUNK: Final = 10
_DIGEST: Final = "sha256:" + 64 * "0"


@contextmanager
def _store(rounds: int) -> Iterator[tuple[Store, int]]:
    """A store of 100 bots that meet so many times, in a folder that goes with it."""
    entrants = [NewEntrant(f"bot{place}", 1, None, owner=place) for place in range(BOTS)]
    with tempfile.TemporaryDirectory() as folder, Store(str(Path(folder) / "bench.db")) as store:
        store.migrate()
        yield store, store.create_running(NewTournament("bench", _RULES, rounds, "bench"), entrants)


def _game() -> GameResult:
    game = Game(_RULES, 64 * "0")
    while legal := game.advance():
        game.act_legal(legal[-1])
    return GameResult.of(game, 1, (0, 1), _DIGEST, (), bytes(5 * 120))


def _fill(store: Store, tournament: int, upto: int) -> None:
    """Marks all queued matches up to a number as played, with the rows that recording them would have made."""
    game = _game()
    with store.write() as connection:
        run = connection.exec_driver_sql
        run(
            "UPDATE match SET state = 'done', attempt = 1, record_order = number, recorded_at = 1, play_s = 1, "
            "games = 2, s01 = abs(random()) % 5, faults = 0 WHERE state = 'queued' AND number <= ?",
            (upto,),
        )
        run(
            "INSERT OR IGNORE INTO game SELECT id, seating.column1, 'deal_limit', 0, '9,0', '1,2', 12, ?, ?, ? "
            "FROM match, (VALUES (1), (2)) AS seating WHERE state = 'done'",
            (_DIGEST, game.acts, game.timings),
        )
        run(
            "INSERT OR IGNORE INTO tally SELECT tournament_id, iif(side.column1 = 1, e0, e1), id, "
            "9, 24, 0, 3, 3, 3, 2, 2, 2 FROM match, (VALUES (1), (2)) AS side WHERE state = 'done'"
        )
        run("UPDATE tournament SET last_order = ? WHERE id = ?", (upto, tournament))


def _play(store: Store, game: GameResult) -> float:
    """Leases and records a few matches; returns the CPU seconds of one."""
    begun = time.process_time()
    leased = store.lease(_CHUNK, 600, worker="bench")
    store.record([MatchResult(each.id, each.attempt, (game, replace(game, seating=2))) for each in leased])
    return (time.process_time() - begun) / _CHUNK


def growth(matches: int = 100_000, window: int = 1_000) -> tuple[float, float]:
    """Returns the CPU seconds that a match costs the store among the first `window` and among the last of so many.

    The two stores are measured by turns.
    """
    game, first, last = _game(), [], []
    rounds = -(-matches // PAIRS)
    with _store(rounds) as (young, _), _store(rounds) as (old, tournament):
        _fill(old, tournament, matches - window)
        for _ in range(window // _CHUNK):
            first.append(_play(young, game))
            last.append(_play(old, game))
    return statistics.median(first), statistics.median(last)


def refit(games: int = 1_000_000) -> tuple[float, float]:
    """Returns the CPU seconds of standings from rows alone, and of those after one more match; 100 bots."""
    with _store(-(-games // (2 * PAIRS)) + 1) as (store, tournament):
        _fill(store, tournament, games // 2)
        game, entrants = _game(), store.entrants(tournament)
        begun = time.process_time()
        ladder_of(entrants, store.figures(tournament))
        full = time.process_time() - begun
        more = []
        for _ in range(5):
            _play(store, game)
            begun = time.process_time()
            ladder_of(entrants, store.figures(tournament))
            more.append(time.process_time() - begun)
        return full, statistics.median(more)
