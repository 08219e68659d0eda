# TRIES: allocate Python objects without end; MUST: end with MemoryError or a kill within the limit. EXPECT: fault_or_plays
class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        x = []
        while True:
            x.append(bytearray(1 << 20))
