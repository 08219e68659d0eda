"""The commands for tournaments, run as a person runs them."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.command import Command
from tests.store.play import play_all
from tournament import cli_local, cli_run, seeds
from tournament.cli import line_of
from tournament.cli_common import Refused, find_bots
from tournament.cli_local import _noted_interrupts
from tournament.cli_run import resume_command
from tournament.environment import environment as here
from tournament.lock import CoordinatorLock
from tournament.models import TournamentState
from tournament.rules import Rules
from tournament.store import Store
from tournament.store_values import NewEntrant, NewTournament
from workers.local import LocalExecutor
from workers.sandbox.faults import SandboxFailure, SandboxRefused

PROGRAM = (sys.executable, "-m", "tournament")
Succeed = Callable[..., str]

DRAWING_BOT = """
import random

class Bot:
    def bid(self, view):
        return random.choice(view.legal)

    def play(self, view):
        return random.choice(view.legal)
"""

FAULTY_BOT = """
class Bot:
    def bid(self, view):
        return view.legal[-1]

    def play(self, view):
        return view.legal[0] if len(view.tricks) < 3 else None
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with two bots: one draws everything, one faults in every fourth trick."""
    (tmp_path / "drawing.py").write_text(DRAWING_BOT)
    (tmp_path / "faulty.py").write_text(FAULTY_BOT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tournament(command: Command) -> Succeed:
    """Runs a command in the folder of bots, which must succeed; returns what it printed to standard output."""

    def run(*arguments: str) -> str:
        ran = command(*arguments)
        assert ran.status == 0, ran.err
        return ran.out

    return run


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "COLUMNS": "100"}


def exported(tournament: Succeed, folder: Path, db: str) -> dict[str, bytes]:
    tournament("export", "--db", db, "--to", f"export-{db}")
    return {path.name: path.read_bytes() for path in sorted((folder / f"export-{db}").iterdir())}


RUN = ("run", "drawing.py", "faulty.py", "simple", "--rounds", "4", "--seed", "one seed")


def test_one_job_two_jobs_and_a_run_killed_and_resumed_without_its_files_give_the_same_bytes(
    folder: Path, tournament: Succeed
) -> None:
    tournament(*RUN, "--jobs", "1", "--db", "one.db")
    tournament(*RUN, "--jobs", "2", "--db", "two.db")
    kill_after_matches(folder, [*RUN, "--jobs", "2", "--db", "killed.db"], db="killed.db", matches=1)
    before = counts(folder / "killed.db")
    assert before["finished"] >= 1, "no finished match is lost"
    (folder / "drawing.py").write_text("broken")  # what was entered is played
    tournament("resume", "--db", "killed.db", "--jobs", "2")
    files = exported(tournament, folder, "one.db")
    assert sorted(files) == ["final-order.csv", "matches.csv", "replays.jsonl", "standings.csv", "tournament.json"]
    assert exported(tournament, folder, "two.db") == files
    assert exported(tournament, folder, "killed.db") == files


def kill_after_matches(folder: Path, arguments: Sequence[str], *, db: str, matches: int) -> None:
    """Starts a run, waits until so many matches are recorded, and kills it without warning."""
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:  # off a terminal it says when the first match is recorded
        if "of" in line and "matches; last" in line:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    assert counts(folder / db)["finished"] >= matches


def counts(database: Path) -> dict[str, int]:
    with Store(f"sqlite:///{database}") as store:
        found = store.counts(1)
    return {"finished": found.finished, "planned": found.planned}


def test_the_replays_of_a_run_are_files_by_match_and_seating_that_verify(folder: Path, tournament: Succeed) -> None:
    tournament(*RUN, "--replays", "replays", "--db", "run.db")
    names = sorted(path.name for path in (folder / "replays").iterdir())
    rules = Rules.make("cutthroat")
    expected = [f"{match:06}-{seating}.json" for match in range(1, 5) for seating in range(1, 7)]
    assert len(seeds.seatings(rules, 3)) == 6
    assert names == expected
    paths = [f"replays/{name}" for name in names]
    assert tournament("verify", *paths, "--secret", "one seed").splitlines()[-1] == "24 documents, 0 refused"
    assert "faulty:1" in tournament("replay", paths[0])


def test_a_bots_faults_leave_the_exit_status_at_zero_and_are_counted(tournament: Succeed) -> None:
    rows = json.loads(
        tournament("run", "faulty.py", "simple", "--players", "2", "--rounds", "2", "--seed", "s", "--json")
    )
    assert [row["bot"] for row in rows] == ["simple", "faulty"]
    assert [row["faults"] for row in rows] == [0, 4]
    assert rows[0].keys() >= {
        *("bot", "version", "rating", "low", "high", "rank_low", "rank_high", "matches", "games", "faults"),
    }
    assert json.loads(tournament("standings", "--json")) == rows
    assert tournament("standings", "--csv").startswith("bot,version,rating,low,high,")


def test_before_a_run_it_says_what_is_to_come_and_after_it_the_secret(command: Command) -> None:
    ran = command("run", "random", "simple", "--game", "wisconsin", "--rounds", "2", "--seed", "demo")
    assert ran.status == 0
    assert ran.err.startswith("wisconsin/4: 2 matches, 4 games, about ")
    assert "2a97516c354b68848cdbd8f54a226a0a55b21ed138e207ad6c5cbb9c00aa5aea" in ran.err
    assert "The secret is demo" in ran.err
    assert "secret" not in ran.out


WRONG = [
    (("run", "simple"), "entrant"),
    (("run", "simple", "simple"), "simple:1 is named twice: expected each bot once"),
    (("run", "simple", "nobody.py"), "no bot nobody.py: expected a file, a folder, a zip or one of random, simple"),
    (("run", "simple", "random", "--players", "4"), "players is 4: expected 2 or 3 in cutthroat"),
    (("run", "simple", "random", "--game", "wisconsin", "--bidder-takes", "4"), "bidder_takes is 4: expected 0 to 3"),
    (("run", "simple", "random", "--seed", ""), "--seed is no text: expected one that is not empty, in UTF-8"),
    (("run", "simple", "random", "--seed", "\udcff"), "--seed is no text"),
    (("run", "simple", "random", "--jobs", "0"), "Invalid value for '--jobs'"),
    (("run", "simple", "random", "--game", "poker"), "'poker' is not one of 'cutthroat', 'wisconsin'"),
    (("run", "simple", "random", "--replays", "drawing.py"), "--replays drawing.py: File exists"),
    (("run", "simple", ""), "a bot's name is empty"),
    (("run",), "Missing argument 'bots' (see tournament run --help)"),
    (("frobnicate",), "No such command 'frobnicate' (see tournament --help)"),
    (("play", "simple", "random", "--seed", "\udcff"), "--seed is no text"),
    (("verify", "drawing.py", "--secret", "\udcff"), "--secret is no text"),
    (("verify", "--tournament", "nowhere"), "--tournament nowhere: expected a folder"),
    (("standings", "--db", "drawing.py"), "the database cannot be used: file is not a database"),
    (("standings", "--db", "no/folder.db"), "the database cannot be used: unable to open database file"),
    (("new", "--kit", "drawing.py/kit"), "drawing.py/kit: Not a directory"),
    (("resume",), "no tournament"),
    (("standings",), "no tournament"),
    (("export", "--to", "x"), "no tournament"),
    (("replay", "missing.json"), "missing.json: No such file or directory"),
    (("new", "My Bot.py"), "expected a name like my_bot.py"),
    (("compare", "simple", "simple"), "a bot is named twice"),
    (("compare", "simple", "random", "--against", "counter", "nobody.py"), "no bot nobody.py"),
    (("play", "simple"), "expected 2 or 3"),
]


@pytest.mark.parametrize(("arguments", "line"), WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_wrong_input_gets_one_clear_line_and_status_two(
    arguments: tuple[str, ...], line: str, command: Command
) -> None:
    ran = command(*arguments)
    assert ran.status == 2
    assert ran.out == ""
    said = ran.err.strip()
    assert line in said
    assert said.startswith("tournament: ")
    assert "\n" not in said


def test_a_database_of_a_later_version_is_refused_in_one_line(command: Command) -> None:
    with Store("later.db") as store:
        store.migrate()
        with store.write() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    ran = command("standings", "--db", "later.db")
    assert ran.status == 2
    assert "the database cannot be used: another version of this program made it" in ran.err


def test_a_mistake_of_ours_is_no_wrong_input() -> None:
    assert line_of(KeyError("x")) is None
    assert line_of(ModuleNotFoundError("no such thing", name="tournament.nothing")) is None
    assert line_of(OSError("no file has to do with it")) is None


@pytest.mark.parametrize(
    ("arguments", "method"),
    [
        (("standings",), "figures"),
        (("resume",), "lease"),
        (("workers",), "workers"),
        (("contest", "list"), "practices"),
        (("contestant", "list"), "accounts"),
    ],
    ids=lambda given: given if isinstance(given, str) else " ".join(given),
)
def test_a_mistake_of_ours_while_the_store_is_open_keeps_its_traceback(
    arguments: tuple[str, ...], method: str, folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(*_: object, **__: object) -> None:
        json.loads("no JSON")

    begun(folder / "tournament.db", {"layers": []})
    monkeypatch.setattr(Store, method, mistaken)
    with pytest.raises(json.JSONDecodeError) as raised:
        command(*arguments)
    assert "mistaken" in [entry.name for entry in raised.traceback]


WITHOUT_EXTRAS = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"numpy", "scipy", "psycopg", "fastapi", "celery"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from tournament.cli import main

for arguments in [["--help"], ["run", "simple", "random"], ["standings", "--db", "postgresql://nobody@localhost/x"]]:
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as ended:
        print(ended.code or 0, file=sys.stderr)
"""


def test_the_plain_package_lists_all_commands_and_names_a_missing_extra_before_anything_is_played(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {"compare", "contest", "run", "serve", "worker"} <= set(re.findall(r"^│ (\w+)", done.stdout, re.MULTILINE))
    assert done.stderr.splitlines() == [
        "0",
        "tournament: this needs numpy: install the extra `ratings`",
        "2",
        "tournament: this needs psycopg: install the extra `distributed`",
        "2",
    ]


def test_replays_of_an_earlier_run_in_the_same_folder_are_replaced(folder: Path, tournament: Succeed) -> None:
    for seed in ("first", "second"):
        arguments = ("random", "simple", "--players", "2", "--rounds", "1", "--seed", seed, "--replays", "replays")
        tournament("run", *arguments, "--db", f"{seed}.db")
    paths = sorted(f"replays/{path.name}" for path in (folder / "replays").iterdir())
    assert len(paths) == 2
    assert tournament("verify", *paths, "--secret", "second").splitlines()[-1] == "2 documents, 0 refused"


def test_ctrl_c_is_noted_and_raises_nothing_amid_a_transaction() -> None:
    before = signal.getsignal(signal.SIGINT)
    with _noted_interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert interrupts == [signal.SIGINT, signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_ends_a_run_with_130_and_says_how_to_go_on(folder: Path) -> None:
    process = subprocess.Popen(
        [*PROGRAM, *RUN, "--rounds", "500", "--db", "my games.db"], cwd=folder, env=environment(),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if "matches; last" in line:
            break
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)  # once more, out of impatience
    rest = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 130
    assert "Play on with: tournament resume 1 --db 'my games.db'\n" in rest
    assert "Traceback" not in rest
    with Store(f"sqlite:///{folder / 'my games.db'}") as store:
        assert store.counts(1).running == 0, "what was being played is queued again"


def test_the_command_that_plays_on_shows_no_password() -> None:
    line = resume_command(7, "postgresql://me:secret@host/smear", Path("all games"))
    assert line == "tournament resume 7 --db 'postgresql://me:***@host/smear' --replays 'all games'"


def test_a_run_notes_its_environment(folder: Path, tournament: Succeed) -> None:
    tournament("run", "simple", "random", "--rounds", "1", "--seed", "s")
    with Store(f"sqlite:///{folder / 'tournament.db'}") as store:
        noted = store.tournament(1).environment
    assert {name: noted[name] for name in ("engine", "python", "modules")} == here()


@pytest.mark.parametrize(
    "error", [SandboxFailure("they die at once"), SandboxRefused("no seccomp"), KeyboardInterrupt()]
)
def test_an_executor_that_does_not_get_ready_leaves_no_process(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[LocalExecutor] = []

    class Unready(LocalExecutor):
        def __init__(self, jobs: int, *, plain: bool = False) -> None:
            assert not plain
            super().__init__(jobs, plain=True)
            made.append(self)

        def wait_ready(self) -> None:
            raise error

    monkeypatch.setattr(cli_local, "LocalExecutor", Unready)
    with pytest.raises((type(error), Refused)), cli_local.executor_here(1, own=False):
        pass
    (executor,) = made
    children = list(executor._children)
    executor.close()
    assert children == []


def test_who_resumes_what_another_process_plays_sees_its_progress_and_starts_nothing(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_here(*_: object, **__: object) -> None:
        pytest.fail("nothing is played here")

    for name in ("environment_here", "executor_here"):
        monkeypatch.setattr(cli_run, name, not_here)
    path, ended = tmp_path / "begun.db", threading.Event()
    begun(path, {**here(), "python": "CPython 2.7.18"})

    def play() -> None:
        with Store(str(path)) as own:
            while own.tournament(1).state is not TournamentState.RUNNING and not ended.wait(0.02):
                pass
            play_all(own, 1)

    with Store(str(path)) as store, CoordinatorLock(path) as lock:
        store.set_state(1, TournamentState.PAUSED)
        assert lock.acquire()
        holder = threading.Thread(target=play)
        holder.start()
        try:
            ran = command("resume", "--db", str(path))
        finally:
            ended.set()
            holder.join()
    assert ran.status == 0, ran.err
    assert f"Process {os.getpid()} plays the matches of this database; this shows its progress." in ran.err
    assert "simple:1" in ran.out


def test_a_paused_tournament_that_is_not_played_here_stays_paused(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "begun.db"
    begun(path, {**here(), "python": "CPython 2.7.18"})
    with Store(str(path)) as store:
        store.set_state(1, TournamentState.PAUSED)
        assert command("resume", "--db", str(path)).status == 2
        assert store.tournament(1).state is TournamentState.PAUSED


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"python": "CPython 2.7.18"}, ", expected CPython 2.7.18"),
        ({"engine": "0"}, "another rules engine"),
        ({"modules": [*here()["modules"], "numpy 0.1"]}, "without numpy 0.1"),
    ],
    ids=["python", "engine", "modules"],
)
def test_a_tournament_is_resumed_under_its_own_environment_only(
    tmp_path: Path,
    change: dict[str, object],
    why: str,
    command: Command,
) -> None:
    path = tmp_path / "begun.db"
    begun(path, {**here(), **change})
    ran = command("resume", "--db", str(path))
    assert ran.status == 2
    assert ran.err.startswith("tournament: tournament 1 is not played here: ")
    assert why in ran.err
    with Store(str(path)) as store:
        assert store.counts(1).queued == 1


def test_a_tournament_without_an_environment_gets_that_of_who_resumes_it(folder: Path, tournament: Succeed) -> None:
    begun(folder / "old.db", {"layers": []})
    tournament("resume", "--db", "old.db")
    with Store(str(folder / "old.db")) as store:
        assert store.tournament(1).environment == {**here(), "layers": []}
        assert store.counts(1).finished == 1


def begun(path: Path, environment: dict[str, object]) -> None:
    """Makes a database with one match to be played."""
    with Store(str(path)) as store:
        store.migrate()
        new = NewTournament("cup", Rules.make("cutthroat", players=2), 1, "secret", environment=environment)
        entrants = [
            NewEntrant(bot.name, bot.version, bot.source, owner=n, upload_order=n, house=True)
            for n, bot in enumerate(find_bots(["random", "simple"]))
        ]
        store.create_running(new, entrants)
