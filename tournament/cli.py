"""The command `tournament`: puts the parts together."""

from __future__ import annotations

import sys

import typer

from tournament import cli_bots, cli_compare, cli_ratings, cli_run
from tournament.cli_common import TOURNAMENTS, Refused, notes
from tournament.intake import UploadRefused
from tournament.settings import SettingsError
from tournament.store import StoreError
from workers.sandbox.faults import SandboxFailure

app = typer.Typer(
    name="tournament",
    help="Round robins for programs that play Canadian and Wisconsin Smear.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for part in (cli_bots, cli_compare, cli_run):
    app.registered_commands += part.app.registered_commands
for command in (cli_ratings.rate, cli_ratings.sprt):
    app.command(rich_help_panel=TOURNAMENTS)(command)


def main() -> None:
    """Runs the command; wrong input gets one line and exit status 2, never a stack trace."""
    try:
        app()
    except (Refused, SettingsError, StoreError, UploadRefused) as error:
        notes.print(f"tournament: {error}", style="red", markup=False)
        sys.exit(2)
    except SandboxFailure as failure:
        notes.print(f"tournament: the sandbox failed: {failure}", style="red", markup=False)
        sys.exit(3)
    except KeyboardInterrupt:
        sys.exit(130)
