"""What Prometheus reads, and the log lines."""

import io
import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.fakes import HERE
from tests.store.play import play, play_all, started
from tournament.metrics import exposition
from tournament.store import Store
from workers.logs import JsonLines

ROOT = Path(__file__).parents[2]


def read(text: str) -> dict[tuple[str, str, str], float]:
    return {
        (sample.name, sample.labels.get("tournament", ""), sample.labels.get("state", "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_the_metrics_say_how_a_tournament_stands(store: Store) -> None:
    tournament = started(store, count=4)
    now = store.now()
    first, second, *_ = store.lease(4, 600, now=now)
    store.renew([second_lease := (second.id, second.attempt)], 60, now=now - 50)
    store.record([play(store, first, faults=True)], now=now)
    store.announce("w", 3, HERE, now=now)
    store.announce("old", 8, HERE, refused="another rules engine", now=now)
    store.announce("gone", 8, HERE, now=now - 100)
    store.announce("coordinator:here", 0, HERE, now=now)
    found = read(exposition(store))
    label = str(tournament)
    states = {
        state: found["smear_matches", label, state] for state in ("queued", "leased", "done", "failed", "cancelled")
    }
    assert states == {"queued": 2, "leased": 3, "done": 1, "failed": 0, "cancelled": 0}
    assert found["smear_results_total", label, ""] == 1
    assert found["smear_matches_per_minute", label, ""] == 1
    assert found["smear_faults", label, ""] == 1
    assert 50 <= found["smear_oldest_lease_seconds", label, ""] < 3600
    assert found["smear_lease_overdue_seconds", label, ""] == 0
    assert (found["smear_workers", "", ""], found["smear_workers_refused", "", ""]) == (2, 1)
    assert found["smear_slots", "", ""] == 3
    assert found["smear_coordinator_silent_seconds", "", ""] >= 0
    store.void(tournament, first.number, "ours")
    store.renew([second_lease], 60, now=now - 100)
    found = read(exposition(store))
    assert found["smear_voids_total", label, ""] == 1
    assert found["smear_lease_overdue_seconds", label, ""] >= 40


def test_failed_matches_raise_their_alarm_after_the_end_too(store: Store) -> None:
    tournament = started(store, count=2)
    (leased,) = store.lease(1, 600)
    store.fail(leased.id, leased.attempt, "no memory", max_losses=1)
    assert store.tournament(tournament).state == "finished"
    assert read(exposition(store))["smear_matches", str(tournament), "failed"] == 1


def test_what_is_held_back_or_over_is_not_shown(store: Store) -> None:
    held, over = started(store), started(store)
    play_all(store, over)
    assert {label for _, label, _ in read(exposition(store))} == {"", str(held)}
    store.hold(held, store.now())
    assert {label for _, label, _ in read(exposition(store))} == {""}


def test_a_log_line_is_one_line_of_json_that_names_match_and_attempt() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger = logging.Logger("workers.tests")  # noqa: LOG001  # known to nobody else
    logger.addHandler(handler)
    logger.warning("two\nlines \udc80 %s", "here", extra={"match": 17, "attempt": 2})
    try:
        raise ValueError("inside")
    except ValueError:
        logger.exception("failed")
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert (first["text"], first["level"]) == ("two\nlines \udc80 here", "warning")
    assert (first["match"], first["attempt"], first["from"]) == (17, 2, "workers.tests")
    assert "ValueError: inside" in second["traceback"]


def test_a_warning_of_a_library_is_a_log_line_too() -> None:
    program = "import warnings; from workers.logs import log_to; log_to(); warnings.warn('two\\nlines')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    (line,) = map(json.loads, done.stderr.splitlines())
    assert (line["level"], line["from"]) == ("warning", "py.warnings")
    assert "two\nlines" in line["text"]


def test_the_metrics_of_an_empty_store_can_be_read(store: Store) -> None:
    assert read(exposition(store)) == pytest.approx(
        {("smear_workers", "", ""): 0, ("smear_workers_refused", "", ""): 0, ("smear_slots", "", ""): 0}
    )


def test_the_operators_guide_names_only_metrics_that_exist(store: Store) -> None:
    started(store)
    store.announce("coordinator:here", 0, HERE)
    guide = (ROOT / "docs" / "operators.md").read_text("utf-8")
    named = set(re.findall(r"smear_[a-z_]+", guide))
    assert named
    assert named <= {name for name, _, _ in read(exposition(store))}
