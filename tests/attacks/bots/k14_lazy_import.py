# TRIES: imports a module that is not preloaded, and one of its own, inside play; MUST: get ModuleNotFoundError and play on. EXPECT: plays
class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        for m in ("turtledemo", "tkinter", "my_missing_module", "lib2to3"):
            try:
                __import__(m)
                print("PWNED imported", m)
            except ImportError as e:
                print("blocked", m, type(e).__name__)
        return view.legal[0]
