# TRIES: ignore every signal, then loop; MUST: be ended all the same (SIGKILL). EXPECT: fault:timeout-cpu
import signal


class Bot:
    def __init__(self):
        for s in range(1, 65):
            try:
                signal.signal(s, signal.SIG_IGN)
            except (OSError, ValueError):
                pass

    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        while True:
            pass
