"""Measures how the cluster scales and what it costs, and prints the tables of docs/scale.md.

python -m tests.servers.scale [overhead] [workers] [slots] [units]
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import redis

from tests.servers.chaos import children
from tests.servers.cluster import (
    BURNING_BOT,
    PASSWORDS,
    QUICK,
    Cluster,
    Program,
    make_tournament,
    redis_with_users,
    wait_for,
)
from tests.servers.finder import PrivatePostgres, PrivateRedis, missing, postgres_programs
from tournament.environment import Environment, environment
from tournament.results import MatchResult
from tournament.rules import Rules
from tournament.store import Store
from tournament.wire import MatchTask, result_to_json
from workers.coordinator import Coordinator, Publisher
from workers.estimates import Estimates
from workers.local import LocalExecutor
from workers.local_run import LocalRun
from workers.recorder import Recorder
from workers.tickets import Chunk, Ticket, Tickets

# As long as games of bots that bid with sense.
FULL = Rules.make("cutthroat", players=2, deal_limit=12)
BOTS = 6
SLOTS = (1, 2, 4, 8, 16, 32, 64)
TICKS = os.sysconf("SC_CLK_TCK")
PAIRS = BOTS * (BOTS - 1) // 2


@dataclass(frozen=True)
class Cost:
    """What so many matches took once everything had started: wall time, and CPU time by part."""

    matches: int
    wall_s: float
    cpu_s: dict[str, float]

    @property
    def rate(self) -> float:
        return self.matches / self.wall_s

    def cpu_ms(self, part: str = "") -> float:
        return 1000 * sum(value for name, value in self.cpu_s.items() if part in name) / self.matches


def tree_cpu_s(pid: int) -> float:
    """Returns the CPU time of a process and of all that it has started, what has ended among them."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICKS + sum(map(tree_cpu_s, children(pid)))
    return 0.0


class MeasuredCluster(Cluster):
    """A cluster that knows its PostgreSQL."""

    def __init__(self, postgres: PrivatePostgres, folder: Path, broker: PrivateRedis) -> None:
        super().__init__(postgres.url, folder, broker)
        self.postgres = postgres


@contextmanager
def cluster() -> Iterator[MeasuredCluster]:
    programs = postgres_programs() or missing("postgresql")
    with (
        tempfile.TemporaryDirectory() as folder,
        PrivatePostgres(programs) as postgres,
        redis_with_users() as broker,
        MeasuredCluster(postgres, Path(folder), broker) as made,
    ):
        yield made


def in_cluster(rounds: int, rules: Rules, workers: int, slots: int, **options: str) -> Cost:
    with cluster() as it:
        coordinator = it.coordinator()
        programs = [it.worker(f"worker{number}", slots) for number in range(workers)]
        wait_for(lambda: sum(each.slots for each in it.store.workers()) == workers * slots, "the workers")
        it.wait_until_finished(make_tournament(it.store, 3, 3 * workers * slots, QUICK))  # all sandboxes have started
        servers = {"Redis": it.redis, "PostgreSQL": it.postgres, "coordinator": coordinator}
        parts = {name: each.process.pid for name, each in servers.items() if each.process is not None}
        parts |= {f"worker {number}": program.process.pid for number, program in enumerate(programs)}
        before = {name: tree_cpu_s(pid) for name, pid in parts.items()}
        begun = time.monotonic()
        tournament = make_tournament(it.store, BOTS, rounds, rules, **options)
        it.wait_until_finished(tournament, 1200)
        wall = time.monotonic() - begun
        after = {name: tree_cpu_s(pid) - before[name] for name, pid in parts.items()}
    return Cost(rounds * PAIRS, wall, after)


def here(rounds: int, rules: Rules, jobs: int) -> Cost:
    with tempfile.TemporaryDirectory() as folder, Store(str(Path(folder) / "here.db")) as store:
        store.migrate()
        executor = LocalExecutor(jobs)
        _play(store, executor, make_tournament(store, 3, 3 * jobs, QUICK))
        tournament = make_tournament(store, BOTS, rounds, rules)
        before = tree_cpu_s(os.getpid())
        begun = time.monotonic()
        _play(store, executor, tournament)
        wall = time.monotonic() - begun
        used = tree_cpu_s(os.getpid()) - before
        executor.close()
    return Cost(rounds * PAIRS, wall, {"local": used})


def _play(store: Store, executor: LocalExecutor, tournament: int) -> None:
    run = LocalRun(store, executor, tournament)
    while run.step(1.0) or run.busy:
        pass


def overhead() -> None:
    rounds = 20
    local, far = here(rounds, FULL, 2), in_cluster(rounds, FULL, 1, 2)
    print("| | matches/s, two slots | CPU ms a match, all processes |\n|---|---|---|")
    print(f"| local executor, SQLite | {local.rate:.1f} | {local.cpu_ms():.1f} |")
    print(f"| coordinator, Redis, PostgreSQL, one worker | {far.rate:.1f} | {far.cpu_ms():.1f} |")
    print(f"| local : distributed | {far.rate / local.rate:.2f} | {local.cpu_ms() / far.cpu_ms():.2f} |")
    parts = ", ".join(f"{part} {far.cpu_ms(part):.1f}" for part in ("worker", "coordinator", "PostgreSQL", "Redis"))
    print(f"\nOf the CPU time of the distributed path, in ms a match: {parts}.")


def workers() -> None:
    rules = Rules.make("cutthroat", players=2, target=1000, deal_limit=3)
    bot = BURNING_BOT.format(seconds=0.01)
    print("| workers of one slot | matches/s | speed-up | CPU ms a match, all processes |\n|---|---|---|---|")
    first = 0.0
    for count in (1, 2):
        cost = in_cluster(3, rules, count, 1, text=bot)
        rate = cost.rate
        first = first or rate
        print(f"| {count} | {rate:.2f} | {rate / first:.2f} | {cost.cpu_ms():.0f} |", flush=True)


def slots() -> None:
    seconds = 1.0
    print(f"| slots | matches of {seconds:.0f} s | wall s | matches/s | efficiency |\n|---|---|---|---|---|")
    with cluster() as it:
        it.coordinator()
        url = it.redis.url_of("worker", PASSWORDS["worker"])
        for count in SLOTS:
            arguments = (url, str(count), str(seconds))
            stub = Program(arguments, {}, it.folder / "stub.log", ("-m", "tests.servers.stub"))
            try:
                wait_for(lambda count=count: any(each.slots == count for each in it.store.workers()), "the stub")
                # Learns how long a match takes, as a tournament of any size does.
                it.wait_until_finished(make_tournament(it.store, 2, 2 * count))
                begun = time.monotonic()
                it.wait_until_finished(make_tournament(it.store, 2, 12 * count))
                wall = time.monotonic() - begun
            finally:
                stub.kill()
            matches = 12 * count
            rate = matches / wall
            print(f"| {count} | {matches} | {wall:.1f} | {rate:.1f} | {rate * seconds / count:.0%} |", flush=True)


def units() -> None:
    """Unit costs for the estimate on paper, from games of sandboxed bots."""
    programs = postgres_programs() or missing("postgresql")
    with PrivatePostgres(programs) as postgres, Store(postgres.url) as store, redis_with_users() as broker:
        store.migrate()
        with timed() as spent:
            make_tournament(store, 100, 4, FULL)
        print(f"planning: {spent.us(4 * 4950)}")
        tickets = Tickets(store, "key")
        with timed() as spent:
            leased = [match for _ in range(10) for match in store.lease(20, 600)]
        print(f"leasing, in twenties: {spent.us(len(leased))}")
        coordinator = Coordinator(store, tickets, Nowhere(), Estimates(), environment(), "scale")
        coordinator.tick(hand_out=False)  # announces itself and pins the environment
        with timed() as spent:
            for _ in range(20):
                coordinator.tick(hand_out=False)
        print(f"looking at it all without handing anything out: {spent.us(20)}".removesuffix(", a match"))
        with timed() as spent:
            issued = [tickets.issue(match) for match in leased]
        print(f"signing: {spent.us(len(leased))}")
        bodies = list(messages_of(store, issued))
        task_bytes = len(json.dumps(Chunk(tuple(issued)).to_json())) / len(issued)
        print(f"messages: {task_bytes:.0f} bytes of task, {sum(map(len, bodies)) / len(issued):.0f} of result a match")
        recorder = Recorder(store, tickets, Estimates(), beat_lease_s=60, max_losses=5)
        with timed() as spent:
            for body in bodies:
                recorder.accept(body)
        print(f"recording, in tens: {spent.us(len(issued))}")
        with store.read() as connection:
            for name in ("match", "game", "tally", "event"):
                size = connection.exec_driver_sql(f"SELECT pg_total_relation_size('{name}')").scalar()
                count = connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar()
                print(f"{name}: {int(size or 0) / max(1, int(count or 0)):.0f} bytes a row with indexes ({count} rows)")
        with redis.Redis.from_url(broker.url_of("coordinator", PASSWORDS["coordinator"])) as client:
            before = client.info("memory")["used_memory"]
            for body in bodies:
                client.lpush("results", body)
            used = client.info("memory")["used_memory"] - before
            print(f"Redis: {used / len(issued):.0f} bytes a match that waits for the recorder")


class Nowhere(Publisher):
    """A broker to which nothing is published."""

    def __init__(self) -> None:
        pass

    def remembers(self) -> bool:
        return True

    def want(self, environments: Sequence[tuple[int, Environment]]) -> None:
        pass

    def cancel(self, tournaments: Sequence[int], running: Sequence[int]) -> None:
        pass


class Spent:
    """CPU time of this process, and wall time."""

    def __init__(self) -> None:
        self._begun = time.process_time(), time.monotonic()
        self.cpu_s = self.wall_s = 0.0

    def end(self) -> None:
        self.cpu_s, self.wall_s = time.process_time() - self._begun[0], time.monotonic() - self._begun[1]

    def us(self, count: int) -> str:
        return f"{1e6 * self.cpu_s / count:.0f} µs CPU, {1e6 * self.wall_s / count:.0f} µs in all, a match"


@contextmanager
def timed() -> Iterator[Spent]:
    spent = Spent()
    yield spent
    spent.end()


def messages_of(store: Store, issued: list[tuple[Ticket, MatchTask]]) -> Iterator[str]:
    """Plays matches in the sandbox and yields what a worker would send, ten to a message."""
    sources = {each.sha256 or "": store.source(each.sha256 or "") for _, task in issued for each in task.players}
    executor = LocalExecutor(2)
    waiting, results = list(issued), {}
    while len(results) < len(issued):
        while waiting and executor.free:
            executor.submit(waiting.pop()[1], sources)
        results |= {each.match_id: each for each in executor.poll(1.0) if isinstance(each, MatchResult)}
    executor.close()
    for start in range(0, len(issued), 10):
        listed = [
            {"ticket": ticket.to_json(), "result": result_to_json(results[ticket.id])}
            for ticket, _ in issued[start : start + 10]
        ]
        yield json.dumps({"kind": "result", "worker": "w", "results": listed, "failures": [], "unplayed": []})


def main() -> None:
    parts = {"overhead": overhead, "workers": workers, "slots": slots, "units": units}
    for name in sys.argv[1:] or parts:
        print(f"\n{name}\n")
        parts[name]()


if __name__ == "__main__":
    main()
