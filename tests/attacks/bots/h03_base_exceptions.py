# TRIES: raise SystemExit, KeyboardInterrupt, GeneratorExit and a BaseException of its own in play; MUST: be exception faults; the guest lives or dies cleanly. VARIANTS: 4. EXPECT: fault
from tournament.bot import data

TURN = int(data("turn"))
class B(BaseException):
    pass


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        raise [SystemExit, KeyboardInterrupt, GeneratorExit, B][TURN % 4]("x")
