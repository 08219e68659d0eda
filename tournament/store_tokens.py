"""Tokens and sessions: who somebody is, and the audit log of what was done.

Tokens and keys come in as they are and are stored as hashes.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from tournament import tokens
from tournament.people import SCOPES, AuditLine, Identity, TokenInfo
from tournament.store_database import Database, WrongState, clock, found
from tournament.store_tables import ACCOUNT, AUDIT, SESSION, TOKEN
from tournament.store_values import value_of
from tournament.tokens import NewToken, Scope

IDLE_S: Final = 12 * 3600.0
_TOUCH_S: Final = 60.0
"""Last use is written down once a minute at most: reading a page shall not write."""


class Tokens(Database):
    """What is done for tokens and sessions; every method is one transaction."""

    def add_token(
        self,
        account_id: int,
        token: NewToken,
        label: str,
        *,
        by: int | None,
        scopes: frozenset[Scope] | None = None,
        expires_at: float | None = None,
    ) -> None:
        """Gives an account one more token, for all that its role allows or for less.

        Raises:
            NotFound: there is no such account.
            WrongState: the role does not allow one of the scopes.
        """
        with self.write() as connection:
            account = living(connection, account_id)
            allowed = SCOPES[account.role]
            wanted = allowed if scopes is None else scopes
            if not wanted <= allowed:
                raise WrongState(f"a {account.role} cannot have a token for {', '.join(sorted(wanted - allowed))}")
            add_token(connection, account_id, token, label, wanted, expires_at, clock(connection))
            note(connection, by, "add token", f"account {account_id} token {token.id}")

    def tokens(self, account_id: int) -> list[TokenInfo]:
        """Returns the tokens of an account, oldest first."""
        sessions = select(func.count()).where(SESSION.c.token_id == TOKEN.c.id).scalar_subquery()
        query = (
            select(TOKEN, sessions.label("sessions"))
            .where(TOKEN.c.account_id == account_id)
            .order_by(TOKEN.c.created_at, TOKEN.c.id)
        )
        return [value_of(TokenInfo, row, scopes=_scopes(row.scopes)) for row in self.rows(query)]

    def revoke_token(self, account_id: int, token_id: str, *, by: int | None) -> None:
        """Ends a token and the sessions opened with it.

        Raises:
            NotFound: the account has no such token.
        """
        with self.write() as connection:
            at = (TOKEN.c.account_id == account_id) & (TOKEN.c.id == token_id)
            _close_sessions(connection, at)
            none = f"account {account_id} has no token {token_id!a:.20}"
            found(connection, delete(TOKEN).where(at).returning(TOKEN.c.id), none)
            note(connection, by, "revoke token", f"account {account_id} token {token_id}")

    def revoke_all(self, account_id: int, *, by: int | None) -> None:
        """Ends all tokens and sessions of an account, as before a lost token is replaced."""
        with self.write() as connection:
            drop_tokens(connection, account_id)
            note(connection, by, "revoke all tokens", f"account {account_id}")

    def has_token(self, token_id: str) -> bool:
        """Tells whether some account has the token of this id; that says nothing about its secret."""
        return self.scalar(select(TOKEN.c.id).where(TOKEN.c.id == token_id)) is not None

    def identify_token(self, text_: str, *, now: float | None = None) -> Identity | None:
        """Returns whom a token stands for, None if for nobody (any more)."""
        token_id = tokens.token_id(text_)
        if token_id is None:
            return None
        with self.read() as connection:
            moment = clock(connection) if now is None else now
            row = connection.execute(_identities().where(TOKEN.c.id == token_id)).one_or_none()
        if row is None or not tokens.same(row.hash, tokens.hashed(text_)) or _expired(row, moment):
            return None
        if moment - (row.used_at or 0) > _TOUCH_S:
            with self.write() as connection:
                connection.execute(update(TOKEN).where(TOKEN.c.id == token_id).values(used_at=moment))
        return _identity(row)

    def open_session(self, token_id: str, key: str, csrf: str, *, now: float | None = None) -> None:
        """Opens a session for a token that was identified; sessions that have been idle for long go."""
        with self.write_at(now) as (connection, moment):
            connection.execute(delete(SESSION).where(SESSION.c.seen_at < moment - IDLE_S))
            values = {"token_id": token_id, "csrf": csrf, "created_at": moment, "seen_at": moment}
            connection.execute(insert(SESSION).values(hash=tokens.hashed(key), **values))

    def identify_session(self, key: str, *, now: float | None = None) -> Identity | None:
        """Returns whom a session key stands for, None if for nobody (any more)."""
        key_hash = tokens.hashed(key)
        query = _identities().add_columns(SESSION.c.csrf, SESSION.c.seen_at)
        query = query.join(SESSION, SESSION.c.token_id == TOKEN.c.id).where(SESSION.c.hash == key_hash)
        with self.read() as connection:
            moment = clock(connection) if now is None else now
            row = connection.execute(query).one_or_none()
        if row is None or _expired(row, moment) or moment - row.seen_at > IDLE_S:
            return None
        if moment - row.seen_at > _TOUCH_S:
            with self.write() as connection:
                connection.execute(update(SESSION).where(SESSION.c.hash == key_hash).values(seen_at=moment))
        return _identity(row, row.csrf)

    def close_session(self, key: str) -> None:
        """Ends one session."""
        with self.write() as connection:
            connection.execute(delete(SESSION).where(SESSION.c.hash == tokens.hashed(key)))

    def close_sessions(self, account_id: int) -> None:
        """Ends all sessions of an account."""
        with self.write() as connection:
            _close_sessions(connection, TOKEN.c.account_id == account_id)

    # Audit -------------------------------------------------------------------------------------------------------

    def audit(self, act: str, subject: str, reason: str = "", *, by: int | None) -> None:
        """Writes down an act that is no transaction of its own here."""
        with self.write() as connection:
            note(connection, by, act, subject, reason)

    def audit_log(self, limit: int = 50) -> list[AuditLine]:
        """Returns the last acts, newest first."""
        return [value_of(AuditLine, row) for row in self.rows(select(AUDIT).order_by(AUDIT.c.id.desc()).limit(limit))]


def note(connection: Connection, by: int | None, act: str, subject: str, reason: str = "") -> None:
    """Writes a line of the audit log, in the transaction that does what it tells of; `by` None is the command line."""
    connection.execute(
        insert(AUDIT).values(at=clock(connection), account_id=by, act=act, subject=subject, reason=reason)
    )


def living(connection: Connection, account_id: int) -> Any:
    """Returns the row of an account that was not erased.

    Raises:
        NotFound: there is none.
    """
    query = select(ACCOUNT).where(ACCOUNT.c.id == account_id, ACCOUNT.c.erased_at.is_(None))
    return found(connection, query, f"no account {account_id}")


def add_token(
    connection: Connection,
    account_id: int,
    token: NewToken,
    label: str,
    scopes: frozenset[Scope],
    expires_at: float | None,
    now: float,
) -> None:
    """Writes a token down."""
    values = {"id": token.id, "hash": token.hash, "label": label, "scopes": " ".join(sorted(scopes))}
    times = {"created_at": now, "expires_at": expires_at}
    connection.execute(insert(TOKEN).values(account_id=account_id, **values, **times))


def drop_tokens(connection: Connection, account_id: int) -> None:
    """Ends all tokens and sessions of an account."""
    _close_sessions(connection, TOKEN.c.account_id == account_id)
    connection.execute(delete(TOKEN).where(TOKEN.c.account_id == account_id))


def _close_sessions(connection: Connection, of_tokens: ColumnElement[bool]) -> None:
    connection.execute(delete(SESSION).where(SESSION.c.token_id.in_(select(TOKEN.c.id).where(of_tokens))))


def _identities() -> Any:
    return (
        select(ACCOUNT.c.name, ACCOUNT.c.role, TOKEN)
        .join(TOKEN, TOKEN.c.account_id == ACCOUNT.c.id)
        .where(ACCOUNT.c.erased_at.is_(None))
    )


def _identity(row: Any, csrf: str | None = None) -> Identity:
    return Identity(row.account_id, row.name, row.role, _scopes(row.scopes), row.id, csrf)


def _expired(row: Any, now: float) -> bool:
    return row.expires_at is not None and row.expires_at <= now


def _scopes(text_: str) -> frozenset[Scope]:
    return frozenset(map(Scope, text_.split()))
