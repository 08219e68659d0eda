"""Signing in, joining, cookies, forms of our own, limits, and the three ways to reach the site."""

import asyncio
import json

import pytest
from fastapi import FastAPI
from starlette.types import Message

from dashboard import auth
from dashboard.account_pages import DAY_S
from dashboard.auth import MISSES_PER_TOKEN, WINDOW_S, Misses
from dashboard.headers import BodyLimit
from tests.people.people import RANDOM, contestant, organiser
from tests.people.site import LOOPBACK, Door, bearer, browser, csrf_of, nobody, site, token_of
from tournament.models_people import InviteKind
from tournament.people import SiteOptions
from tournament.store import Store
from tournament.tokens import Scope, new_code, new_token, token_id

FEW = 25


@pytest.fixture(autouse=True)
def few_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer misses of an address are too many, so that they are soon made."""
    monkeypatch.setattr(auth, "MISSES_PER_ADDRESS", FEW)


@pytest.fixture
def app(store: Store) -> FastAPI:
    return site(store)


def test_an_organiser_claims_and_a_contestant_joins_with_a_link(store: Store, app: FastAPI) -> None:
    code = new_code(RANDOM)
    store.invite(code, InviteKind.CLAIM, by=None)
    org = nobody(app)
    assert "claim it" in org.get("/sign-in").text
    assert "Claim this installation" in org.get(f"/join/{code}").text
    claimed = org.post("/join", code=code, name="Org")
    assert claimed.status_code == 200
    assert store.identify_token(token_of(claimed.text)) is not None
    page = org.get("/admin/people")
    assert page.status_code == 200
    org.csrf = csrf_of(page.text)
    link = org.post("/admin/join-links", cap=2, hours=1).text
    assert "<svg" in link
    join = link.partition(f'value="{LOOPBACK}')[2].partition('"')[0]
    ada = nobody(app)
    assert "Name that others see" in ada.get(join).text
    joined = ada.post("/join", code=join, name="<i>Ada</i>")
    assert joined.status_code == 200
    assert "&lt;i&gt;Ada&lt;/i&gt;" in joined.text
    assert ada.get("/account").status_code == 200
    assert ada.get("/admin/people").status_code == 403


def test_a_wrong_code_and_a_taken_name_say_so_and_keep_what_was_typed(store: Store, app: FastAPI) -> None:
    contestant(store)
    code = new_code(RANDOM)
    store.invite(code, InviteKind.JOIN, by=None, cap=1)
    taken = nobody(app).post("/join", code=code, name="ADA")
    assert taken.status_code == 422
    assert "is taken" in taken.text
    assert 'value="ADA"' in taken.text
    assert nobody(app).post("/join", code="aaaa", name="Eve").status_code == 404
    assert nobody(app).get("/join/aaaa").status_code == 404


def test_a_token_is_exchanged_for_a_session_and_never_shown_again(store: Store, app: FastAPI) -> None:
    _, token = contestant(store)
    visitor = browser(app, token)
    assert "Ada" in visitor.get("/").text
    for path in ("/", "/account", "/submit"):
        assert token not in visitor.get(path).text
    out = visitor.post("/sign-out")
    assert out.status_code == 303
    assert visitor.get("/account").headers["location"] == "/sign-in?next=%2Faccount"


def test_signing_in_leads_back_to_a_page_of_this_site_only(store: Store, app: FastAPI) -> None:
    _, token = contestant(store)
    for wanted, leads in (("/account", "/account"), ("//evil.example", "/"), ("https://evil.example", "/"), ("", "/")):
        answer = nobody(app).post("/sign-in", token=token, next=wanted)
        assert answer.headers["location"] == leads


def test_a_sign_in_gives_a_new_session_and_ends_the_old_one(store: Store, app: FastAPI) -> None:
    ada, token = contestant(store)
    visitor = browser(app, token)
    first = visitor.client.cookies["session"]
    visitor.post("/sign-in", token=token)
    assert visitor.client.cookies["session"] != first
    assert store.tokens(ada)[0].sessions == 1


def test_who_is_signed_in_can_join_as_somebody_else_on_the_same_browser(store: Store, app: FastAPI) -> None:
    _, token = organiser(store)
    code = new_code(RANDOM)
    store.invite(code, InviteKind.JOIN, by=None)
    visitor = browser(app, token)
    assert visitor.post("/join", code=code, name="Ada").status_code == 200
    assert ">Ada<" in visitor.get("/account").text
    for page in ("/sign-in", f"/join/{code}"):
        visitor.csrf = csrf_of(visitor.get(page).text.partition("<main")[2])


def test_a_token_for_reading_changes_no_tokens(store: Store, app: FastAPI) -> None:
    ada, token = contestant(store)
    narrow = new_token(RANDOM)
    store.add_token(ada, narrow, "", by=ada, scopes=frozenset({Scope.READ}))
    visitor = browser(app, narrow.text)
    wanted = store.tokens(ada)[0].id
    assert visitor.post(f"/account/tokens/{wanted}/revoke").status_code == 403
    assert visitor.post("/account/tokens", label="x").status_code == 403
    assert store.identify_token(token) is not None


@pytest.mark.parametrize("days", ["0", "1", "30"])
def test_a_token_made_with_one_that_ends_lives_no_longer(store: Store, app: FastAPI, days: str) -> None:
    ada, _ = contestant(store)
    ending, ends_at = new_token(RANDOM), store.now() + 2 * DAY_S
    store.add_token(ada, ending, "", by=ada, expires_at=ends_at)
    made = token_of(browser(app, ending.text).post("/account/tokens", label="x", days=days, scope=["submit"]).text)
    (end,) = (each.expires_at for each in store.tokens(ada) if each.id == token_id(made))
    assert end is not None
    assert end < ends_at if days == "1" else end == ends_at


def test_head_is_answered_like_get_without_a_body(app: FastAPI) -> None:
    client = nobody(app).client
    for address in ("/", "/sign-in", "/api/v1/tournaments", "/healthz", "/kit.zip", "/no-such-page"):
        head, get = client.head(address), client.get(address)
        assert (head.status_code, head.headers["content-type"], head.content) == (
            get.status_code,
            get.headers["content-type"],
            b"",
        )
    assert client.head("/sign-out").status_code == 405
    assert "head" not in client.get("/openapi.json").json()["paths"]["/api/v1/me"]


@pytest.mark.parametrize("address", ["/tournaments/١", "/submissions/１", "/matches/1-२", "/api/v1/tournaments/١"])
def test_numbers_in_addresses_have_one_form(store: Store, app: FastAPI, address: str) -> None:
    _, token = contestant(store)
    assert browser(app, token).get(address).status_code == 404
    assert nobody(app).get(address).status_code == 404


def test_signing_out_everywhere_ends_all_sessions(store: Store, app: FastAPI) -> None:
    _, token = contestant(store)
    one, two = browser(app, token), browser(app, token)
    one.post("/sign-out", everywhere="1")
    assert two.get("/account").status_code == 303


def test_a_change_needs_the_key_of_our_own_forms(store: Store, app: FastAPI) -> None:
    _, token = contestant(store)
    visitor, other = browser(app, token), browser(app, token)
    for csrf in ("", "wrong", other.csrf):
        visitor.csrf = csrf
        assert visitor.post("/sign-out").status_code == 403
    assert visitor.client.post("/sign-out", json={"csrf": other.csrf}).status_code == 403
    assert visitor.get("/account").status_code == 200


@pytest.mark.parametrize(
    "headers", [{"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}]
)
def test_a_form_from_another_site_is_refused_before_anything_is_read(
    store: Store, app: FastAPI, headers: dict[str, str]
) -> None:
    _, token = contestant(store)
    answer = nobody(app).client.post("/sign-in", data={"token": token}, headers=headers)
    assert answer.status_code == 403


def test_a_revoked_token_gets_401_with_the_way_to_sign_in(store: Store, app: FastAPI) -> None:
    ada, token = contestant(store)
    api = nobody(app).client
    assert api.get("/api/v1/me", headers=bearer(token)).json()["name"] == "Ada"
    store.revoke_all(ada, by=None)
    refused = api.get("/api/v1/me", headers=bearer(token))
    assert refused.status_code == 401
    assert refused.headers["content-type"] == "application/problem+json"
    assert api.get("/api/v1/me").headers["www-authenticate"] == "Bearer"
    assert api.get("/standings", headers=bearer(token)).status_code == 401, "a page says so too"


def test_a_token_for_reading_submits_nothing(store: Store, app: FastAPI) -> None:
    ada, _ = contestant(store)
    narrow = new_token(RANDOM)
    store.add_token(ada, narrow, "", by=ada, scopes=frozenset({Scope.READ}))
    api = nobody(app).client
    answer = api.post("/api/v1/submissions?bot=fox", content=b"x", headers=bearer(narrow.text))
    assert answer.status_code == 403
    visitor = browser(app, narrow.text)
    assert visitor.post("/account/tokens", scope=["submit"]).status_code == 403


def test_a_site_that_is_not_public_shows_strangers_the_way_in_and_nothing_else(store: Store, app: FastAPI) -> None:
    _, token = contestant(store)
    stranger = nobody(app)
    assert stranger.get("/standings").status_code != 303
    store.set_options(SiteOptions(public=False), by=None)
    for path in ("/", "/standings", "/tournaments", "/guide", "/kit.zip", "/api", "/openapi.json"):
        assert stranger.get(path).headers["location"].startswith("/sign-in?next=")
    for path in ("/api/v1/tournaments", "/api/v1/me", "/api/v1/standings"):
        assert stranger.get(path).status_code == 401
    for path in ("/sign-in", "/join", "/healthz", "/readyz"):
        assert stranger.get(path).status_code == 200
    assert browser(app, token).get("/tournaments").status_code == 200


# Limits ------------------------------------------------------------------------------------------------------------


def test_two_hundred_people_behind_one_address_sign_in_and_are_not_held_up(store: Store, app: FastAPI) -> None:
    tokens = [new_token(RANDOM) for _ in range(200)]
    for account, token in zip(store.add_accounts([f"c{n}" for n in range(200)], by=None), tokens, strict=True):
        store.add_token(account, token, "", by=None)
    api = nobody(app).client
    assert {api.get("/api/v1/me", headers=bearer(token.text)).status_code for token in tokens} == {200}


def test_guessing_is_slowed_by_token_and_by_address(store: Store, app: FastAPI) -> None:
    _, token = contestant(store)
    wrong = token[:-4] + "aaaa"
    api = nobody(app).client
    codes = [api.get("/api/v1/me", headers=bearer(wrong)).status_code for _ in range(MISSES_PER_TOKEN + 1)]
    assert codes == [401] * MISSES_PER_TOKEN + [429]
    assert api.get("/api/v1/me", headers=bearer(token)).headers["retry-after"] == "600"
    other = nobody(app, address="10.0.0.10")
    for _ in range(FEW):
        other.client.post("/api/v1/join", json={"code": "aaaa"})
    assert other.client.post("/api/v1/join", json={"code": "aaaa"}).status_code == 429
    assert nobody(app).client.post("/api/v1/join", json={"code": "aaaa"}).status_code == 404


def test_one_who_guesses_locks_out_nobody_else_behind_the_same_address(store: Store, app: FastAPI) -> None:
    _, token = contestant(store)
    code = new_code(RANDOM)
    store.invite(code, InviteKind.JOIN, by=None)
    api = nobody(app).client
    guesses = [api.get("/api/v1/me", headers=bearer(new_token(RANDOM).text)).status_code for _ in range(FEW + 1)]
    assert guesses == [401] * FEW + [429]
    assert api.get("/api/v1/me", headers=bearer(token)).status_code == 200
    assert nobody(app).post("/sign-in", token=token).status_code == 303
    assert nobody(app).post("/sign-in", token="mistyped").status_code == 429
    assert [api.post("/api/v1/join", json={"code": each, "name": "Bob"}).status_code for each in (code, code)] == [
        201,
        429,
    ]
    wrong = token[:-4] + "aaaa"
    codes = [api.get("/api/v1/me", headers=bearer(wrong)).status_code for _ in range(MISSES_PER_TOKEN + 1)]
    assert codes == [401] * MISSES_PER_TOKEN + [429]


def test_misses_are_forgotten_in_time_and_never_fill_the_memory() -> None:
    now = [0.0]
    misses = Misses(lambda: now[0])
    for _ in range(3):
        misses.add("a")
    assert misses.too_many("a", 3)
    now[0] = WINDOW_S + 1
    assert not misses.too_many("a", 1)
    for number in range(20_100):
        misses.add(str(number))
    assert len(misses._times) == 20_000


@pytest.mark.parametrize("length", ["99999999", "abc", "-5", "9" * 30])
def test_a_body_that_is_too_large_is_refused_unread(store: Store, app: FastAPI, length: str) -> None:
    _, token = contestant(store)
    headers = {**bearer(token), "content-length": length, "content-type": "application/octet-stream"}
    answer = nobody(app).client.post("/api/v1/submissions?bot=fox", content=b"x", headers=headers)
    assert answer.status_code == 413


def posted(limit: BodyLimit, body: list[bytes], *, ends: bool = True) -> tuple[int, str]:
    """Sends a body in pieces, without saying its length; one that does not end waits for ever after them."""

    async def ask() -> list[Message]:
        pieces, sent = iter(body), list[Message]()

        async def receive() -> Message:
            piece = next(pieces, None)
            if piece is None:
                await (asyncio.sleep(0) if ends else asyncio.Event().wait())
            return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

        async def send(message: Message) -> None:
            sent.append(message)

        headers = [(b"content-type", b"application/octet-stream")]
        path = {"path": "/api/v1/submissions", "raw_path": b"/api/v1/submissions", "query_string": b"bot=fox"}
        scope = {"type": "http", "method": "POST", "headers": headers, "client": ("10.0.0.9", 5000), **path}
        await limit({**scope, "scheme": "http", "server": ("127.0.0.1", 8000), "root_path": ""}, receive, send)
        return sent

    start, *rest = asyncio.run(ask())
    said = json.loads(b"".join(message.get("body", b"") for message in rest))
    return start["status"], said["detail"]


def test_a_body_that_turns_out_too_large_or_never_ends_or_is_one_too_many_is_cut_off(app: FastAPI) -> None:
    assert posted(BodyLimit(app, 10), [b"12345", b"67890"])[0] == 401, "a stranger's"
    assert posted(BodyLimit(app, 10), [b"12345", b"678901"]) == (413, "Expected a body of at most 10 bytes.")
    slow = BodyLimit(app, 10, most_s=0.01)
    assert posted(slow, [b"12345"], ends=False) == (408, "Expected the whole body within 0.01 s.")
    full = BodyLimit(app, 10, most_held=8)
    for _ in range(2):  # what was held is let go
        assert posted(full, [b"12345"])[0] == 401
        assert posted(full, [b"12345", b"6789"]) == (503, "Too much is being sent: try again.")


# Three ways to reach it --------------------------------------------------------------------------------------------


def cookie(answer: object) -> str:
    found: str = answer.headers["set-cookie"]  # type: ignore[attr-defined]
    return found


def test_on_loopback_the_cookie_is_plain_and_nothing_warns(store: Store, app: FastAPI) -> None:
    _, token = contestant(store)
    answer = nobody(app).post("/sign-in", token=token)
    assert cookie(answer).startswith("session=")
    assert "Secure" not in cookie(answer)
    assert "HttpOnly" in cookie(answer)
    assert "SameSite=lax" in cookie(answer)
    assert "Plain HTTP" not in browser(app, token).get("/").text


def test_in_a_local_network_the_cookie_is_plain_and_every_page_says_so(store: Store, app: FastAPI) -> None:
    _, token = contestant(store)
    base = "http://192.168.1.20:8000"
    assert cookie(nobody(app, base).post("/sign-in", token=token)).startswith("session=")
    visitor = browser(app, token, base)
    for path in ("/", "/account", "/submit", "/nothing-here", "/standings"):
        assert "Plain HTTP in a local network" in visitor.get(path).text


def test_behind_tls_the_cookie_is_bound_to_the_host_and_forwarded_headers_come_from_the_named_proxy_only(
    store: Store,
) -> None:
    _, token = contestant(store)
    app = site(store, door=Door("https://smear.example", ("10.0.0.2",)))
    forwarded = {"x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.7"}
    for address in ("10.0.0.2", "203.0.113.99"):
        visitor = nobody(app, "http://smear.example", address)
        answer = visitor.client.post("/sign-in", data={"token": token}, headers=forwarded, follow_redirects=False)
        assert cookie(answer).startswith("__Host-session=")
        assert all(part in cookie(answer) for part in ("Secure", "Path=/", "HttpOnly", "SameSite=lax"))
        assert "Plain HTTP" not in visitor.client.get("/", headers=forwarded).text


def test_who_is_not_the_named_proxy_cannot_pretend_to_be_another_address_or_tls(store: Store) -> None:
    contestant(store)
    app = site(store, door=Door("", ("10.0.0.2",)))

    def misses(address: str, pretended: str) -> int:
        visitor = nobody(app, "http://smear.example", address)
        headers = {"x-forwarded-for": pretended, "x-forwarded-proto": "https"}
        return visitor.client.post("/api/v1/join", json={"code": "aaaa"}, headers=headers).status_code

    for number in range(FEW):
        assert misses("203.0.113.99", f"198.51.100.{number % 250}") == 404
    assert misses("203.0.113.99", "198.51.100.1") == 429, "counted by its own address"
    assert misses("10.0.0.2", "198.51.100.1") == 404, "the proxy is believed"
    bare = nobody(app, "http://smear.example", "203.0.113.99")
    assert "Plain HTTP" in bare.client.get("/", headers={"x-forwarded-proto": "https"}).text
    believed = nobody(app, "http://smear.example", "10.0.0.2")
    assert "Plain HTTP" not in believed.client.get("/", headers={"x-forwarded-proto": "https"}).text


def test_a_plain_cookie_is_not_taken_behind_tls(store: Store) -> None:
    _, token = contestant(store)
    plain = browser(site(store), token)
    app = site(store, door=Door("https://smear.example"))
    visitor = nobody(app, "http://smear.example")
    visitor.client.cookies.set("session", plain.client.cookies["session"])
    assert visitor.get("/account").status_code == 303


def test_links_to_pass_on_begin_with_the_public_address(store: Store) -> None:
    _, token = organiser(store)
    app = site(store, door=Door("https://smear.example/", ("10.0.0.2",)))
    visitor = nobody(app, "https://smear.example")
    visitor.post("/sign-in", token=token)
    visitor.csrf = csrf_of(visitor.get("/account").text)
    assert 'value="https://smear.example/join/' in visitor.post("/admin/join-links", cap=2, hours=1).text
