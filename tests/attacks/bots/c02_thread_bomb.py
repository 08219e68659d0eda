# TRIES: start hundreds of threads; MUST: be denied, or counted within the limits. EXPECT: plays
import _thread
import threading
import time


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        n = 0
        for i in range(500):
            try:
                threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
                n += 1
            except RuntimeError:
                break
        print("PWNED threads" if n else "blocked threads", n)
        return view.legal[0]
