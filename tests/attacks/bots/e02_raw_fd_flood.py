# TRIES: write to descriptors 1 and 2 without end, past the Python layer; MUST: be bounded by the pipe's size; the referee never blocks. EXPECT: fault
import os


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        while True:
            for fd in (1, 2):
                try:
                    os.write(fd, b"y" * 65536)
                except OSError:
                    pass
