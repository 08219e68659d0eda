"""The core needs nothing of Unix: a game is played where `fcntl`, `resource` and fork are missing."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"fcntl", "resource", "pwd", "grp", "pty", "termios", "syslog"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
for name in ("fork", "forkpty", "getuid", "geteuid", "sched_setaffinity", "sched_getaffinity", "pidfd_open", "waitid"):
    vars(os).pop(name, None)
for name in ("fcntl", "resource"):
    sys.modules.pop(name, None)
before = set(sys.modules)

from tournament.adapter import SeatAdapter
from tournament.game import Game
from tournament.observation import QuestionWriter
from tournament.rules import Limits, Rules
from tournament.source import BotSource

SOURCE = BotSource.of_file(b'''
class Bot:
    def bid(self, view): return view.legal[-1] if len(view.history) % 2 else 0
    def play(self, view): return max(view.legal)
''')
game = Game(Rules.make("cutthroat", deal_limit=4), "00" * 32)
writer = QuestionWriter(game)
adapters = [SeatAdapter(game.rules, Limits(), seat) for seat in range(3)]
for adapter in adapters:
    adapter.load(SOURCE, "00")
while legal := game.advance():
    seat = game.deal.seat
    adapters[seat].enter()
    index = adapters[seat].answer(writer.question(seat, 0, game.deal.phase, legal)[2:])[1]
    game.act_legal(legal[index])
print(game.outcome.end)
found = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(found - sys.stdlib_module_names - {"smear__mypyc"}))
"""


def test_a_game_is_played_where_the_modules_of_unix_are_missing() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-I", "-c", f"import sys\nsys.path.insert(0, {str(root)!r})\n{PROGRAM}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    end, loaded = done.stdout.splitlines()
    assert end == "deal_limit"
    assert loaded == "['bot', 'tournament']", "nothing but the standard library is needed"
