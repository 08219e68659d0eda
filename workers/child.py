"""A child process that plays matches and checks bots as it is told, one order a line, in JSON.

It holds no database, no broker and no password: it is given sources, rules and seeds and says what came of them. It
ends at the end of its input, and dies with its parent.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from tournament.replay import Player
from tournament.results import MatchResult
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from tournament.wire import MatchTask, result_to_json
from workers.check import check_bot
from workers.referee import Pulse, Referee, Seating, collect_seldom
from workers.sandbox.faults import SandboxFailure, SandboxRefused
from workers.sandbox.host import Sandbox
from workers.sandbox.plain import PlainSandbox

Say = Callable[[Mapping[str, Any]], None]


def main() -> None:
    """Does what comes on standard input until it ends."""
    settings = json.loads(sys.argv[1])
    die_with_parent(settings["parent"])
    core = settings["core"]
    if core is not None:
        with suppress(OSError):  # a core that is gone by now is no reason not to play
            os.sched_setaffinity(0, {core})
    # What is printed by accident must not run into the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(message: Mapping[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    sandbox = PlainSandbox() if settings["plain"] else Sandbox(cpu=core)
    try:
        with sandbox:
            layers = [] if isinstance(sandbox, PlainSandbox) else sorted(sandbox.confinement.layers)
            say({"ready": layers})
            serve(sandbox, settings["slot"], sys.stdin, say)
    except SandboxRefused as failure:
        say({"refused": str(failure)})
    except SandboxFailure as failure:
        say({"broken": str(failure)})
        sys.exit(f"the sandbox failed: {failure}")  # the executor counts children that die


def serve(sandbox: Seating, slot: int, orders: Iterable[str], say: Say) -> None:
    """Carries out orders and says what came of each.

    Args:
        sandbox: where bots run.
        slot: guests take the slots from here on.
        orders: one a line: a `match` or a `check`, with the `sources` that have not been sent before; after an order
            with `forget` none is known any more.
        say: is told `alive` now and then, each `stage` of a check, and what is `done` or a `failure` of ours.
    """
    collect_seldom()
    sources: dict[str, BotSource] = {}
    referee = Referee(sandbox, sources, first_slot=slot, watcher=Pulse(lambda: say({"alive": True})))
    for line in orders:
        order = json.loads(line)
        sources |= {source.sha256: source for source in map(_source, order["sources"])}
        begun_s = time.monotonic()
        try:
            if "check" in order:
                done = _check(order["check"], sources, sandbox, lambda stage: say({"stage": stage}))
            else:
                task = MatchTask.from_json(order["match"])
                games = referee.play_match(task)
                played_s = time.monotonic() - begun_s
                done = result_to_json(MatchResult(task.match_id, task.attempt, games, "local", played_s))
        except SandboxFailure as failure:
            say({"failure": str(failure)})
        else:
            say({"done": done, "took_s": time.monotonic() - begun_s})
        if order.get("forget"):
            sources.clear()


def _check(
    order: Mapping[str, Any], sources: Mapping[str, BotSource], sandbox: Seating, told: Callable[[str], None]
) -> dict[str, Any]:
    players = [Player(*order[name]) for name in ("candidate", "opponent")]
    mine, house = ((player, sources[player.sha256 or ""]) for player in players)
    modes = [(Rules.from_dict(rules), Limits.from_dict(limits)) for rules, limits in order["modes"]]
    found = check_bot(mine, house, modes, sandbox, order["secret"], told)
    return {**found.to_dict(), "documents": found.documents}


def _source(text: str) -> BotSource:
    return BotSource.unpack(base64.b64decode(text))


def die_with_parent(parent: int) -> None:
    """Arranges that this process is killed when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)


if __name__ == "__main__":
    main()
