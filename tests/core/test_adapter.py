"""The adapter: what a bot answers becomes an index, and whatever else it does becomes a fault of the right kind."""

import random
import re
import sys
from collections.abc import Iterator
from textwrap import dedent

import pytest

from tests.core.table import CUTTHROAT, DUEL, WISCONSIN, cards, game_of
from tournament import bot as bot_module
from tournament.adapter import MAX_TEXT_BYTES, BotError, SeatAdapter
from tournament.deal import BID, DISCARD, PLAY, Phase, default_discards, legal_discards
from tournament.game import FaultKind, Game
from tournament.observation import QuestionWriter
from tournament.rules import Limits, Rules
from tournament.source import BotSource, SourceFinder

HANDS = ("AS KS QS 4H 5H 6D", "2S 3S 7D 8D 9C TC", "2C 3C 4C 5C 6C 7C")


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    state, runtime = random.getstate(), bot_module._Current.runtime
    yield
    random.setstate(state)
    bot_module._Current.runtime = runtime
    for finder in [finder for finder in sys.meta_path if isinstance(finder, SourceFinder)]:
        finder.leave()
    assert "bot" not in sys.modules


def source(code: str, files: dict[str, str] | None = None) -> BotSource:
    others = [(path, text.encode()) for path, text in (files or {}).items()]
    return BotSource.of_files([("bot.py", dedent(code).encode()), *others])


def loaded(bot_source: BotSource, rules: Rules = DUEL) -> SeatAdapter:
    adapter = SeatAdapter(rules, Limits(), 0)
    adapter.load(bot_source, "00" * 32)
    return adapter


def question(phase: Phase, rules: Rules = DUEL, number: int = 7) -> bytes:
    """Returns a question to seat 0: to bid first, to lead, or to discard."""
    hands = HANDS if rules.players == 3 else HANDS[:2]
    if rules.players == 4:
        hands = ("AS KS QS 8H 9H 7D", "JS TS 8D 9D 9C TC", "7C 8C JC QC KC AC", "7H TH JH QH KH AH")
    game = game_of(rules, rules.players - 1, *hands, undealt="AD KD QD" if rules.players == 4 else "")
    writer = QuestionWriter(game)
    writer.deal_begun(game.dealt[0])
    deal = game.deal
    assert deal is not None
    if phase is not BID:
        game.act(4)
    if phase is PLAY and deal.phase is DISCARD:
        game.act(deal.legal()[0])
    assert deal.phase is phase
    return writer.question(0, number, phase, deal.legal())[2:]


METHODS = {BID: "bid", PLAY: "play", DISCARD: "discard"}


def bot_answering(phase: Phase, expression: str, before: str = "") -> BotSource:
    methods = dict.fromkeys(METHODS.values(), "return view.legal[0]") | {METHODS[phase]: f"return {expression}"}
    body = "\n".join(f"    def {name}(self, view):\n        {text}" for name, text in methods.items())
    return source(f"from tournament.bot import Card\n{dedent(before)}\nclass Bot:\n{body}\n")


def fault_of(phase: Phase, expression: str, before: str = "") -> BotError:
    rules = WISCONSIN if phase is DISCARD else DUEL
    with pytest.raises(BotError) as caught:
        loaded(bot_answering(phase, expression, before), rules).answer(question(phase, rules))
    return caught.value


def index_of(phase: Phase, expression: str, before: str = "") -> int:
    rules = WISCONSIN if phase is DISCARD else DUEL
    number, index = loaded(bot_answering(phase, expression, before), rules).answer(question(phase, rules, 65_535))
    assert number == 65_535
    return index


# Answers that count --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phase", "expression", "index"),
    [
        (BID, "0", 0),
        (BID, "2", 1),
        (BID, "view.legal[-1]", 3),
        (BID, "Level.THREE", 2),
        (BID, "Lying(4)", 3),
        (PLAY, "view.legal[2]", 2),
        (PLAY, "Card('QS')", 2),
        (PLAY, "'QS'", 2),
        (PLAY, "str(view.hand[2])", 2),
        (PLAY, "Name.QUEEN", 2),
        (PLAY, "LyingText('QS')", 2),
        (DISCARD, "view.legal[5]", 5),
        (DISCARD, "list(reversed(view.legal[5]))", 5),
        (DISCARD, "set(view.legal[5])", 5),
        (DISCARD, "(card for card in view.legal[5])", 5),
        (DISCARD, "[str(card) for card in view.legal[5]]", 5),
        (DISCARD, "dict.fromkeys(view.legal[5])", 5),
        (DISCARD, "map(str, view.legal[5])", 5),
    ],
)
def test_an_answer_is_its_place_among_the_legal_actions(phase: Phase, expression: str, index: int) -> None:
    before = """
        from enum import IntEnum, StrEnum
        class Level(IntEnum):
            THREE = 3
        class Name(StrEnum):
            QUEEN = "QS"
        class Lying(int):
            __eq__ = lambda self, other: True
            __hash__ = __index__ = __int__ = lambda self: 0
            __add__ = __radd__ = lambda self, other: 0
        class LyingText(str):
            __eq__ = lambda self, other: True
            __hash__ = lambda self: 0
            __str__ = lambda self: "AS"
    """
    assert index_of(phase, expression, before) == index


def test_a_bot_without_discard_gives_up_what_the_rule_for_it_says() -> None:
    adapter = loaded(source("class Bot: pass"), WISCONSIN)
    asked = question(DISCARD, WISCONSIN)
    _, index = adapter.answer(asked)
    hand = cards("AS KS QS 8H 9H 7D AD KD QD")
    game = game_of(WISCONSIN, 3, "AS KS QS 8H 9H 7D", undealt="AD KD QD")
    game.act(4)
    assert game.deal is not None
    legal = game.deal.legal()
    # Diamonds are the longest suit: of the discards without a diamond the first in order.
    assert legal[index] == tuple(cards("AS KS QS"))
    assert legal[index] == default_discards(hand, legal)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("hand", "expected"),
    [
        ("AS KS QS 8H 9H 7D AD KD 8S", "8H 9H 7D"),  # spades are longest
        ("AS KS QS 8H 9H 7D AD KD TC", "AS KS QS"),  # spades and diamonds are level: diamonds come first
        ("AS KS QS JS TS 9S 8S 7D 8D", "AS 7D 8D"),
        ("AS KS QS JS TS 9S 8S 7S 8D", "AS KS 8D"),
        ("AH KH QH JH TH 9H AC KC QC", "AC KC QC"),
    ],
)
def test_default_discards(hand: str, expected: str) -> None:
    held = cards(hand)
    assert default_discards(held, legal_discards(held, 3)) == tuple(cards(expected))


# Answers that do not -------------------------------------------------------------------------------------------------

HOSTILE = """
    class Evil:
        def __str__(self): raise ValueError("no text")
        __repr__ = __str__
        def __eq__(self, other): return True
        __hash__ = None
    class Liar:
        @property
        def __class__(self): return Card
    class Meta(type):
        @property
        def __name__(cls): raise KeyError("no name")
    class Nameless(metaclass=Meta): pass
    class EvilText(str):
        def __repr__(self): raise ValueError("no text")
        def __getitem__(self, at): raise ValueError("no part")
    def generator():
        yield "AS"
    class Awaitable:
        def __await__(self): yield
    empty_card = object.__new__(Card)
    class SubCard(Card): pass
    sub_card = object.__new__(SubCard)
"""


@pytest.mark.parametrize(
    ("phase", "expression", "message"),
    [
        (BID, "True", "bid answered True: expected an int"),
        (BID, "False", "bid answered False: expected an int"),
        (BID, "None", "bid answered None: expected an int"),
        (BID, "2.0", "bid answered 2.0: expected an int"),
        (BID, "float('nan')", "bid answered nan: expected an int"),
        (BID, "'2'", "bid answered '2': expected an int"),
        (BID, "'pass'", "bid answered 'pass': expected an int"),
        (BID, "[2]", "bid answered an object of type list: expected an int"),
        (BID, "generator()", "bid answered an object of type generator: expected an int"),
        (BID, "Awaitable()", "bid answered an object of type Awaitable: expected an int"),
        (BID, "Evil()", "bid answered an object of type Evil: expected an int"),
        (BID, "Nameless()", "bid answered an object of type Nameless: expected an int"),
        (BID, "EvilText('x')", "bid answered an object of type EvilText: expected an int"),
        (PLAY, "None", "play answered None: expected a Card or its text, like 'TS'"),
        (PLAY, "0", "play answered 0: expected a Card or its text, like 'TS'"),
        (PLAY, "10 ** 400", "play answered an int of 1329 bits: expected a Card or its text, like 'TS'"),
        (PLAY, "view.legal[0].index", "play answered 51: expected a Card or its text, like 'TS'"),
        (PLAY, "'as'", "play answered 'as': expected a Card or its text, like 'TS'"),
        (PLAY, "'AS '", "play answered 'AS ': expected a Card or its text, like 'TS'"),
        (PLAY, "b'AS'", "play answered an object of type bytes: expected a Card or its text, like 'TS'"),
        (PLAY, "'A' * 10 ** 6", f"play answered '{'A' * 40}': expected a Card or its text, like 'TS'"),
        (PLAY, "'\\ud800\\n\\x00\\x1b[31m'", r"play answered '\ud800\n\x00\x1b[31m': expected a Card or its text"),
        (PLAY, "(view.legal[0],)", "play answered an object of type tuple: expected a Card or its text"),
        (PLAY, "Card", "play answered an object of type type: expected a Card or its text"),
        (PLAY, "Liar()", "play answered an object of type Liar: expected a Card or its text"),
        (PLAY, "Evil()", "play answered an object of type Evil: expected a Card or its text"),
        (PLAY, "EvilText('x')", "play answered an object of type EvilText: expected a Card or its text"),
        (PLAY, "empty_card", "play answered an object of type Card: expected a Card or its text"),
        (PLAY, "sub_card", "play answered an object of type SubCard: expected a Card or its text"),
        (DISCARD, "None", "discard answered None: expected 3 cards"),
        (DISCARD, "'AS KS QS'", "discard answered 'AS KS QS': expected 3 cards"),
        (DISCARD, "Card('AS')", "discard answered an object of type Card: expected 3 cards"),
        (DISCARD, "3", "discard answered 3: expected 3 cards"),
        (DISCARD, "[1, 2, 3]", "discard answered 1: expected a Card or its text, like 'TS'"),
        (DISCARD, "[view.legal[0]]", "discard answered an object of type tuple: expected a Card or its text"),
        (DISCARD, "b'123'", "discard answered 49: expected a Card or its text, like 'TS'"),
        (DISCARD, "Awaitable()", "discard answered an object of type Awaitable: expected 3 cards"),
        (DISCARD, "(x for x in [None])", "discard answered None: expected a Card or its text, like 'TS'"),
    ],
)
def test_what_does_not_parse_is_invalid(phase: Phase, expression: str, message: str) -> None:
    error = fault_of(phase, expression, HOSTILE)
    assert error.kind is FaultKind.INVALID
    assert error.text.splitlines()[0].startswith(message)


def test_a_coroutine_is_invalid() -> None:
    code = """
        class Bot:
            async def think(self, view): return 2
            def bid(self, view):
                answer = self.think(view)
                answer.close()  # or Python warns that nobody awaited it
                return answer
    """
    with pytest.raises(BotError) as caught:
        loaded(source(code)).answer(question(BID))
    assert caught.value.kind is FaultKind.INVALID
    assert str(caught.value) == "bid answered an object of type coroutine: expected an int"


@pytest.mark.parametrize(
    ("phase", "expression", "message"),
    [
        (BID, "1", "bid answered 1: expected one of 0, 2, 3, 4"),
        (BID, "-2", "bid answered -2: expected one of 0, 2, 3, 4"),
        (BID, "10 ** 5000", "bid answered an int of 16610 bits: expected one of 0, 2, 3, 4"),
        (PLAY, "Card('2S')", "play answered 2S: expected one of AS KS QS 4H 5H 6D"),
        (PLAY, "'2S'", "play answered 2S: expected one of AS KS QS 4H 5H 6D"),
        (DISCARD, "[]", "discard answered : expected 3 different cards of the hand"),
        (DISCARD, "view.hand", "discard answered AS KS QS 8H 9H 7D AD KD QD: expected 3 different cards"),
        (DISCARD, "['AS', 'AS', 'KS']", "discard answered AS AS KS: expected 3 different cards of the hand"),
        (DISCARD, "['AS', 'KS']", "discard answered AS KS: expected 3 different cards of the hand"),
        (DISCARD, "['AS', 'AS', 'KS', 'QS']", "discard answered AS AS KS QS: expected 3 different cards of the hand"),
        (DISCARD, "['7C', '8C', '9C']", "discard answered 7C 8C 9C: expected 3 different cards of the hand"),
        (DISCARD, "['AS', '8H', '7D']", "discard answered AS 8H 7D: expected 3 different cards of the hand that leave"),
        (DISCARD, "itertools.repeat('AS')", "discard answered AS AS AS AS AS AS AS AS AS AS: expected 3 different"),
    ],
)
def test_what_parses_and_is_against_the_rules_is_illegal(phase: Phase, expression: str, message: str) -> None:
    error = fault_of(phase, expression, "import itertools")
    assert error.kind is FaultKind.ILLEGAL
    assert error.text.splitlines()[0].startswith(message)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("[][1]", "IndexError: list index out of range"),
        ("view.no_such_thing", "AttributeError: a view has no 'no_such_thing'; it has rules, limits, seat"),
        ("sys.exit(3)", "SystemExit: 3"),
        ("exec('raise KeyboardInterrupt')", "KeyboardInterrupt"),
        ("exec('raise GeneratorExit')", "GeneratorExit"),
        ("broken(Silent())", "bot.Silent: <exception str() failed>"),
        ("broken(Exiting())", "bot.Exiting: <exception str() failed>"),
        ("broken(Nameless())", ""),
        ("recurse(view)", "RecursionError: maximum recursion depth exceeded"),
        ("broken(ExceptionGroup('many', [ValueError(n) for n in range(9999)]))", "ExceptionGroup: many (9999 sub-exc"),
        ("broken(deep())", ""),
        ("broken(ValueError('a\\x00b\\x1b[31m\\ud800' * 9999))", "ValueError: a"),
        ("broken(ValueError('x\\n' * 3))", "ValueError: x x x"),
        ("broken(ValueError('one\\r\\n\\x0btwo'))", "ValueError: one two"),
        ("exec(compile('1 +', 'bot.py', 'exec'))", "SyntaxError: invalid syntax (bot.py, line 1)"),
        ("broken(StopIteration(view))", "StopIteration: View(rules="),
    ],
)
@pytest.mark.parametrize("phase", list(METHODS), ids=str)
def test_whatever_a_bot_raises_is_an_exception(phase: Phase, expression: str, message: str) -> None:
    before = """
        import sys
        def broken(error): raise error
        class Silent(Exception):
            def __str__(self): raise ValueError("no text")
            __repr__ = __str__
        class Exiting(Exception):
            def __str__(self): sys.exit(1)
            __repr__ = __str__
        class Meta(type):
            @property
            def __name__(cls): raise KeyError("no name")
        class Nameless(Exception, metaclass=Meta): pass
        def recurse(view): return recurse(view)
        def deep():
            error = ValueError("inside")
            for _ in range(5000): error = ExceptionGroup("group", [error])
            return error
    """
    error = fault_of(phase, expression, before)
    assert error.kind is FaultKind.EXCEPTION
    text = error.text
    assert len(text.encode()) <= MAX_TEXT_BYTES
    assert text.splitlines()[0].startswith(message)
    assert len(text.splitlines()[0]) <= 300


def test_memory_that_runs_out_has_its_own_kind() -> None:
    for phase, method in METHODS.items():
        error = fault_of(phase, "exec('raise MemoryError')")
        assert error.kind is FaultKind.MEMORY
        first, _, trace = error.text.partition("\n")
        assert first == f"out of memory in {method}"
        assert re.search(rf'^  File "bot.py", line \d+, in {method}$', trace, re.MULTILINE), "and where"


@pytest.mark.parametrize("method", ["bid", "play"])
def test_a_missing_method_is_an_exception_that_names_it(method: str) -> None:
    phase = BID if method == "bid" else PLAY
    with pytest.raises(BotError) as caught:
        loaded(source("class Bot:\n    pass")).answer(question(phase))
    assert caught.value.kind is FaultKind.EXCEPTION
    assert caught.value.text == f"AttributeError: 'Bot' object has no attribute '{method}'\n", "said once"


@pytest.mark.parametrize(
    "call",
    ["PermissionError(1, 'Operation not permitted')", "PermissionError(13, 'no', 'x' * 400)",
     "BlockingIOError(11, 'Resource temporarily unavailable')", "RuntimeError(\"can't start new thread\")"],
)  # fmt: skip
def test_what_the_sandbox_refuses_is_said_in_words(call: str) -> None:
    error = fault_of(BID, f"exec({'raise ' + call!r})")
    assert error.kind is FaultKind.EXCEPTION
    assert str(error).endswith(
        "in a contest a bot computes and does nothing else: no files, network, threads, processes or sleep "
        "(guide for bot writers: What the sandbox allows)"
    )
    assert str(error).startswith(call.partition("(")[0])


def test_a_method_that_is_no_method_is_an_exception() -> None:
    for phase, method in METHODS.items():
        rules = WISCONSIN if phase is DISCARD else DUEL
        with pytest.raises(BotError, match="not callable") as caught:
            loaded(source(f"class Bot:\n    {method} = 5"), rules).answer(question(phase, rules))
        assert caught.value.kind is FaultKind.EXCEPTION


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
    assert caught.value.text.splitlines()[1:] == [
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


def test_an_object_with_the_methods_may_take_the_seat() -> None:
    class Plain:
        def bid(self, view: bot_module.View) -> int:
            return int(view.legal[1])

        def play(self, view: bot_module.View) -> bot_module.Card:
            return view.hand[0]

    adapter = SeatAdapter(DUEL, Limits(), 0)
    adapter.use(Plain())
    assert adapter.answer(question(BID)) == (7, 1)


def test_exceptions_that_are_not_the_bot_s_pass_through() -> None:
    for code in ("exec('raise KeyboardInterrupt')",):
        adapter = SeatAdapter(DUEL, Limits(), 0, passes_through=(KeyboardInterrupt,))
        adapter.load(bot_answering(BID, code), "00")
        with pytest.raises(KeyboardInterrupt):
            adapter.answer(question(BID))
    adapter = SeatAdapter(DUEL, Limits(), 0, passes_through=(KeyboardInterrupt,))
    with pytest.raises(KeyboardInterrupt):
        adapter.load(source("raise KeyboardInterrupt"), "00")


def test_a_whole_game_goes_through_adapters() -> None:
    code = """
        import random
        class Bot:
            def bid(self, view): return random.choice(view.legal)
            def play(self, view): return str(random.choice(view.legal))
            def discard(self, view): return random.choice(view.legal)
    """
    game = Game(Rules.make("wisconsin", deal_limit=3), "00" * 32)
    writer = QuestionWriter(game)
    adapters = [SeatAdapter(game.rules, Limits(), seat) for seat in range(4)]
    for adapter in adapters:
        adapter.load(source(code), "00")
    asked = 0
    while legal := game.advance():
        assert game.deal is not None
        seat = game.deal.seat
        adapters[seat].enter()
        number, index = adapters[seat].answer(writer.question(seat, asked, game.deal.phase, legal)[2:])
        assert number == asked
        game.act(legal[index])
        asked += 1
    assert asked > 30
    assert game.faults == ()


def test_the_source_of_a_bot_is_hashed_as_the_replay_format_says() -> None:
    import hashlib

    one = BotSource.of_file(b"class Bot: pass")
    assert one.sha256 == hashlib.sha256(b"class Bot: pass").hexdigest()
    two = BotSource.of_files([("weights.json", b"{}"), ("bot.py", b"class Bot: pass")])
    lines = "".join(f"{name}\0{hashlib.sha256(text).hexdigest()}\n" for name, text in
                    (("bot.py", b"class Bot: pass"), ("weights.json", b"{}")))  # fmt: skip
    assert two.sha256 == hashlib.sha256(lines.encode()).hexdigest()
    assert two.size_bytes == 17
    with pytest.raises(ValueError, match=r"no file bot\.py at the top"):
        BotSource.of_files([("main.py", b"")])
