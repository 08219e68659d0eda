"""Handing in and reading verdicts, by page and by API; accounts; the organiser's page."""

import csv
import io
import random
import re
import zipfile

import pytest
from fastapi import FastAPI

from tests.people.people import GOOD, accept, contestant, organiser, submit
from tests.people.site import Visitor, bearer, browser, nobody, site, token_of
from tests.store.play import TWO, entrants, new, play_game
from tournament.models_people import SubmissionState
from tournament.people import SiteOptions
from tournament.replay import GameRecord, Player, document
from tournament.store import Store
from workers.checker import verdict_of

CRASH = {
    "accepted": False,
    "stage": "probe",
    "fault": {
        "kind": "exception",
        "message": "ZeroDivisionError: <b>",
        "line": 5,
        "traceback": 'File "bot.py", line 5',
    },
    "log": "about to <divide>\x1b[31m",
    "use": {"loading": (0.02, 10.0), "slowest decision": (0.001, 1.0), "memory": (5 << 20, 256 << 20)},
    "deal_cpu_s": 0.01,
    "documents": [{"one": 1}],
}


@pytest.fixture
def app(store: Store) -> FastAPI:
    return site(store)


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_py", ".py"), content)
    return buffer.getvalue()


def reject(store: Store, verdict: dict[str, object] = CRASH) -> int:
    check = store.lease_check(60)
    assert check is not None
    store.decide(check, str(verdict["stage"]), verdict_of(verdict, "x"), verdict["documents"], 2.0, accepted=False)  # type: ignore[arg-type]
    return check.id


def followed(visitor: Visitor, answer: object) -> str:
    assert answer.status_code == 303, answer.text  # type: ignore[attr-defined]
    page: str = visitor.get(answer.headers["location"]).text  # type: ignore[attr-defined]
    return page


@pytest.mark.parametrize("how", ["file", "zip", "text"])
def test_a_bot_is_handed_in_as_a_file_a_zip_or_text(store: Store, app: FastAPI, how: str) -> None:
    _, token = contestant(store)
    visitor = browser(app, token)
    form = {"csrf": visitor.csrf, "bot": "fox", "note": "first try"}
    if how == "text":
        answer = visitor.post("/submit", **form, code=GOOD.decode().replace("\n", "\r\n"))
    else:
        name, data = ("my.py", GOOD) if how == "file" else ("my.zip", zipped(bot_py=GOOD, helper_py=b"x = 1\n"))
        answer = visitor.client.post("/submit", data=form, files={"file": (name, data)}, follow_redirects=False)
    page = followed(visitor, answer)
    assert "Next in line" in page
    (found,) = store.submissions()
    assert (found.bot, found.note) == ("fox", "first try")
    check = accept(store)
    source = store.source(check.sha256)
    assert dict(source.files)["bot.py"] == GOOD
    assert "Accepted as version 1" in visitor.get(f"/submissions/{found.id}").text


def test_a_form_with_an_error_says_it_on_top_and_keeps_what_was_typed(store: Store, app: FastAPI) -> None:
    _, token = contestant(store)
    visitor = browser(app, token)
    wrong = visitor.post("/submit", bot="Not A Name", note="hm", code="class Bot: pass")
    assert wrong.status_code == 422
    assert "is no bot name" in wrong.text
    for kept in ('value="Not A Name"', 'value="hm"', "class Bot: pass</textarea>"):
        assert kept in wrong.text
    assert visitor.post("/submit", bot="fox").status_code == 422
    house = visitor.post("/submit", bot="counter", code="class Bot: pass")
    assert (house.status_code, "house bot" in house.text) == (409, True)


def test_a_text_too_long_to_be_pasted_is_told_to_come_as_a_file(store: Store, app: FastAPI) -> None:
    _, token = contestant(store)
    visitor = browser(app, token)
    form = {"csrf": visitor.csrf, "bot": "fox", "code": "#" * ((1 << 20) + 1)}
    answer = visitor.client.post("/submit", data=form, files={"file": ("", b"")})
    assert (answer.status_code, "hand in longer text as a file" in answer.text) == (413, True)


def test_an_upload_that_is_refused_has_a_page_with_every_reason(store: Store, app: FastAPI) -> None:
    _, token = contestant(store)
    visitor = browser(app, token)
    page = followed(visitor, visitor.post("/submit", bot="fox", code="x = '\u202e'\n"))
    assert "upload checks: stopped here" in page
    assert "U+202E" in page
    assert "What to do" in page


def test_a_crash_in_the_probe_shows_line_traceback_log_replay_and_what_to_do(store: Store, app: FastAPI) -> None:
    ada, token = contestant(store)
    number = submit(store, ada, "fox")
    visitor = browser(app, token)
    assert "data-part" in visitor.get(f"/submissions/{number}").text
    reject(store)
    page = visitor.get(f"/submissions/{number}").text
    for words in ("probe: stopped here", "line 5: exception: ZeroDivisionError: &lt;b&gt;", "What to do", "Traceback"):
        assert words in page
    assert "about to &lt;divide&gt;\\u001b[31m" in page
    assert f"/api/v1/submissions/{number}/probes/1" in page
    assert "data-part" not in page
    assert "http-equiv" not in page


def test_a_check_that_failed_through_us_can_be_tried_again(store: Store, app: FastAPI) -> None:
    ada, token = contestant(store)
    number = submit(store, ada, "fox")
    for _ in range(2):
        check = store.lease_check(60)
        assert check is not None
        store.give_up(check, "the sandbox is broken")
    visitor = browser(app, token)
    page = visitor.get(f"/submissions/{number}").text
    assert "not through your bot" in page
    assert "the sandbox is broken" in page
    assert "Next in line" in followed(visitor, visitor.post(f"/submissions/{number}/retry"))
    assert visitor.post(f"/submissions/{number}/retry").status_code == 409


def test_the_api_tells_the_same_and_ends_in_a_final_state(store: Store, app: FastAPI) -> None:
    ada, token = contestant(store)
    api = nobody(app).client
    api.headers.update(bearer(token))
    sent = api.post("/api/v1/submissions?bot=fox&file_name=my.py&note=hm", content=GOOD)
    assert sent.status_code == 202, sent.text
    first = sent.json()
    assert (first["state"], first["stage"], first["final"], first["ahead"]) == ("waiting", "received", False, 0)
    again = api.post("/api/v1/submissions?bot=fox&file_name=my.py", content=GOOD)
    assert again.json()["id"] == first["id"]
    reject(store)
    found = api.get(f"/api/v1/submissions/{first['id']}").json()
    assert (found["state"], found["final"]) == ("rejected", True)
    assert found["verdict"]["fault"]["line"] == 5
    assert api.get(found["probes"][0]).json() == {"one": 1}
    assert api.get(f"/api/v1/submissions/{first['id']}/probes/2").status_code == 404
    listed = api.get("/api/v1/submissions").json()
    assert [item["id"] for item in listed["items"]] == [first["id"]]
    assert listed["next"] is None
    assert api.get("/api/v1/me").json()["bots"][0]["name"] == "fox"
    assert store.submissions(account_id=ada)[0].state is SubmissionState.REJECTED


def test_a_quota_and_a_busy_site_answer_with_the_time_to_wait(store: Store, app: FastAPI) -> None:
    _, token = contestant(store)
    bob, _ = contestant(store, "Bob")
    store.set_options(SiteOptions(uploads_per_hour=1, waiting=1), by=None)
    submit(store, bob, "owl")
    api = nobody(app).client
    api.headers.update(bearer(token))
    busy = api.post("/api/v1/submissions?bot=fox", content=GOOD)
    assert (busy.status_code, busy.headers["retry-after"]) == (503, "61")
    accept(store)
    assert api.post("/api/v1/submissions?bot=fox", content=GOOD).status_code == 202
    spent = api.post("/api/v1/submissions?bot=fox", content=GOOD + b"#")
    assert spent.status_code == 429
    assert 3000 < int(spent.headers["retry-after"]) <= 3602
    assert "1 uploads in the last hour" in spent.json()["detail"]


def test_an_account_shows_bots_submissions_and_tokens_and_changes_them(store: Store, app: FastAPI) -> None:
    ada, token = contestant(store)
    for bot in ("fox", "owl"):
        submit(store, ada, bot)
        accept(store)
    visitor = browser(app, token)
    page = visitor.get("/account").text
    assert page.count("✓ enters") == 1
    visitor.post("/account/bots/fox/enter")
    assert [bot.name for bot in store.bots() if bot.enters] == ["fox"]
    visitor.post("/account/bots/fox/withdraw")
    assert [bot.name for bot in store.bots() if bot.enters] == ["owl"]
    visitor.post("/account/bots/fox/return")
    assert store.bots(name="fox")[0].withdrawn_at is None
    assert visitor.post("/account/bots/fox/explode").status_code == 422
    made = visitor.post("/account/tokens", label="laptop", days="7", scope=["read"])
    second = token_of(made.text)
    assert second != token
    (_, listed) = store.tokens(ada)
    assert (listed.label, sorted(listed.scopes)) == ("laptop", ["read"])
    assert listed.expires_at is not None
    visitor.post(f"/account/tokens/{listed.id}/revoke")
    assert store.identify_token(second) is None
    assert visitor.post("/account/tokens/aaaaaaaa/revoke").status_code == 404


def test_the_organiser_makes_accounts_in_bulk_and_gets_one_file_of_links(store: Store, app: FastAPI) -> None:
    _, token = organiser(store)
    org = browser(app, token)
    answer = org.post("/admin/accounts", names='Ada,ada@example\n"Bob, the second",x\n\n=1+1\n')
    assert answer.headers["content-disposition"] == 'attachment; filename="claim-links.csv"'
    rows = list(csv.reader(io.StringIO(answer.text)))
    assert [row[0] for row in rows] == ["name", "Ada", "Bob, the second", "'=1+1"]
    visitor = nobody(app)
    code = rows[1][1].rpartition("/")[2]
    assert "Ada" in visitor.get(f"/join/{code}").text
    assert visitor.post("/join", code=code).status_code == 200
    assert org.post("/admin/accounts", names="Eve\nADA").status_code == 409
    assert "Eve" not in {account.name for account in store.accounts()}


def test_the_organiser_replaces_a_lost_token(store: Store, app: FastAPI) -> None:
    org_id, org_token = organiser(store)
    ada, lost = contestant(store)
    org = browser(app, org_token)
    page = org.post(f"/admin/accounts/{ada}/replace").text
    assert store.identify_token(lost) is None
    code = page.partition("/join/")[2].partition('"')[0]
    visitor = nobody(app)
    found = store.identify_token(token_of(visitor.post("/join", code=code).text))
    assert found is not None
    assert found.account_id == ada
    assert org.post(f"/admin/accounts/{org_id}/replace").status_code == 409


def test_the_organiser_renames_disables_erases_and_sets_the_site(store: Store, app: FastAPI) -> None:
    _, org_token = organiser(store)
    ada, _ = contestant(store)
    submit(store, ada, "fox")
    accept(store)
    org = browser(app, org_token)
    org.post(f"/admin/accounts/{ada}/rename", name="Countess")
    assert store.account(ada).name == "Countess"
    assert org.post(f"/admin/accounts/{ada}/rename", name="org").status_code == 409
    org.post("/admin/bots/fox/disable", reason="12 timeouts")
    assert "12 timeouts" in org.get("/admin/people").text
    assert store.entries() == []
    org.post("/admin/bots/fox/disable", reason="")
    assert len(store.entries()) == 1
    assert "cannot be taken back" in org.get(f"/admin/accounts/{ada}/erase").text
    assert org.post(f"/admin/accounts/{ada}/erase").status_code == 303
    assert org.get(f"/admin/accounts/{ada}/erase").status_code == 404
    numbers = {
        "uploads_per_hour": "5",
        "bots": "2",
        "source_bytes": "1000",
        "check_cpu_s_per_day": "60",
        "waiting": "9",
    }
    assert org.post("/admin/options", **numbers, frozen="on").status_code == 303
    assert store.options() == SiteOptions(False, True, 5, 2, 1000, 60, 9)
    assert org.post("/admin/options", **{**numbers, "bots": "-1"}).status_code == 422
    assert org.post("/admin/options", **{**numbers, "bots": "0"}).status_code == 422


def test_hostile_names_and_logs_are_text_on_every_page(store: Store, app: FastAPI) -> None:
    _, org_token = organiser(store)
    evil = "<script>alert(1)</script>"
    ada, token = contestant(store, evil)
    visitor, org = browser(app, token), browser(app, org_token)
    form = {"csrf": visitor.csrf, "bot": "fox", "note": evil}
    visitor.client.post("/submit", data=form, files={"file": (f"{evil}.py", GOOD)})
    number = reject(store, {**CRASH, "log": evil, "fault": {**CRASH["fault"], "message": evil, "traceback": evil}})  # type: ignore[dict-item]
    pages = ["/account", f"/submissions/{number}", "/submit?bot=" + evil]
    pages += ["/admin/people", f"/admin/accounts/{ada}/erase"]
    for path in pages:
        for who in (visitor, org):
            answer = who.get(path)
            assert evil not in answer.text, path
            assert answer.headers["content-security-policy"].startswith("default-src 'none'")


def test_a_verdict_says_how_much_of_each_limit_was_used(store: Store, app: FastAPI) -> None:
    ada, token = contestant(store)
    number = submit(store, ada, "fox")
    reject(store)
    page = browser(app, token).get(f"/submissions/{number}").text
    assert re.findall(r'<th scope="row">([^<]+)</th>.*<td class="n">([0-9.]+)</td></tr>', page) == [
        ("Loading", "0.2"),
        ("Slowest decision", "0.1"),
        ("Memory", "2.0"),
    ]


def test_the_page_of_a_bot_tells_its_owner_that_the_newest_upload_was_rejected(store: Store, app: FastAPI) -> None:
    ada, token = contestant(store)
    _, other = contestant(store, "Bob")
    submit(store, ada, "fox")
    accept(store)
    store.create_running(new(TWO), [*store.entries(), *entrants(1)])
    words = "The newest upload was not accepted"
    assert words not in browser(app, token).get("/bots/fox").text
    refused = submit(store, ada, "fox", "2")
    reject(store)
    page = browser(app, token).get("/bots/fox").text
    assert words in page
    assert f'href="/submissions/{refused}"' in page
    assert words in browser(app, token).get("/bots/fox/v1").text
    for visitor in (browser(app, other), nobody(app)):
        assert words not in visitor.get("/bots/fox").text
    submit(store, ada, "fox", "3")
    accept(store)
    assert words not in browser(app, token).get("/bots/fox").text


def test_a_site_with_hundreds_of_submissions_keeps_its_lists_short(store: Store, app: FastAPI) -> None:
    store.set_options(SiteOptions(uploads_per_hour=1000), by=None)
    ada, token = contestant(store)
    for number in range(60):
        submit(store, ada, "fox", str(number))
    api = nobody(app).client
    api.headers.update(bearer(token))
    first = api.get("/api/v1/submissions").json()
    rest = api.get(f"/api/v1/submissions?before={first['next']}").json()
    assert (len(first["items"]), len(rest["items"]), rest["next"]) == (50, 10, None)
    assert len({item["id"] for item in first["items"] + rest["items"]}) == 60
    visitor = browser(app, token)
    page = visitor.get("/account").text
    assert page.count('href="/submissions/') == 20
    assert "before=" in page


def test_a_probe_is_shown_like_any_game_to_its_owner_and_the_organiser_only(store: Store, app: FastAPI) -> None:
    ada, token = contestant(store)
    _, other = contestant(store, "Bob")
    _, org_token = organiser(store)
    number = submit(store, ada, "fox")
    check = store.lease_check(60)
    assert check is not None
    game, _ = play_game(TWO, "0" * 64, random.Random(3))
    players = (Player("fox", 1, check.sha256), Player("simple", 1, None))
    record = GameRecord("cutthroat/2/fox:1,simple:1/1", 1, TWO, "0" * 64, players, bytes(game.acts), game.faults)
    store.decide(check, "probe", {"probes": 1}, [document(record)], 1.0, accepted=False)
    name = f"s{number}-1"
    addresses = [f"/games/{name}/replay", f"/games/{name}/replay?part=1&step=3", f"/games/{name}/replay.json"]
    addresses += [f"/games/{name}/replay.txt", f"/api/v1/games/{name}/replay"]
    for reader in (token, org_token):
        visitor = browser(app, reader)
        for address in addresses:
            answer = visitor.get(address)
            assert answer.status_code == 200, address
            # Who signs in next on the same browser gets nothing of it without being asked who that is.
            kept = answer.headers["cache-control"] not in ("no-store", "no-cache")
            assert not kept or answer.headers["vary"] == "Cookie, Authorization", address
    assert f'href="/submissions/{number}"' in browser(app, token).get(addresses[0]).text
    stranger = browser(app, other)
    assert {stranger.get(address).status_code for address in addresses} == {404}
    assert {nobody(app).get(address).status_code for address in addresses} == {303, 401}
    for wrong in (f"s{number}-2", "s-1", "sx-1", "s99-1", "s9999999999999999-1"):
        assert browser(app, token).get(f"/games/{wrong}/replay").status_code == 404
