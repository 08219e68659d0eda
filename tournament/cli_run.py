"""The commands for tournaments on this machine: demo, run, resume, standings, export."""

from __future__ import annotations

import csv as csv_module
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import bots as house
from tournament import seeds
from tournament.cli_common import (
    TOURNAMENTS,
    Demands,
    LocalBot,
    Refused,
    RulesOptions,
    find_bots,
    notes,
    out,
    print_json,
    say_plain,
    secret_of,
    with_rules,
)
from tournament.environment import demanding, missing
from tournament.lock import CoordinatorLock
from tournament.models import TournamentState
from tournament.models_people import FIRST_ACCOUNT
from tournament.replay import GameRecord, document, to_line
from tournament.results import MatchResult
from tournament.rules import Limits, Rules
from tournament.schedule import Entry, schedule
from tournament.settings import Settings, sqlite_path
from tournament.store import Store
from tournament.store_values import NewEntrant, NewTournament, TournamentInfo
from tournament.wire import MatchTask
from workers.check import PROBE_DEALS
from workers.local import LocalExecutor
from workers.local_run import LocalRun, Played
from workers.sandbox.faults import SandboxRefused

if TYPE_CHECKING:
    from tournament.table import TableRow

try:
    import fcntl
except ImportError:  # not on Windows: matches are coordinated on Linux only
    fcntl = None  # type: ignore[assignment]

app = typer.Typer()

WATCH_S = 0.5
DEMO_ROUNDS = 10
DEMO_SECRET = "demo"  # noqa: S105  # published: anybody may repeat the demo
EXPECTED_DEALS = 12
"""Deals of a game between bots that bid with sense, for the estimate before a run."""

Db = Annotated[str | None, typer.Option(help="Database: an SQLite file or a PostgreSQL address.", show_default=False)]
Jobs = Annotated[
    int | None, typer.Option(help="Matches side by side (default: one a core).", min=1, show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]
TournamentId = Annotated[
    int | None, typer.Argument(help="The tournament's number (default: the newest).", show_default=False)
]
Replays = Annotated[Path | None, typer.Option(help="Write every game's replay document into this folder.")]


def open_store(db: str | None) -> Store:
    """Opens the store that `--db` or the environment names, its tables up to date."""
    store = Store(Settings.from_environment(os.environ, db).database_url)
    store.migrate()
    return store


@app.command(rich_help_panel=TOURNAMENTS)
def demo(db: Db = None, jobs: Jobs = None) -> None:
    """Play a round robin of the house bots and show the standings."""
    rules = Rules.make("cutthroat", players=2)
    _run(find_bots(house.NAMES), rules, DEMO_ROUNDS, DEMO_SECRET, jobs, db, None)
    out.print("\nNext, with `. .venv/bin/activate`: write your own bot and play it against the house:")
    out.print("  tournament new my_bot.py && tournament check my_bot.py && tournament play my_bot.py simple")
    out.print("Look at the games in a browser:")
    out.print("  python3 .ci/bootstrap.py with server tournament serve")


@app.command(rich_help_panel=TOURNAMENTS)
@with_rules
def run(
    bots: Annotated[list[str], typer.Argument(help="Bots, by path or house name.")],
    options: RulesOptions,
    rounds: Annotated[int, typer.Option(help="How often the round robin is played.", min=1)] = 25,
    seed: Annotated[str | None, typer.Option(help="The secret's text; else 32 random bytes.")] = None,
    demand: Demands = None,
    jobs: Jobs = None,
    db: Db = None,
    replays: Replays = None,
    json: Json = False,
) -> None:
    """Play a round robin of bots on this machine's cores and show the standings."""
    found = find_bots(bots)
    texts = [bot.text for bot in found]
    for text in texts:
        if texts.count(text) > 1:
            raise Refused(f"{text} is named twice: expected each bot once")
    _run(found, options.make(), rounds, secret_of(seed), jobs, db, replays, demand or [], as_json=json)


def _run(
    found: list[LocalBot],
    rules: Rules,
    rounds: int,
    secret: str,
    jobs: int | None,
    db: str | None,
    replays: Path | None,
    demands: Sequence[str] = (),
    *,
    as_json: bool = False,
) -> None:
    import tournament.table  # noqa: F401  # fails where there will be no standings, before anything is played

    entries = [Entry(bot.text, number) for number, bot in enumerate(found, start=1)]
    try:
        match_count = sum(1 for _ in schedule(rules, sorted(entries, key=lambda each: each.text), rounds, secret))
    except ValueError as error:
        raise Refused(str(error)) from None
    try:
        environment = demanding(demands)
    except ValueError as error:
        raise Refused(f"--demand: {error}") from None
    make_folder(replays)
    games = match_count * len(seeds.seatings(rules, min(len(found), rules.side_count)))
    jobs = jobs or core_count()
    with closing(open_store(db)) as store, closing(Players(jobs)) as players:
        seconds = players.expected_s(found, rules) * games / jobs
        layers = players.executor().layers or frozenset()
        _demand(environment, layers)
        notes.print(f"{rules.mode}: {match_count} matches, {games} games, about {duration(seconds)} with {jobs} jobs.")
        new = NewTournament(
            name=f"{rules.mode} {len(found)} bots", rules=rules, rounds=rounds, secret=secret,
            environment={**environment, "layers": sorted(layers)},
        )  # fmt: skip
        entrants = [
            NewEntrant(bot.name, bot.version, bot.source, owner=number, upload_order=number, house=bot.house)
            for number, bot in enumerate(found, start=1)
        ]
        tournament_id = store.create_running(new, entrants)
        notes.print(f"Tournament {tournament_id}; commitment to the secret {seeds.commitment(secret)}", soft_wrap=True)
        _play(store, tournament_id, players, replays)
        _print_standings(store, tournament_id, as_json=as_json)
        _say_end(store, tournament_id)


@app.command(rich_help_panel=TOURNAMENTS)
def resume(
    tournament: TournamentId = None, jobs: Jobs = None, db: Db = None, replays: Replays = None, json: Json = False
) -> None:
    """Play what is still queued of a tournament."""
    make_folder(replays)
    with closing(open_store(db)) as store:
        info = store.tournament(tournament)
        with closing(Players(jobs or core_count())) as players:
            if store.counts(info.id).open:
                if info.environment.get("demands"):
                    from workers.sandbox.host import layers_here

                    _demand(info.environment, layers_here())
                if info.state is TournamentState.PAUSED:
                    store.set_state(info.id, TournamentState.RUNNING)
                _play(store, info.id, players, replays)
            else:
                notes.print(f"Tournament {info.id} is {info.state}: nothing is queued.")
        _print_standings(store, info.id, as_json=json)
        _say_end(store, info.id)


@app.command(rich_help_panel=TOURNAMENTS)
def standings(
    tournament: TournamentId = None,
    db: Db = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    json: Json = False,
) -> None:
    """Show the standings of a tournament."""
    with closing(open_store(db)) as store:
        _print_standings(store, store.tournament(tournament).id, as_json=json, as_csv=csv)


@app.command(rich_help_panel=TOURNAMENTS)
def export(
    to: Annotated[Path, typer.Option(help="The folder to write; it is made if it is not there.")],
    tournament: TournamentId = None,
    db: Db = None,
) -> None:
    """Write all that others need to check a tournament; while standings are held, what ended before."""
    from tournament.export import export_tournament
    from tournament.store_public import PublicStore

    with closing(open_store(db)) as store:
        written = export_tournament(PublicStore.beside(store), store.tournament(tournament).id, to)
    out.print(f"Wrote {', '.join(written)} to {to}", markup=False)


def _demand(environment: Mapping[str, Any], layers: frozenset[str]) -> None:
    """Refuses to play where a layer of the sandbox is missing that the tournament demands.

    Raises:
        Refused: a demanded layer is missing.
    """
    if lacking := missing(environment, layers):
        raise Refused(f"this tournament is not played here: {lacking} (tournament doctor says what to do)")


class Players:
    """The executor of a command, made when it is needed, in the sandbox or, where there is none, without."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._executor: LocalExecutor | None = None

    def executor(self, *, plain: bool = False) -> LocalExecutor:
        """Returns the executor, started if it is not yet."""
        if self._executor is None:
            self._executor = LocalExecutor(self.jobs, plain=plain)
        return self._executor

    def without_sandbox(self, reason: str) -> LocalExecutor:
        """Says why there is no sandbox here, and starts anew without one."""
        say_plain(reason)
        self.close()
        return self.executor(plain=True)

    def close(self) -> None:
        """Ends the executor."""
        if self._executor is not None:
            self._executor.close()
            self._executor = None

    def expected_s(self, found: list[LocalBot], rules: Rules) -> float:
        """Returns about how long a game takes, from a few deals of each bot against itself."""
        try:
            return self._probe(found, rules)
        except SandboxRefused as failure:
            self.without_sandbox(str(failure))
            return self._probe(found, rules)

    def _probe(self, found: list[LocalBot], rules: Rules) -> float:
        probe = Rules.from_dict({**rules.to_dict(), "deal_limit": PROBE_DEALS})
        sources = {bot.source.sha256: bot.source for bot in found}
        waiting = list(enumerate(found))
        seconds: list[float] = []
        executor = self.executor()
        while len(seconds) < len(found):
            while waiting and executor.free:
                number, bot = waiting.pop()
                key = seeds.match_key(probe, [bot.text], 1)
                task = MatchTask.of(DEMO_SECRET, key, probe, Limits(), (bot.player,), match_id=number)
                executor.submit(task, sources)
            for ended in executor.poll(1.0):
                deals = max(1, ended.games[0].deals) if isinstance(ended, MatchResult) else 1
                seconds.append(ended.play_s / deals if isinstance(ended, MatchResult) else 0.0)
        return EXPECTED_DEALS * sum(seconds) / len(seconds)


def _play(store: Store, tournament_id: int, players: Players, replays: Path | None) -> None:
    """Plays a tournament to its end, or shows the progress of whoever holds the database's lock."""
    path = sqlite_path(store.url)
    with _Shown(store, tournament_id) as shown, closing_lock(path) as lock:
        if lock is not None and not lock.acquire():
            notes.print(f"Process {lock.holder()} plays the matches of this database; this shows its progress.")
            while store.counts(tournament_id).open and not lock.acquire():
                shown.refresh()
                time.sleep(WATCH_S)
        written = _play_here(store, tournament_id, players, replays, shown)
    if replays is not None:
        for number, record in store.game_records(tournament_id):
            if (number, record.seating) not in written:
                _write_replay(replays, number, record)


def _play_here(
    store: Store, tournament_id: int, players: Players, replays: Path | None, shown: _Shown
) -> set[tuple[int, int]]:
    """Plays what is queued; returns match and seating of the games whose documents it wrote."""
    written: set[tuple[int, int]] = set()
    waited = False
    with noted_interrupts() as interrupts:
        run = LocalRun(store, players.executor(), tournament_id)
        while not interrupts:
            try:
                played = run.step(1.0)
            except SandboxRefused as failure:
                run.stop()
                if any(each.owner >= FIRST_ACCOUNT for each in store.entrants(tournament_id)):
                    raise Refused(f"bots of others are played in the sandbox only: {failure}") from None
                run = LocalRun(store, players.without_sandbox(str(failure)), tournament_id)
                continue
            if not played and not run.busy:
                others = store.counts(tournament_id).running
                if not others:
                    return written
                if not waited:
                    notes.print(f"{others} matches are played by another process, or come back from it within minutes.")
                waited = True
                shown.refresh()
                time.sleep(WATCH_S)
            for each in played if replays is not None else ():
                for game in each.result.games:
                    faults = tuple(report.fault for report in game.reports)
                    _write_replay(replays, each.match.number, each.task.record(game.seating, game.acts, faults))
                    written.add((each.match.number, game.seating))
            shown.add(played)
        run.stop()
        notes.print("Stopped; no finished match is lost. Play on with: tournament resume")
    raise KeyboardInterrupt


@contextmanager
def noted_interrupts() -> Iterator[list[int]]:
    """Notes each Ctrl-C in the list that it returns: raised in a transaction, it can leave the database locked."""
    noted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: noted.append(number))
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def _write_replay(folder: Path | None, number: int, record: GameRecord) -> None:
    """Writes a game's document by rename, so that nobody ever reads half of one."""
    assert folder is not None
    path = folder / f"{number:06}-{record.seating}.json"
    part = path.with_suffix(".part")
    part.write_text(to_line(document(record)), encoding="utf-8", newline="\n")
    part.replace(path)


class _Shown:
    """The progress of a run on standard error: a bar on a terminal, else a line now and then."""

    def __init__(self, store: Store, tournament_id: int) -> None:
        self._store = store
        self._id = tournament_id
        counts = store.counts(tournament_id)
        self._total, self._done = counts.planned, counts.finished + counts.failed + counts.cancelled
        self._told = self._done
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

    def add(self, played: Sequence[Played]) -> None:
        """Counts matches that were recorded, and names the last."""
        self._done += len(played)
        if played:
            self._tell(_result_text(played[-1]))

    def refresh(self) -> None:
        """Counts what somebody else has recorded."""
        counts = self._store.counts(self._id)
        self._done = counts.finished + counts.failed + counts.cancelled
        self._tell("matches")

    def _tell(self, text: str) -> None:
        self._bar.update(self._task, completed=self._done, description=text)
        if self._bar.disable and (self._told == 0 or self._done - self._told >= self._total / 10):
            self._told = self._done
            notes.print(f"{self._done} of {self._total} matches; last {text}", markup=False)


def _result_text(played: Played) -> str:
    names = [f"{player.bot}" for player in played.task.players]
    wins = [0] * len(names)
    for game in played.result.games:
        seats = played.task.seats(game.seating)
        if game.outcome.winner is not None:
            wins[seats[game.outcome.winner]] += 1
    return ", ".join(f"{name} {won}" for name, won in zip(names, wins, strict=True))


@contextmanager
def closing_lock(path: Path | None) -> Iterator[CoordinatorLock | None]:
    """Makes the lock of an SQLite file, None for other databases or where there are no locks, and releases it."""
    if path is None or fcntl is None:
        yield None
        return
    with CoordinatorLock(path) as lock:
        yield lock


def _print_standings(store: Store, tournament_id: int, *, as_json: bool = False, as_csv: bool = False) -> None:
    from tournament.table import COLUMNS, ladder_of, table

    info, entrants = store.tournament(tournament_id), store.entrants(tournament_id)
    if not entrants:
        raise Refused(f"tournament {tournament_id} has not started: it has no standings")
    ladder = ladder_of(entrants, figures := store.figures(tournament_id), info.anchor)
    games = len(seeds.seatings(info.rules, min(len(entrants), info.rules.side_count)))
    rows = table(entrants, figures, ladder, games)
    if as_json:
        print_json([row.to_dict() for row in rows])
    elif as_csv:
        writer = csv_module.writer(sys.stdout, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(row.to_dict().values() for row in rows)
    else:
        _print_table(info, rows, ladder.verdict())


def _print_table(info: TournamentInfo, rows: Sequence[TableRow], verdict: str) -> None:
    shown = Table(title=f"{info.rules.mode}, tournament {info.id}", title_justify="left")
    shown.add_column("rank")
    shown.add_column("bot", overflow="fold")
    for name in ("Elo", "95 %", "matches", "games", "pts/deal", "faults"):
        shown.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        rank = f"{row.rank_low}" if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"
        low, high = ("open" if end is None else f"{end:.0f}" for end in (row.low, row.high))
        shown.add_row(
            "prov." if row.provisional else rank,
            f"{row.bot}:{row.version}",
            f"{row.rating:.0f}",
            f"{low} – {high}",
            str(row.matches),
            str(row.games),
            "–" if row.points_per_deal is None else f"{row.points_per_deal:.2f}",
            str(row.faults),
        )
    out.print(shown)
    out.print(verdict, markup=False)


def _say_end(store: Store, tournament_id: int) -> None:
    info, counts = store.tournament(tournament_id), store.counts(tournament_id)
    if counts.failed:
        notes.print(f"{counts.failed} matches failed through our fault and count for nobody.", style="red")
    if info.secret_is_out:
        notes.print(f"The secret is {info.secret}", markup=False)
    if counts.failed:
        raise typer.Exit(3)


def make_folder(folder: Path | None) -> None:
    """Makes the folder of `--replays` before anything is played for it.

    Raises:
        Refused: it cannot be made or written.
    """
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"--replays {folder}: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise Refused(f"--replays {folder}: cannot be written")


def core_count() -> int:
    """Returns how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def duration(seconds: float) -> str:
    """Returns a time as people say it."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
