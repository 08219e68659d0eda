# TRIES: loop in Python in play; MUST: be ended by the decision's CPU limit. EXPECT: fault:timeout-cpu
class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        while True:
            pass
