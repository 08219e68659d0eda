"""A worker whose matches take time and no CPU: as many slots as one likes on a few cores. For measurements only."""

import json
import random
import socket
import sys
import time
from typing import Any

from tests.store.play import play_game
from tournament.environment import environment
from tournament.results import MatchResult
from tournament.wire import MatchTask, game_result, result_to_json
from workers.app import PLAY, make_app, redis_client
from workers.tasks import Broker
from workers.tickets import Chunk, match_queue
from workers.worker import Announcer, announcing


def played(task: MatchTask) -> MatchResult:
    games = []
    for seating, bot_seeds in task.bot_seeds:
        game, _ = play_game(task.rules, task.seed, random.Random(bot_seeds[0]))
        games.append(game_result(task, game, seating, (), b""))
    return MatchResult(task.match_id, task.attempt, tuple(games))


def main(url: str, slots: int, seconds: float) -> None:
    app = make_app(url)
    broker, here = Broker(app, redis_client(url)), environment()
    name = f"{socket.gethostname()}:stub"

    def play(message: list[dict[str, Any]]) -> None:
        chunk = Chunk.from_json(message)
        broker.tell({"kind": "started", "worker": name, "tickets": [t.to_json() for t, _ in chunk.matches]})
        results = []
        for ticket, task in chunk.matches:
            begun = time.monotonic()
            result = result_to_json(played(task))
            time.sleep(max(0.0, seconds - (time.monotonic() - begun)))  # the match itself
            results.append({"ticket": ticket.to_json(), "result": {**result, "play_s": seconds}})
        answer = {"kind": "result", "worker": name, "results": results, "failures": [], "unplayed": []}
        broker.answer(json.dumps(answer))

    app.task(name=PLAY)(play)
    app.steps["consumer"].add(announcing(Announcer(name, slots, here, broker, redis_client(url)).hello))
    options = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--pool=threads"]
    app.worker_main(["--quiet", "worker", f"--concurrency={slots}", f"--queues={match_queue(here)}", *options])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
