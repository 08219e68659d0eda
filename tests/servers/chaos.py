"""Kills everything at random while a tournament is played, and looks whether a match was lost or counted twice.

    python -m tests.servers.chaos --matches 2000 --events 200 --seed 7

Workers and their pool processes, the coordinator with its recorder, Redis, which keeps nothing, and PostgreSQL are
ended by SIGKILL and started again; messages of both queues are delivered twice on purpose. The suite runs a short one.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import redis
from sqlalchemy.exc import OperationalError

from tests.servers.cluster import PASSWORDS, Cluster, add_up, make_tournament, redis_with_users, wait_for
from tests.servers.finder import PrivatePostgres, missing, postgres_programs
from tournament.export import FILES, export_tournament
from tournament.store import Store
from tournament.store_values import Counts
from workers.local import LocalExecutor
from workers.local_run import LocalRun

BOTS = 6
PAIRS = BOTS * (BOTS - 1) // 2
WEIGHTS = {"worker": 5, "pool": 4, "coordinator": 3, "redis": 2, "postgres": 2, "twice": 6}


@dataclass
class Report:
    """What happened, and what came of it."""

    planned: int = 0
    seconds: float = 0.0
    looks: int = 0
    events: Counter[str] = field(default_factory=Counter)
    twice: int = 0
    plays: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        events = ", ".join(f"{count} {name}" for name, count in sorted(self.events.items()))
        return (
            f"{self.planned} matches in {self.seconds:.0f} s, {self.plays} leases; {events}; {self.twice} messages "
            f"delivered twice; looked {self.looks} times; {'; '.join(self.wrong) or 'nothing wrong'}"
        )


def children(pid: int) -> Iterator[int]:
    """Yields the children of a process."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                yield int(path.parent.name)


def undisturbed(folder: Path, rounds: int) -> Path:
    """Plays the same tournament on this machine, in peace, and exports it."""
    with Store(str(folder / "peace.db")) as store:
        store.migrate()
        tournament = make_tournament(store, BOTS, rounds)
        executor = LocalExecutor(2)
        try:
            run = LocalRun(store, executor, tournament)
            while run.step(1.0) or run.busy:
                pass
        finally:
            executor.close()
        export_tournament(store, tournament, folder / "peace")
    return folder / "peace"


class Chaos:
    """A cluster and what is done to it."""

    def __init__(self, cluster: Cluster, postgres: PrivatePostgres, choices: random.Random) -> None:
        self.cluster = cluster
        self.postgres = postgres
        self.choices = choices
        self.report = Report()
        self.coordinator = cluster.coordinator("--queue-lease=15", "--beat-lease=8", "--attempts=100")
        self.workers = [cluster.worker(f"worker{number}") for number in range(2)]

    def disturb(self) -> None:
        """Does one thing that must not matter."""
        event = self.choices.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        self.report.events[event] += 1
        place = self.choices.randrange(len(self.workers))
        if event == "worker":
            self.workers[place].kill()
            self.workers[place] = self.cluster.worker(f"worker{place}")
        elif event == "pool":
            for pid in list(children(self.workers[place].process.pid))[:1]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        elif event == "coordinator":
            self.coordinator.kill()
            self.coordinator = self.cluster.coordinator("--queue-lease=15", "--beat-lease=8", "--attempts=100")
        elif event == "redis":
            self.cluster.redis.restart()
        elif event == "postgres":
            self.postgres.restart()
        else:
            self.report.twice += self.deliver_twice()

    def deliver_twice(self) -> int:
        """Copies messages that wait in the queues."""
        count = 0
        url = self.cluster.redis.url_of("coordinator", PASSWORDS["coordinator"])
        with redis.Redis.from_url(url) as client:
            for key in ["results", *(name.decode() for name in client.keys("matches.*"))]:
                for message in client.lrange(key, 0, 3):
                    client.lpush(key, message)
                    count += 1
        return count

    def look(self, tournament: int) -> Counts | None:
        """Checks that the matches add up, if the database can be asked."""
        try:
            counts = self.cluster.store.counts(tournament)
        except OperationalError:
            return None
        self.report.looks += 1
        if not add_up(counts, self.report.planned):
            self.report.wrong.append(f"{counts} does not add up to {self.report.planned}")
        return counts


def run(matches: int, events: int, seed: int, folder: Path, patience_s: float = 300.0) -> Report:
    """Plays so many matches under so many events, and compares the export with that of an undisturbed run."""
    rounds = max(1, matches // PAIRS)
    choices = random.Random(seed)
    peace = undisturbed(folder, rounds)
    programs = postgres_programs() or missing("postgresql")
    with (
        PrivatePostgres(programs) as postgres,
        redis_with_users() as broker,
        Cluster(postgres.url, folder, broker) as it,
    ):
        begun = time.monotonic()
        tournament = make_tournament(it.store, BOTS, rounds)
        chaos = Chaos(it, postgres, choices)
        report = chaos.report
        report.planned = rounds * PAIRS
        # Begins once it has begun to play, so that there is something to disturb.
        wait_for(lambda: it.store.counts(tournament).finished > 0, "the first result")
        while sum(report.events.values()) < events:
            counts = chaos.look(tournament)
            if counts is not None and counts.open == 0:
                break
            chaos.disturb()
            time.sleep(choices.uniform(0.1, 2.0))  # chaos has no thing to wait for
        wait_for(
            lambda: (counts := chaos.look(tournament)) is not None and counts.open == 0, "the end", patience_s
        )  # fmt: skip
        report.seconds = time.monotonic() - begun
        counts = it.store.counts(tournament)
        if counts.finished != report.planned:
            report.wrong.append(f"{counts}: expected all to be finished")
        if it.store.tournament(tournament).last_order != report.planned:
            report.wrong.append("something was recorded twice")
        after, found = 0, it.store.matches(tournament, limit=200)
        while found:
            report.plays += sum(match.attempt for match in found)
            after = found[-1].number
            found = it.store.matches(tournament, after=after, limit=200)
        export_tournament(it.store, tournament, folder / "chaos")
        report.wrong += [
            f"{name} differs from the undisturbed run's"
            for name in FILES
            if (peace / name).read_bytes() != (folder / "chaos" / name).read_bytes()
        ]
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches", type=int, default=2000)
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience", type=float, default=1800.0, help="seconds until it counts as hanging")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = run(given.matches, given.events, given.seed, Path(folder), given.patience)
    print(report)
    sys.exit(bool(report.wrong))


if __name__ == "__main__":
    main()
