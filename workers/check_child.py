"""A child process of the checker: checks bots and plays single matches as it is told, in JSON lines.

It holds no database, no broker and no password: it is given sources and rules and gives back what came of them. It
ends at the end of its input, and dies with its parent.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any

from tournament.replay import Player
from tournament.results import MatchResult
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from tournament.wire import MatchTask, result_to_json
from workers.check import check_bot
from workers.play_child import die_with_parent, make_sandbox
from workers.referee import Referee, Seating
from workers.sandbox.faults import SandboxFailure


def main() -> None:
    """Does what comes on standard input until it ends."""
    settings = json.loads(sys.argv[1])
    die_with_parent(settings["parent"])
    core = settings["core"]
    if core is not None:
        with suppress(OSError):  # a core that is gone by now is no reason not to check
            os.sched_setaffinity(0, {core})
    # What is printed by accident must not run into the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(message: Mapping[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    try:
        with make_sandbox(plain=False, core=core) as sandbox:
            serve(sandbox, sys.stdin, say)
    except SandboxFailure as failure:
        say({"refused": str(failure)})


def serve(sandbox: Seating, orders: IO[str], say: Callable[[Mapping[str, Any]], None]) -> None:
    """Carries out orders, one a line, and says what came of each."""
    for line in orders:
        order = json.loads(line)
        sources = {source.sha256: source for source in map(_source, order["sources"])}
        begun_s = time.monotonic()
        try:
            if "check" in order:
                done = _check(order["check"], sources, sandbox, say)
            else:
                task = MatchTask.from_json(order["match"])
                games = Referee(sandbox, sources).play_match(task)
                done = result_to_json(MatchResult(task.match_id, task.attempt, games, "trial", 0.0))
        except SandboxFailure as failure:
            say({"failure": str(failure)})
        else:
            say({"done": done, "took_s": time.monotonic() - begun_s})


def _check(
    order: Mapping[str, Any],
    sources: Mapping[str, BotSource],
    sandbox: Seating,
    say: Callable[[Mapping[str, Any]], None],
) -> dict[str, Any]:
    candidate, opponent = (Player(*order[name]) for name in ("candidate", "opponent"))
    mine, house = ((player, sources[player.sha256 or ""]) for player in (candidate, opponent))
    modes = [(Rules.from_dict(rules), Limits.from_dict(limits)) for rules, limits in order["modes"]]
    found = check_bot(mine, house, modes, sandbox, order["secret"], lambda stage: say({"stage": stage}))
    return {**found.to_dict(), "documents": found.documents}


def _source(text: str) -> BotSource:
    return BotSource.unpack(base64.b64decode(text))


if __name__ == "__main__":
    main()
