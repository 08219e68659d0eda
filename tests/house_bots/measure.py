"""What the house bots cost, as a table: ``python -m tests.house_bots.measure [GAMES]``.

Each bot plays games against `simple` in one process; CPU time is the process's own. Memory is what the sandbox counts
in a probe, beyond what a bot's process starts with.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import bots
from bots.simple_bot import Bot as Simple
from tournament.play import play_game
from tournament.replay import Player
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from workers.check import check_bot
from workers.sandbox.host import Sandbox

LIMITS = Limits()
MODES = (Rules.make("cutthroat", players=2), Rules.make("cutthroat"), Rules.make("wisconsin"))


class Stopwatch:
    """Counts the CPU time of one seat's decisions in every game; stands in for the bot's class."""

    def __init__(self) -> None:
        self.slowest_s = self.all_s = self.game_s = self.largest_share = 0.0

    def seat(self, made: Any) -> Any:
        """Returns an object that answers as `made` does, timed."""
        watch = self
        self.game_s = 0.0

        class Timed:
            bid = watch.timed(made.bid)
            play = watch.timed(made.play)
            if hasattr(made, "discard"):
                discard = watch.timed(made.discard)

        return Timed()

    def timed(self, method: Callable[[Any], Any]) -> Any:
        """Returns the method with the stopwatch running."""

        def call(view: Any) -> Any:
            start = time.process_time()
            answer = method(view)
            taken_s = time.process_time() - start
            self.slowest_s = max(self.slowest_s, taken_s)
            self.all_s += taken_s
            self.game_s += taken_s
            return answer

        return staticmethod(call)


def measured(name: str, rules: Rules, games: int) -> str:
    """Returns the row of one bot in one mode."""
    module: dict[str, Any] = {"__name__": f"measured_{name}"}
    exec(compile(bots.house_bot(name).code, name, "exec"), module)  # our own bot
    watch = Stopwatch()
    begun = time.process_time()
    for number in range(games):
        seats: list[Any] = [watch.seat(module["Bot"]()), *(Simple() for _ in range(rules.players - 1))]
        names = [name if rules.side_of(seat) == 0 else "other" for seat in range(rules.players)]
        if rules.players == 4:
            seats[2] = module["Bot"]()
        played = play_game(seats, rules, f"measure {number}", names=names)
        assert played.errors == (), played.errors
        allowance_s = LIMITS.game_cpu_allowance_s(played.game.deals_begun)
        watch.largest_share = max(watch.largest_share, watch.game_s / allowance_s)
    games_a_second = games / (time.process_time() - begun)
    return f"{watch.slowest_s * 1000:.1f} ms | {watch.largest_share:.1%} | {games_a_second:.1f}"


def memory_mib(name: str, rules: Rules, sandbox: Sandbox) -> float:
    """Returns the most memory that the bot holds in a probe, in MiB."""
    found, other = bots.house_bot(name), bots.house_bot("simple" if name != "simple" else "random")
    source, opponent = BotSource.of_file(found.code), BotSource.of_file(other.code)
    checked = check_bot(
        (Player(name, found.version, source.sha256), source),
        (Player(other.name, other.version, opponent.sha256), opponent),
        [(rules, LIMITS)],
        sandbox,
        "measure",
    )
    return (checked.memory_bytes or 0) / 2**20


def main(games: int) -> None:
    """Prints the table."""
    print("| bot | mode | slowest decision | largest share of a game's CPU time | games a second | memory |")
    print("| --- | --- | --- | --- | --- | --- |")
    with Sandbox().start() as sandbox:
        for name in bots.NAMES:
            for rules in MODES:
                row = measured(name, rules, games)
                print(f"| {name} | {rules.mode} | {row} | {memory_mib(name, rules, sandbox):.1f} MiB |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
