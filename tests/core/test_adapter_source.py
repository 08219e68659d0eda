"""The adapter: how a bot's source is loaded, what its tracebacks show, and what it finds around it."""

import random
import sys

import pytest

from tests.core.adapters import loaded, question, source
from tests.core.table import CUTTHROAT, DUEL
from tournament import bot as bot_module
from tournament.adapter import MAX_TEXT_BYTES, BotError, SeatAdapter
from tournament.deal import BID
from tournament.game import FaultKind
from tournament.rules import Limits
from tournament.source import BotSource, SourceFinder

# Loading -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "the module defines no class Bot: expected `class Bot:` with bid and play"),
        ("Bot = 5", "the module defines no class Bot"),
        ("def Bot(): pass", "the module defines no class Bot"),
        ("class Bot:\n    def __init__(self, name): pass", "TypeError: Bot.__init__() missing 1 required positional"),
        ("class Bot:\n    def __new__(cls): return None", "the module defines no class Bot"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("x = 1\nclass Bot:\n    y = x +\n", "SyntaxError: invalid syntax (bot.py, line 3)"),
        (
            "class Bot:\npass",
            "IndentationError: expected an indented block after class definition on line 1 (bot.py, line 2)",
        ),
        ("x = 'a\x00'", "SyntaxError: source code"),
        ("# -*- coding: nonsense -*-", "SyntaxError: "),
        ("class Bot:\n    def __init__(self): self.x = [][0]", "IndexError: list index out of range"),
    ],
)
def test_a_module_that_does_not_load_is_a_fault_at_load(code: str, message: str) -> None:
    with pytest.raises(BotError) as caught:
        loaded(BotSource.of_file(code.encode()))
    assert caught.value.kind is FaultKind.LOAD
    assert str(caught.value).startswith(message)


def test_memory_that_runs_out_while_loading_has_its_own_kind() -> None:
    for code in ("raise MemoryError", "class Bot:\n    def __init__(self): raise MemoryError"):
        with pytest.raises(BotError) as caught:
            loaded(source(code))
        assert (caught.value.kind, str(caught.value)) == (FaultKind.MEMORY, "out of memory while loading")


def test_text_that_is_not_utf8_is_a_fault_at_load() -> None:
    with pytest.raises(BotError) as caught:
        loaded(BotSource.of_file(b"x = '\xff'\nclass Bot: pass"))
    assert caught.value.kind is FaultKind.LOAD
    assert "SyntaxError" in str(caught.value)


# Tracebacks ----------------------------------------------------------------------------------------------------------


def test_a_traceback_begins_at_the_bot_s_first_own_line_and_shows_it() -> None:
    code = """
        import json

        class Bot:
            def bid(self, view):
                return self.think(view)

            def think(self, view):
                return json.loads("{")
    """
    with pytest.raises(BotError) as caught:
        loaded(source(code)).answer(question(BID))
    lines = caught.value.text.splitlines()
    assert lines[0].startswith("JSONDecodeError: ") or lines[0].startswith("json.decoder.JSONDecodeError: ")
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[2] == '  File "bot.py", line 6, in bid'
    assert lines[3] == "    return self.think(view)"
    assert any(line == '  File "bot.py", line 9, in think' for line in lines)
    assert "adapter.py" not in caught.value.text
    assert any(line.startswith('  File "json/decoder.py", line ') for line in lines), "what it called is shown"


def test_a_traceback_leaves_out_the_sandbox() -> None:
    with pytest.raises(BotError) as caught:
        loaded(source("exec(compile('raise ImportError(1)', '<sandbox>', 'exec'))"))
    without_marks = [line for line in caught.value.text.splitlines()[1:] if set(line) - set(" ~^")]  # as of Python 3.13
    assert without_marks == [
        "Traceback (most recent call last):",
        '  File "bot.py", line 1, in <module>',
        "    exec(compile('raise ImportError(1)', '<sandbox>', 'exec'))",
        "ImportError: 1",
    ]


def test_a_syntax_error_in_a_module_beside_the_bot_names_its_file_and_line() -> None:
    with pytest.raises(BotError) as caught:
        loaded(source("import helper\nclass Bot: pass", {"helper.py": "x = 1\n\ny = )\n"}))
    lines = caught.value.text.splitlines()
    assert lines[0].startswith("SyntaxError: ")
    assert lines[0].endswith("(helper.py, line 3)")
    assert '  File "bot.py", line 1, in <module>' in lines
    assert '  File "helper.py", line 3' in lines
    assert "adapter.py" not in caught.value.text
    assert "source.py" not in caught.value.text


def test_a_syntax_error_in_the_bot_itself_shows_no_line_of_ours() -> None:
    with pytest.raises(BotError) as caught:
        loaded(source("class Bot:\n    x = = 1\n"))
    assert caught.value.text.splitlines()[1:3] == ['  File "bot.py", line 2', "    x = = 1"]


def test_a_chain_of_exceptions_shows_the_cause() -> None:
    code = """
        class Bot:
            def bid(self, view):
                try:
                    1 / 0
                except ZeroDivisionError as error:
                    raise RuntimeError("lost") from error
    """
    with pytest.raises(BotError) as caught:
        loaded(source(code)).answer(question(BID))
    assert str(caught.value) == "RuntimeError: lost"
    assert "ZeroDivisionError: division by zero" in caught.value.text
    assert "direct cause" in caught.value.text


def test_a_message_is_one_line_and_the_text_is_bounded() -> None:
    error = BotError(FaultKind.EXCEPTION, "a\r\nb\tc " + "é" * 500, "\ud800" + "ü" * 9000)
    assert "\n" not in str(error)
    assert str(error).startswith("a b c é")
    assert len(str(error)) == 300
    assert len(error.text.encode()) <= MAX_TEXT_BYTES
    assert "\\ud800" in error.text


# Files, data, random, the clock --------------------------------------------------------------------------------------


def test_a_bot_of_several_files_imports_them_and_reads_its_data() -> None:
    code = """
        import helper
        from parts import inner
        from tournament.bot import data

        WEIGHTS = data("weights.json")

        class Bot:
            def bid(self, view):
                assert (helper.NAME, inner.VALUE, WEIGHTS) == ("helper", 7, b"[1, 2]")
                assert data("parts/table.txt") == b"x"
                import late
                return late.BID
    """
    files = {
        "helper.py": "NAME = 'helper'",
        "parts/__init__.py": "",
        "parts/inner.py": "from . import deeper\nVALUE = deeper.VALUE",
        "parts/deeper.py": "VALUE = 7",
        "parts/table.txt": "x",
        "late.py": "BID = 3",
        "weights.json": "[1, 2]",
    }
    assert loaded(source(code, files)).answer(question(BID)) == (7, 2)


def test_data_that_is_not_there_says_what_is() -> None:
    with pytest.raises(BotError) as caught:
        loaded(source("from tournament.bot import data\nX = data('weights.json')", {"extra.py": ""}))
    assert caught.value.kind is FaultKind.LOAD
    assert str(caught.value) == "FileNotFoundError: this bot has no file 'weights.json'; it has bot.py, extra.py"


def test_bots_that_share_a_process_do_not_see_each_other_s_modules() -> None:
    def bot(bid: int) -> BotSource:
        code = """
            import helper
            class Bot:
                def bid(self, view):
                    import late
                    from tournament.bot import data
                    assert helper.BID == late.BID == int(data("bid.txt"))
                    return helper.BID
        """
        return source(code, {"helper.py": f"BID = {bid}", "late.py": f"BID = {bid}", "bid.txt": str(bid)})

    adapters = {bid: loaded(bot(bid)) for bid in (2, 3, 4)}
    for _ in range(2):
        for bid, adapter in adapters.items():
            adapter.enter()
            assert adapter.answer(question(BID)) == (7, bid - 1)


def test_a_bot_s_modules_hide_others_only_while_it_plays() -> None:
    import json

    adapter = loaded(
        source("import json\nclass Bot:\n    def bid(self, view): return json.BID", {"json.py": "BID = 4"})
    )
    assert adapter.answer(question(BID)) == (7, 3)
    for finder in [finder for finder in sys.meta_path if isinstance(finder, SourceFinder)]:
        finder.leave()
    assert sys.modules["json"] is json


def test_random_is_seeded_before_the_bot_s_code_runs() -> None:
    code = "import random\nFIRST = random.randrange(4)\nclass Bot:\n    def bid(self, view): return view.legal[FIRST]"
    answers = {}
    for seed in (f"{number:064x}" for number in range(12)):
        adapter = SeatAdapter(DUEL, Limits(), 0)
        adapter.load(source(code), seed)
        answers[seed] = adapter.answer(question(BID))[1]
        assert answers[seed] == random.Random(seed).randrange(4)
    assert len(set(answers.values())) == 4


def test_time_left_is_what_decision_and_game_allow_and_falls() -> None:
    code = """
        from tournament.bot import time_left
        LOADING = time_left()
        class Bot:
            def bid(self, view):
                first = time_left()
                sum(range(200_000))
                assert 0 < time_left() < first <= min(view.limits.decision_cpu_s, 0.75)
                assert 1 < LOADING <= view.limits.load_cpu_s == 60
                return 4
    """
    for limits in (Limits(20.0, 0.5, 0.25, 60.0), Limits(0.75, 20.0, 0.25, 60.0)):
        adapter = SeatAdapter(DUEL, limits, 0)
        adapter.load(source(code), "00")
        assert adapter.answer(question(BID)) == (7, 3)  # one deal has begun: 0.5 s and 0.25 s


def test_time_left_and_data_outside_a_bot_say_so() -> None:
    bot_module._Current.runtime = None
    for call in (bot_module.time_left, lambda: bot_module.data("x")):
        with pytest.raises(RuntimeError, match="no bot is being played"):
            call()


def test_a_bot_may_search_with_the_engine() -> None:
    code = """
        from tournament.bot import CARDS, Card, Deal, Phase
        class Bot:
            def bid(self, view):
                left = [card for card in CARDS if card not in view.hand]
                deal = view.imagine([view.hand, left[:6], left[6:12]], undealt=left[12:])
                best = {}
                for bid in deal.legal():
                    copy = deal.copy()
                    copy.act(bid)
                    while not copy.over:
                        copy.act_legal(copy.legal()[0])
                    best[bid] = copy.changes[view.side]
                assert deal.phase is Phase.BID
                return max(best, key=lambda bid: (best[bid], -bid))
    """
    assert loaded(source(code), CUTTHROAT).answer(question(BID, CUTTHROAT))[0] == 7
