"""A child process of the local executor: reads match tasks as JSON lines, plays them, writes results as JSON lines.

It holds no database and no broker. It ends at the end of its input, and dies with its parent.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import signal
import sys
import time
from contextlib import ExitStack, suppress
from typing import IO, Any

from tournament.results import MatchResult
from tournament.source import BotSource
from tournament.wire import MatchTask, result_to_json
from workers.referee import Pulse, Referee, Seating, collect_seldom
from workers.sandbox.faults import SandboxFailure, SandboxRefused
from workers.sandbox.host import Sandbox


def main() -> None:
    """Plays what comes on standard input until it ends."""
    settings = json.loads(sys.argv[1])
    die_with_parent(settings["parent"])
    core = settings["core"]
    if core is not None and hasattr(os, "sched_setaffinity"):
        with suppress(OSError):  # a core that is gone by now is no reason not to play
            os.sched_setaffinity(0, {core})
    # What is printed by accident must not run into the results.
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with ExitStack() as stack:
        try:
            sandbox = stack.enter_context(make_sandbox(plain=settings["plain"], core=core))
        except SandboxRefused as failure:
            _send(results, {"refused": str(failure)})
            return
        _send(results, {"ready": [] if settings["plain"] else sorted(sandbox.confinement.layers)})
        collect_seldom()
        _play_all(sandbox, settings["slot"], sys.stdin, results)


def _play_all(sandbox: Seating, slot: int, tasks: IO[str], results: IO[str]) -> None:
    sources: dict[str, BotSource] = {}
    pulse = Pulse(lambda: _send(results, {"alive": True}))
    referee = Referee(sandbox, sources, first_slot=slot, watcher=pulse)
    for line in tasks:
        message = json.loads(line)
        if "source" in message:
            files = tuple((path, base64.b64decode(content)) for path, content in message["files"])
            sources[message["source"]] = BotSource(files)
            continue
        task = MatchTask.from_json(message)
        begun_s = time.monotonic()
        try:
            games = referee.play_match(task)
        except SandboxFailure as failure:
            _send(results, {"match_id": task.match_id, "attempt": task.attempt, "failure": str(failure)})
            continue
        played = MatchResult(task.match_id, task.attempt, games, "local", time.monotonic() - begun_s)
        _send(results, result_to_json(played))


def make_sandbox(*, plain: bool, core: int | None) -> Any:
    """Makes the sandbox of this system: locked down on Linux, plain child processes where that was asked for."""
    if plain:
        from workers.sandbox.plain import PlainSandbox

        return PlainSandbox()
    return Sandbox(cpu=core)


def _send(results: IO[str], message: dict[str, Any]) -> None:
    results.write(json.dumps(message) + "\n")
    results.flush()


def die_with_parent(parent: int) -> None:
    """Arranges that this process is killed when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)


if __name__ == "__main__":
    main()
