# TRIES: methods are generators; MUST: be a fault. EXPECT: fault
class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        yield view.legal[0]
