"""How commands play on this machine: the executor, how long it may take, the progress that is shown, Ctrl-C."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tournament import seeds
from tournament.cli_common import LocalBot, Refused, notes, say_plain
from tournament.lock import CoordinatorLock
from tournament.models import TournamentState
from tournament.replay import document, to_line
from tournament.results import MatchResult
from tournament.rules import Limits, Rules
from tournament.settings import sqlite_path
from tournament.store import Store
from tournament.wire import MatchTask
from tournament.wording import counted
from workers.check import PROBE_DEALS
from workers.local import LocalExecutor
from workers.local_run import LocalRun, Played
from workers.sandbox.faults import SandboxRefused

WATCH_S: Final = 0.5
EXPECTED_DEALS: Final = 12
"""Deals of a game between bots that bid with sense, for the estimate before a run."""


@contextmanager
def executor_here(jobs: int, *, own: bool) -> Iterator[LocalExecutor]:
    """Gives an executor that plays in the sandbox or, where there is none and bots are one's own, says so and does not.

    Args:
        jobs: how many matches are played side by side.
        own: whether all bots are the house's or files of one's own.

    Raises:
        Refused: there is no sandbox here, and there are bots of others.
    """
    with ExitStack() as stack:
        executor = stack.enter_context(closing(LocalExecutor(jobs)))
        try:
            executor.wait_ready()
        except SandboxRefused as failure:
            if not own:
                raise Refused(f"bots of others are played in the sandbox only: {failure}") from None
            say_plain(str(failure))
            executor.close()
            executor = stack.enter_context(closing(LocalExecutor(jobs, plain=True)))
        yield executor


def expected_s(executor: LocalExecutor, found: list[LocalBot], rules: Rules) -> float:
    """Returns about how long a game takes, from a few deals of each bot against itself."""
    probe = replace(rules, deal_limit=PROBE_DEALS)
    tasks = [
        MatchTask.of("probe", seeds.match_key(probe, [bot.text], 1), probe, Limits(), (bot.player,), match_id=number)
        for number, bot in enumerate(found)
    ]
    played = executor.play(tasks, {bot.source.sha256: bot.source for bot in found})
    seconds = [
        ended.play_s / max(1, ended.games[0].deals) if isinstance(ended, MatchResult) else 0.0 for _, ended in played
    ]
    return EXPECTED_DEALS * sum(seconds) / len(seconds)


def play_queued(
    store: Store, tournament_id: int, executor: Callable[[], AbstractContextManager[LocalExecutor]], again: str
) -> None:
    """Plays a tournament to its end, or shows the progress of whoever holds the database's lock; a pause is over.

    Args:
        store: where its matches are queued.
        tournament_id: which.
        executor: starts what plays them, once it is our turn; not where the holder of the lock plays all.
        again: the command that plays on after an interrupt.

    Raises:
        KeyboardInterrupt: it was interrupted; what was being played is queued again.
    """
    path = sqlite_path(store.url)
    # Windows has no such locks: there whoever starts two runs of one file is not helped.
    locking = nullcontext() if path is None or os.name == "nt" else CoordinatorLock(path)
    with _Progress(store, tournament_id) as progress, locking as lock:
        if watched := lock is not None and not lock.acquire():
            notes.print(f"Process {lock.holder()} plays the matches of this database; this shows its progress.")
            _end_pause(store, tournament_id)
            while store.counts(tournament_id).open and not lock.acquire():
                progress.refresh()
                time.sleep(WATCH_S)
            if not store.counts(tournament_id).open:
                return
        with executor() as started, _noted_interrupts() as interrupts:
            if not watched:  # a pause that began meanwhile is another's doing
                _end_pause(store, tournament_id)
            _play(LocalRun(store, started, tournament_id), store, tournament_id, progress, interrupts)
        if interrupts:
            notes.print(f"Stopped; no finished match is lost. Play on with: {again}")
            raise KeyboardInterrupt


def _end_pause(store: Store, tournament_id: int) -> None:
    if store.tournament(tournament_id).state is TournamentState.PAUSED:
        store.set_state(tournament_id, TournamentState.RUNNING)


def _play(run: LocalRun, store: Store, tournament_id: int, progress: _Progress, interrupts: Sequence[int]) -> None:
    """Plays what is queued, until nothing is left or there is an interrupt."""
    waited = False
    while not interrupts:
        played = run.step(1.0)
        progress.add(played)
        if not played and not run.busy:
            others = store.counts(tournament_id).running
            if not others:
                return
            if not waited:
                notes.print(
                    f"Another process plays {counted(others, 'match')}; what it leaves comes back within minutes."
                )
            waited = True
            progress.refresh()
            time.sleep(WATCH_S)
    run.stop()


@contextmanager
def _noted_interrupts() -> Iterator[list[int]]:
    """Notes each Ctrl-C in the list that it returns: raised in a transaction, it can leave the database locked."""
    noted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: noted.append(number))
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def write_replays(store: Store, tournament_id: int, folder: Path) -> None:
    """Writes the documents of all games, each by rename, so that nobody ever reads half of one."""
    for number, record in store.game_records(tournament_id):
        path = folder / f"{number:06}-{record.seating}.json"
        part = path.with_suffix(".part")
        part.write_text(to_line(document(record)), encoding="utf-8", newline="\n")
        part.replace(path)


class _Progress:
    """The progress of a run on standard error: a bar on a terminal, else a line now and then."""

    def __init__(self, store: Store, tournament_id: int) -> None:
        self._store = store
        self._id = tournament_id
        self._total = store.counts(tournament_id).planned
        self._done = self._told = self._ended()
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=notes,
            disable=not notes.is_terminal,
        )
        self._task = self._bar.add_task("matches", total=self._total, completed=self._done)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def _ended(self) -> int:
        counts = self._store.counts(self._id)
        return counts.finished + counts.failed + counts.cancelled

    def add(self, played: Sequence[Played]) -> None:
        """Counts matches that were recorded, and names the last."""
        self._done += len(played)
        if played:
            self._tell(_result_text(played[-1]))

    def refresh(self) -> None:
        """Counts what somebody else has recorded."""
        self._done = self._ended()
        self._tell("matches")

    def _tell(self, text: str) -> None:
        self._bar.update(self._task, completed=self._done, description=text)
        if self._bar.disable and (self._told == 0 or self._done - self._told >= self._total / 10):
            self._told = self._done
            notes.print(f"{self._done} of {counted(self._total, 'match')}; last {text}")


def _result_text(played: Played) -> str:
    wins = [0] * len(played.task.players)
    for game in played.result.games:
        if game.outcome.winner is not None:
            wins[played.task.seats(game.seating)[game.outcome.winner]] += 1
    return ", ".join(f"{player.bot} {won}" for player, won in zip(played.task.players, wins, strict=True))
