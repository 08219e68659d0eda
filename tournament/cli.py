"""The command `tournament`: puts the parts together, and says in one line what stops a command."""

from __future__ import annotations

import os
import sys
from bdb import BdbQuit
from io import TextIOWrapper
from typing import Final

import typer

from tournament.cli_common import CONTESTS, TOURNAMENTS, Refused, notes
from tournament.intake import UploadRefused
from tournament.remote import RemoteError
from tournament.settings import SettingsError
from workers.sandbox.faults import SandboxFailure

LIGHT = frozenset({"new", "check", "play", "replay", "reproduce", "verify", "join", "submit", "worker"})
"""Commands that need neither the store nor the ratings: they start in a fraction of the time without them."""

_USAGE: Final = typer.BadParameter.__mro__[1]
"""The base of all errors in how a command was called; Typer gives it no name of its own."""

_EXTRAS: Final = {
    "ratings": {"numpy", "scipy"},
    "server": {"fastapi", "jinja2", "segno", "uvicorn"},
    "distributed": {"celery", "psycopg", "redis"},
}
"""The extras of `pyproject.toml`, and the modules that they bring."""


def make_app(command: str = "") -> typer.Typer:
    """Makes the command line; with one of the `LIGHT` commands only what that needs is imported."""
    from tournament import cli_bots, cli_play, cli_remote, cli_worker

    app = typer.Typer(
        name="tournament",
        help="Round robins for programs that play Canadian and Wisconsin Smear.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    parts = [cli_bots.app, cli_play.app, cli_remote.app, cli_worker.app]
    if command not in LIGHT:
        from tournament import cli_bench, cli_compare, cli_contest, cli_people, cli_ratings, cli_run, cli_servers

        parts += [cli_compare.app, cli_run.app, cli_ratings.app, cli_servers.app]
        app.command(rich_help_panel=TOURNAMENTS)(cli_bench.bench)
        app.add_typer(cli_contest.app, name="contest", rich_help_panel=CONTESTS)
        app.add_typer(cli_people.app, name="contestant", rich_help_panel=CONTESTS)
    for part in parts:
        app.registered_commands += part.registered_commands
    return app


def one_flag_each(arguments: list[str]) -> list[str]:
    """Writes several bots behind `--against` as a flag for each, which the parser knows.

    >>> one_flag_each(["compare", "a", "b", "--against", "x", "y", "--jobs", "1"])
    ['compare', 'a', 'b', '--against', 'x', '--against', 'y', '--jobs', '1']
    """
    repeated: list[str] = []
    option = ""
    for argument in arguments:
        if argument.startswith("-"):
            option = argument
        elif option == "--against" and repeated[-1] != option:
            repeated.append(option)
        repeated.append(argument)
    return repeated


def line_of(error: Exception) -> str | None:
    """Returns what to tell the user of an error, None if it is a mistake of the program's own; empty if all is said."""
    if isinstance(error, Refused | RemoteError | SettingsError | UploadRefused):
        return str(error)
    if isinstance(error, _USAGE):
        return _usage(error)
    if isinstance(error, ModuleNotFoundError):
        module = (error.name or "").partition(".")[0]
        extra = next((extra for extra, modules in _EXTRAS.items() if module in modules), None)
        return extra and f"this needs {module}: install the extra `{extra}`"
    if isinstance(error, OSError):
        return None if error.filename is None else f"{error.filename}: {error.strerror}"
    return _of_database(error) if "sqlalchemy" in sys.modules else None


def _usage(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    message = " ".join(str(getattr(error, "format_message", error.__str__)()).split())
    where = getattr(context, "command_path", "tournament").removeprefix("tournament").strip()
    # Where a command was called without anything, its help has been printed already.
    return message and f"{message.rstrip('.')} (see {' '.join(filter(None, ('tournament', where, '--help')))})"


def _of_database(error: Exception) -> str | None:
    from alembic.util import CommandError
    from sqlalchemy.exc import ArgumentError, DatabaseError

    from tournament.store_database import UNUSABLE, StoreError

    if isinstance(error, StoreError):
        return str(error)
    # Its other subclasses are wrong statements: mistakes of ours.
    if isinstance(error, UNUSABLE) or type(error) is DatabaseError:
        return f"the database cannot be used: {' '.join(str(error.orig).split())}"
    if isinstance(error, CommandError):
        return f"the database cannot be used: another version of this program made it ({error})"
    if isinstance(error, ArgumentError):
        return "the database address cannot be read: expected a path or postgresql://USER@HOST/NAME"
    return None


def main() -> None:
    """Runs the command; wrong input gets one line and exit status 2, never a stack trace."""
    # The ladder's matrices gain nothing from more threads, and on a busy machine threads that wait for each other took
    # a hundred times longer. Numpy reads this when it is imported, here and in the processes that are started.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # into a pipe, Windows writes in an encoding of few characters
            stream.reconfigure(errors="replace")
    arguments = one_flag_each(sys.argv[1:])
    try:
        sys.exit(make_app(*arguments[:1])(arguments, prog_name="tournament", standalone_mode=False))
    except (KeyboardInterrupt, BdbQuit):  # Ctrl-C, or the debugger was left
        sys.exit(130)
    except typer.Abort:
        sys.exit(1)
    except SandboxFailure as failure:
        notes.print(f"tournament: the sandbox failed: {failure}", style="red")
        sys.exit(4)  # none of the statuses with which `compare` and `submit` answer
    except Exception as error:
        line = line_of(error)
        if line is None:
            raise
        if line:
            notes.print(f"tournament: {line}", style="red")
        sys.exit(2)
