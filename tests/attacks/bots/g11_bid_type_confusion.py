# TRIES: return duplicates, wrong counts, cards not held, lists of lists and no list from discard; MUST: be refused by the rules' check. VARIANTS: 5. EXPECT: illegal
from tournament.bot import Card, data

TURN = int(data("turn"))


class Bot:
    def bid(self, view):
        return view.legal[-1]

    def discard(self, view):
        return [
            [view.hand[0]] * 2,
            list(view.hand),
            [Card("2C") if Card("2C") not in view.hand else Card("3C")] * 2,
            [[view.hand[0]], [view.hand[1]]],
            17,
        ][TURN]

    def play(self, view):
        return view.legal[0]
