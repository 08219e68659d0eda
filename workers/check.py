"""Checks a bot the way every bot is checked: it is loaded and plays a probe against a house bot, in the sandbox.

The same function serves `tournament check` and uploads, so that what passes at home passes there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
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

_LIMITS: Final = ("loading", "slowest decision", "game", "memory")
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
        use: the most that it used of each limit, in seconds or bytes, and that limit: `loading`, `slowest decision`,
            `game` (its decisions together), `memory`; without what cannot be told here.
        documents: the replay documents of the probes.
        deal_cpu_s: CPU time of its decisions per deal, which forecasts are made from; None without a deal.
        cpu_s: CPU time of all its processes.
    """

    stage: Stage
    report: FaultReport | None
    line: int | None
    log: str
    use: Mapping[str, tuple[float, float]]
    documents: tuple[dict[str, Any], ...]
    deal_cpu_s: float | None = None
    cpu_s: float = 0.0

    @classmethod
    def refused(cls, message: str) -> CheckResult:
        """Makes the result for files that the upload checks refuse: nothing of them was run."""
        fault = Fault(0, FaultKind.LOAD, 1, 1, -1)
        return cls(Stage.UPLOAD_CHECKS, FaultReport(fault, message), None, "", {}, ())

    @property
    def slowest_cpu_s(self) -> float:
        """CPU time of its slowest decision."""
        return self.use.get("slowest decision", (0.0, 0.0))[0]

    @property
    def memory_bytes(self) -> int | None:
        """The most memory it held; None where it cannot be told."""
        return int(self.use["memory"][0]) if "memory" in self.use else None

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
            "use": dict(self.use),
            "slowest_cpu_s": self.slowest_cpu_s,
            "memory_bytes": self.memory_bytes,
            "deal_cpu_s": self.deal_cpu_s,
            "cpu_s": self.cpu_s,
        }


def check_bot(
    candidate: tuple[Player, BotSource],
    opponent: tuple[Player, BotSource],
    modes: Sequence[tuple[Rules, Limits]],
    sandbox: Seating,
    secret: str,
    told: Callable[[str], None] = lambda _: None,
) -> CheckResult:
    """Loads a bot and has it play a probe in each mode, until a fault.

    Args:
        candidate: how the documents name the bot, and its files.
        opponent: the same of the house bot that it plays against.
        modes: the rules to be tried, one probe each, with the limits of the matches it is to play.
        sandbox: where it runs.
        secret: what the probes' deals are made from.
        told: called with each stage that is reached.

    Raises:
        SandboxFailure: the sandbox failed; nothing is said about the bot.
    """
    sources = {source.sha256: source for _, source in (candidate, opponent)}
    players = tuple(sorted((candidate[0], opponent[0]), key=lambda player: player.text))
    documents = []
    log, report, stage = "", None, Stage.ACCEPTED
    use: dict[str, tuple[float, float]] = {}
    deal_cpu_s, cpu_s = None, 0.0
    told(Stage.LOADS)
    for number, (rules, limits) in enumerate(modes, start=1):
        if number > 1:
            told(f"{Stage.PROBE} {number} of {len(modes)}")
        probe = replace(rules, deal_limit=PROBE_DEALS)
        key = seeds.match_key(probe, [player.text for player in players], 1)
        task = MatchTask.of(secret, key, probe, limits, players, seatings=(1,))
        seats = [seat for seat, entrant in enumerate(task.seats(1)) if players[entrant] == candidate[0]]
        seen: dict[int, SeatedBot] = {}

        def watch(
            _: Game, seat: int, bot: SeatedBot, own: Sequence[int] = seats, seen: dict[int, SeatedBot] = seen
        ) -> None:
            if seat in own:
                seen[seat] = bot

        (result,) = Referee(sandbox, sources, watcher=watch).play_match(task)
        documents.append(document(task.record(1, result.acts, tuple(each.fault for each in result.reports))))
        report = next((each for each in result.reports if each.fault.seat in seats), None)
        spent_s = dict.fromkeys(seats, 0.0)
        for seat, micros in read_timings(result.timings):
            if seat in spent_s:
                spent_s[seat] += micros / 1e6
        if result.deals:
            deal_cpu_s = max(deal_cpu_s or 0.0, sum(spent_s.values()) / result.deals)
        allowance_s = limits.game_cpu_allowance_s(result.deals)
        for seat, bot in seen.items():
            log += bot.log()
            cpu_s += bot.cpu_s
            _add_use(use, "loading", bot.load_cpu_s, limits.load_cpu_s)
            _add_use(use, "slowest decision", bot.slowest_decision_cpu_s, limits.decision_cpu_s)
            _add_use(use, "game", spent_s[seat], allowance_s)
            _add_use(use, "memory", bot.memory_bytes, limits.memory_bytes)
        if report is not None:
            stage = Stage.LOADS if report.fault.act < 0 else Stage.PROBE
            if report.fault.kind is FaultKind.TIMEOUT_CPU and report.measured is not None and report.limit is not None:
                broken = "slowest decision" if report.limit == limits.decision_cpu_s else "game"
                _add_use(use, "loading" if stage is Stage.LOADS else broken, report.measured, report.limit)
            break
    line = own_line(report, candidate[1]) if report else None
    use = {name: use[name] for name in _LIMITS if name in use}
    return CheckResult(stage, report, line, log, use, tuple(documents), deal_cpu_s, cpu_s)


def _add_use(use: dict[str, tuple[float, float]], limit_name: str, used: float, limit: float) -> None:
    """Keeps the largest share of a limit that was used."""
    before, before_limit = use.get(limit_name, (0.0, limit))
    if used and used / limit >= before / before_limit:
        use[limit_name] = (used, limit)


def own_line(report: FaultReport, source: BotSource) -> int | None:
    """Returns the last line of the bot's own files that a fault's texts name."""
    own = {path for path, _ in source.files}
    lines = [
        int(line or short_line)
        for path, line, short_path, short_line in _OWN_LINE.findall(f"{report.message}\n{report.traceback}")
        if (path or short_path) in own
    ]
    return lines[-1] if lines else None
