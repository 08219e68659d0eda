"""The commands for tournaments on this machine: demo, run, resume, standings, export."""

from __future__ import annotations

import csv as csv_module
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

import bots as house
from tournament import seeds
from tournament.cli_common import (
    TOURNAMENTS,
    Db,
    Demands,
    Jobs,
    Json,
    LocalBot,
    Refused,
    RulesOptions,
    TournamentId,
    core_count,
    find_bots,
    notes,
    opened,
    out,
    print_json,
    refusals,
    secret_of,
    with_rules,
    without_password,
)
from tournament.cli_local import executor_here, expected_s, play_queued, write_replays
from tournament.environment import demanding, environment, missing
from tournament.models_people import FIRST_ACCOUNT
from tournament.rules import Rules
from tournament.schedule import Entry, games_per_match, schedule
from tournament.store import Store
from tournament.store_cluster import Active
from tournament.store_values import NewEntrant, NewTournament, TournamentInfo
from tournament.wording import counted, duration
from workers.embedded import why_not_here
from workers.local import LocalExecutor
from workers.repeat import environment_here

if TYPE_CHECKING:
    from tournament.table import TableRow

app = typer.Typer()

DEMO_ROUNDS = 10
DEMO_SECRET = "demo"  # noqa: S105  # published: anybody may repeat the demo

Replays = Annotated[Path | None, typer.Option(help="Write every game's replay document into this folder.")]


@app.command(rich_help_panel=TOURNAMENTS)
def demo(db: Db = None, jobs: Jobs = None) -> None:
    """Play a round robin of the house bots and show the standings."""
    _run(find_bots(house.NAMES), Rules.make("cutthroat", players=2), DEMO_ROUNDS, DEMO_SECRET, jobs, db)
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
    _run(found, options.make(len(found)), rounds, secret_of(seed), jobs, db, replays, demand or (), as_json=json)


def _run(
    found: list[LocalBot],
    rules: Rules,
    rounds: int,
    secret: str,
    jobs: int | None,
    db: str | None,
    replays: Path | None = None,
    demands: Sequence[str] = (),
    *,
    as_json: bool = False,
) -> None:
    import tournament.table  # noqa: F401  # fails where there will be no standings, before anything is played

    entries = [Entry(bot.text, number) for number, bot in enumerate(found, start=1)]
    with refusals():
        match_count = sum(1 for _ in schedule(rules, sorted(entries, key=lambda each: each.text), rounds, secret))
        demanded = demanding(demands)
    _make_folder(replays)
    games = match_count * games_per_match(rules, len(found))
    jobs = jobs or core_count()
    with opened(db) as store, executor_here(jobs, own=True) as executor:
        layers = executor.layers or frozenset()
        if lacking := missing(demanded, layers):
            raise Refused(f"this tournament is not played here: {lacking} (tournament doctor says what to do)")
        seconds = expected_s(executor, found, rules) * games / jobs
        notes.print(
            f"{rules.mode}: {counted(match_count, 'match')}, {counted(games, 'game')}, about {duration(seconds)} with "
            f"{counted(jobs, 'job')}."
        )
        new = NewTournament(
            name=f"{rules.mode} {counted(len(found), 'bot')}", rules=rules, rounds=rounds, secret=secret,
            environment={**environment(), **demanded, "layers": sorted(layers)},
        )  # fmt: skip
        entrants = [
            NewEntrant(bot.name, bot.version, bot.source, owner=number, upload_order=number, house=bot.house)
            for number, bot in enumerate(found, start=1)
        ]
        tournament_id = store.create_running(new, entrants)
        notes.print(f"Tournament {tournament_id}; commitment to the secret {seeds.commitment(secret)}")
        play_queued(store, tournament_id, lambda: nullcontext(executor), resume_command(tournament_id, db, replays))
        _say_end(store, tournament_id, replays, as_json=as_json)


@app.command(rich_help_panel=TOURNAMENTS)
def resume(
    tournament: TournamentId = None, jobs: Jobs = None, db: Db = None, replays: Replays = None, json: Json = False
) -> None:
    """Play what is still queued of a tournament, under the environment that it began with."""
    _make_folder(replays)
    with opened(db) as store:
        info = store.tournament(tournament)
        if store.counts(info.id).open:
            executor = partial(_fitting_executor, store, info.id, jobs or core_count())
            play_queued(store, info.id, executor, resume_command(info.id, db, replays))
        else:
            notes.print(f"Tournament {info.id} is {info.state}: nothing is queued.")
        _say_end(store, info.id, replays, as_json=json)


def _fitting_executor(store: Store, tournament_id: int, jobs: int) -> AbstractContextManager[LocalExecutor]:
    """Starts what plays a tournament.

    Raises:
        Refused: it began under another environment than the one here.
    """
    info = store.tournament(tournament_id)
    if reason := why_not_here(store, Active(info.id, info.environment, 0), environment_here()):
        raise Refused(
            f"tournament {info.id} is not played here: {reason}. Its other games were played there, and these "
            "might come out otherwise: resume it under its own environment (tournament doctor tells this one's)"
        )
    own = all(each.owner < FIRST_ACCOUNT for each in store.entrants(info.id))
    return executor_here(jobs, own=own)


def resume_command(tournament_id: int, db: str | None, replays: Path | None) -> str:
    """Returns the command that plays on, with `--db` as it was given, but for its password.

    >>> resume_command(3, "my two.db", None)
    "tournament resume 3 --db 'my two.db'"
    """
    command = ["tournament", "resume", str(tournament_id)]
    if db is not None:
        command += ["--db", without_password(db) if "://" in db else db]
    if replays is not None:
        command += ["--replays", str(replays)]
    return shlex.join(command)


@app.command(rich_help_panel=TOURNAMENTS)
def standings(
    tournament: TournamentId = None,
    db: Db = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    json: Json = False,
) -> None:
    """Show the standings of a tournament."""
    with opened(db) as store:
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

    with opened(db) as store:
        written = export_tournament(PublicStore.beside(store), store.tournament(tournament).id, to)
    out.print(f"Wrote {', '.join(written)} to {to}")


def _print_standings(store: Store, tournament_id: int, *, as_json: bool = False, as_csv: bool = False) -> None:
    from tournament.table import COLUMNS, ladder_of, table

    info, entrants = store.tournament(tournament_id), store.entrants(tournament_id)
    if not entrants:
        raise Refused(f"tournament {tournament_id} has not started: it has no standings")
    ladder = ladder_of(entrants, figures := store.figures(tournament_id), info.anchor)
    rows = table(info.rules, entrants, figures, ladder)
    if as_json:
        print_json([row.to_dict() for row in rows])
    elif as_csv:
        writer = csv_module.writer(sys.stdout, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(row.to_dict().values() for row in rows)
    else:
        out.print(_rich_table(info, rows))
        out.print(ladder.verdict())


def _rich_table(info: TournamentInfo, rows: Sequence[TableRow]) -> Table:
    shown = Table(title=f"{info.rules.mode}, tournament {info.id}", title_justify="left")
    shown.add_column("rank")
    shown.add_column("bot", overflow="fold")
    for name in ("Elo", "95 %", "matches", "games", "pts/deal", "faults"):
        shown.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        rank = f"{row.rank_low}" if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"
        low, high = ("open" if end is None else f"{end:.0f}" for end in (row.low, row.high))
        shown.add_row(
            "prov" if row.provisional else rank,
            f"{row.bot}:{row.version}",
            f"{row.rating:.0f}",
            f"{low} – {high}",
            str(row.matches),
            str(row.games),
            "–" if row.points_per_deal is None else f"{row.points_per_deal:.2f}",
            str(row.faults),
        )
    return shown


def _say_end(store: Store, tournament_id: int, replays: Path | None, *, as_json: bool) -> None:
    if replays is not None:
        write_replays(store, tournament_id, replays)
    _print_standings(store, tournament_id, as_json=as_json)
    info, counts = store.tournament(tournament_id), store.counts(tournament_id)
    if counts.failed:
        notes.print(f"Through our fault {counted(counts.failed, 'match')} failed; nobody is charged.", style="red")
    if info.secret_is_out:
        notes.print(f"The secret is {info.secret}")
    if counts.failed:
        raise typer.Exit(3)


def _make_folder(folder: Path | None) -> None:
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
