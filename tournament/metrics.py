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


_OF_TOURNAMENTS: Final = {
    "recorded": ("smear_results_total", "counter", "Results recorded, voided ones among them."),
    "per_minute": ("smear_matches_per_minute", "gauge", "Matches recorded in the last minute."),
    "faults": ("smear_faults", "gauge", "Faults of bots in the results that count."),
    "voids": ("smear_voids_total", "counter", "Results that do not count any more."),
    "oldest_started_s": ("smear_oldest_lease_seconds", "gauge", "For how long the match runs that was started first."),
    "overdue_s": ("smear_lease_overdue_seconds", "gauge", "How long a lease is over that nobody has taken back."),
}
"""By the field of `Gauges`."""


def exposition(store: Store) -> str:
    """Returns the metrics of a store; tournaments whose results are held back are left out."""
    now = store.now()
    return "".join(f"{line}\n" for line in (*_tournaments(gauges(store, now=now)), *_workers(store.workers(), now)))


def _tournaments(shown: dict[int, Gauges]) -> Iterator[str]:
    yield from _head("smear_matches", "gauge", "Matches by state, of tournaments that go on or have failed matches.")
    for number, each in shown.items():
        for state, count in each.matches.items():
            yield f'smear_matches{{tournament="{number}",state="{state}"}} {count}'
    for field, (name, kind, text) in _OF_TOURNAMENTS.items():
        yield from _head(name, kind, text)
        for number, each in shown.items():
            yield f'{name}{{tournament="{number}"}} {getattr(each, field):.10g}'


def _workers(known: Sequence[WorkerInfo], now: float) -> Iterator[str]:
    coordinators = [worker for worker in known if worker.name.startswith(COORDINATOR)]
    alive = [worker for worker in known if worker not in coordinators and worker.seen_at > now - ALIVE_S]
    wanted = [worker.slots for worker in alive if worker.refused is None]
    values: list[tuple[str, str, float]] = [
        ("smear_workers", "Workers heard of in the last minute.", len(alive)),
        ("smear_workers_refused", "Those of them that get no work: another environment.", len(alive) - len(wanted)),
        ("smear_slots", "Matches that the others play side by side.", sum(wanted)),
    ]
    if coordinators:
        silent_s = max(0.0, now - max(worker.seen_at for worker in coordinators))
        values.append(("smear_coordinator_silent_seconds", "Since when no coordinator has been heard of.", silent_s))
    for name, text, value in values:
        yield from _head(name, "gauge", text)
        yield f"{name} {value:.10g}"


def _head(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"
