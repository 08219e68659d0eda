"""The API: the same values as the pages, problems as documents, ETags, a complete description."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tournament.replay import digest
from tournament.verify import check_document

if TYPE_CHECKING:
    from starlette.testclient import TestClient

ADDRESSES = (
    "/api/v1/tournaments",
    "/api/v1/tournaments/1",
    "/api/v1/standings?tournament=1",
    "/api/v1/head-to-head?tournament=2",
    "/api/v1/history?tournament=1",
    "/api/v1/bots/simple?tournament=1",
    "/api/v1/matches?tournament=1",
    "/api/v1/matches/3-1",
    "/api/v1/games/3-1-2/replay",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_answer_has_an_etag_and_is_not_sent_twice(client: TestClient, address: str) -> None:
    first = client.get(address)
    assert first.status_code == 200
    again = client.get(address, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = client.get(address, headers={"if-none-match": '"other"'})
    assert other.content == first.content


@pytest.mark.parametrize(
    ("address", "status", "kind"),
    [
        ("/api/v1/matches/9-9", 404, "there-is-nothing-here"),
        ("/api/v1/matches/x", 404, "there-is-nothing-here"),
        ("/api/v1/nothing", 404, "there-is-nothing-here"),
        ("/api/v1/bots/nobody", 404, "there-is-nothing-here"),
        ("/api/v1/tournaments/x", 422, "the-request-makes-no-sense"),
        ("/api/v1/games/1-48-1/replay", 409, "not-yet"),
    ],
)
def test_an_error_is_a_problem_document(client: TestClient, address: str, status: int, kind: str) -> None:
    answer = client.get(address)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["type"] == f"urn:smear-tournament:{kind}"
    assert problem["status"] == status
    assert problem["instance"] == address
    assert problem["detail"]


def test_the_replay_is_the_very_document_and_plays_again(client: TestClient) -> None:
    shown = client.get("/api/v1/games/3-1-2/replay").json()
    assert shown == client.get("/games/3-1-2/replay.json").json()
    assert shown["digest"] == digest(shown)
    assert check_document(shown, "demo")


def test_the_description_names_every_operation_and_every_answer_fits_it(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    names = [operation["operationId"] for methods in described["paths"].values() for operation in methods.values()]
    assert sorted(names) == sorted(set(names))
    assert "get_standings" in names
    assert all(path.startswith("/api/v1/") for path in described["paths"])
    assert "Problem" in described["components"]["schemas"]
    for name, template in (("StandingsPage", ADDRESSES[2]), ("MatchPage", ADDRESSES[7]), ("BotPage", ADDRESSES[5])):
        schema = described["components"]["schemas"][name]
        assert set(client.get(template).json()) == set(schema["properties"])


def test_counts_always_add_up(client: TestClient) -> None:
    for tournament in (1, 2, 3):
        progress: dict[str, Any] = client.get(f"/api/v1/tournaments/{tournament}").json()["progress"]
        parts = sum(progress[name] for name in ("finished", "running", "queued", "failed", "cancelled"))
        assert progress["planned"] == parts


def test_the_api_page_names_every_operation(client: TestClient) -> None:
    page = client.get("/api").text
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        for method in methods:
            assert f"{method.upper()} {path}" in page
