"""Canadian and Wisconsin Smear: the game, its contests and the command `tournament`.

For notebooks and training loops: `tournament.play_game`, `tournament.Decisions` and `tournament.Rules`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from tournament import compiled

if TYPE_CHECKING:
    from tournament.play import Decision, Decisions, PlayedGame, play_game
    from tournament.rules import Limits, Rules

__all__ = ["Decision", "Decisions", "Limits", "PlayedGame", "Rules", "play_game"]

compiled.use()  # before any module that may be compiled is imported

_HOMES = {"Limits": "tournament.rules", "Rules": "tournament.rules"}


def __getattr__(name: str) -> Any:
    """Imports what is asked for only then: a bot's process, which imports `tournament.bot`, needs none of it."""
    if name not in __all__:
        raise AttributeError(f"module 'tournament' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES.get(name, "tournament.play")), name)
