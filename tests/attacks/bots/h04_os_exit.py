# TRIES: os._exit(0) in play; MUST: be an exit fault. EXPECT: fault:exited
import os


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        os._exit(0)
