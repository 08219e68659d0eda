"""Accounts, codes and the settings of the site: what the store does for people.

Codes come in as they are and are stored as hashes. Every change that somebody may ask about later is
written to the audit log in the same transaction, by numbers and never by names, so that erasing leaves nothing there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, text, update

from tournament import tokens
from tournament.models_people import (
    FIRST_ACCOUNT,
    OPEN_STATES,
    InviteKind,
    Role,
)
from tournament.people import SCOPES, AccountInfo, Identity, InviteInfo, SiteOptions
from tournament.source import BotSource
from tournament.store_database import NotFound, StoreError, WrongState, change_row, change_where, clock, put_row
from tournament.store_state import OPEN
from tournament.store_tables import ACCOUNT, BOT, ENTRANT, FAULT, INVITE, MATCH, OPTION, SOURCE, SUBMISSION, TOKEN
from tournament.store_tokens import Tokens, add_token, drop_tokens, living, note
from tournament.store_values import value_of
from tournament.tokens import NewToken

_ORGANISERS: Final = select(ACCOUNT.c.id).where(ACCOUNT.c.role == Role.ORGANISER).limit(1)
_ERASED: Final = BotSource.of_file(b"# The contestant who wrote this was erased.\n")


class NameTaken(StoreError):
    """Another account goes by a name that reads the same."""


class People(Tokens):
    """What is done for accounts; every method is one transaction."""

    # Settings of the site --------------------------------------------------------------------------------------

    def options(self) -> SiteOptions:
        """Returns what the organiser has set."""
        with self.read() as connection:
            return options_of(connection)

    def set_options(self, options: SiteOptions, *, by: int | None) -> None:
        """Changes the settings; what changed goes to the audit log."""
        with self.write() as connection:
            before = asdict(options_of(connection))
            changed = {name: value for name, value in asdict(options).items() if before[name] != value}
            for name, value in changed.items():
                put_row(connection, OPTION, {"name": name, "value": value})
            if changed:
                note(connection, by, "set options", "site", json.dumps(changed))

    # Codes -----------------------------------------------------------------------------------------------------

    def has_organiser(self) -> bool:
        """Tells whether the installation has been claimed."""
        return self.scalar(_ORGANISERS) is not None

    def invite(
        self,
        code: str,
        kind: InviteKind,
        *,
        by: int | None,
        cap: int = 1,
        ends_at: float | None = None,
        account_id: int | None = None,
    ) -> None:
        """Stores a code; a new claim or hand-over replaces the one before.

        Raises:
            NotFound: there is no such account.
            WrongState: the installation has been claimed already.
        """
        with self.write() as connection:
            if kind is InviteKind.CLAIM:
                if connection.scalar(_ORGANISERS):
                    raise WrongState("this installation has an organiser already")
                connection.execute(delete(INVITE).where(INVITE.c.kind == kind))
            if account_id is not None:
                living(connection, account_id)
                connection.execute(delete(INVITE).where(INVITE.c.account_id == account_id))
            values = {"hash": _code_hash(code), "kind": kind, "account_id": account_id, "cap": cap, "ends_at": ends_at}
            connection.execute(insert(INVITE).values(**values, created_at=clock(connection)))
            note(connection, by, f"make {kind} code", f"account {account_id}" if account_id else "site", f"cap {cap}")

    def hand_over(self, account_id: int, *, by: int | None) -> str:
        """Makes the code with which its owner takes over an account, in place of the one before, and returns it.

        Raises:
            NotFound: there is no such account.
        """
        code = tokens.new_code(os.urandom)
        self.invite(code, InviteKind.ACCOUNT, by=by, account_id=account_id)
        return code

    def invites(self) -> list[InviteInfo]:
        """Returns the codes that are good for something, newest first."""
        with self.read() as connection:
            good = _good(clock(connection))
            rows = connection.execute(select(INVITE).where(good).order_by(INVITE.c.created_at.desc()))
            return [value_of(InviteInfo, row) for row in rows]

    def find_invite(self, code: str) -> InviteInfo | None:
        """Returns what a code is good for, None if for nothing."""
        with self.read() as connection:
            query = select(INVITE).where(INVITE.c.hash == _code_hash(code), _good(clock(connection)))
            row = connection.execute(query).one_or_none()
            return None if row is None else value_of(InviteInfo, row)

    def end_invite(self, code_hash: str, *, by: int | None) -> None:
        """Ends a code early."""
        with self.write() as connection:
            connection.execute(delete(INVITE).where(INVITE.c.hash == code_hash))
            note(connection, by, "end code", "site")

    def take_invite(self, code: str, name: str, token: NewToken) -> Identity:
        """Uses a code: makes an account, or takes over the one it was made for, and gives it its token.

        Args:
            code: what was given out.
            name: the display name; not used where the account has one already.
            token: what the account will be known by.

        Raises:
            NotFound: the code is good for nothing (any more).
            NameTaken: another account goes by that name.
            ValueError: the name cannot be shown.
        """
        with self.write() as connection:
            now = clock(connection)
            used = change_where(
                connection, INVITE, INVITE.c.hash == _code_hash(code), _good(now), used=INVITE.c.used + 1
            )
            if not used:
                raise NotFound("this code is not good for anything: it is mistyped, used up or has ended")
            (row,) = used
            if row.kind is InviteKind.ACCOUNT:
                account_id = int(row.account_id)
            else:
                role = Role.ORGANISER if row.kind is InviteKind.CLAIM else Role.CONTESTANT
                account_id = _add_account(connection, name, role, now)
            note(connection, account_id, f"take {row.kind} code", f"account {account_id}")
            account = living(connection, account_id)
            scopes = SCOPES[account.role]
            add_token(connection, account_id, token, f"from a {row.kind} code", scopes, None, now)
            return Identity(account_id, account.name, account.role, scopes, token.id)

    # Accounts --------------------------------------------------------------------------------------------------

    def add_accounts(self, names: Sequence[str], *, by: int | None, role: Role = Role.CONTESTANT) -> list[int]:
        """Makes accounts, all or none, and returns their ids; a token comes by a code or `add_token`.

        Raises:
            NameTaken: another account goes by one of the names.
            ValueError: a name cannot be shown.
        """
        with self.write() as connection:
            now = clock(connection)
            made = [_add_account(connection, name, role, now) for name in names]
            for account_id in made:
                note(connection, by, f"add {role}", f"account {account_id}")
            return made

    def accounts(self) -> list[AccountInfo]:
        """Returns all accounts with how much there is of each, oldest first."""
        return [value_of(AccountInfo, row) for row in self.rows(_accounts().order_by(ACCOUNT.c.id))]

    def account(self, account_id: int) -> AccountInfo:
        """Returns one account.

        Raises:
            NotFound: there is none.
        """
        query = _accounts().where(ACCOUNT.c.id == account_id)
        return value_of(AccountInfo, self.one(query, f"no account {account_id}"))

    def find_account(self, name: str) -> AccountInfo:
        """Returns the account that goes by a name.

        Raises:
            NotFound: there is none.
        """
        query = _accounts().where(ACCOUNT.c.name_key == tokens.name_key(name))
        return value_of(AccountInfo, self.one(query, f"no account goes by the name {name!a:.80}"))

    def rename(self, account_id: int, name: str, *, by: int | None) -> None:
        """Changes the display name of an account.

        Raises:
            NotFound: there is no such account.
            NameTaken: another account goes by that name.
            ValueError: the name cannot be shown.
        """
        with self.write() as connection:
            living(connection, account_id)
            change_row(connection, ACCOUNT, account_id, **_free_name(connection, name, account_id))
            note(connection, by, "rename", f"account {account_id}")

    def erase(self, account_id: int, *, by: int | None) -> None:
        """Replaces a contestant's account, name, sources and texts; games and bots' names stay.

        Raises:
            NotFound: there is no such account.
            WrongState: one of its bots still has matches to play, or it is the last organiser.
        """
        with self.write() as connection:
            account = living(connection, account_id)
            others = select(ACCOUNT.c.id).where(
                ACCOUNT.c.role == Role.ORGANISER, ACCOUNT.c.id != account_id, ACCOUNT.c.erased_at.is_(None)
            )
            if account.role is Role.ORGANISER and connection.scalar(others.limit(1)) is None:
                raise WrongState("this is the only organiser: expected another one first")
            _refuse_if_playing(connection, account_id)
            now = clock(connection)
            _erase_sources(connection, account_id, now)
            gone: dict[str, Any] = {"file_name": "", "note": "", "verdict": {}, "probes": None}
            connection.execute(update(SUBMISSION).where(SUBMISSION.c.account_id == account_id).values(**gone))
            mine = select(ENTRANT.c.tournament_id, ENTRANT.c.position).where(ENTRANT.c.owner == account_id)
            for tournament_id, position in connection.execute(mine).all():
                at = (FAULT.c.tournament_id == tournament_id) & (FAULT.c.entrant == position)
                connection.execute(update(FAULT).where(at).values(message="", traceback="", log_tail=""))
            withdrawn = update(BOT).where(BOT.c.account_id == account_id, BOT.c.withdrawn_at.is_(None))
            connection.execute(withdrawn.values(withdrawn_at=now))
            drop_tokens(connection, account_id)
            connection.execute(delete(INVITE).where(INVITE.c.account_id == account_id))
            # A key that begins with a space is nobody's: who calls himself so must not keep another from being erased.
            name = f"erased {account_id}"
            done = {"name": name, "name_key": f" {name}", "erased_at": now, "entry_bot": None}
            change_row(connection, ACCOUNT, account_id, **done)
            note(connection, by, "erase", f"account {account_id}")


def options_of(connection: Connection) -> SiteOptions:
    """Returns the settings of the site; one that this version does not know is left alone."""
    known = {each.name for each in fields(SiteOptions)}
    rows = connection.execute(select(OPTION.c.name, OPTION.c.value)).all()
    return SiteOptions(**{row.name: row.value for row in rows if row.name in known})


def _add_account(connection: Connection, name: str, role: Role, now: float) -> int:
    if connection.dialect.name != "sqlite":
        connection.execute(text("LOCK TABLE account IN SHARE ROW EXCLUSIVE MODE"))
    account_id = int(connection.scalar(select(func.max(ACCOUNT.c.id))) or FIRST_ACCOUNT - 1) + 1
    names = _free_name(connection, name, account_id)
    connection.execute(insert(ACCOUNT).values(id=account_id, role=role, created_at=now, **names))
    return account_id


def _free_name(connection: Connection, name: str, account_id: int) -> dict[str, str]:
    """Returns the columns of a name that can be shown and that no other account goes by."""
    shown = tokens.display_name(name)
    key = tokens.name_key(shown)
    if connection.scalar(select(ACCOUNT.c.id).where(ACCOUNT.c.name_key == key)) not in (None, account_id):
        raise NameTaken(f"the name {shown!r} is taken, or reads like one that is: expected another")
    return {"name": shown, "name_key": key}


def _refuse_if_playing(connection: Connection, account_id: int) -> None:
    seats = or_(*(MATCH.c[name] == ENTRANT.c.position for name in ("e0", "e1", "e2")))
    query = select(MATCH.c.tournament_id).where(ENTRANT.c.owner == account_id, MATCH.c.state.in_(OPEN)).limit(1)
    query = query.join(ENTRANT, (ENTRANT.c.tournament_id == MATCH.c.tournament_id) & seats)
    tournament_id = connection.scalar(query)
    if tournament_id is not None:
        raise WrongState(f"a bot of account {account_id} still plays in tournament {tournament_id}")
    checked = select(SUBMISSION.c.id).where(SUBMISSION.c.account_id == account_id, SUBMISSION.c.state.in_(OPEN_STATES))
    if connection.scalar(checked.limit(1)) is not None:
        raise WrongState(f"a submission of account {account_id} is being checked: try again in a minute")


def _erase_sources(connection: Connection, account_id: int, now: float) -> None:
    """Replaces the files of an account's submissions, but not those that somebody else handed in too."""
    mine = select(SUBMISSION.c.sha256).where(SUBMISSION.c.account_id == account_id, SUBMISSION.c.sha256.is_not(None))
    others = select(SUBMISSION.c.sha256).where(
        SUBMISSION.c.account_id != account_id, SUBMISSION.c.sha256 == SOURCE.c.sha256
    )
    entered = select(ENTRANT.c.sha256).where(ENTRANT.c.owner != account_id, ENTRANT.c.sha256 == SOURCE.c.sha256)
    change = update(SOURCE).where(SOURCE.c.sha256.in_(mine), ~others.exists(), ~entered.exists())
    connection.execute(change.values(files=_ERASED.pack(), created_at=now))


def _accounts() -> Any:
    def count(table: Any, *also: ColumnElement[bool]) -> Any:
        return select(func.count()).where(table.c.account_id == ACCOUNT.c.id, *also).scalar_subquery()

    return select(
        ACCOUNT, count(TOKEN).label("tokens"), count(BOT).label("bots"), count(SUBMISSION).label("submissions")
    )


def _good(now: float) -> ColumnElement[bool]:
    return (INVITE.c.used < INVITE.c.cap) & (INVITE.c.ends_at.is_(None) | (INVITE.c.ends_at > now))


def _code_hash(code: str) -> str:
    return tokens.hashed(tokens.code_of(code))
