# TRIES: read /etc/passwd and other system files at import and in play; MUST: be denied; the bot plays on. EXPECT: plays
def attempt(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("blocked", label, type(e).__name__)
        return None
    print("PWNED", label, repr(r)[:80])
    return r


def steal():
    for p in ("/etc/passwd", "/etc/hostname", "/proc/version", "/proc/cpuinfo", "/etc/shadow", "/root" "/.ssh/id_rsa"):
        attempt(p, lambda: open(p, "rb").read(100))


steal()


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        steal()
        return view.legal[0]
