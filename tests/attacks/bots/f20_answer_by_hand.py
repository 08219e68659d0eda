# TRIES: answer rightly by hand, byte for byte, and then once more by the usual way; MUST: be a protocol fault. EXPECT: fault:protocol
import os
import struct
import sys


def number():
    f = sys._getframe()
    while f and "number" not in f.f_locals:
        f = f.f_back
    return f.f_locals["number"]


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        for byte in struct.pack("<HH", number(), 0):
            os.write(4, bytes([byte]))
        return view.legal[0]
