# TRIES: close all descriptors, then go on; MUST: be ended as a fault. EXPECT: fault
import os
import time


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        for fd in range(5):
            os.close(fd)
        time.sleep(1000)
