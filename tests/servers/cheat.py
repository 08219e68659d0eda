"""A worker that cheats: it plays legal cards, yet not those that the bots would have played."""

import sys

from tests.servers.stub import played
from tournament.environment import environment
from tournament.results import GameResult
from tournament.wire import MatchTask
from workers import tasks
from workers.sandbox.doctor import layers_here
from workers.worker import run_worker


class Cheat:
    """Asks no bot."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def play_match(self, task: MatchTask) -> tuple[GameResult, ...]:
        return played(task).games


if __name__ == "__main__":
    tasks.Referee = Cheat  # type: ignore[misc,assignment]  # whoever runs a machine can change what runs on it
    here = {**environment(), "layers": sorted(layers_here())}
    run_worker(sys.argv[1], name="cheat", hostname="cheat", slots=1, environment=here)
