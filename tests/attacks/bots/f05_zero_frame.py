# TRIES: send empty frames; MUST: be a protocol fault. EXPECT: fault:protocol
import os


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        os.write(4, b"\0\0\0\0")
        while True:
            pass
