"""Every address of the site × nobody, a contestant, another contestant and an organiser."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi import FastAPI

from tests.people.people import GOOD, RANDOM, accept, contestant, organiser, submit
from tests.people.site import Visitor, bearer, browser, nobody
from tests.store.play import TWO, new, play_all, play_game
from tournament.cli_servers import make_site
from tournament.models_people import InviteKind
from tournament.people import SiteOptions
from tournament.replay import GameRecord, Player, document
from tournament.store import Store
from tournament.tokens import new_code, new_token

ALL = "all"
"""Everybody, where the site is public; in one that is not, whoever is signed in."""
OPEN = "open"
"""Everybody, always: what a stranger needs to get in."""
SIGNED = "signed in"
OWNER = "owner"
"""Whose it is, and the organiser; for another contestant there is no such thing."""
PRIVATE = "private"
"""The same, of a game that all may see: others are told that this part is not for them."""
OWN = "own"
"""Whose it is alone."""
ORGANISER = "organiser"

ACTORS = ("nobody", "contestant", "other", "organiser")
EXPECTED = {
    ALL: ("ok", "ok", "ok", "ok"),
    OPEN: ("ok", "ok", "ok", "ok"),
    SIGNED: ("sign in", "ok", "ok", "ok"),
    OWNER: ("sign in", "ok", "hidden", "ok"),
    PRIVATE: ("forbidden", "ok", "forbidden", "ok"),
    OWN: ("sign in", "ok", "hidden", "hidden"),
    ORGANISER: ("sign in", "forbidden", "forbidden", "ok"),
}


@dataclass
class Row:
    """An address: who may use it, an example of its path, and the form that goes with it."""

    level: str
    path: str
    form: dict[str, Any] = field(default_factory=dict)


TABLE = {
    # The site
    "GET /openapi.json": Row(ALL, "/openapi.json"),
    "GET /static/{digest}/{name}": Row(OPEN, "{static}"),
    "POST /theme": Row(OPEN, "/theme"),
    "GET /healthz": Row(OPEN, "/healthz"),
    "GET /readyz": Row(OPEN, "/readyz"),
    "GET /metrics": Row(ALL, "/metrics"),
    "GET /": Row(ALL, "/"),
    "GET /tournaments": Row(ALL, "/tournaments"),
    "GET /tournaments/{tournament_id}": Row(ALL, "/tournaments/1"),
    "GET /tournaments/{tournament_id}/screen": Row(ALL, "/tournaments/1/screen"),
    "GET /tournaments/{tournament_id}/fairness": Row(ALL, "/tournaments/1/fairness"),
    "GET /tournaments/{tournament_id}/export.zip": Row(ALL, "/tournaments/1/export.zip"),
    "GET /standings": Row(ALL, "/standings"),
    "GET /standings.csv": Row(ALL, "/standings.csv"),
    "GET /head-to-head": Row(ALL, "/head-to-head"),
    "GET /head-to-head.csv": Row(ALL, "/head-to-head.csv"),
    "GET /history": Row(ALL, "/history"),
    "GET /history.csv": Row(ALL, "/history.csv"),
    "GET /matches": Row(ALL, "/matches"),
    "GET /matches.csv": Row(ALL, "/matches.csv"),
    "GET /matches/{match_id}": Row(ALL, "/matches/1-1"),
    "GET /matches/{match_id}.jsonl": Row(ALL, "/matches/1-1.jsonl"),
    "GET /games/{game}/replay": Row(ALL, "/games/1-1-1/replay"),
    "GET /games/{game}/replay.{form}": Row(ALL, "/games/1-1-1/replay.json"),
    "GET /games/{game}/faults/{ordinal}.json": Row(PRIVATE, "/games/1-3-2/faults/1.json"),
    "GET /bots/{name}": Row(ALL, "/bots/fox"),
    "GET /bots/{name}/v{version}": Row(ALL, "/bots/fox/v1"),
    "GET /bots/{name}/opponents.csv": Row(ALL, "/bots/fox/opponents.csv"),
    "GET /bots/{name}/faults": Row(ALL, "/bots/fox/faults"),
    "GET /bots/{name}/faults.csv": Row(ALL, "/bots/fox/faults.csv"),
    "GET /help": Row(ALL, "/help"),
    "GET /rules": Row(ALL, "/rules"),
    "GET /guide": Row(ALL, "/guide"),
    "GET /api": Row(ALL, "/api"),
    # The API
    "GET /api/v1/tournaments": Row(ALL, "/api/v1/tournaments"),
    "GET /api/v1/tournaments/{tournament_id}": Row(ALL, "/api/v1/tournaments/1"),
    "GET /api/v1/tournaments/{tournament_id}/events": Row(ALL, "/api/v1/tournaments/99/events"),
    "GET /api/v1/tournaments/{tournament_id}/fairness": Row(ALL, "/api/v1/tournaments/1/fairness"),
    "GET /api/v1/standings": Row(ALL, "/api/v1/standings"),
    "GET /api/v1/head-to-head": Row(ALL, "/api/v1/head-to-head"),
    "GET /api/v1/history": Row(ALL, "/api/v1/history"),
    "GET /api/v1/bots/{name}": Row(ALL, "/api/v1/bots/fox"),
    "GET /api/v1/matches": Row(ALL, "/api/v1/matches"),
    "GET /api/v1/matches/{match_id}": Row(ALL, "/api/v1/matches/1-1"),
    "GET /api/v1/games/{game}/replay": Row(ALL, "/api/v1/games/1-1-1/replay"),
    "POST /api/v1/join": Row(OPEN, "/api/v1/join", {"code": "{spare}", "name": "{name}"}),
    "GET /api/v1/me": Row(SIGNED, "/api/v1/me"),
    "POST /api/v1/submissions": Row(SIGNED, "/api/v1/submissions?bot={name}", {"": GOOD}),
    "GET /api/v1/submissions": Row(SIGNED, "/api/v1/submissions"),
    "GET /api/v1/submissions/{submission_id}": Row(OWNER, "/api/v1/submissions/1"),
    "GET /api/v1/submissions/{submission_id}/probes/{number}": Row(OWNER, "/api/v1/submissions/1/probes/1"),
    # Taking part
    "GET /sign-in": Row(OPEN, "/sign-in"),
    "POST /sign-in": Row(OPEN, "/sign-in", {"token": "none"}),
    "POST /sign-out": Row(ALL, "/sign-out"),
    "GET /join": Row(OPEN, "/join"),
    "GET /join/{code}": Row(OPEN, "/join/{code}"),
    "POST /join": Row(OPEN, "/join", {"code": "{code}", "name": "\u202e"}),
    "GET /submit": Row(SIGNED, "/submit"),
    "POST /submit": Row(SIGNED, "/submit"),
    "GET /kit.zip": Row(ALL, "/kit.zip"),
    "GET /submissions/{submission_id}": Row(OWNER, "/submissions/1"),
    "POST /submissions/{submission_id}/retry": Row(OWNER, "/submissions/1/retry"),
    "GET /account": Row(SIGNED, "/account"),
    "POST /account/tokens": Row(SIGNED, "/account/tokens"),
    "POST /account/tokens/{token_id}/revoke": Row(OWN, "/account/tokens/{token}/revoke"),
    "POST /account/bots/{name}/{act}": Row(OWN, "/account/bots/fox/enter"),
    # The organiser
    "GET /admin/people": Row(ORGANISER, "/admin/people"),
    "POST /admin/join-links": Row(ORGANISER, "/admin/join-links"),
    "POST /admin/join-links/{code_hash}/end": Row(ORGANISER, "/admin/join-links/x/end"),
    "POST /admin/accounts": Row(ORGANISER, "/admin/accounts", {"names": "Zoe"}),
    "POST /admin/accounts/{account_id}/replace": Row(ORGANISER, "/admin/accounts/{victim}/replace"),
    "POST /admin/accounts/{account_id}/rename": Row(ORGANISER, "/admin/accounts/{victim}/rename", {"name": "Vic"}),
    "GET /admin/accounts/{account_id}/erase": Row(ORGANISER, "/admin/accounts/{victim}/erase"),
    "POST /admin/accounts/{account_id}/erase": Row(ORGANISER, "/admin/accounts/{victim}/erase"),
    "POST /admin/bots/{name}/disable": Row(ORGANISER, "/admin/bots/fox/disable"),
    "POST /admin/options": Row(ORGANISER, "/admin/options"),
    "GET /admin/contests": Row(ORGANISER, "/admin/contests"),
    "POST /admin/contests": Row(ORGANISER, "/admin/contests"),
    "GET /admin/contests/{tournament_id}": Row(ORGANISER, "/admin/contests/1"),
    "POST /admin/contests/{tournament_id}/{act}": Row(ORGANISER, "/admin/contests/1/hold"),
    "GET /admin/contests/{tournament_id}/grades.csv": Row(ORGANISER, "/admin/contests/1/grades.csv"),
    "POST /admin/announcements": Row(ORGANISER, "/admin/announcements"),
    "POST /admin/announcements/{number}/drop": Row(ORGANISER, "/admin/announcements/1/drop"),
    "POST /admin/practice/{number}/stop": Row(ORGANISER, "/admin/practice/1/stop"),
}


def addresses(routes: Any, prefix: str = "") -> Iterator[str]:
    """Yields every method and path of an application, those of its included routers too."""
    for route in routes:
        if hasattr(route, "original_router"):
            yield from addresses(route.original_router.routes, prefix + route.include_context.prefix)
        else:
            yield from (f"{method} {prefix}{route.path}" for method in sorted(route.methods - {"HEAD"}))


@dataclass
class Site:
    """A site in which there is one of everything, and its actors."""

    app: FastAPI
    store: Store
    tokens: dict[str, str]
    values: dict[str, str]
    sessions: dict[str, Visitor] = field(default_factory=dict)

    def visitor(self, actor: str, *, session: bool) -> Visitor:
        if actor == "nobody":
            return nobody(self.app)
        if session:
            if actor not in self.sessions:
                self.sessions[actor] = browser(self.app, self.tokens[actor])
            return self.sessions[actor]
        visitor = nobody(self.app)
        visitor.client.headers.update(bearer(self.tokens[actor]))
        return visitor


@pytest.fixture
def made(store: Store) -> Site:
    ada, ada_token = contestant(store)
    bob, bob_token = contestant(store, "Bob")
    victim, _ = contestant(store, "Victim")
    _, org_token = organiser(store)
    store.set_options(SiteOptions(bots=50), by=None)
    submit(store, ada, "fox")
    check = store.lease_check(60)
    assert check is not None
    game, _ = play_game(TWO, "0" * 64, random.Random(3))
    players = (Player("fox", 1, check.sha256), Player("simple", 1, None))
    record = GameRecord("cutthroat/2/fox:1,simple:1/1", 1, TWO, "0" * 64, players, bytes(game.acts), game.faults)
    store.decide(check, "accepted", {"probes": 1}, [document(record)], 1.0, accepted=True)
    submit(store, bob, "owl")
    accept(store)
    second = new_token(RANDOM)
    store.add_token(ada, second, "to be revoked", by=ada)
    play_all(store, store.create_running(new(rounds=3), store.entries()))
    code, spare = new_code(RANDOM), new_code(RANDOM)
    for each in (code, spare):
        store.invite(each, InviteKind.JOIN, by=None, cap=50)
    app = make_site(store)
    file = app.state.site.renderer.static("site.css")
    tokens = {"contestant": ada_token, "other": bob_token, "organiser": org_token}
    values = {"static": file, "code": code, "spare": spare, "victim": str(victim)}
    return Site(app, store, tokens, {**values, "token": second.id})


def ask(site: Site, actor: str, address: str, row: Row) -> str:
    """Asks for an address as somebody, and returns what became of it in a word."""
    method = address.partition(" ")[0]
    api = row.path.startswith("/api/")
    visitor = site.visitor(actor, session=not api)
    values = {**site.values, "name": f"new-{actor}"}
    path = row.path.format(**values)
    form = {key: value.format(**values) if isinstance(value, str) else value for key, value in row.form.items()}
    if method == "GET":
        answer = visitor.get(path)
    elif "" in form:
        answer = visitor.client.post(path, content=form[""], headers={"content-type": "application/octet-stream"})
    elif api:
        answer = visitor.client.post(path, json=form)
    else:
        answer = visitor.post(path, **form)
    assert answer.status_code < 500, f"{actor} {address}: {answer.status_code} {answer.text[:2000]}"
    if answer.status_code == 401 or answer.headers.get("location", "").startswith("/sign-in"):
        return "sign in"
    return {403: "forbidden", 404: "hidden"}.get(answer.status_code, "ok")


NO_SUCH_THING = {
    "GET /kit.zip",  # the project is not installed everywhere
    "GET /api/v1/tournaments/{tournament_id}/events",  # the stream of one that there is would not end
    "POST /admin/announcements/{number}/drop",
    "POST /admin/practice/{number}/stop",
}
"""Answered 404 here to those who may ask, since there is no such thing."""

LAST = ("POST /admin/accounts/{account_id}/erase", "POST /sign-out")


def test_the_table_names_every_address_and_no_other(made: Site) -> None:
    assert sorted(addresses(made.app.routes)) == sorted(TABLE)


@pytest.mark.parametrize("actor", ACTORS)
def test_each_address_does_for_each_what_the_table_says(made: Site, actor: str) -> None:
    wrong = []
    for address, row in sorted(TABLE.items(), key=lambda item: (item[0] in LAST, item[0])):
        expected = EXPECTED[row.level][ACTORS.index(actor)]
        found = ask(made, actor, address, row)
        if found != expected and not (found == "hidden" and address in NO_SUCH_THING):
            wrong.append(f"{address}: expected {expected}, found {found}")
    assert wrong == []


def test_a_site_that_is_not_public_is_closed_to_strangers_address_by_address(made: Site) -> None:
    made.store.set_options(SiteOptions(public=False, bots=50), by=None)
    for address, row in TABLE.items():
        expected = "ok" if row.level == OPEN else "sign in"
        assert ask(made, "nobody", address, row) == expected, address


def test_no_change_is_a_get_and_no_form_of_a_session_works_without_its_key(made: Site) -> None:
    for actor in ("contestant", "organiser"):
        visitor = made.visitor(actor, session=True)
        visitor.csrf = "wrong"
        for address, row in TABLE.items():
            if address.startswith("POST") and "" not in row.form and not row.path.startswith("/api/"):
                path = row.path.format(**made.values)
                assert visitor.post(path, **{k: str(v) for k, v in row.form.items()}).status_code == 403, address
