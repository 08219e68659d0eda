# TRIES: return NaN, infinity, 3.0, -0.0; MUST: be a fault. VARIANTS: 4. EXPECT: fault
from tournament.bot import data

TURN = int(data("turn"))
class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        return [float("nan"), float("inf"), 3.0, -0.0][TURN % 4]
