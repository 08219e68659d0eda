# TRIES: catastrophic regular expression; MUST: be ended by the limit from outside. EXPECT: fault:timeout-cpu
import re


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        return 1 if re.match(r"(a+)+$", "a" * 40 + "b") else 0
