# -*- coding: unicode_escape -*- TRIES: hide code from review behind a coding cookie; MUST: be refused at intake or load as shown; EXPECT: fault_or_plays
x = 1  # \u000aprint('note hidden line ran')


class Bot:
    def bid(self, view):
        return view.legal[0]

    def discard(self, view):
        return view.legal[0]

    def play(self, view):
        return view.legal[0]
