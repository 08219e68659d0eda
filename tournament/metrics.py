"""What `/metrics` says, in Prometheus' text format: queue, leases, results, faults, voids, workers, coordinator.

docs/operators.md says what each alarm on them means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tournament.store import Store
from tournament.store_cluster import ALIVE_S, COORDINATOR, Gauges, gauges
from tournament.store_values import WorkerInfo

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def exposition(store: Store) -> str:
    """Returns the metrics of a store; tournaments whose results are held back are left out."""
    now = store.now()
    return "".join(f"{line}\n" for line in (*_tournaments(gauges(store, now=now)), *_workers(store.workers(), now)))


def _tournaments(shown: dict[int, Gauges]) -> Iterator[str]:
    yield from _head("smear_matches", "gauge", "Matches by state, of tournaments that go on or have failed matches.")
    for number, each in shown.items():
        for state, count in each.matches.items():
            yield f'smear_matches{{tournament="{number}",state="{state}"}} {count}'
    for name, kind, text, values in (
        ("smear_results_total", "counter", "Results recorded, voided ones among them.",
         {number: each.recorded for number, each in shown.items()}),
        ("smear_matches_per_minute", "gauge", "Matches recorded in the last minute.",
         {number: each.per_minute for number, each in shown.items()}),
        ("smear_faults", "gauge", "Faults of bots in the results that count.",
         {number: each.faults for number, each in shown.items()}),
        ("smear_voids_total", "counter", "Results that do not count any more.",
         {number: each.voids for number, each in shown.items()}),
        ("smear_oldest_lease_seconds", "gauge", "Since when the match has been running that was started first.",
         {number: each.oldest_started_s for number, each in shown.items()}),
        ("smear_lease_overdue_seconds", "gauge", "How long a lease is over that nobody has taken back.",
         {number: each.overdue_s for number, each in shown.items()}),
    ):  # fmt: skip
        yield from _head(name, kind, text)
        for number, value in values.items():
            yield f'{name}{{tournament="{number}"}} {value:.10g}'


def _workers(known: Sequence[WorkerInfo], now: float) -> Iterator[str]:
    coordinators = [worker for worker in known if worker.name.startswith(COORDINATOR)]
    alive = [worker for worker in known if worker not in coordinators and worker.seen_at > now - ALIVE_S]
    refused = [worker for worker in alive if worker.refused is not None]
    yield from _head("smear_workers", "gauge", "Workers heard of in the last minute.")
    yield f"smear_workers {len(alive)}"
    yield from _head("smear_workers_refused", "gauge", "Those of them that get no work: another environment.")
    yield f"smear_workers_refused {len(refused)}"
    yield from _head("smear_slots", "gauge", "Matches that the others play side by side.")
    yield f"smear_slots {sum(worker.slots for worker in alive if worker.refused is None)}"
    if coordinators:
        silent_s = max(0.0, now - max(worker.seen_at for worker in coordinators))
        yield from _head("smear_coordinator_silent_seconds", "gauge", "Since when no coordinator has been heard of.")
        yield f"smear_coordinator_silent_seconds {silent_s:.10g}"


def _head(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"
