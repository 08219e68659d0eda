"""Checks replay documents by playing them again, and says where a document is wrong.

Nothing in a document is believed: cards and bids are taken from it as claims, put through the rules engine one by one,
and everything else the document says is compared with what the engine makes of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase, BytesIO
from typing import Any, Final

from tournament.deal import BID, DISCARD, DONE, PLAY, IllegalAction, Phase
from tournament.game import Fault, Game, acts_in
from tournament.replay import FORMAT, ReplayError, deal_document, digest, result_document
from tournament.rules import Rules
from tournament.verify_claims import (
    ClaimedDeal,
    acts_of,
    claimed_deal,
    faults_of,
    get,
    kind_of,
    rules_of,
    seed_of,
    short,
)

MAX_LINE_BYTES: Final = 256 * 1024 * 1024
"""Longest document that is read: a game of all limits' defaults takes less than a megabyte."""


MAX_DIGITS: Final = 4300
"""Longest whole number that is read, in unknown keys too: longer ones take Python a time that grows with the square."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of checking one document.

    Attributes:
        line: the line it begins on, from 1.
        problem: why it is refused; None if it is sound.
        shuffle_checked: whether the shuffle and the first dealer were checked, which takes the seed.
    """

    line: int
    problem: str | None
    shuffle_checked: bool = False


def check_stream(stream: BufferedIOBase, secret: str | None = None) -> Iterator[Checked]:
    """Checks one document, or one a line, told by content; yields nothing for an empty stream.

    Raises:
        OSError: the stream cannot be read.
    """
    number = 1
    line = stream.readline(MAX_LINE_BYTES)
    while line and not line.strip():
        number += 1
        line = stream.readline(MAX_LINE_BYTES)
    if line and not _is_json(line):
        whole = line + stream.read(MAX_LINE_BYTES)
        if _is_json(whole) or not line.startswith(b'{"'):  # one document over several lines, or none at all
            yield _checked(number, whole, secret)
            return
        stream = BytesIO(whole)
        line = stream.readline(MAX_LINE_BYTES)
    while line:
        if line.strip():
            yield _checked(number, line, secret)
        number += 1
        line = stream.readline(MAX_LINE_BYTES)


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _checked(line: int, text: bytes, secret: str | None) -> Checked:
    try:
        return Checked(line, None, check_document(parse(text), secret))
    except ReplayError as error:
        return Checked(line, str(error))
    except RecursionError:
        return Checked(line, "malformed: nested too deeply")


def parse(text: bytes) -> dict[str, Any]:
    """Parses a document strictly: UTF-8, a key occurs once, no NaN.

    Raises:
        ReplayError: it is no such JSON object.
    """
    try:
        value = json.loads(
            text.decode("utf-8"), object_pairs_hook=_unique, parse_int=_whole, parse_constant=_no_constant
        )
    except UnicodeDecodeError as error:
        raise ReplayError(f"malformed: not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise ReplayError(f"malformed: {error.msg} at character {error.pos}") from None
    except ReplayError:
        raise
    except ValueError as error:
        raise ReplayError(f"malformed: {error}"[:200]) from None
    if not isinstance(value, dict):
        raise ReplayError(f"malformed: {kind_of(value)}, expected an object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ReplayError(f"malformed: key {twice!r:.60} occurs twice")
    return found


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ReplayError(f"malformed: a number of {len(text)} digits, expected at most {MAX_DIGITS}")
    return int(text)


def _no_constant(text: str) -> float:
    raise ReplayError(f"malformed: {text} is no JSON number")


def check_document(written: dict[str, Any], secret: str | None = None) -> bool:
    """Plays a parsed document again.

    Args:
        written: the document.
        secret: the secret of its tournament, to check the seed itself; None to take the seed as given.

    Returns:
        Whether the shuffle could be checked: not in a document without a seed.

    Raises:
        ReplayError: with the first thing that is malformed or wrong.
    """
    form = get(written, "format", "", str)
    if form != FORMAT:
        raise ReplayError(f"format {form!r:.40}, expected {FORMAT!r}")
    rules = rules_of(written)
    seed = seed_of(written, rules, secret)
    deals = get(written, "deals", "", list)
    result = get(written, "result", "", dict)
    game = _play_again(rules, seed, deals, faults_of(result, rules))
    _compare(result, result_document(game), "result: ")
    _check_digest(written)
    return seed is not None


def _play_again(rules: Rules, seed: str | None, deals: list[Any], faults: list[Fault]) -> Game:
    claimed = [claimed_deal(written, index, rules) for index, written in enumerate(deals)]
    game = Game(rules, seed) if seed is not None else _game_without_seed(rules, claimed)
    _fault_loads(game, faults)
    game.start()
    for index, deal in enumerate(claimed):
        if index >= len(game.dealt):
            raise ReplayError(f"{deal.where}: the game ended before it")
        _play_deal(game, index, deal, faults)
    if not game.over:
        raise ReplayError(f"deals: {len(deals)} of them, yet the game is not over")
    if faults:
        left = faults[0]
        raise ReplayError(
            f"result: fault of seat {left.seat} in deal {left.deal}/{left.attempt} act {left.act}: not reached"
        )
    return game


def _game_without_seed(rules: Rules, claimed: list[ClaimedDeal]) -> Game:
    dealer = get(claimed[0].written, "dealer", f"{claimed[0].where}: ", int) if claimed else 0
    if not 0 <= dealer < rules.players:
        raise ReplayError(f"{claimed[0].where}: dealer {dealer}, expected 0 to {rules.players - 1}")
    decks = {(deal.number, deal.attempt): deal.deck for deal in claimed}

    def shuffle(number: int, attempt: int) -> list[int]:
        if (number, attempt) not in decks:
            raise ReplayError(f"deal {number}/{attempt} is missing, yet the game is not over")
        return decks[number, attempt]

    return Game(rules, None, shuffle=shuffle, first_dealer=dealer)


def _fault_loads(game: Game, faults: list[Fault]) -> None:
    last = -1
    while faults and faults[0].act < 0:
        fault = faults.pop(0)
        if (fault.deal, fault.attempt, fault.act) != (1, 1, -1):
            raise ReplayError("result: fault: at load it has deal 1, attempt 1, act -1")
        if fault.seat <= last or game.over:
            raise ReplayError("result: faults at load are judged in seat order until one side is left")
        last = fault.seat
        game.load_fault(fault.seat, fault.kind)


def _play_deal(game: Game, index: int, claimed: ClaimedDeal, faults: list[Fault]) -> None:
    """Plays one deal as far as it is written, and compares everything that is written of it."""
    where, written = claimed.where, claimed.written
    dealt = game.dealt[index]
    if (claimed.number, claimed.attempt) != (dealt.number, dealt.attempt):
        raise ReplayError(f"{where}: expected deal {dealt.number}/{dealt.attempt} here")
    if get(written, "dealer", f"{where}: ", int) != dealt.dealer:
        raise ReplayError(f"{where}: dealer {written['dealer']}, expected {dealt.dealer}")
    if claimed.deck != list(dealt.deck):
        place = next(place for place, card in enumerate(claimed.deck) if card != dealt.deck[place])
        raise ReplayError(f"{where}: shuffle: card {place + 1} of the deck differs from what the seed gives")
    for act_where, phase, seat, action in acts_of(written, where):
        _fault_if_due(game, index, faults)
        deal = game.dealt[index].deal
        if game.over or deal.phase is not phase:
            expected = "nothing, the game is over" if game.over else _EXPECTED[deal.phase]
            raise ReplayError(f"{act_where}: expected {expected}")
        if seat is not None and seat != deal.seat:
            raise ReplayError(f"{act_where}: {'seat' if phase is BID else 'leader'} {seat}, expected {deal.seat}")
        try:
            game.act(action)
        except IllegalAction as error:
            raise ReplayError(f"{act_where}: {error}") from None
    _fault_if_due(game, index, faults)
    dealt = game.dealt[index]
    if dealt.deal.phase < DONE and not game.over:
        raise ReplayError(f"{where}: it ends after {acts_in(dealt.deal)} acts, expected {_EXPECTED[dealt.deal.phase]}")
    expected_deal = deal_document(dealt)
    for name in ("points", "card_points", "scores"):
        if name in written and name not in expected_deal:
            raise ReplayError(f"{where}: {name}, expected none in a deal that was not played out")
    _compare(written, expected_deal, f"{where}: ")


_EXPECTED: Final = {
    BID: "a bid",
    DISCARD: "the discards",
    PLAY: "a card",
    Phase.DONE: "nothing, the deal is over",
    Phase.THROWN_IN: "nothing, the deal was thrown in",
}


def _fault_if_due(game: Game, index: int, faults: list[Fault]) -> None:
    while faults and not game.over:
        fault, dealt = faults[0], game.dealt[index]
        if (fault.deal, fault.attempt, fault.act) != (dealt.number, dealt.attempt, acts_in(dealt.deal)):
            return
        if dealt.deal is not game.deal or dealt.deal.phase >= DONE:
            return
        faults.pop(0)
        try:
            game.fault(fault.seat, fault.kind)
        except ValueError as error:
            raise ReplayError(f"result: fault in deal {fault.deal}/{fault.attempt} act {fault.act}: {error}") from None


def _check_digest(written: dict[str, Any]) -> None:
    claimed = get(written, "digest", "", str)
    try:
        expected = digest(written)
    except UnicodeEncodeError:
        raise ReplayError("malformed: a text holds half of a surrogate pair") from None
    if claimed != expected:
        raise ReplayError(f"digest {claimed[:20]!r}…, expected {expected[:20]!r}…")


def _compare(written: Any, expected: Any, where: str) -> None:
    """Compares what a document says with what the engine makes of it, down to the first difference."""
    for name, value in expected.items():
        if name not in written:
            raise ReplayError(f"{where}{name} is missing")
        found = written[name]
        if _same(found, value):
            continue
        if isinstance(value, dict) and isinstance(found, dict):
            _compare(found, value, f"{where}{name}: ")
        elif name in ("bids", "tricks") and isinstance(found, list) and len(found) == len(value):
            for number, (one, other) in enumerate(zip(found, value, strict=True), start=1):
                _compare(one, other, f"{where.removesuffix(': ')} {name[:-1]} {number}: ")
        else:
            raise ReplayError(f"{where}{name} {short(found)}, expected {short(value)}")


def _same(found: Any, expected: Any) -> bool:
    """Compares JSON values with their types: 1, 1.0 and true are three things; unknown keys do not count."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(key in found and _same(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(_same, found, expected))
    return type(found) is type(expected) and found == expected
