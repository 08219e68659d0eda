# TRIES: print without end; MUST: be bounded; ended by the limit. EXPECT: fault
class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        while True:
            print("x" * 1000)
