"""The commands of the organiser for people: `contestant add`, `link`, `list`, `rename`, `replace`, `erase`."""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from tournament import tokens
from tournament.cli_common import Db, Json, Refused, notes, opened, out, print_json, refusals
from tournament.models_people import InviteKind
from tournament.people import AccountInfo, names_of
from tournament.settings import Settings
from tournament.store import Store

app = typer.Typer(no_args_is_help=True, help="Accounts: add, list, rename, replace a token, erase.")

HOUR_S: Final = 3600.0
_LOOPBACK: Final = "http://127.0.0.1:8000"

Base = Annotated[
    str | None, typer.Option(help="Address that links begin with (default: TOURNAMENT_PUBLIC_URL, else loopback).")
]
Who = Annotated[str, typer.Argument(help="The display name of the account.")]


@app.command()
def add(
    name: Annotated[str | None, typer.Argument(help="The display name: of one, or of a team.")] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Names in the first column, a line for each.")] = None,
    links: Annotated[Path | None, typer.Option(help="Write name and link of each into this CSV file.")] = None,
    base: Base = None,
    db: Db = None,
) -> None:
    """Add an account, or one for each line of a CSV file, and give a link with which its owner gets a token."""
    if (name is None) == (csv_file is None):
        raise Refused("contestant add: expected a name, or --csv and a file")
    names = [name] if name is not None else _names(csv_file)
    base = _base(base)
    with opened(db) as store:
        with refusals():
            added = store.add_accounts(names, by=None)
        codes = [store.hand_over(account, by=None) for account in added]
        rows = [(each, f"{base}/join/{code}") for each, code in zip(names, codes, strict=True)]
    if links is None:
        for each, link in rows:
            out.print(f"{each}: {link}")
        return
    with links.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("name", "link"))
        # What a spreadsheet would take for a formula is marked as text.
        writer.writerows((f"'{each}" if each[0] in "=+-@" else each, link) for each, link in rows)
    out.print(f"{len(rows)} accounts; their links are in {links}")


@app.command(name="link")
def join_link(
    cap: Annotated[int, typer.Option(help="How many may join with it.", min=1)] = 60,
    hours: Annotated[float, typer.Option(help="For how long.", min=0)] = 24.0,
    base: Base = None,
    db: Db = None,
) -> None:
    """Make one link with which many can join."""
    with opened(db) as store:
        code = tokens.new_code(os.urandom)
        store.invite(code, InviteKind.JOIN, by=None, cap=cap, ends_at=store.now() + hours * HOUR_S)
    out.print(f"{_base(base)}/join/{code}")


@app.command(name="list")
def list_accounts(db: Db = None, json: Json = False) -> None:
    """List the accounts."""
    with opened(db) as store:
        accounts = store.accounts()
    rows = [
        {"id": each.id, "name": each.name, "role": str(each.role), "bots": each.bots, "submissions": each.submissions}
        for each in accounts
    ]
    if json:
        print_json(rows)
        return
    for row in rows:
        out.print(f"{row['id']}  {row['role']:<10}  {row['name']}")


@app.command()
def rename(who: Who, name: Annotated[str, typer.Argument(help="The new one.")], db: Db = None) -> None:
    """Change a display name."""
    with opened(db) as store, refusals():
        store.rename(store.find_account(who).id, name, by=None)


@app.command()
def replace(who: Who, base: Base = None, db: Db = None) -> None:
    """End all tokens of an account, as when one was lost, and give a link for a new one."""
    with opened(db) as store:
        account = _account(store, who)
        store.revoke_all(account.id, by=None)
        out.print(f"{_base(base)}/join/{store.hand_over(account.id, by=None)}")


@app.command()
def erase(who: Who, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False, db: Db = None) -> None:
    """Replace an account, its name, its sources and texts; its bots' names and games stay."""
    with opened(db) as store:
        account = _account(store, who)
        if not yes and not typer.confirm(f"Erase {account.name}, {account.submissions} submissions, for good?"):
            raise typer.Exit(1)
        store.erase(account.id, by=None)


def _account(store: Store, name: str) -> AccountInfo:
    with refusals():  # bytes that are no text, which no database takes
        return store.find_account(name)


def claim_line(store: Store, base: str) -> str | None:
    """Returns the line that a server prints when nobody has claimed it yet; the code of before is no longer good."""
    if store.has_organiser():
        return None
    code = tokens.new_code(os.urandom)
    store.invite(code, InviteKind.CLAIM, by=None)
    return f"Nobody organises here yet. Claim this installation: {base}/join/{code}"


def _names(path: Path | None) -> list[str]:
    assert path is not None
    try:
        with sys.stdin if str(path) == "-" else path.open(encoding="utf-8-sig", newline="") as file:
            return names_of(file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Refused(f"{path}: cannot be read: {error}") from None


def _base(base: str | None) -> str:
    base = base or Settings.from_environment(os.environ).public_url
    if not base:
        notes.print(f"Links begin with {_LOOPBACK}: for others give --base and the address that `serve` printed.")
    return (base or _LOOPBACK).rstrip("/")
