# TRIES: fork without end; MUST: be denied (no child ever exists). EXPECT: plays
import os


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        for i in range(20):  # bounded, in case the sandbox has a hole
            try:
                pid = os.fork()
            except OSError as e:
                print("blocked", type(e).__name__)
                continue
            if pid == 0:
                os._exit(0)
            print("PWNED fork")
        return view.legal[0]
