# TRIES: sleep for ever in play (no CPU used); MUST: be denied (an honest bot never waits) or ended by the wall limit. EXPECT: fault
import time


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        time.sleep(10**6)
