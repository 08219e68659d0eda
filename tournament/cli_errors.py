"""What stops a command, in one line: wrong usage or input, a missing extra, a file or database that cannot be used."""

from __future__ import annotations

import sys
from typing import Final

import typer

from tournament.cli_common import Refused
from tournament.intake import UploadRefused
from tournament.remote import RemoteError
from tournament.settings import SettingsError

_USAGE: Final = typer.BadParameter.__mro__[1]
"""The base of all errors in how a command was called; Typer gives it no name of its own."""

_EXTRAS: Final = {
    "ratings": {"numpy", "scipy"},
    "server": {"fastapi", "jinja2", "segno", "uvicorn"},
    "distributed": {"celery", "psycopg", "redis"},
}
"""The extras of `pyproject.toml`, and the modules that they bring."""


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
