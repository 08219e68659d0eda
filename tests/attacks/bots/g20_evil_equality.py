# TRIES: answer objects that equal everything, hash like a card, or are subclasses of str and int; MUST: be refused or be a legal action. VARIANTS: 4. EXPECT: fault_or_plays
from tournament.bot import data

TURN = int(data("turn"))


class Everything:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __index__(self):
        return 0


class Text(str):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash("TS")


class Number(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class Bot:
    def bid(self, view):
        return Number(77) if TURN == 3 else view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        return [Everything(), Text("nothing"), Number(5), view.legal[0]][TURN]
