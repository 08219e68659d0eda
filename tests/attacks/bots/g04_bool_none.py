# TRIES: return True, then nothing at all; MUST: be refused by the rules' check (bool is no card). VARIANTS: 2. EXPECT: illegal
from tournament.bot import data

TURN = int(data("turn"))
class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        return True if TURN == 0 else None
