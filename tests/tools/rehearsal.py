"""Rehearses a contest of generated bots on this machine: expected and true duration, and how fast pages are meanwhile.

    python -m tests.tools.rehearsal --bots 60 --budget 5min --jobs 2

Every bot is handed in, checked in the sandbox, entered, and played by `tournament serve`.
"""

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from urllib.request import urlopen

from tests.people.people import contestant
from tournament import contest
from tournament.cli_common import house_entrants
from tournament.cli_contest import forecast_text
from tournament.models import TournamentState
from tournament.planning import Plan, duration_of
from tournament.replay import Player
from tournament.rules import Rules
from tournament.source import BotSource
from tournament.store import Store
from tournament.store_submissions import NewSubmission
from tournament.store_values import NewTournament
from workers.checker import Checker, ChildJudge

PAGES = ("/", "/standings", "/head-to-head", "/matches", "/tournaments/1", "/tournaments/1/fairness", "/bots/bot07")
PAUSE_S = 5.0


def source_of(number: int) -> BotSource:
    """Writes a bot: how bold it bids, how high it plays, and how long it thinks are its own."""
    chance = random.Random(number)
    bold, high, work = chance.random(), chance.random(), chance.choice((0, 0, 200, 1000, 4000))
    return BotSource.of_file(
        f"""
import random

class Bot:
    def bid(self, view):
        sum(range({work}))
        suits = [sum(card.rank for card in view.hand if card.suit == suit) for suit in "CDHS"]
        wanted = 2 if max(suits) > {20 + 20 * (1 - bold):.1f} else 0
        return wanted if wanted in view.legal else 0

    def play(self, view):
        sum(range({work}))
        order = sorted(view.legal, key=lambda card: card.rank)
        return order[-1] if random.random() < {high:.3f} else order[0]
""".encode()
    )


def main() -> None:
    """Runs the rehearsal and prints its figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bots", type=int, default=60)
    parser.add_argument("--budget", default="5min")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--port", type=int, default=8765)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, closing(Store(str(Path(folder, "rehearsal.db")))) as store:
        store.migrate()
        rehearse(store, given)


def rehearse(store: Store, given: argparse.Namespace) -> None:
    """Hands in, checks, starts, and watches until all is played."""
    rules = Rules.make("cutthroat", players=given.players)
    plan = Plan(("simple", "random"), duration_of(given.budget), given.jobs)
    tournament = store.create(NewTournament("rehearsal", rules, 1, contest.new_secret(), plan=plan))
    began_s = time.monotonic()
    for number in range(given.bots):
        account, _ = contestant(store, f"Person {number}")
        store.submit(NewSubmission(account, f"bot{number:02}", "bot.py", source_of(number)), ())
    (house,) = house_entrants(["simple"])
    assert house.source is not None
    judge = ChildJudge()
    checker = Checker(store, (Player(house.name, house.version, house.source.sha256), house.source), judge)
    while store.waiting()[0]:
        checker.step()
    judge.close()
    accepted = len(store.entries())
    print(f"{accepted} of {given.bots} bots accepted in {time.monotonic() - began_s:.0f} s")
    found = contest.start(store, tournament, house_entrants, now=store.now())
    print(forecast_text(found))
    command = [sys.executable, "-m", "tournament", "serve", "--port", str(given.port), "--jobs", str(given.jobs)]
    environment = {**os.environ, "TOURNAMENT_DATABASE_URL": store.url, "PYTHONPATH": str(Path.cwd())}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as server:
        slowest = watch(store, tournament, f"http://127.0.0.1:{given.port}")
        server.send_signal(signal.SIGTERM)
    info, counts = store.tournament(tournament), store.counts(tournament)
    assert info.started_at is not None
    assert info.finished_at is not None
    took_s = info.finished_at - info.started_at
    print(f"expected {found.expected_s:.0f} s, took {took_s:.0f} s: {counts}")
    for page, times in slowest.items():
        median_ms, worst_ms = (1000 * each for each in (statistics.median(times), max(times)))
        print(f"{page}: {len(times)} times, median {median_ms:.0f} ms, worst {worst_ms:.0f} ms")


def watch(store: Store, tournament: int, base: str) -> dict[str, list[float]]:
    """Opens the pages again and again until the tournament has ended; returns how long each took."""
    times: dict[str, list[float]] = {page: [] for page in PAGES}
    while store.tournament(tournament).state is TournamentState.RUNNING:
        for page in PAGES:
            began_s = time.monotonic()
            try:
                with urlopen(base + page) as answer:  # the loopback address above
                    answer.read()
            except OSError:
                continue  # it is still starting
            times[page].append(time.monotonic() - began_s)
        time.sleep(PAUSE_S)
    return {page: found for page, found in times.items() if found}


if __name__ == "__main__":
    main()
