# TRIES: connect to and listen on loopback TCP; MUST: be denied at socket(). EXPECT: plays
def attempt(label, fn):
    try:
        r = fn()
    except BaseException as e:
        print("blocked", label, type(e).__name__)
        return None
    print("PWNED", label, repr(r)[:80])
    return r
import socket


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        attempt("socket", lambda: socket.socket())
        attempt("connect", lambda: socket.create_connection(("127.0.0.1", 9), 0.2))
        attempt("listen", lambda: socket.create_server(("127.0.0.1", 0)))
        attempt("url", lambda: __import__("urllib.request").request.urlopen("http://127.0.0.1:9/", timeout=0.2))
        return view.legal[0]
