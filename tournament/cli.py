"""The command `tournament`: puts the parts together."""

from __future__ import annotations

import os
import sys
from bdb import BdbQuit
from collections.abc import Callable
from io import TextIOWrapper

import typer

from tournament.cli_common import CONTESTS, TOURNAMENTS, notes
from tournament.cli_errors import line_of
from workers.sandbox.faults import SandboxFailure

LIGHT = frozenset({"new", "check", "play", "replay", "reproduce", "verify", "join", "submit", "worker"})
"""Commands that need neither the store nor the ratings: they start in a fraction of the time without them."""


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
    parts = [cli_bots.app, cli_play.app, cli_remote.app]
    functions: tuple[Callable[..., None], ...] = ()
    if command not in LIGHT:
        from tournament import cli_bench, cli_compare, cli_contest, cli_people, cli_ratings, cli_run, cli_servers

        parts += [cli_compare.app, cli_run.app, cli_servers.app]
        functions = cli_ratings.rate, cli_ratings.sprt, cli_bench.bench
        app.add_typer(cli_contest.app, name="contest", rich_help_panel=CONTESTS)
        app.add_typer(cli_people.app, name="contestant", rich_help_panel=CONTESTS)
    for part in (*parts, cli_worker.app):
        app.registered_commands += part.registered_commands
    for function in functions:
        app.command(rich_help_panel=TOURNAMENTS)(function)
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
        sys.exit(3)
    except Exception as error:
        line = line_of(error)
        if line is None:
            raise
        if line:
            notes.print(f"tournament: {line}", style="red")
        sys.exit(2)
