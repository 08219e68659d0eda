"""A store with 200 bots and a million games, and how long the pages of the site take over it.

    python -m tests.tools.big_site make big.db [--share 1.0]
    OPENBLAS_NUM_THREADS=1 python -m tests.tools.big_site time big.db

Two tournaments: two at a table (every pair six times) and three at a table (random triples), so that there are more
than 100,000 matches and 1,000,000 games. Strengths are normal; scores follow them. One match in a hundred is really
played, by chance, and has its replays; the other games have results only.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import time
from itertools import combinations
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, update
from starlette.testclient import TestClient

from dashboard.app import create_app
from tests.dashboard.sample import Sample, play_match
from tournament import seeds
from tournament.models import MatchState, TournamentState
from tournament.results import pair_scores
from tournament.rules import Limits, Rules
from tournament.store import Store
from tournament.store_record import numbers_text
from tournament.store_tables import ENTRANT, GAME, MATCH, TALLY, TOURNAMENT
from tournament.store_values import LeasedMatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BOTS = 200
KEPT_EVERY = 100
BATCH = 5_000
STARTED = 1_760_000_000.0
MODES = (
    ("Two at a table", Rules.make("cutthroat", players=2, target=5, deal_limit=15), 6.0),
    ("Three at a table", Rules.make("cutthroat", target=5, deal_limit=15), 128_000.0),
)


def make(path: str, share: float) -> None:
    """Make the store; `share` makes a smaller one."""
    begun = time.perf_counter()
    with Store(path) as store:
        store.migrate()
        for number, (name, rules, size) in enumerate(MODES, start=1):
            add_big(store, number, name, rules, size * share)
        with store.write() as connection:
            connection.exec_driver_sql("ANALYZE")
    print(f"made in {time.perf_counter() - begun:.0f} s")


def add_big(store: Store, tournament_id: int, name: str, rules: Rules, size: float) -> None:
    """Add a finished tournament of 200 bots, straight into the tables."""
    rng = random.Random(tournament_id)
    strengths = [rng.gauss(0, 1) for _ in range(BOTS)]
    with store.write() as connection:
        settings = {"rules": rules, "limits": Limits()}
        times = {"created_at": STARTED, "started_at": STARTED, "finished_at": STARTED + 90_000}
        row = {"id": tournament_id, "name": name, "rounds": 6, "secret": f"big{tournament_id}", "state": "finished"}
        connection.execute(
            insert(TOURNAMENT).values(
                **row,
                **settings,
                **times,
                commitment=seeds.commitment(row["secret"]),  # type: ignore[arg-type]
            )
        )
        entrants = [
            {"tournament_id": tournament_id, "position": at, "name": f"bot-{at:03d}", "version": 1, "owner": at}
            | {"upload_order": at, "house": False}
            for at in range(BOTS)
        ]
        connection.execute(insert(ENTRANT), entrants)
    number = 0
    rows: tuple[list[dict[str, Any]], ...] = ([], [], [])
    kept: list[LeasedMatch] = []
    for sitting in tables(rules, size, rng):
        number += 1
        if number % KEPT_EVERY == 0:
            kept.append(queued(store, tournament_id, number, rules, sitting))
            continue
        for target, new in zip(rows, recorded(tournament_id, number, rules, sitting, strengths, rng), strict=True):
            target.extend(new)
        if len(rows[0]) >= BATCH:
            flush(store, rows)
    flush(store, rows)
    sample = Sample(rules, (), clumsy="bot-007", clumsiness=0.002)
    with store.write() as connection:
        change = update(TOURNAMENT).where(TOURNAMENT.c.id == tournament_id)
        connection.execute(change.values(state=TournamentState.RUNNING, last_order=number))
    for leased in kept:
        store.record([play_match(sample, store, tournament_id, leased, rng)], now=STARTED + number)
    print(f"{name}: {number:,} matches, {number * len(seeds.seatings(rules, rules.side_count)):,} games")


def tables(rules: Rules, size: float, rng: random.Random) -> Iterator[tuple[int, ...]]:
    """Yield who meets: all pairs so many times, or so many random triples."""
    if rules.side_count == 2:
        pairs = list(combinations(range(BOTS), 2))
        for _ in range(max(1, round(size))):
            yield from pairs if size >= 1 else pairs[: int(len(pairs) * size)]
    else:
        for _ in range(int(size)):
            yield tuple(sorted(rng.sample(range(BOTS), 3)))


def match_values(tournament_id: int, number: int, rules: Rules, sitting: Sequence[int]) -> dict[str, Any]:
    """Give the columns of a match that its schedule says; the round makes its key the only one."""
    key = seeds.match_key(rules, [f"bot-{at:03d}:1" for at in sitting], number)
    where = {"e0": sitting[0], "e1": sitting[1], "e2": sitting[2] if len(sitting) == 3 else None}
    ids = {"id": tournament_id * 10_000_000 + number, "tournament_id": tournament_id, "number": number}
    return ids | {"round": number, "key": key} | where


def queued(store: Store, tournament_id: int, number: int, rules: Rules, sitting: Sequence[int]) -> LeasedMatch:
    """Add a match that is to be played."""
    values = match_values(tournament_id, number, rules, sitting)
    with store.write() as connection:
        connection.execute(insert(MATCH).values(**values, state=MatchState.QUEUED, attempt=1))
    return LeasedMatch(values["id"], tournament_id, number, 1, values["key"], tuple(sitting), 1)


def recorded(
    tournament_id: int,
    number: int,
    rules: Rules,
    sitting: Sequence[int],
    strengths: Sequence[float],
    rng: random.Random,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Make the rows of a match, its games and its tallies, by chance."""
    values = match_values(tournament_id, number, rules, sitting)
    scores: dict[tuple[int, int], int] = {}
    games = []
    luck = [rng.gauss(0, 0.7) for _ in range(rules.players)]
    for seating, seats in enumerate(seeds.seatings(rules, len(sitting)), start=1):
        worth = [strengths[sitting[place]] + luck[seat] + rng.gauss(0, 1) for seat, place in enumerate(seats)]
        places = [1 + sum(other > mine for other in worth) for mine in worth]
        for pair, score in pair_scores(rules, seats, places).items():
            scores[pair] = scores.get(pair, 0) + score
        result = {"end_kind": "target", "winner": places.index(1), "scores": numbers_text([7 - 3 * p for p in places])}
        rest = {"places": numbers_text(places), "deals": 9, "digest": f"sha256:{rng.getrandbits(256):064x}"}
        games.append({"match_id": values["id"], "seating": seating} | result | rest | {"acts": None, "timings": None})
    sums = {"s01": scores[0, 1], "s02": scores.get((0, 2)), "s12": scores.get((1, 2))}
    done = {"state": MatchState.DONE, "attempt": 1, "worker": f"worker-{number % 16}", "play_s": 0.4, "faults": 0}
    when = {"record_order": number, "recorded_at": STARTED + number, "games": len(games)}
    tallies = [
        {"tournament_id": tournament_id, "entrant": at, "match_id": values["id"], "points": rng.randrange(-4, 9)}
        | {"deals": 18, "faults": 0, "bids2": 4, "bids3": 2, "bids4": 1, "made2": 3, "made3": 1, "made4": 0}
        for at in sitting
    ]
    return [values | done | when | sums], games, tallies


def flush(store: Store, rows: tuple[list[dict[str, Any]], ...]) -> None:
    """Write the rows gathered."""
    with store.write() as connection:
        for table, values in zip((MATCH, GAME, TALLY), rows, strict=True):
            if values:
                connection.execute(insert(table), values)
            values.clear()


PAGES = (
    ("standings", "/standings?tournament={t}", 100),
    ("head to head", "/head-to-head?tournament={t}", 100),
    ("match list", "/matches?tournament={t}", 100),
    ("match list, one bot", "/matches?tournament={t}&bot=bot-042", 100),
    ("match list, a pair", "/matches?tournament={t}&bot=bot-042&versus=bot-017", 100),
    ("match list, with faults", "/matches?tournament={t}&faults=1", 100),
    ("match list, far in", "/matches?tournament={t}&after=90000", 100),
    ("match page, results only", "/matches/{t}-4242", 100),
    ("match page, replays kept", "/matches/{t}-{kept}", 100),
    ("replay step", "/games/{t}-4200-1/replay?step={step}", 30),
    ("replay step, the part", "/games/{t}-4200-1/replay?step={step}&part=1", 30),
    ("bot page", "/bots/bot-042?tournament={t}", 0),
    ("tournament page", "/tournaments/{t}", 0),
    ("start page", "/", 0),
    ("history", "/history?tournament={t}", 0),
)


def measure(path: str, rounds: int) -> None:
    """Print processor times: the first after a start, the median and the largest of the others.

    Site and client share the process, so the times are those of both; unlike the clock on the wall they do not depend
    on what else the machine does.
    """
    print("| page | tournament | first, ms | median, ms | largest, ms | limit, ms |")
    print("| --- " * 2 + "| ---: " * 4 + "|")
    gc.freeze()  # as `serve` does
    with Store(path) as store:
        for tournament in (1, 2):
            with TestClient(create_app(store)) as client:
                for name, address, limit in PAGES:
                    times = []
                    for turn in range(rounds + 1):
                        kept = 100 * (30 + turn)  # another match each time: nothing of it is kept yet
                        begun = time.process_time()
                        answer = client.get(address.format(t=tournament, kept=kept, step=turn % 12))
                        times.append(1000 * (time.process_time() - begun))
                        assert answer.status_code == 200, (address, answer.status_code)
                    first, later = times[0], times[1:]
                    figures = f"{first:.0f} | {statistics.median(later):.1f} | {max(later):.1f}"
                    print(f"| {name} | {'two' if tournament == 1 else 'three'} | {figures} | {limit or '–'} |")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("make", "time"))
    parser.add_argument("path")
    parser.add_argument("--share", type=float, default=1.0, help="make a smaller one")
    parser.add_argument("--rounds", type=int, default=20, help="how often each page is asked for")
    arguments = parser.parse_args()
    if arguments.what == "make":
        make(arguments.path, arguments.share)
    else:
        measure(arguments.path, arguments.rounds)


if __name__ == "__main__":
    main()
