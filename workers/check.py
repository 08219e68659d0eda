"""Checks a bot the way every bot is checked: it is loaded and plays a probe against a house bot, in the sandbox.

The same function serves `tournament check` and uploads, so that what passes at home passes there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from tournament import seeds
from tournament.game import Fault, FaultKind, Game
from tournament.replay import Player, document
from tournament.results import FaultReport
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from tournament.wire import MatchTask
from workers.referee import Referee, SeatedBot, Seating, read_timings

PROBE_DEALS: Final = 4
"""Deals of a probe (replay format, Seeds: games outside a schedule)."""

_OWN_LINE: Final = re.compile(r'File "([^"]+)", line (\d+)|\(([^()]+), line (\d+)\)')


class Stage(StrEnum):
    """How far a bot got."""

    UPLOAD_CHECKS = "upload checks"
    LOADS = "loads"
    PROBE = "probe"
    ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What came of a check.

    Attributes:
        stage: where it stopped; ACCEPTED if nothing was wrong.
        report: the fault that stopped it, if one did.
        line: the line of the bot's own file that the fault points to, if known.
        log: what the bot printed.
        slowest_cpu_s: CPU time of its slowest decision.
        memory_bytes: the most memory it held; None where it cannot be told.
        documents: the replay documents of the probes.
        deal_cpu_s: CPU time of its decisions per deal, which forecasts are made from; None without a deal.
    """

    stage: Stage
    report: FaultReport | None
    line: int | None
    log: str
    slowest_cpu_s: float
    memory_bytes: int | None
    documents: tuple[dict[str, Any], ...]
    deal_cpu_s: float | None = None

    @classmethod
    def refused(cls, message: str) -> CheckResult:
        """Makes the result for files that the upload checks refuse: nothing of them was run."""
        fault = Fault(0, FaultKind.LOAD, 1, 1, -1)
        return cls(Stage.UPLOAD_CHECKS, FaultReport(fault, message), None, "", 0.0, None, ())

    @property
    def accepted(self) -> bool:
        """Whether nothing was wrong."""
        return self.stage is Stage.ACCEPTED

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as `tournament check --json` prints it."""
        fault = None
        if self.report is not None:
            fault = {
                "kind": str(self.report.fault.kind),
                "message": self.report.message,
                "line": self.line,
                "traceback": self.report.traceback,
            }
        return {
            "accepted": self.accepted,
            "stage": str(self.stage),
            "fault": fault,
            "log": self.log,
            "slowest_cpu_s": self.slowest_cpu_s,
            "memory_bytes": self.memory_bytes,
            "deal_cpu_s": self.deal_cpu_s,
        }


def check_bot(
    candidate: tuple[Player, BotSource],
    opponent: tuple[Player, BotSource],
    modes: Sequence[Rules],
    limits: Limits,
    sandbox: Seating,
    secret: str,
) -> CheckResult:
    """Loads a bot and has it play a probe in each mode.

    Args:
        candidate: how the documents name the bot, and its files.
        opponent: the same of the house bot that it plays against.
        modes: the rules to be tried, one probe each.
        limits: the limits of the matches it is to play.
        sandbox: where it runs.
        secret: what the probes' deals are made from.

    Raises:
        SandboxFailure: the sandbox failed; nothing is said about the bot.
    """
    sources = {source.sha256: source for _, source in (candidate, opponent)}
    players = tuple(sorted((candidate[0], opponent[0]), key=lambda player: player.text))
    seen: list[SeatedBot] = []
    documents = []
    log, slowest_cpu_s, memory_bytes = "", 0.0, 0
    report, stage = None, Stage.ACCEPTED
    micros = deals = 0
    for rules in modes:
        probe = replace(rules, deal_limit=PROBE_DEALS)
        key = seeds.match_key(probe, [player.text for player in players], 1)
        task = MatchTask.of(secret, key, probe, limits, players, seatings=(1,))
        seats = [seat for seat, entrant in enumerate(task.seats(1)) if players[entrant] == candidate[0]]

        def watch(_: Game, seat: int, bot: SeatedBot, own: Sequence[int] = seats) -> None:
            if seat in own and bot not in seen:
                seen.append(bot)

        (result,) = Referee(sandbox, sources, watcher=watch).play_match(task)
        faults = tuple(each.fault for each in result.reports)
        micros += sum(time for seat, time in read_timings(result.timings) if seat in seats)
        deals += result.deals
        documents.append(document(task.record(1, result.acts, faults)))
        for bot in seen:
            log += bot.log()
            slowest_cpu_s = max(slowest_cpu_s, bot.slowest_decision_cpu_s)
            memory_bytes = max(memory_bytes, bot.memory_bytes)
        seen.clear()
        report = next((each for each in result.reports if each.fault.seat in seats), None)
        if report is not None:
            stage = Stage.LOADS if report.fault.act < 0 else Stage.PROBE
            break
    line = own_line(report, candidate[1]) if report else None
    deal_cpu_s = micros / 1e6 / deals if deals else None
    return CheckResult(stage, report, line, log, slowest_cpu_s, memory_bytes or None, tuple(documents), deal_cpu_s)


def own_line(report: FaultReport, source: BotSource) -> int | None:
    """Returns the last line of the bot's own files that a fault's texts name."""
    own = {path for path, _ in source.files}
    lines = [
        int(line or short_line)
        for path, line, short_path, short_line in _OWN_LINE.findall(f"{report.message}\n{report.traceback}")
        if (path or short_path) in own
    ]
    return lines[-1] if lines else None
