# TRIES: raise an exception whose __str__ raises; MUST: be an exception fault. EXPECT: fault:exception
class E(Exception):
    def __str__(self):
        raise ValueError("no")

    __repr__ = __str__


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        raise E()
