"""The site over a store, with clients that are somebody."""

import re
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient

from dashboard.app import create_app
from dashboard.auth import Door
from tournament.store import Store

LOOPBACK = "http://127.0.0.1:8000"


def site(store: Store, **more: Any) -> FastAPI:
    return create_app(store, **more)


@dataclass
class Visitor:
    """A browser or a program: by a session if it has signed in, else by what it sends."""

    client: TestClient
    csrf: str = ""

    def post(self, path: str, **form: Any) -> Any:
        """Posts a form as our own pages do."""
        return self.client.post(path, data={"csrf": self.csrf, **form}, follow_redirects=False)

    def get(self, path: str) -> Any:
        return self.client.get(path, follow_redirects=False)


def nobody(app: FastAPI, base: str = LOOPBACK, address: str = "10.0.0.9") -> Visitor:
    return Visitor(TestClient(app, base_url=base, client=(address, 5000), raise_server_exceptions=False))


def browser(app: FastAPI, token: str, base: str = LOOPBACK) -> Visitor:
    """Signs in and reads the key of the forms."""
    visitor = nobody(app, base)
    answer = visitor.post("/sign-in", token=token)
    assert answer.status_code == 303, answer.text
    page = visitor.get("/account")
    assert page.status_code == 200, page.text
    visitor.csrf = csrf_of(page.text)
    return visitor


def csrf_of(page: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found, page[:2000]
    return found[1]


def token_of(page: str) -> str:
    found = re.search(r"smr_[a-z2-7]{8}_[A-Za-z0-9_-]{43}", page)
    assert found, page[:2000]
    return found[0]


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


__all__ = ["LOOPBACK", "Door", "Visitor", "bearer", "browser", "csrf_of", "nobody", "site", "token_of"]
