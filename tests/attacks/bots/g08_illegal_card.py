# TRIES: return a card it does not hold, a negative index, a huge number; MUST: be illegal by the rules' check. VARIANTS: 3. EXPECT: illegal
from tournament.bot import data

TURN = int(data("turn"))
class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        return [999, -1, 2**31 - 1][TURN % 3]
