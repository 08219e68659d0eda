"""Configuration from the environment; secrets may come from files instead.

Every setting is a variable ``TOURNAMENT_…``. A setting that holds a password or a key may be given as
``TOURNAMENT_…_FILE``, the path of a file whose content (less the last line feed) is the value, as container engines
hand out secrets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

PREFIX: Final = "TOURNAMENT_"
DEFAULT_DATABASE: Final = "tournament.db"


class SettingsError(ValueError):
    """A setting that cannot be used; its text names the variable."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says.

    Attributes:
        database_url: where the store is, as SQLAlchemy writes it.
        broker_url: the Redis of a cluster; None on one machine.
        signing_key: signs the matches that leave for workers; never the secret of a tournament.
        public_url: where the site is reached from outside, behind TLS.
        proxies: whose forwarded headers are believed: addresses or networks, with commas between.
    """

    database_url: str = f"sqlite:///{DEFAULT_DATABASE}"
    broker_url: str | None = field(default=None, repr=False)
    signing_key: str | None = field(default=None, repr=False)
    public_url: str | None = None
    proxies: tuple[str, ...] = ()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], database: str | None = None) -> Settings:
        """Reads the settings.

        Args:
            environment: normally `os.environ`.
            database: what `--db` says; it wins over the environment.

        Raises:
            SettingsError: a variable is given twice, its file cannot be read, or it holds no address where one belongs.
        """
        return cls(
            database_url(database or secret(environment, "DATABASE_URL") or DEFAULT_DATABASE),
            broker_url(secret(environment, "BROKER_URL")),
            secret(environment, "SIGNING_KEY"),
            public_url(secret(environment, "PUBLIC_URL")),
            tuple(each.strip() for each in (secret(environment, "TRUSTED_PROXY") or "").split(",") if each.strip()),
        )


def secret(environment: Mapping[str, str], name: str) -> str | None:
    """Returns the variable `name` (without the prefix), or the content of the file that it names, or None.

    Raises:
        SettingsError: both are given, or the file cannot be read.
    """
    variable = PREFIX + name
    value, path = environment.get(variable), environment.get(f"{variable}_FILE")
    if value and path:
        raise SettingsError(f"{variable} and {variable}_FILE are both set: expected one of them")
    if not path:
        return value or None
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{variable}_FILE is {path}: {error}") from error
    return text.removesuffix("\n").removesuffix("\r") or None


def broker_url(text: str | None) -> str | None:
    """Returns the address of Redis as it is.

    Raises:
        SettingsError: it is none, or its options for TLS cannot be; the text shows no password.
    """
    try:
        parts = urlsplit(text or "redis://none")
        good = parts.scheme in ("redis", "rediss") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is no number
        good = False
    if not good:
        raise SettingsError(
            f"{PREFIX}BROKER_URL is no address of Redis: expected redis://USER:PASSWORD@HOST:PORT/0, or rediss://… "
            "over TLS"
        )
    options = dict(parse_qsl(parts.query))
    # Connecting would fail again and again, with words that name neither.
    if (reqs := options.get("ssl_cert_reqs", "required")) not in ("none", "optional", "required"):
        raise SettingsError(f"{PREFIX}BROKER_URL: ssl_cert_reqs is {reqs!a:.100}: expected required")
    if (authority := options.get("ssl_ca_certs")) and not Path(authority).is_file():
        raise SettingsError(f"{PREFIX}BROKER_URL: ssl_ca_certs is {authority!a:.200}: expected the authority's file")
    return text


def public_url(text: str | None) -> str | None:
    """Returns the public address without a slash at its end.

    Raises:
        SettingsError: it is none, or leads below the root of its host.
    """
    if text is None:
        return None
    if not re.fullmatch(r"https?://[^/?#@\s]+/?", text):
        raise SettingsError(f"{PREFIX}PUBLIC_URL is {text!a:.100}: expected https://HOST, without a path")
    return text.rstrip("/")


def database_url(text: str) -> str:
    """Returns the SQLAlchemy address of a database given as an address or as the path of an SQLite file.

    Raises:
        SettingsError: it is another kind of database, or an SQLite without a file.

    >>> database_url("games.db"), database_url("postgres://u@host/smear")
    ('sqlite:///games.db', 'postgresql+psycopg://u@host/smear')
    """
    scheme, mark, rest = text.partition("://")
    if not mark:
        return f"sqlite:///{text}"
    if re.fullmatch(r"postgres(ql)?(\+psycopg)?", scheme):
        return f"postgresql+psycopg://{rest}"
    if scheme == "sqlite" and rest.strip("/") not in ("", ":memory:"):  # several processes share the database
        return text
    raise SettingsError(f"database address {scheme}://…: expected postgresql://… or sqlite:///FILE, or a path")


def sqlite_path(url: str) -> Path | None:
    """Returns the file of an SQLite address, None for any other database."""
    return Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None
