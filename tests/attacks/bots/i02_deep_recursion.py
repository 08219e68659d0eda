# TRIES: lift the recursion limit and recurse; MUST: be an exception or SIGSEGV fault. EXPECT: fault
import sys


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        sys.setrecursionlimit(2**31 - 1)


        def f(n):
            return f(n + 1)


        return f(0)
