"""The commands of servers that need no server."""

import json
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import typer
from sqlalchemy.exc import OperationalError

from tests.cluster.fakes import HERE
from tests.store.play import started
from tournament import cli_servers
from tournament.cli_common import Refused, opened
from tournament.cli_worker import broker_url
from tournament.settings import Settings
from tournament.store import Store
from workers.sandbox import doctor

ROOT = Path(__file__).parents[2]


def test_workers_lists_who_plays_who_is_silent_and_who_gets_no_work(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_servers.out, "width", 80)
    started(store)
    now = store.now()
    leased = store.lease(2, 600)
    store.renew([(match.id, match.attempt) for match in leased], 600, worker="good")
    store.announce("good", 4, HERE)
    store.announce("old", 2, {**HERE, "python": "CPython 3.9.1 [/red]"}, refused="no work here: CPython 3.9.1 [/red]")
    store.announce("gone", 2, HERE, now=now - 300)
    store.announce("coordinator:here-in-a-cellar:12345", 0, HERE)
    cli_servers.workers(db=store.url)
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert "alive" in lines["good"] and " 4 " in lines["good"] and " 2 " in lines["good"]
    assert "silent 30" in lines["gone"]
    assert lines["old:"] == "old: no work here: CPython 3.9.1 [/red]", "a worker's words are no markup"
    assert max(map(len, lines.values())) <= 80
    assert "–" in lines["coordinator:here-in-a-cellar:12345"]
    cli_servers.workers(db=store.url, json=True)
    rows = {row["worker"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["good"]["matches"], rows["good"]["alive"], rows["gone"]["alive"]) == (2, True, False)


def test_migrate_makes_the_tables_and_may_be_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        cli_servers.migrate(db=str(tmp_path / "new.db"))
    assert capsys.readouterr().out.count("are up to date") == 2
    with Store(str(tmp_path / "new.db")) as store:
        assert store.tournaments() == []


def test_the_doctor_names_what_works_and_fails_for_what_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli_servers.doctor(db=str(tmp_path / "new.db"))
    text = capsys.readouterr().out
    assert (
        "ok   sandbox: seccomp" in text and "does not exist yet" in text and "TOURNAMENT_BROKER_URL is not set" in text
    )
    monkeypatch.setenv("TOURNAMENT_BROKER_URL", "redis://worker:hidden@127.0.0.1:1/0")
    (tmp_path / "ruined.db").write_bytes(b"no database" * 100)
    with pytest.raises(typer.Exit) as ended:
        cli_servers.doctor(db=str(tmp_path / "ruined.db"))
    text = capsys.readouterr().out
    assert ended.value.exit_code == 1
    assert "BAD  database" in text and "BAD  broker: redis://worker@127.0.0.1:1/0" in text and "hidden" not in text


def test_a_layer_that_not_every_machine_has_may_be_missing_and_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [doctor.Check("sandbox", True, "holds"), doctor.Check("own-uid", False, "not root")]
    monkeypatch.setattr(doctor, "doctor", lambda: found)
    cli_servers.doctor(db=str(tmp_path / "new.db"))
    assert "none own-uid: not root" in capsys.readouterr().out
    found[0] = doctor.Check("sandbox", False, "no seccomp")
    with pytest.raises(typer.Exit):
        cli_servers.doctor(db=str(tmp_path / "new.db"))


def test_a_coordinator_without_a_signing_key_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOURNAMENT_BROKER_URL", "redis://127.0.0.1:1/0")
    with pytest.raises(Refused, match="TOURNAMENT_SIGNING_KEY is not set"):
        cli_servers.coordinator(db=str(tmp_path / "new.db"))


def test_a_port_that_is_taken_is_said_with_the_option_for_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Refused, match=f"already in use.*{port}.*: expected another --port"):
            cli_servers.serve(port=port)


def test_a_database_that_does_not_answer_is_named_before_it_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(OperationalError), opened("postgresql://nobody@127.0.0.1:1/x", wait_s=0.1):
        pass
    assert "the database does not answer; waiting for it, 0 s at most: " in caplog.text
    assert "refused" in caplog.text


def test_a_wrong_password_of_redis_ends_a_server_at_once() -> None:
    def answer(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            while connection.recv(4096):
                connection.sendall(b"-WRONGPASS invalid username-password pair or user is disabled.\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=answer, args=(server,), daemon=True).start()
        url = f"redis://worker:secret@127.0.0.1:{server.getsockname()[1]}/0"
        with pytest.raises(Refused, match=r"invalid username-password pair.*: expected another") as refused:
            broker_url(Settings(broker_url=url))
    assert "secret" not in str(refused.value)


def test_a_redis_that_is_away_is_waited_for() -> None:
    assert broker_url(Settings(broker_url="redis://worker@127.0.0.1:1/0")) == "redis://worker@127.0.0.1:1/0"


def test_the_address_in_the_network_is_no_name_of_the_loopback() -> None:
    assert cli_servers.lan_address() != "localhost"
    assert cli_servers.lan_address()


def test_a_worker_loads_neither_the_store_nor_the_ratings() -> None:
    program = (
        "import sys\nfrom tournament.cli import make_app\nmake_app('worker')\nimport workers.worker\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules} & set(sys.argv[1:])))"
    )
    names = ["alembic", "celery", "numpy", "psycopg", "scipy", "sqlalchemy", "sqlmodel"]
    done = subprocess.run([sys.executable, "-c", program, *names], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["celery"]
