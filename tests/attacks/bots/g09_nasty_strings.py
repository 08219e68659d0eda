# TRIES: return strings with NUL, lone surrogates, right-to-left marks, HTML; MUST: be refused. VARIANTS: 5. EXPECT: fault_or_illegal
from tournament.bot import data

TURN = int(data("turn"))
class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        return ["\0", "\ud800", "\u202eabc", "<script>alert(1)</script>", "A" * 150][TURN % 5]
