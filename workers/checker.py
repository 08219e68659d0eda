"""The checker: takes submissions from the store's queue, has them checked in a child process, records the verdicts.

When nothing waits to be checked it plays new versions against the ones before, one match at a time. The child runs the
sandbox and knows no password; a child that dies or hangs costs its check an attempt and nothing else.
"""

from __future__ import annotations

import logging
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from tournament import seeds
from tournament.game import FaultKind
from tournament.people import LeasedCheck, TrialInfo, top_score
from tournament.ratings import share_interval
from tournament.replay import Player
from tournament.results import pair_scores
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from tournament.store import Store
from tournament.wire import MatchTask, own_result
from workers.check import PROBE_DEALS, Stage
from workers.local import Child, wait_for
from workers.referee import match_wall_limit_s

TRIAL_MATCHES: Final = 60
IDLE_S: Final = 0.5
FAILURE_S: Final = 5.0
SLACK_S: Final = 60.0
"""Beyond the limit of a check, for a machine that is busy; and the time in which a lease is certainly taken back."""

LOG_LINES: Final = 200
_LOG_CHARACTERS: Final = 16_000

_ADVICE: Final[Mapping[str, str]] = {
    FaultKind.LOAD: "Your file could not be imported or Bot() not be made. Run at home: tournament check YOUR_BOT.py",
    FaultKind.EXCEPTION: "An exception.",
    FaultKind.EXITED: "Your bot ended its own process: no sys.exit, no os._exit.",
    FaultKind.KILLED: "Your bot's process was killed: it crashed in native code, or killed itself.",
    FaultKind.MEMORY: "Your bot took more memory than the limit. Keep less, or build tables when they are needed.",
    FaultKind.FORBIDDEN_CALL: "Your bot did what is not allowed: no files, network or processes (docs/security.md).",
    FaultKind.TIMEOUT_CPU: "A loop?",
    FaultKind.TIMEOUT_WALL: "Your bot did not answer: it slept, waited for input, or its answer got stuck.",
    FaultKind.OFF_TURN: "Your bot worked while it was not its turn: threads must rest between the questions.",
    FaultKind.PROTOCOL: "Something other than the runner wrote to the answers: do not touch file descriptors.",
    FaultKind.INVALID: "Your bot answered something of a wrong type: choose an element of view.legal.",
    FaultKind.ILLEGAL: "Your bot answered what the rules do not allow here: choose from view.legal.",
}
_HANGS: Final = (FaultKind.TIMEOUT_CPU, FaultKind.TIMEOUT_WALL)
_LOADING_ADVICE: Final = (
    "Importing your file and making Bot() took too long. Put big tables into a data file, or make them bit by bit when "
    "they are needed. Run at home: tournament check YOUR_BOT.py"
)
_NO_LINE: Final = " Which line it was in could not be told."
_REPRODUCE: Final = " With the probe's JSON: tournament reproduce PROBE.json --bot YOUR_BOT.py --secret "
_SECRET_LENGTH: Final = 16
"""Of the secret of a probe, whose contestant types it: it decides nothing that somebody could want to guess."""

logger = logging.getLogger(__name__)


class Stopped(Exception):
    """The program ends; what was being checked is checked after its next start."""


class ChildJudge:
    """The child process, started when it is needed and again when it died."""

    def __init__(self, stop: threading.Event | None = None) -> None:
        """Starts nothing yet; `stop` ends what is being carried out."""
        self._stop = stop or threading.Event()
        self._child: Child | None = None

    def ask(
        self, order: Mapping[str, Any], sources: Iterable[BotSource], limit_s: float, told: Callable[[str], None]
    ) -> dict[str, Any]:
        """Has an order carried out.

        Args:
            order: a `check` or a `match`, as `workers.child` reads it.
            sources: the bots that it is about.
            limit_s: how long that may take.
            told: called with each stage that is reached.

        Returns:
            The answer: ``done`` and ``took_s``, or a ``failure`` of ours.

        Raises:
            Stopped: the program is to end.
        """
        if self._child is None or self._child.process.poll() is not None:
            self.close()  # one that died while nothing was asked of it
            cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [None]
            self._child = Child(cores[-1])
        self._child.send({**order, "forget": True}, sources)
        deadline_s = time.monotonic() + limit_s
        while (left_s := deadline_s - time.monotonic()) > 0:
            if self._stop.is_set():
                self.close()
                raise Stopped
            wait_for([self._child], min(left_s, IDLE_S))
            for message in self._child.hear():
                if "stage" in message:
                    told(message["stage"])
                elif "refused" in message:
                    return self._failed(f"bots cannot be run on this server: {message['refused']}")
                elif "broken" in message:
                    return self._failed(f"the sandbox failed on this server: {message['broken']}")
                elif "done" in message or "failure" in message:
                    return message
            if self._child.ended:
                return self._failed("the process that checks died")
        return self._failed(f"it was not over after {limit_s:.0f} s, which is more than its limits allow")

    def _failed(self, reason: str) -> dict[str, Any]:
        self.close()
        return {"failure": reason}

    def close(self) -> None:
        """Ends the process and its guests."""
        if self._child is not None:
            self._child.end()
            self._child = None


class Checker:
    """Checks what waits, one after the other; one per database, beside the coordinator."""

    def __init__(
        self,
        store: Store,
        opponent: tuple[Player, BotSource],
        judge: ChildJudge,
        secret: Callable[[], str] = lambda: secrets.token_hex(32),
    ) -> None:
        """Takes back what an earlier checker of an SQLite file left.

        Args:
            store: where submissions wait.
            opponent: the house bot that the probes are played against.
            judge: who runs the bots; it is closed by `run`.
            secret: makes what the deals of a probe or a trial follow from.
        """
        self._store = store
        self._opponent = opponent
        self._judge = judge
        self._secret = secret
        if store.is_sqlite:
            store.take_back_checks(all_of_them=True)

    def run(self, stop: threading.Event) -> None:
        """Works until told to stop; a check that runs then goes back to the queue, and that was no attempt."""
        try:
            while not stop.is_set():
                try:
                    done = self.step()
                except Stopped:
                    return
                except Exception:  # a database that is away for a while must not end all checks for good
                    logger.exception("a check failed")
                    stop.wait(FAILURE_S)
                else:
                    if not done:
                        stop.wait(IDLE_S)
        finally:
            self._judge.close()

    def step(self) -> bool:
        """Does one check, or else one match of a trial. Returns whether there was something to do."""
        if self._store.waiting()[0]:
            self._store.take_back_checks()
            modes = self._store.open_modes()
            limit_s = check_limit_s(modes)
            check = self._store.lease_check(limit_s + SLACK_S)
            if check is not None:
                self._check(check, modes, limit_s)
                return True
        trial = self._store.trial()
        if trial is not None:
            self._play(trial)
        return trial is not None

    def _check(self, check: LeasedCheck, modes: Sequence[tuple[Rules, Limits]], limit_s: float) -> None:
        source = self._store.source(check.sha256)
        player, opponent = Player(check.bot, check.version, check.sha256), self._opponent[0]
        secret = self._secret()[:_SECRET_LENGTH]
        order = {
            "check": {
                "candidate": [player.bot, player.version, player.sha256],
                "opponent": [opponent.bot, opponent.version, opponent.sha256],
                "modes": [[rules.to_dict(), limits.to_dict()] for rules, limits in modes],
                "secret": secret,
            },
        }
        try:
            answer = self._judge.ask(
                order, [source, self._opponent[1]], limit_s, lambda stage: self._store.check_passed(check, stage)
            )
        except Stopped:
            self._store.put_back(check)
            raise
        if "failure" in answer:
            self._store.give_up(check, str(answer["failure"]))
            return
        done = answer["done"]
        self._store.decide(
            check,
            done["stage"],
            verdict_of(done, secret),
            done["documents"],
            answer["took_s"],
            cpu_s=done["cpu_s"],
            accepted=done["accepted"],
            trial_rules=modes[0][0],
            secret=self._secret(),
        )

    def _play(self, trial: TrialInfo) -> None:
        number = len(trial.scores) + 1
        players = tuple(
            sorted(
                (Player(trial.name, version, sha256) for version, sha256 in (trial.new, trial.old)),
                key=lambda player: player.text,
            )
        )
        key = seeds.match_key(trial.rules, [player.text for player in players], number)
        task = MatchTask.of(trial.secret, key, trial.rules, Limits(), players)
        sources = [self._store.source(sha256) for _, sha256 in (trial.new, trial.old)]
        limit_s = match_wall_limit_s(task, trial.rules.deal_limit)
        answer = self._judge.ask({"match": task.to_json()}, sources, limit_s, lambda _: None)
        if "failure" in answer:
            self._store.add_score(trial, None, "not played")
            return
        games = own_result(task, answer["done"]).games
        first = sum(pair_scores(trial.rules, task.seats(game.seating), game.outcome.places)[0, 1] for game in games)
        mine = first if players[0].version == trial.new[0] else top_score(trial.rules) - first
        self._store.add_score(trial, mine, trial_verdict(trial.rules, [*trial.scores, mine]))


def check_limit_s(modes: Iterable[tuple[Rules, Limits]]) -> float:
    """Returns how long a check may take at the very most: every seat at its limits, twice over, and some slack."""
    each = (rules.players * (limits.load_cpu_s + limits.game_cpu_allowance_s(PROBE_DEALS)) for rules, limits in modes)
    return 2 * sum(each) + SLACK_S


def verdict_of(done: Mapping[str, Any], secret: str) -> dict[str, Any]:
    """Returns what is kept and shown of a check: the reason, the bot's own line, what to do, the end of its log.

    With the probe's `secret` the bot's own random draws again what it drew.
    """
    fault = done["fault"]
    reasons = []
    if fault is not None:
        where = "" if fault["line"] is None else f"line {fault['line']}: "
        stopped = "it could not be loaded" if done["stage"] == Stage.LOADS else "the probe was stopped by a fault"
        reasons = [f"{stopped}: {where}{fault['kind']}: {fault['message']}"]
    return {
        "reasons": reasons,
        "fault": fault,
        "advice": "" if fault is None else _advice(fault, done["stage"], secret),
        "log": "\n".join(done["log"].splitlines()[-LOG_LINES:])[-_LOG_CHARACTERS:],
        "use": done["use"],
        "deal_cpu_s": done["deal_cpu_s"],
        "probes": len(done["documents"]),
        "python": ".".join(map(str, sys.version_info[:3])),
    }


def _advice(fault: Mapping[str, Any], stage: str, secret: str) -> str:
    loads, hangs = stage == Stage.LOADS, fault["kind"] in _HANGS
    advice = _LOADING_ADVICE if hangs and loads else _ADVICE[fault["kind"]]
    return advice + (_NO_LINE if hangs and fault["line"] is None else "") + ("" if loads else _REPRODUCE + secret)


def trial_verdict(rules: Rules, scores: list[int]) -> str | None:
    """Says whether the new version is better, once all matches of a trial are played, and None before.

    One look at the end, at 95 %: who looks after every match and stops when it pleases is wrong far more often.

    >>> rules = Rules.make("wisconsin")
    >>> trial_verdict(rules, [4] * 40 + [0] * 20), trial_verdict(rules, [2] * 60), trial_verdict(rules, [4] * 59)
    ('better', 'no evidence', None)
    """
    if len(scores) < TRIAL_MATCHES:
        return None
    top = top_score(rules)
    shares = [score / top for score in scores]
    low, high = share_interval(top / 2, len(shares), sum(shares), sum(share * share for share in shares))
    return "better" if low > 0.5 else "worse" if high < 0.5 else "no evidence"
