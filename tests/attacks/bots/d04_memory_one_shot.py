# TRIES: ask for one huge string, list, integer and numpy array; MUST: get MemoryError; plays on. EXPECT: plays
def attempt(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("blocked", label, type(e).__name__)
        return None
    print("PWNED", label, repr(r)[:80])
    return r


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        attempt("str", lambda: len("x" * 10**12))
        attempt("list", lambda: len([0] * 10**11))
        attempt("int", lambda: (1 << (1 << 40)).bit_length())
        attempt("bytearray", lambda: len(bytearray(10**12)))
        return view.legal[0]
