# TRIES: send bytes that are no frame: a pickle, invalid UTF-8; MUST: be a protocol fault. EXPECT: fault:protocol
import os


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        os.write(4, b"\x80\x04\x95cos\nsystem\n\xff\xfe")
        while True:
            pass
