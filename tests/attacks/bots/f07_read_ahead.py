# TRIES: read the request pipe itself to look at what is to come; MUST: find nothing (the referee sends one question at a time); ended by the wall limit. EXPECT: fault:timeout-wall
import os


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        b = os.read(3, 65536)
        print("PWNED read ahead", len(b))
        return view.legal[0]
