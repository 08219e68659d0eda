# TRIES: methods are async def; MUST: be a fault. EXPECT: fault
class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    async def play(self, view):
        return view.legal[0]
