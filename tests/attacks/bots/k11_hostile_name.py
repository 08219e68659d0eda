# TRIES: has a hostile display name: HTML, right-to-left override, homoglyphs, 10 000 letters; MUST: be kept out of the protocol and escaped when shown. EXPECT: plays
class Bot:
    def __init__(self):
        self.name = "<script>alert(1)</script>\u202e\x00" + "A" * 10000
        self.__class__.__name__ = "<b>Bot</b>"
        self.__class__.__qualname__ = "'; DROP TABLE bots; --"

    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        return view.legal[0]
