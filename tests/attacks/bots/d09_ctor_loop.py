# TRIES: loop in the constructor; MUST: be ended by the load limit. EXPECT: fault:timeout-cpu
class Bot:
    def __init__(self):
        while True:
            pass

    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        return view.legal[0]
