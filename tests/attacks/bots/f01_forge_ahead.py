# TRIES: write answers for later questions ahead of time; MUST: be a protocol fault. EXPECT: fault:protocol
import os
import struct


class Bot:
    def bid(self, view):
        os.write(4, b"".join(struct.pack("<HH", number, 0) for number in (1, 2, 3)))
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        return view.legal[0]
