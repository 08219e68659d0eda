# TRIES: send UDP on loopback, resolve a name, open ICMP, netlink, packet, vsock and alg sockets; MUST: be denied. EXPECT: plays
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
        attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9)))
        attempt("udp6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
        attempt("icmp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP))
        attempt("dns", lambda: socket.getaddrinfo("localhost", 80))
        for fam in (16, 17, 38, 40, 31, 29):
            attempt(f"family {fam}", lambda: socket.socket(fam, socket.SOCK_RAW if fam in (16, 17) else socket.SOCK_SEQPACKET))
        return view.legal[0]
