# TRIES: return a string of 100 MB; MUST: be a fault; the referee's memory does not grow. EXPECT: fault
class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        return "a" * 100_000_000
