# TRIES: print a flood without line ends, in one piece and in many, to both outputs; MUST: be bounded; the bot plays on. EXPECT: plays
import sys

class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        print("x" * 10**7, end="")
        for _ in range(2000):
            sys.stderr.write("y" * 99)
            sys.stdout.writelines(["z", "\x1b[2J"])
        sys.stdout.flush()
        return view.legal[0]
