# TRIES: raise in __del__ and in weakref callbacks; MUST: be ignored but logged. EXPECT: plays
class D:
    def __del__(self):
        raise RuntimeError('in del')


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        D()
        return view.legal[0]
