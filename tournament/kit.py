"""What a bot writer starts from: a commented bot, or a folder with a bot, a test of it and the contest's options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from tournament.rules import Limits, Rules

STARTER: Final = '''\
"""My first bot: bids two with an ace and a card beside it, and plays the highest card it may."""

from tournament.bot import Card, View


class Bot:
    def bid(self, view: View) -> int:
        # view.legal holds the bids you may answer; 0 passes. view.hand holds your cards.
        aces = [card for card in view.hand if card.rank == 14]
        for ace in aces:
            if sum(card.suit == ace.suit for card in view.hand) >= 2 and 2 in view.legal:
                print("bidding two on", ace)  # shown by `tournament play`
                return 2
        return 0

    def play(self, view: View) -> Card:
        # The bidder leads to the first trick: the suit of that card is trumps.
        if view.trump is None:
            suits = [card.suit for card in view.legal]
            return max(view.legal, key=lambda card: (suits.count(card.suit), card.rank))
        return max(view.legal, key=lambda card: card.rank)

    # def discard(self, view: View) -> tuple[Card, ...]:
    #     """Only where the bidder takes cards; without it a sensible default is used."""
    #     return view.legal[0]
'''

_TEST: Final = '''\
"""Run with: pytest"""

import json
from pathlib import Path

from my_bot import Bot

import tournament

RULES = tournament.Rules.from_dict(json.loads(Path(__file__).with_name("contest.json").read_text())["rules"])


def test_my_bot_plays_a_game_without_a_fault() -> None:
    played = tournament.play_game([Bot] * RULES.side_count, RULES, "a seed")
    assert played.errors == ()
'''

_README: Final = """\
# A bot for the contest

- `my_bot.py`: your bot. `contest.json`: the rules and limits of this contest.
- `tournament check my_bot.py --contest contest.json` loads it and plays a probe under these rules and limits.
- `tournament play my_bot.py simple {options}` shows a game.
- `tournament compare my_bot.py simple {options}` says whether it is better.
- `pytest` runs the test beside it (`pip install pytest`).

`my_bot.py` defines a class `Bot` with `bid(view)`, `play(view)` and, where cards are taken, `discard(view)`; each
answers one of `view.legal`. What else a view holds, how to debug and how to search with the engine: the guide for
bot writers, `bots/README.md` in the project and the page Guide on a contest's site.
"""


def options_of(rules: Rules) -> str:
    """Returns the options that make a command play by these rules.

    >>> options_of(Rules.make("wisconsin", bidder_takes=1, cap_defenders=True))
    '--game wisconsin --bidder-takes 1 --cap-defenders'
    >>> options_of(Rules.make("cutthroat"))
    '--game cutthroat --players 3'
    """
    default = Rules.make(rules.game).to_dict()
    options = [f"--game {rules.game}"]
    for name, value in rules.to_dict().items():
        # How many sit at a Cutthroat table depends on how many bots there are, unless it is said.
        if name != "game" and (value != default[name] or (name == "players" and value == 3)):
            options.append(f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}"))
    return " ".join(options)


def write_kit(folder: Path, rules: Rules, limits: Limits) -> None:
    """Writes a starter folder: bot, a test of it, the options of the contest, a short guide.

    Raises:
        OSError: the folder cannot be written.
    """
    contest = {"rules": rules.to_dict(), "limits": limits.to_dict()}
    texts = {
        "my_bot.py": STARTER,
        "test_my_bot.py": _TEST,
        "contest.json": json.dumps(contest, indent=2) + "\n",
        "README.md": _README.format(options=options_of(rules)),
    }
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
