"""The organiser's pages, and what the site shows to whom while standings are held."""

import json
import re
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import html5lib
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from dashboard.app import create_app
from dashboard.contest_pages import ACTS
from tests.people.people import contestant, organiser
from tests.people.site import Visitor, browser, nobody
from tests.store.play import TWO, entrants, new, play, play_all, started
from tournament.cli_servers import make_site
from tournament.export import export_tournament
from tournament.models import TournamentState
from tournament.models_contest import Verdict
from tournament.source import BotSource
from tournament.store import Store
from tournament.store_repeats import add_repeat
from tournament.store_values import NewEntrant
from tournament.verify_settings import FILES

PAGES = ("/", "/standings?tournament=1", "/standings.csv?tournament=1", "/head-to-head?tournament=1",
         "/history?tournament=1", "/matches?tournament=1", "/tournaments/1", "/tournaments/1/screen",
         "/tournaments/1/fairness", "/bots/bot0?tournament=1", "/bots/bot1/faults?tournament=1", "/matches/1-6",
         "/games/1-6-1/replay", "/api/v1/standings?tournament=1", "/api/v1/matches?tournament=1",
         "/api/v1/matches/1-6", "/api/v1/games/1-6-1/replay", "/api/v1/tournaments/1",
         "/api/v1/tournaments/1/fairness", "/api/v1/history?tournament=1",
         "/api/v1/bots/bot0?tournament=1")  # fmt: skip


def house(names: object) -> list[NewEntrant]:
    assert isinstance(names, list | tuple)
    return [NewEntrant(name, 1, BotSource.of_file(name.encode()), 0, house=True) for name in names]


@pytest.fixture
def app(store: Store) -> FastAPI:
    return create_app(store, clock=lambda: datetime.fromtimestamp(1000, UTC), house=house)


def shown(visitor: Visitor, address: str) -> tuple[int, str]:
    answer = visitor.get(address)
    return answer.status_code, re.sub(r'"request_id":"[^"]*"|name="csrf" value="[^"]*"', "", answer.text)


def test_while_standings_are_held_nobody_but_an_organiser_sees_what_ended_later(store: Store, app: FastAPI) -> None:
    _, token = organiser(store)
    _, ordinary = contestant(store)
    tournament = started(store, 4, TWO, rounds=2, now=100.0)
    for moment, match in enumerate(store.lease(5, 60, now=100), 100):
        store.record([play(store, match, faults=True)], now=float(moment))
    store.hold(tournament, 150.0)
    visitors = [nobody(app), browser(app, ordinary)]
    before = [{page: shown(visitor, page) for page in PAGES} for visitor in visitors]
    assert before[0]["/matches/1-6"][0] == 200
    assert before[0]["/api/v1/games/1-6-1/replay"][0] == 409
    play_all(store, tournament)
    store.void(tournament, 9, "overloaded machine")
    play_all(store, tournament)
    for visitor, seen in zip(visitors, before, strict=True):
        for page in PAGES:
            assert shown(visitor, page) == seen[page], page
        told = json.loads(visitor.get("/api/v1/tournaments/1").text)
        assert (told["progress"]["finished"], told["progress"]["queued"], told["secret"]) == (5, 7, None)
    mine = browser(app, token)
    assert json.loads(mine.get("/api/v1/tournaments/1").text)["progress"]["finished"] == 12
    assert mine.get("/api/v1/games/1-6-1/replay").status_code == 200
    assert "The standings of trial are held since" in visitors[0].get("/rules").text
    assert mine.post(f"/admin/contests/{tournament}/publish").status_code == 303
    assert visitors[0].get("/api/v1/games/1-6-1/replay").status_code == 200
    assert json.loads(visitors[0].get("/api/v1/tournaments/1").text)["secret"] == "demo"


def test_the_stream_of_events_ends_where_the_standings_are_held(store: Store, app: FastAPI) -> None:
    tournament = started(store, 3, TWO, now=100.0)
    (match,) = store.lease(1, 60, now=100)
    store.record([play(store, match)], now=100.0)
    store.hold(tournament, 150.0)
    play_all(store, tournament)
    public = app.state.public_site.store
    assert [event.payload.get("number") for event in public.events(tournament) if event.topic == "match"] == [1]
    assert app.state.public_site.feed is not app.state.site.feed


def test_the_metrics_leave_held_tournaments_out(store: Store) -> None:
    started(store, 3, TWO)
    held = started(store, 3, TWO)
    client = TestClient(make_site(store))
    assert f'smear_matches{{tournament="{held}"' in client.get("/metrics").text
    store.hold(held, 5000.0)
    text = client.get("/metrics").text
    assert f'tournament="{held}"' not in text
    assert 'smear_matches{tournament="1"' in text


def test_an_organiser_makes_plans_and_starts_a_tournament_in_the_browser(store: Store, app: FastAPI) -> None:
    account, token = organiser(store)
    mine = browser(app, token)
    form = {"name": "Cup", "players": "2", "budget": "1min", "house": ["simple", "random"], "cores": "2",
            "closes": "1970-01-02 12:00", "zone": "Europe/Zurich", "order": "elo"}  # fmt: skip
    answer = mine.post("/admin/contests", **form)
    assert answer.headers["location"] == "/admin/contests/1"
    info = store.tournament(1)
    assert (info.state, info.final_order, info.closes_at) == (TournamentState.DRAFT, "elo", 126_000.0)
    assert mine.post("/admin/contests/1/open").status_code == 303
    assert "Entries of Cup close 1970-01-02 12:00 CET, in 34 h 43 min." in nobody(app).get("/").text
    page = mine.get("/admin/contests/1").text
    assert info.commitment in page
    assert "2 bots would enter now" in page
    assert "matches" in page
    assert mine.post("/admin/contests/1/plan", rounds="7", house=["simple", "random"]).status_code == 303
    assert mine.post("/admin/contests/1/start").status_code == 303
    assert [each.text for each in store.entrants(1)] == ["random:1", "simple:1"]
    assert store.counts(1).planned == 7
    assert mine.post("/admin/contests/1/pause").status_code == 303
    assert mine.post("/admin/contests/1/open").status_code == 409
    assert "<button>Continue</button>" in mine.get("/admin/contests/1").text
    assert mine.post("/admin/contests/1/continue").status_code == 303
    assert mine.post("/admin/contests/1/disqualify", bot=1, reason="").status_code == 422
    assert mine.post("/admin/contests/1/disqualify", bot=1, reason="copied").status_code == 303
    assert mine.post("/admin/contests/1/void", matches="1", reason="x").status_code == 409
    play_all(store, 1)
    assert "<button>Continue</button>" not in mine.get("/admin/contests/1").text
    assert mine.post("/admin/contests/1/continue").status_code == 409
    assert store.tournament(1).state is TournamentState.FINISHED
    assert mine.post("/admin/contests/1/void", matches="1, 3", reason="overloaded machine").status_code == 303
    play_all(store, 1)
    fairness = nobody(app).get("/tournaments/1/fairness").text
    assert "overloaded machine" in fairness
    (own,) = re.findall(r'href="([^"]+)">Each pair', fairness)
    assert own.removeprefix("http://testserver") == "/head-to-head?tournament=1&amp;show=matches"
    assert mine.get("/admin/contests/1/grades.csv").text.startswith("contestant,bot,version,place,than random:1")
    assert mine.post("/admin/contests/1/announce", reason="<b>Prizes at six</b>").status_code == 303
    assert "Cup: &lt;b&gt;Prizes at six&lt;/b&gt;" in nobody(app).get("/help").text
    assert mine.post("/admin/announcements/1/drop").status_code == 303
    acts = [line.act for line in reversed(store.audit_log()) if line.account_id == account]
    expected = ["make", "open", "change plan", "start", "paused", "running", "disqualify", "void", "void", "announce"]
    assert acts[-11:] == [*expected, "take back"]
    (gone,) = (line.subject for line in store.audit_log() if line.act == "disqualify")
    assert gone == "tournament 1 bot simple:1"


def test_who_has_an_extension_is_told_how_long_and_nobody_else_is(store: Store, app: FastAPI) -> None:
    _, token = organiser(store)
    (ada, her_token), (_, his_token) = contestant(store), contestant(store, "Bob")
    browser(app, token).post("/admin/contests", name="Cup", players="2")
    store.set_times(1, None, 1.0)
    store.extend(1, ada, 1000.0 + 3720.0)
    hers, his = browser(app, her_token), browser(app, his_token)
    assert "You may hand in for Cup until 1970-01-01 01:18 UTC: 1 h 2 min are left." in hers.get("/submit").text
    assert "You may hand in" not in his.get("/submit").text + nobody(app).get("/").text
    store.extend(1, ada, 999.0)
    assert "You may hand in" not in hers.get("/submit").text


def test_the_form_asks_for_layers_of_the_sandbox_and_for_a_share_to_play_again(store: Store, app: FastAPI) -> None:
    _, token = organiser(store)
    mine = browser(app, token)
    assert 'value="own-uid"' in mine.get("/admin/contests").text
    assert mine.post("/admin/contests", name="Cup", demands=["own-uid"], repeat_percent="10").status_code == 303
    info = store.tournament(1)
    assert (info.environment, info.plan.repeat_share) == ({"demands": ["own-uid"]}, 0.1)
    for wrong in ({"demands": ["walls"]}, {"repeat_percent": "101"}, {"repeat_percent": "x"}):
        assert mine.post("/admin/contests", name="Cup", **wrong).status_code == 422, wrong


def test_the_export_is_given_out_when_all_is_over_and_is_that_of_the_command(
    store: Store, app: FastAPI, tmp_path: Path
) -> None:
    _, token = organiser(store)
    tournament = started(store, 3, TWO)
    address = f"/tournaments/{tournament}/export.zip"
    assert nobody(app).get(address).status_code == 409
    store.hold(tournament, 5000.0)
    play_all(store, tournament)
    for visitor in (nobody(app), browser(app, token)):
        assert visitor.get(address).status_code == 409
        assert address not in visitor.get(f"/tournaments/{tournament}/fairness").text
    store.hold(tournament, None)
    for page in (f"/tournaments/{tournament}/fairness", f"/tournaments/{tournament}"):
        assert address in nobody(app).get(page).text
    body = nobody(app).get(address).content
    assert nobody(app).get(address).content == body
    export_tournament(store, tournament, tmp_path / "folder")
    with ZipFile(BytesIO(body)) as archive:
        assert archive.namelist() == list(FILES)
        assert all(archive.read(name) == (tmp_path / "folder" / name).read_bytes() for name in FILES)
    store.disqualify(tournament, 0, "copied")
    assert nobody(app).get(address).content != body
    assert nobody(app).get("/tournaments/99/export.zip").status_code == 404


def test_the_organisers_pages_are_well_formed_at_every_step(store: Store, app: FastAPI) -> None:
    _, token = organiser(store)
    ada, _ = contestant(store)
    mine = browser(app, token)
    draft = {"name": "<Cup>", "players": "2", "closes": "2100-01-02 12:00", "budget": "2h", "house": "simple"}
    assert mine.post("/admin/contests", **draft).status_code == 303
    assert mine.post("/admin/contests", **{**draft, "practice_at": "02:00", "closes": ""}).status_code == 303
    assert mine.post("/admin/announcements", text="<Hello>").status_code == 303
    store.extend(1, ada, 5e9)
    early = mine.post("/admin/contests/1/start")
    assert (early.status_code, "entries are open until 2128-" in early.text) == (409, True)
    tournament = started(store, 3, TWO)
    play_all(store, tournament)
    add_repeat(store, tournament, 1, "here", Verdict.WORKER, detail="who played it first: <bot>")
    assert mine.post(f"/admin/contests/{tournament}/repeat", matches="2 3").status_code == 303
    store.disqualify(tournament, 1, "<copied>")
    store.hold(tournament, 5000.0)
    pages = [mine.get(page) for page in ("/admin/contests", "/admin/contests/1", f"/admin/contests/{tournament}")]
    for page in pages:
        assert page.status_code == 200
        parser = html5lib.HTMLParser()
        parser.parse(page.text)
        assert [error[1] for error in parser.errors] == []
        ids = re.findall(r'\sid="([^"]+)"', page.text)
        assert sorted(ids) == sorted(set(ids))
        # Every field has its words, and every form the key of our own pages.
        labelled = set(re.findall(r'<label for="([^"]+)"', page.text))
        assert set(re.findall(r'<(?:input|select)[^>]*\sid="([^"]+)"', page.text)) - labelled == set()
        assert page.text.count("<form") - page.text.count('name="csrf"') == 0
    assert "&lt;Cup&gt;" in pages[0].text
    assert "every day at 02:00 UTC" in pages[0].text
    assert "It cannot start yet: 1 entrants: expected at least two" in pages[1].text
    assert "may hand in until 2128-" in pages[1].text
    assert "who played it first: &lt;bot&gt;" in pages[2].text
    assert "Waiting to be played again: 2" in pages[2].text
    assert "Publish the standings" in pages[2].text


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"name": ""}, "the name"),
        ({"rounds": "2", "budget": "2h"}, "expected one of them"),
        ({"players": "5"}, "players"),
        ({"closes": "tomorrow"}, "is no time"),
        ({"opens": "2026-12-02 09:00", "closes": "2026-12-01 09:00"}, "before it opens"),
        ({"zone": "Europe/Nowhere"}, "no time zone"),
        ({"practice_at": "25:00"}, "no time of day"),
        ({"decision_cpu_s": "-1"}, "positive number"),
        ({"decision_cpu_s": "soon"}, "“CPU seconds of a decision” is &#39;soon&#39;: Input should be a valid number"),
        ({"repeat_percent": "x"}, "plays again” is &#39;x&#39;: Input should be a valid number"),
        ({"repeat_percent": "nan"}, "expected 0 to 1"),
        (
            {"memory_mib": "99999"},
            "“Memory of a bot in MiB” is &#39;99999&#39;: Input should be less than or equal to 4096",
        ),
        ({"memory_mib": "1"}, "“Memory of a bot in MiB” is &#39;1&#39;: Input should be greater than or equal to 16"),
        ({"rounds": "0"}, "rounds is 0: expected 1 to 10000"),
        ({"cores": "0"}, "cores is 0: expected 1 to 10000"),
        ({"practice_at": "02:00", "closes": "2026-12-01 09:00"}, "practice rounds with times for entries"),
    ],
)
def test_a_form_that_makes_no_sense_says_why(store: Store, app: FastAPI, wrong: dict[str, str], words: str) -> None:
    _, token = organiser(store)
    answer = browser(app, token).post("/admin/contests", **{"name": "Cup", **wrong})
    assert answer.status_code == 422
    assert words in answer.text
    assert store.tournaments() == []


def test_acts_that_say_too_little_are_refused_and_change_nothing(store: Store, app: FastAPI) -> None:
    _, token = organiser(store)
    mine = browser(app, token)
    tournament = started(store, 3, TWO)
    play_all(store, tournament)
    draft = store.create(new())
    before = len(store.audit_log())
    for act, form, words in (
        ("void", {"matches": "", "reason": "late"}, "no match named"),
        ("void", {"matches": "1", "reason": " "}, "no reason"),
        ("disqualify", {"bot": "1", "reason": ""}, "no reason"),
        ("announce", {"reason": " "}, "an empty announcement"),
    ):
        answer = mine.post(f"/admin/contests/{tournament}/{act}", **form)
        assert (answer.status_code, words in answer.text) == (422, True), act
    assert mine.post("/admin/announcements", text="").status_code == 422
    for act, form, words in (
        ("repeat", {}, "is recorded yet"),
        ("plan", {"rounds": "0"}, "rounds is 0: expected 1 to 10000"),
        ("plan", {"rounds": "1000000000000"}, "rounds is 1000000000000: expected 1 to 10000"),
    ):
        answer = mine.post(f"/admin/contests/{draft}/{act}", **form)
        assert (answer.status_code, words in answer.text) == (422, True), act
    assert mine.get(f"/admin/contests/{draft}/grades.csv").status_code == 409
    assert len(store.audit_log()) == before


def test_a_tournament_that_has_not_started_has_its_pages_and_is_not_the_one_shown_first(
    store: Store, app: FastAPI
) -> None:
    store.create(new())
    pages = ("/", "/standings", "/head-to-head", "/history", "/matches", "/tournaments/1", "/tournaments/1/screen",
             "/tournaments/1/fairness", "/api/v1/standings", "/api/v1/tournaments/1")  # fmt: skip
    assert {page: nobody(app).get(page).status_code for page in pages} == dict.fromkeys(pages, 200)
    running = started(store, 2, TWO)
    store.create(new(name="the next one"))
    assert f"/tournaments/{running}" in nobody(app).get("/").text
    assert json.loads(nobody(app).get("/api/v1/standings").text)["tournament"]["id"] == running


def test_none_of_it_is_for_contestants(store: Store, app: FastAPI) -> None:
    _, token = contestant(store)
    store.create(new())
    theirs = browser(app, token)
    addresses = ["/admin/contests", "/admin/contests/1", "/admin/contests/1/grades.csv"]
    assert {theirs.get(address).status_code for address in addresses} == {403}
    posts = ["/admin/contests", *(f"/admin/contests/1/{act}" for act in ACTS), "/admin/announcements"]
    assert {theirs.post(address).status_code for address in posts} == {403}
    assert store.tournament(1).state is TournamentState.DRAFT
    assert len(entrants(2)) == 2
