"""The checker: what becomes of submissions, with a judge of the tests and with real bots in the real sandbox."""

import json
import random
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from bots import house_bot
from tests.people.people import HOUSE, contestant, files, submit
from tests.store.play import TWO, play_game, started
from tournament.game import FaultKind
from tournament.models_people import SubmissionState
from tournament.people import top_score
from tournament.replay import Player
from tournament.results import MatchResult
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from tournament.store import Store
from tournament.store_checks import MAX_ATTEMPTS
from tournament.store_submissions import NewSubmission
from tournament.store_tables import SUBMISSION
from tournament.wire import MatchTask, game_result, result_to_json
from workers import checker as checker_module
from workers.checker import TRIAL_MATCHES, Checker, ChildJudge, Stopped, check_limit_s, trial_verdict, verdict_of
from workers.local import LocalExecutor
from workers.sandbox.faults import SandboxFailure
from workers.sandbox.host import Sandbox


def opponent() -> tuple[Player, BotSource]:
    bot = house_bot("simple")
    source = BotSource.of_file(bot.code)
    return Player(bot.name, bot.version, source.sha256), source


def done(**more: Any) -> dict[str, Any]:
    plain = {"accepted": True, "stage": "accepted", "fault": None, "log": "", "use": {}}
    return {"done": {**plain, "deal_cpu_s": None, "cpu_s": 0.05, "documents": [], **more}, "took_s": 0.1}


class FakeJudge(ChildJudge):
    """Gives the answers it was made with, in order; keeps the orders."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.orders: list[Mapping[str, Any]] = []
        self.closed = False

    def ask(
        self, order: Mapping[str, Any], sources: Iterable[BotSource], limit_s: float, told: Callable[[str], None]
    ) -> dict[str, Any]:
        del limit_s
        self.orders.append(order)
        self.sources = list(sources)
        told("loads")
        return self.answers.pop(0)

    def close(self) -> None:
        self.closed = True


def test_a_check_goes_to_the_judge_with_sources_and_without_any_secret_of_ours(store: Store) -> None:
    ada, _ = contestant(store)
    number = submit(store, ada, "fox")
    judge = FakeJudge(done())
    checker = Checker(store, opponent(), judge, lambda: "a fresh secret")
    assert checker.step()
    assert not checker.step()
    (order,) = judge.orders
    assert order["check"]["candidate"] == ["fox", 1, files("1").sha256]
    assert [mode[0]["game"] for mode in order["check"]["modes"]] == ["cutthroat", "cutthroat", "wisconsin"]
    assert order["check"]["secret"] == "a fresh secret"
    assert judge.sources == [files("1"), opponent()[1]]
    assert str(store.path) not in json.dumps(order)
    assert store.submission(number).state is SubmissionState.ACCEPTED


def test_a_failure_of_ours_is_tried_once_more_and_then_said(store: Store) -> None:
    ada, _ = contestant(store)
    number = submit(store, ada, "fox")
    judge = FakeJudge({"failure": "no sandbox here"}, {"failure": "no sandbox here"}, done())
    checker = Checker(store, opponent(), judge)
    for _ in range(2):
        checker.step()
    assert not checker.step()
    failed = store.submission(number)
    assert (failed.state, failed.verdict["reasons"]) == (SubmissionState.FAILED, ["no sandbox here"])
    store.retry_check(number, by=ada)
    checker.step()
    assert store.submission(number).state is SubmissionState.ACCEPTED


def test_restarts_during_a_check_cost_it_no_attempt(store: Store) -> None:
    class Stopping(FakeJudge):
        def ask(self, *_: Any) -> dict[str, Any]:
            raise Stopped

    ada, _ = contestant(store)
    number = submit(store, ada, "fox")
    for _ in range(MAX_ATTEMPTS + 1):
        Checker(store, opponent(), Stopping()).run(threading.Event())
        assert store.submission(number).state is SubmissionState.WAITING
    Checker(store, opponent(), FakeJudge(done())).step()
    assert store.submission(number).state is SubmissionState.ACCEPTED


def test_every_kind_of_fault_has_words_on_what_to_do() -> None:
    for kind in FaultKind:
        fault = {"kind": str(kind), "message": "oh", "line": 7, "traceback": ""}
        verdict = verdict_of({**done(fault=fault, stage="probe")["done"], "log": "line\n" * 1000}, "its-secret")
        what, command = verdict["advice"].split(" With the probe's JSON: ")
        assert len(what) > 5
        assert command == "tournament reproduce PROBE.json --bot YOUR_BOT.py --secret its-secret"
        assert "line 7" in verdict["reasons"][0]
        assert len(verdict["log"].splitlines()) == 200


@pytest.mark.parametrize("kind", ["timeout-cpu", "timeout-wall"])
def test_a_bot_that_hangs_while_it_loads_is_told_so_and_whether_its_line_is_known(kind: str) -> None:
    fault = {"kind": kind, "message": "2.0 s CPU in loading", "line": None, "traceback": ""}
    loading = verdict_of(done(fault=fault, stage="loads")["done"], "x")["advice"]
    probing = verdict_of(done(fault=fault, stage="probe")["done"], "x")["advice"]
    assert "Importing your file" in loading
    assert "reproduce" not in loading
    assert "Importing your file" not in probing
    assert "could not be told" in loading
    assert "could not be told" in probing
    known = verdict_of(done(fault={**fault, "line": 3}, stage="loads")["done"], "x")
    assert "could not be told" not in known["advice"]
    assert "line 3" in known["reasons"][0]


def trial_answer(order: Mapping[str, Any], winner: str) -> dict[str, Any]:
    """A match in which the given version wins all games: played at random until it does."""
    task = MatchTask.from_json(order["match"])
    games = []
    for seating, _ in task.bot_seeds:
        for seed in range(1000):
            game, _ = play_game(task.rules, task.seed, random.Random(seed))
            side = game.outcome.winner if game.outcome is not None else None
            if side is not None and task.players[task.seats(seating)[side]].text == winner:
                break
        games.append(game_result(task, game, seating, (), b""))
    return {"done": result_to_json(MatchResult(0, 1, tuple(games), "trial", 0.0)), "took_s": 0.1}


def test_a_better_version_is_found_better_in_sixty_matches(store: Store) -> None:
    started(store, 2, rules=TWO)  # the mode in which the trial is played
    ada, _ = contestant(store)
    judge = FakeJudge(done(), done())
    checker = Checker(store, opponent(), judge)
    for text in ("old", "new"):
        number = submit(store, ada, "fox", text)
        checker.step()
    trial = store.trial()
    assert trial is not None
    assert trial.rules.mode == "cutthroat/2"

    class Playing(FakeJudge):
        def ask(self, order: Mapping[str, Any], *_: Any) -> dict[str, Any]:
            self.orders.append(order)
            return self.kept

    player = Playing()
    playing = Checker(store, opponent(), player)
    first = MatchTask.of(
        trial.secret,
        "cutthroat/2/fox:1,fox:2/1",
        trial.rules,
        Limits(),
        tuple(Player("fox", version, sha256) for version, sha256 in (trial.old, trial.new)),
    )
    player.kept = trial_answer({"match": first.to_json()}, "fox:2")
    for _ in range(TRIAL_MATCHES):
        assert playing.step()
    assert not playing.step()
    decided = store.trial(number)
    assert decided is not None
    assert (decided.verdict, set(decided.scores)) == ("better", {4})
    keys = [order["match"]["key"] for order in player.orders]
    assert keys[0] == "cutthroat/2/fox:1,fox:2/1"
    assert len(set(keys)) == TRIAL_MATCHES


@pytest.mark.parametrize("mode", ["cutthroat/2", "cutthroat/3", "wisconsin/4"])
def test_a_trial_says_better_worse_or_nothing_alike_from_both_sides(mode: str) -> None:
    game, players = mode.split("/")
    rules = Rules.make(game, **({"players": int(players)} if game == "cutthroat" else {}))
    top = top_score(rules)
    for scores in ([top] * 60, [top, 0] * 30, [top // 2] * 60, [top, top // 2] * 30):
        word = trial_verdict(rules, scores)
        other = trial_verdict(rules, [top - score for score in scores])
        assert (word, other) in {("better", "worse"), ("no evidence", "no evidence")}
        assert trial_verdict(rules, scores[:59]) is None


def test_the_limit_of_a_check_leaves_room_for_every_seat_at_its_limits(store: Store) -> None:
    modes = store.open_modes()
    seats = sum(rules.players for rules, _ in modes)
    assert check_limit_s(modes) > seats * (Limits().load_cpu_s + Limits().game_cpu_allowance_s(4))
    assert check_limit_s(modes) < 600


def test_the_loop_survives_a_failure_and_closes_its_judge(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, judge = threading.Event(), FakeJudge()
    checker = Checker(store, opponent(), judge)
    calls = []

    def step() -> bool:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("the database is away")
        stop.set()
        return True

    monkeypatch.setattr(checker, "step", step)
    monkeypatch.setattr(checker_module, "FAILURE_S", 0.0)
    checker.run(stop)
    assert len(calls) == 2
    assert judge.closed


BOTS = {
    "good": b"""
class Bot:
    def bid(self, view):
        print("hello from bid")
        return view.legal[0]
    def play(self, view):
        return view.legal[0]
""",
    "syntax": b"class Bot:\n    def bid(self, view) return 0\n",
    "crash": b"""
class Bot:
    def bid(self, view):
        print("about to divide")
        return 1 // 0
    def play(self, view):
        return view.legal[0]
""",
    "hang": b"""
class Bot:
    def bid(self, view):
        while True:
            pass
    def play(self, view):
        return view.legal[0]
""",
    "endless load": b"""
while True: pass
""",
    "environment": b"""
import os
class Bot:
    def bid(self, view):
        raise ValueError(sorted(os.environ))
    def play(self, view):
        return view.legal[0]
""",
}


@pytest.fixture(scope="module")
def judge() -> Iterator[ChildJudge]:
    try:
        with Sandbox():
            pass
    except SandboxFailure as failure:
        pytest.skip(f"no sandbox here: {failure}")
    child = ChildJudge()
    yield child
    child.close()


@pytest.mark.parametrize(
    ("bot", "stage", "state", "words"),
    [
        ("good", "accepted", SubmissionState.ACCEPTED, ""),
        ("syntax", "loads", SubmissionState.REJECTED, "line 2"),
        ("crash", "probe", SubmissionState.REJECTED, "line 5: exception: ZeroDivisionError"),
        ("hang", "probe", SubmissionState.REJECTED, ": timeout-cpu: "),
        ("endless load", "loads", SubmissionState.REJECTED, "it could not be loaded: line 2: timeout-cpu"),
    ],
)
def test_real_bots_get_their_verdicts(
    store: Store, judge: ChildJudge, bot: str, stage: str, state: SubmissionState, words: str
) -> None:
    ada, _ = contestant(store)
    number = store.submit(NewSubmission(ada, bot.replace(" ", "-"), "bot.py", BotSource.of_file(BOTS[bot])), HOUSE)
    checker = Checker(store, opponent(), judge)
    checker.step()
    found = store.submission(number)
    assert (found.state, found.stage) == (state, stage), found.verdict
    assert words in "".join(found.verdict["reasons"])
    assert found.probe_count == (3 if bot == "good" else 1)
    if bot == "good":
        assert "hello from bid" in found.verdict["log"]
        assert set(found.verdict["use"]) == {"loading", "slowest decision", "game", "memory"}
        assert all(0 < used < limit for used, limit in found.verdict["use"].values())
        with store.read() as connection:
            assert connection.scalar(select(SUBMISSION.c.cpu_s)) > 0
    if bot == "hang":
        assert found.verdict["fault"]["line"] in (4, 5)
        used, limit = found.verdict["use"]["slowest decision"]
        assert used > limit
    if bot == "endless load":
        used, limit = found.verdict["use"]["loading"]
        assert used > limit
    if bot == "crash":
        assert found.verdict["fault"]["line"] == 5
        assert "about to divide" in found.verdict["log"]
        written = store.probe(number, 1)
        assert written["result"]["fault"]["kind"] == "exception"
        assert {player["bot"] for player in written["players"]} == {"crash", "simple"}


def test_no_password_reaches_the_process_that_checks(
    store: Store, judge: ChildJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge.close()
    monkeypatch.setenv("TOURNAMENT_DATABASE_URL", "postgresql://u:secret@db/smear")
    monkeypatch.setenv("PGPASSWORD", "secret")
    ada, _ = contestant(store)
    submit(store, ada, "fox")
    checker = Checker(store, opponent(), judge)
    checker.step()
    assert judge._child is not None
    assert b"secret" not in Path(f"/proc/{judge._child.process.pid}/environ").read_bytes()


def test_a_child_that_dies_or_hangs_costs_the_check_an_attempt(judge: ChildJudge) -> None:
    judge.close()
    source = BotSource.of_file(BOTS["hang"])
    player = Player("hang", 1, source.sha256)
    rules = Rules.make("cutthroat", players=2)
    house, house_source = opponent()
    order = {
        "check": {
            "candidate": ["hang", 1, player.sha256],
            "opponent": [house.bot, house.version, house.sha256],
            "modes": [[rules.to_dict(), Limits(decision_cpu_s=0.1).to_dict()]],
            "secret": "s",
        },
    }
    sources = [source, house_source]
    assert "not over after 0 s" in judge.ask(order, sources, 0.2, lambda _: None)["failure"]
    assert judge._child is None

    def kill(_stage: str) -> None:
        assert judge._child is not None
        judge._child.process.kill()

    assert "died" in judge.ask(order, sources, 60.0, kill)["failure"]
    assert judge.ask(order, sources, 60.0, lambda _: None)["done"]["fault"]["kind"] == "timeout-cpu"


def test_a_child_that_died_between_two_checks_costs_none_of_them_an_attempt(store: Store, judge: ChildJudge) -> None:
    ada, _ = contestant(store)
    checker = Checker(store, opponent(), judge)
    for text in ("1", "2"):
        number = submit(store, ada, "fox", text)
        checker.step()
        assert store.submission(number).state is SubmissionState.ACCEPTED
        assert judge._child is not None
        judge._child.process.kill()
        judge._child.process.wait()


def test_a_sandbox_that_does_not_start_is_told_with_its_reason(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_fork_server(tmp_path, monkeypatch)
    ada, _ = contestant(store)
    number = submit(store, ada, "fox")
    with closing(ChildJudge()) as judge:
        checker = Checker(store, opponent(), judge)
        for _ in range(MAX_ATTEMPTS):
            checker.step()
    (reason,) = store.submission(number).verdict["reasons"]
    assert reason.startswith("the sandbox failed on this server: the fork server does not start: [Errno 2]")


def test_children_without_a_sandbox_are_started_anew_a_few_times_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_fork_server(tmp_path, monkeypatch)
    with closing(LocalExecutor(1)) as executor, pytest.raises(SandboxFailure, match="die as soon as they start"):
        executor.wait_ready()


def without_fork_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets no sandbox start in the children from here on."""
    broken = "host.Sandbox.__init__.__kwdefaults__['command_prefix'] = ('/no/such/program',)"
    (folder / "sitecustomize.py").write_text(f"from workers.sandbox import host\n{broken}\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))


def test_a_program_that_is_to_end_does_not_wait_for_a_check(store: Store, judge: ChildJudge) -> None:
    assert judge is not None  # there is a sandbox
    ada, _ = contestant(store)
    number = store.submit(NewSubmission(ada, "hang", "bot.py", BotSource.of_file(BOTS["hang"])), HOUSE)
    stop = threading.Event()

    class Stopping(ChildJudge):
        def ask(self, order: Any, sources: Any, limit_s: float, told: Callable[[str], None]) -> dict[str, Any]:
            def tell(stage: str) -> None:
                stop.set()
                told(stage)

            return super().ask(order, sources, limit_s, tell)

    Checker(store, opponent(), Stopping(stop)).run(stop)
    assert store.submission(number).state is SubmissionState.WAITING
    Checker(store, opponent(), FakeJudge(done())).step()
    assert store.submission(number).state is SubmissionState.ACCEPTED, "its attempt was not counted"
