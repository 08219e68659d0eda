"""random: the smallest house bot. It mostly passes and plays any legal card.

Everything here is needed: a module with a class `Bot` that answers `bid` and `play`. Without a method `discard` the
game discards for it. `random` is seeded for each game and seat, so that a game can be played again.
"""

import random

from tournament.bot import Card, View

VERSION = 1


class Bot:
    """Answers at random."""

    def bid(self, view: View) -> int:
        """Passes nine times in ten; else bids anything."""
        if random.random() < 0.9:
            return 0
        bid: int = random.choice(view.legal)
        return bid

    def play(self, view: View) -> Card:
        """Plays any card that the rules allow."""
        card: Card = random.choice(view.legal)
        return card
