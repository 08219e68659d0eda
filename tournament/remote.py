"""A server of contests as a contestant's machine sees it: its address and token, and requests to its API."""

from __future__ import annotations

import io
import json
import os
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tournament.source import ENTRY, BotSource

TIMEOUT_S: Final = 30.0
_SERVER: Final = "TOURNAMENT_SERVER"
_TOKEN: Final = "TOURNAMENT_TOKEN"  # noqa: S105  # the name of a variable


class RemoteError(Exception):
    """The server says no, or does not answer; the text says what it said."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A server, and the token by which it knows who asks."""

    server: str
    token: str = field(default="", repr=False)

    @classmethod
    def from_settings(cls, environment: Mapping[str, str], server: str | None = None) -> Remote:
        """Reads the server and the token from the environment, or else from the file that `join` wrote.

        Raises:
            RemoteError: one of them is nowhere.
        """
        kept = _read(config_path(environment))
        address = server or environment.get(_SERVER) or kept.get("server")
        token = environment.get(_TOKEN) or kept.get("token")
        if not address or not token:
            missing = "token" if address else "server"
            raise RemoteError(f"no {missing}: join with `tournament join LINK`, or set {_SERVER} and {_TOKEN}")
        return cls(address.rstrip("/"), token)

    def keep(self, environment: Mapping[str, str]) -> Path:
        """Writes server and token into the file that later commands read; nobody else may read it."""
        path = config_path(environment)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.unlink(missing_ok=True)
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump({"server": self.server, "token": self.token}, file)
        part.replace(path)
        return path

    def ask(
        self, path: str, query: Mapping[str, str] | None = None, *, data: bytes | None = None, kind: str = ""
    ) -> Any:
        """Sends a request, a POST if there is `data`, and returns the JSON value that comes back.

        Raises:
            RemoteError: the server refuses, or does not answer.
        """
        url = f"{self.server}/api/v1{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        if not url.startswith(("http://", "https://")):
            raise RemoteError(f"{self.server}: expected an address that begins with http:// or https://")
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if data is not None:
            headers["Content-Type"] = kind
        request = urllib.request.Request(url, data=data, headers=headers)  # noqa: S310  # looked at above
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                raise RemoteError(_detail(error)) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise RemoteError(f"no answer from {self.server}: {reason}") from None


def upload_of(source: BotSource) -> tuple[str, bytes]:
    """Returns a bot as it is uploaded: its one file, or a zip of all."""
    if len(source.files) == 1:
        return ENTRY, source.files[0][1]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in source.files:
            archive.writestr(path, content)
    return "bot.zip", buffer.getvalue()


def config_path(environment: Mapping[str, str]) -> Path:
    """Returns the file that holds the server and the token."""
    folder = environment.get("XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path.home() / ".config") / "smear-tournament" / "server.json"


def _read(path: Path) -> dict[str, str]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise RemoteError(f"{path}: cannot be read: {error}") from None
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise RemoteError(f"{path}: expected a server and a token in JSON")
    return value


def _detail(error: urllib.error.HTTPError) -> str:
    try:
        problem = json.loads(error.read(1 << 16))
        return str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the server answers {error.code} {error.reason}"
