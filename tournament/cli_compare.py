"""The command `compare`: plays two versions until an exact sequential test says whether the first is better."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Annotated

import typer

from tournament import seeds
from tournament.cli_common import (
    BOTS,
    Jobs,
    LocalBot,
    Refused,
    RulesOptions,
    core_count,
    find_bots,
    notes,
    out,
    refusals,
    secret_of,
    with_rules,
)
from tournament.cli_local import executor_here, expected_s
from tournament.results import FaultReport, MatchResult, pair_scores
from tournament.rules import Limits, Rules
from tournament.wire import MatchTask
from tournament.wording import counted, duration
from workers.local import LocalExecutor
from workers.sandbox.faults import SandboxFailure

if TYPE_CHECKING:
    from tournament.comparison import Comparison

app = typer.Typer()

TELL_EVERY = 25
EXIT_CODES = {"better": 0, "not better": 1, "undecided": 3}


@app.command(rich_help_panel=BOTS)
@with_rules
def compare(
    new: Annotated[str, typer.Argument(help="The bot that may be better, by path or house name.")],
    old: Annotated[str, typer.Argument(help="The bot it is compared with.")],
    options: RulesOptions,
    against: Annotated[
        list[str] | None, typer.Option(help="Play both against these bots instead, on the same deals.")
    ] = None,
    elo0: Annotated[float, typer.Option(help="Not better: stronger by at most so much.")] = 0.0,
    elo1: Annotated[float, typer.Option(help="Better: stronger by at least so much.")] = 20.0,
    alpha: Annotated[float, typer.Option(help="Chance to say better where it is not.")] = 0.05,
    beta: Annotated[float, typer.Option(help="Chance to say not better where it is.")] = 0.05,
    cap: Annotated[
        int | None,
        typer.Option(help="Matches after which it gives up (default: 4 times the length for unlike bots).", min=1),
    ] = None,
    seed: Annotated[str | None, typer.Option(help="The seed text; else random.")] = None,
    jobs: Jobs = None,
) -> None:
    """Say whether a bot is better than another: exit status 0 better, 1 not, 3 undecided."""
    from tournament.comparison import ASSUMED_VARIANCE, CAP_FACTOR, Comparison, expected_matches
    from tournament.sprt import Hypotheses

    found = find_bots([new, old, *(against or ())])
    rules = options.make(2)
    if len({bot.text for bot in found}) < len(found):
        raise Refused("a bot is named twice: expected different bots")
    with refusals():
        test = Hypotheses(elo0, elo1, alpha, beta)
    plan = _Plan(found, rules, secret_of(seed))
    expected, longest = (expected_matches(test, v / plan.stretch, plan.stretch) for v in ASSUMED_VARIANCE[rules.mode])
    cap = cap or CAP_FACTOR * longest
    comparison = Comparison(test, plan.top, cap, stretch=plan.stretch)
    jobs = jobs or core_count()
    with executor_here(jobs, own=True) as executor:
        per_match_s = expected_s(executor, found, rules) * plan.games_per_match / jobs
        notes.print(
            f"{rules.mode}: about {counted(expected, 'match')}, {duration(expected * per_match_s)} with "
            f"{counted(jobs, 'job')}; at most {counted(cap, 'match')}."
        )
        try:
            faults = _play(plan, comparison, executor)
        except KeyboardInterrupt:
            out.print(comparison.line())
            raise
    out.print(comparison.line())
    for text, reports in sorted(faults.items()):
        times = "once" if len(reports) == 1 else f"{len(reports)} times, first"
        out.print(f"{text} faulted {times}: {reports[0].fault.kind}: {reports[0].message}")
    first, second = found[0].text, found[1].text
    out.print(
        {
            "better": f"{first} is better than {second}.",
            "not better": f"{first} is not better than {second} by {elo1:g} Elo.",
            "undecided": f"Undecided: the cap of {counted(cap, 'match')} came first.",
        }[str(comparison.decision)]
    )
    raise typer.Exit(EXIT_CODES[str(comparison.decision)])


class _Plan:
    """The matches of a comparison by their numbers, from 1, and how a match is scored."""

    def __init__(self, found: list[LocalBot], rules: Rules, secret: str) -> None:
        self.new, self.old, *self.gauntlet = found
        self.rules = rules
        self.secret = secret
        self.sources = {bot.source.sha256: bot.source for bot in found}
        count = len(seeds.seatings(rules, 2))
        self._half_points = 4 if rules.side_count == 2 else 4 * count
        self.stretch = 2 if self.gauntlet else 1
        self.top = self._half_points * self.stretch
        self.games_per_match = count * self.stretch

    def tasks(self, number: int) -> list[MatchTask]:
        """Returns the tasks of match `number`: one, or in a gauntlet one for each version, on the same deals.

        Their ids are twice the number, and one more for the second version.
        """
        if not self.gauntlet:
            players = sorted((self.new.player, self.old.player), key=lambda player: player.text)
            key = seeds.match_key(self.rules, [player.text for player in players], number)
            return [MatchTask.of(self.secret, key, self.rules, Limits(), tuple(players), match_id=2 * number)]
        round_number, place = divmod(number - 1, len(self.gauntlet))
        opponent = self.gauntlet[place].player
        seed_key = seeds.match_key(self.rules, ["*", opponent.text], round_number + 1)
        return [
            MatchTask.of(
                self.secret,
                seeds.match_key(self.rules, [candidate.text, opponent.text], round_number + 1),
                self.rules,
                Limits(),
                (candidate, opponent),  # `*` sorts before every name: in the seatings of its key this is the order
                match_id=2 * number + which,
                seed_key=seed_key,
            )
            for which, candidate in enumerate((self.new.player, self.old.player))
        ]

    def score(self, played: list[tuple[MatchTask, MatchResult]]) -> int:
        """Returns the new bot's score of a match, 0 to `top`."""
        points = {
            task.players[0].text: sum(
                pair_scores(self.rules, task.seats(game.seating), game.outcome.places)[0, 1] for game in result.games
            )
            for task, result in played
        }
        if self.gauntlet:
            return self._half_points + points[self.new.text] - points[self.old.text]
        return points[self.new.text] if self.new.text in points else self._half_points - points[self.old.text]


def _play(plan: _Plan, comparison: Comparison, executor: LocalExecutor) -> dict[str, list[FaultReport]]:
    waiting: dict[int, list[tuple[MatchTask, MatchResult]]] = defaultdict(list)
    faults: dict[str, list[FaultReport]] = defaultdict(list)
    tasks = (task for number in range(1, comparison.cap + 1) for task in plan.tasks(number))
    told = 0
    for task, ended in executor.play(tasks, plan.sources):
        if not isinstance(ended, MatchResult):
            raise SandboxFailure(f"match {ended.match_id}: {ended.reason}")
        for game in ended.games:
            for report in game.reports:
                faults[task.players[task.seats(game.seating)[report.fault.seat]].text].append(report)
        number = ended.match_id // 2
        waiting[number].append((task, ended))
        if len(waiting[number]) == plan.stretch:
            comparison.add(number, plan.score(waiting.pop(number)))
        if comparison.over:
            break
        if comparison.matches - told >= TELL_EVERY:
            told = comparison.matches
            notes.print(comparison.line())
    return faults
