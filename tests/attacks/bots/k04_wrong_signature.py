# TRIES: methods take other arguments; MUST: be an exception fault. EXPECT: fault:exception
class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view, extra, *, more):
        return view.legal[0]
