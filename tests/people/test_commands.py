"""Taking part and organising by commands only, against a server on this machine."""

import csv
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dashboard.app import create_app
from tests.browser.driver import Server
from tests.people.people import RANDOM, accept, organiser
from tests.people.test_checker import BOTS, opponent
from tests.servers.finder import free_port
from tournament import remote
from tournament.cli import line_of, make_app
from tournament.cli_common import Refused
from tournament.cli_servers import _say_address
from tournament.intake import check_upload
from tournament.models_people import InviteKind
from tournament.people import SiteOptions
from tournament.source import BotSource
from tournament.store import Store
from tournament.tokens import new_code
from workers.checker import Checker, ChildJudge
from workers.sandbox.faults import SandboxFailure
from workers.sandbox.host import Sandbox

Run = Callable[..., Result]


@pytest.fixture
def server(store: Store) -> Iterator[str]:
    running = Server(create_app(store))
    running.start()
    yield running.address
    running.stop()


@pytest.fixture
def run(store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command as one of several people, each with a home of its own."""
    app = make_app()
    monkeypatch.setenv("TOURNAMENT_DATABASE_URL", store_url)

    def command(who: str, *arguments: str) -> Result:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / who))
        return CliRunner().invoke(app, arguments)

    return command


def test_an_organiser_claims_three_join_submit_read_their_verdicts_and_repair(
    store: Store, server: str, run: Run, tmp_path: Path
) -> None:
    try:
        with Sandbox():
            pass
    except SandboxFailure as failure:
        pytest.skip(f"no sandbox here: {failure}")
    code = new_code(RANDOM)
    store.invite(code, InviteKind.CLAIM, by=None)
    assert run("org", "join", f"{server}/join/{code}", "--name", "Org").exit_code == 0
    link = run("org", "contestant", "link", "--cap", "3", "--base", server).stdout.strip()
    for who in ("ada", "bob", "eve"):
        joined = run(who, "join", link, "--name", who.title())
        assert joined.exit_code == 0, joined.output
    stop, judge = threading.Event(), ChildJudge()
    checks = threading.Thread(target=Checker(store, opponent(), judge).run, args=(stop,))
    checks.start()
    try:
        for who, bot, words in (
            ("ada", "syntax", ("upload checks", "line 2")),
            ("bob", "crash", ("probe", "line 5: exception: ZeroDivisionError", "about to divide", "What to do")),
            ("eve", "hang", ("probe", ": timeout-cpu: ", 'File "bot.py", line', "What to do")),
        ):
            file = tmp_path / f"{bot}_bot.py"
            file.write_bytes(BOTS[bot])
            probe = tmp_path / f"{bot}.json"
            refused = run(who, "submit", str(file), "--name", bot, "--save", str(probe))
            assert refused.exit_code == 1, refused.output
            assert "Not accepted" in refused.stdout
            for word in words[1:]:
                assert word in refused.stdout
            assert json.loads(probe.read_text("utf-8"))["result"]["fault"]["kind"] in (
                "load",
                "exception",
                "timeout-cpu",
            )
            file.write_bytes(BOTS["good"])
            repaired = run(who, "submit", str(file), "--name", bot, "--json")
            assert repaired.exit_code == 0, repaired.output
            assert json.loads(repaired.stdout)["version"] == 1
    finally:
        stop.set()
        checks.join()
    assert [entry.name for entry in store.entries()] == ["crash", "hang", "syntax"]


def test_the_token_is_kept_where_nobody_else_can_read_it(store: Store, server: str, run: Run, tmp_path: Path) -> None:
    code = new_code(RANDOM)
    store.invite(code, InviteKind.JOIN, by=None)
    assert run("ada", "join", f"{server}/join/{code}", "--name", "Ada").exit_code == 0
    path = tmp_path / "ada" / "smear-tournament" / "server.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text())["server"] == server
    again = run("ada", "join", f"{server}/join/{code}", "--name", "Eve")
    assert isinstance(again.exception, remote.RemoteError)
    assert line_of(again.exception) == str(again.exception)
    assert "not good for anything" in str(again.exception)


def test_submit_takes_server_and_token_from_the_environment_and_says_what_is_missing(
    store: Store, server: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fox.py").write_bytes(BOTS["good"])
    missing = run("nobody", "submit", str(tmp_path / "fox.py"))
    assert "no server: join with" in str(missing.exception)
    _, token = organiser(store)
    monkeypatch.setenv("TOURNAMENT_SERVER", server + "/")
    monkeypatch.setenv("TOURNAMENT_TOKEN", token)
    sent = run("nobody", "submit", str(tmp_path / "fox.py"), "--no-wait", "--note", "ünïcode & more", "--json")
    assert sent.exit_code == 0, sent.output
    assert json.loads(sent.stdout)["note"] == "ünïcode & more"
    accept(store)
    again = run("nobody", "submit", str(tmp_path / "fox.py"))
    assert "these very files" in str(again.exception)
    monkeypatch.setenv("TOURNAMENT_TOKEN", token[:-2] + "xx")
    assert "not good for anything" in str(run("nobody", "submit", str(tmp_path / "fox.py")).exception)
    monkeypatch.setenv("TOURNAMENT_SERVER", "http://127.0.0.1:9")
    assert "no answer from" in str(run("nobody", "submit", str(tmp_path / "fox.py")).exception)
    monkeypatch.setenv("TOURNAMENT_SERVER", "file:///etc")
    assert "expected an address" in str(run("nobody", "submit", str(tmp_path / "fox.py")).exception)


def test_a_folder_goes_up_as_a_zip_with_the_same_hash() -> None:
    source = BotSource.of_files([("bot.py", b"import helper\n"), ("helper.py", b"x = 1\n")])
    name, data = remote.upload_of(source)
    assert check_upload(name, data).sha256 == source.sha256
    assert remote.upload_of(BotSource.of_file(b"x")) == ("bot.py", b"x")


def test_a_busy_server_says_so(
    store: Store, server: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, token = organiser(store)
    store.set_options(SiteOptions(uploads_per_hour=1), by=None)
    monkeypatch.setenv("TOURNAMENT_SERVER", server)
    monkeypatch.setenv("TOURNAMENT_TOKEN", token)
    (tmp_path / "fox.py").write_bytes(BOTS["good"])
    assert run("org", "submit", str(tmp_path / "fox.py"), "--no-wait").exit_code == 0
    (tmp_path / "fox.py").write_bytes(BOTS["good"] + b"#\n")
    assert "1 uploads in the last hour" in str(run("org", "submit", str(tmp_path / "fox.py"), "--no-wait").exception)


def test_contestants_are_added_in_bulk_renamed_replaced_and_erased(store: Store, run: Run, tmp_path: Path) -> None:
    (tmp_path / "class.csv").write_text("\ufeffName,mail\r\nAda,a@example\r\n=Bob,b@example\r\n\r\n", "utf-8")
    added = run(
        "org",
        "contestant",
        "add",
        "--csv",
        str(tmp_path / "class.csv"),
        "--links",
        str(tmp_path / "links.csv"),
        "--base",
        "http://host",
    )
    assert added.exit_code == 0, added.output
    with (tmp_path / "links.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert [row[0] for row in rows] == ["name", "Ada", "'=Bob"]
    assert rows[1][1].startswith("http://host/join/")
    assert store.find_invite(rows[1][1]) is not None
    assert "for others give --base" in run("org", "contestant", "link").output
    again = run("org", "contestant", "add", "ADA")
    assert "is taken" in str(again.exception)
    for arguments in (("add", "A\u202eB"), ("rename", "ada", ""), ("rename", "\udcff", "x"), ("replace", "\udcff")):
        assert isinstance(run("org", "contestant", *arguments).exception, Refused), arguments
    assert run("org", "contestant", "rename", "ada", "Countess").exit_code == 0
    replaced = run("org", "contestant", "replace", "Countess", "--base", "http://host").stdout.strip()
    assert store.find_invite(rows[1][1]) is None
    assert store.find_invite(replaced) is not None
    assert run("org", "contestant", "erase", "Countess", "--yes").exit_code == 0
    listed = json.loads(run("org", "contestant", "list", "--json").stdout)
    assert [row["name"] for row in listed if row["role"] == "contestant"] == [f"erased {listed[0]['id']}", "=Bob"]


def test_serve_prints_the_way_to_claim_it_and_ends_on_term(tmp_path: Path, run: Run) -> None:
    port = free_port()
    command = [sys.executable, "-c", "from tournament.cli import main; main()"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)), "COLUMNS": "200"}
    environment["TOURNAMENT_DATABASE_URL"] = str(tmp_path / "new.db")
    process = subprocess.Popen(
        [*command, "serve", "--web-only", "--port", str(port)], env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "Claim this installation" in line)
        link = line.split()[-1]
        assert link.startswith(f"http://127.0.0.1:{port}/join/")
        joined = None
        for _ in range(100):
            joined = run("org", "join", link, "--name", "Org")
            if joined.exit_code == 0:
                break
            threading.Event().wait(0.1)  # until it listens
        assert joined is not None
        assert "(organiser)" in joined.stdout
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) is not None
        process.stderr.close()  # type: ignore[union-attr]


def test_in_a_local_network_serve_prints_the_address_and_its_qr_code(capsys: pytest.CaptureFixture[str]) -> None:
    base = _say_address(8123)
    printed = capsys.readouterr().err
    assert base.startswith("http://")
    assert base.endswith(":8123")
    assert f"{base}/ for everybody in this network, over plain HTTP" in printed
    assert sum(any(block in line for block in "█▀▄") for line in printed.splitlines()) > 10
