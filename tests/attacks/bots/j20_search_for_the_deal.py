# TRIES: search all objects for the engine of this game and for cards that are not its own; MUST: find nothing. EXPECT: plays
import gc
import sys

class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        hidden = []
        todo, seen = [sys._getframe(), view, sys.modules], set()
        while todo and len(seen) < 20000:
            each = todo.pop()
            if id(each) in seen:
                continue
            seen.add(id(each))
            if type(each).__name__ in ("Game", "DealtDeal", "QuestionWriter", "MatchTask", "Referee", "Sandbox"):
                hidden.append(type(each).__name__)
            todo.extend(gc.get_referents(each)[:200])
        print("PWNED" if hidden else "blocked", "found", hidden[:5])
        return view.legal[0]
