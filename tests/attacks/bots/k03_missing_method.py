# TRIES: Bot lacks play; MUST: be a fault. EXPECT: fault
class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]
