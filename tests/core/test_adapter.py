"""The adapter: what a bot answers becomes an index, and whatever else it answers a fault of the right kind."""

import re

import pytest

from tests.core.adapters import METHODS, bot_answering, fault_of, index_of, loaded, question, source
from tests.core.table import DUEL, WISCONSIN, cards, game_of
from tournament import bot as bot_module
from tournament.adapter import MAX_TEXT_BYTES, BotError, SeatAdapter
from tournament.deal import BID, DISCARD, PLAY, Phase, default_discards, legal_discards
from tournament.game import FaultKind, Game
from tournament.observation import QuestionWriter
from tournament.rules import Limits, Rules
from tournament.source import BotSource

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
