"""Checks replay documents by playing them again, and says where a document is wrong.

Nothing in a document is believed: cards and bids are taken from it as claims, put through the rules engine one by one,
and everything else the document says is compared with what the engine makes of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BufferedIOBase, BytesIO
from typing import Any, Final

from tournament import seeds
from tournament.cards import INDEX
from tournament.deal import BID, DISCARD, DONE, PLAY, Action, Deal, IllegalAction, Phase
from tournament.game import FaultKind, Game, acts_in
from tournament.replay import FORMAT, ReplayError, deal_document, digest, result_document
from tournament.rules import Rules

_HEX: Final = re.compile(r"[0-9a-f]{64}")
_KEY: Final = re.compile(r"([a-z]+/\d)/([^/]+)/([1-9][0-9]{0,17})")
_ENTRANT: Final = re.compile(r"(" + seeds.BOT_NAME.pattern + r"):([1-9][0-9]{0,17})")
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
        raise ReplayError(f"malformed: {_kind(value)}, expected an object")
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
    form = _get(written, "format", "", str)
    if form != FORMAT:
        raise ReplayError(f"format {form!r:.40}, expected {FORMAT!r}")
    rules = _rules(written)
    seed = _seed(written, rules, secret)
    deals = _list(written, "deals", "")
    result = _get(written, "result", "", dict)
    game = _play_again(rules, seed, deals, _faults(result, rules))
    _compare(result, result_document(game), "result: ")
    _check_digest(written)
    return seed is not None


def _rules(written: dict[str, Any]) -> Rules:
    given = _get(written, "rules", "", dict)
    known = {name: value for name, value in given.items() if name in Rules.__slots__}
    try:
        return Rules.from_dict(known)
    except (ValueError, TypeError) as error:
        raise ReplayError(f"rules: {error}") from None


def _seed(written: dict[str, Any], rules: Rules, secret: str | None) -> str | None:
    """Checks match, players and seed; returns the seed to check the shuffle with."""
    match = _get(written, "match", "", dict)
    key = _get(match, "key", "match: ", str)
    entrants = _entrants(key, rules, "match: key", candidate=False)
    order = entrants
    seed_key = key
    if "seed_key" in match:
        seed_key = _get(match, "seed_key", "match: ", str)
        order = _gauntlet_order(key, entrants, seed_key, rules)
    _check_players(written, match, order, rules)
    seed = written.get("seed", "")
    if seed is not None and not (isinstance(seed, str) and _HEX.fullmatch(seed)):
        raise ReplayError(f"seed {_short(seed)}, expected 64 lower-case hexadecimal digits or null")
    if secret is None:
        return seed
    expected = seeds.deal_seed(secret, seed_key)
    if seed is not None and seed != expected:
        raise ReplayError(f"seed {seed[:12]}…, expected {expected[:12]}… from the secret and {seed_key}")
    return expected


def _entrants(key: str, rules: Rules, where: str, *, candidate: bool) -> list[str]:
    parts = _KEY.fullmatch(key)
    if parts is None or parts[1] != rules.mode:
        raise ReplayError(f"{where} {key!r:.80}, expected {rules.mode}/entrants/round")
    entrants = parts[2].split(",")
    for entrant in entrants:
        if not (_ENTRANT.fullmatch(entrant) or (candidate and entrant == "*")):
            raise ReplayError(f"{where}: {entrant!r:.60} is no entrant, expected name:version")
    if entrants != sorted(set(entrants)):
        raise ReplayError(f"{where}: entrants {parts[2]:.80}, expected each once and sorted")
    return entrants


def _gauntlet_order(key: str, entrants: list[str], seed_key: str, rules: Rules) -> list[str]:
    """Returns the entrants in the order of the `seed_key`, in which one of them is written `*`."""
    starred = _entrants(seed_key, rules, "match: seed_key", candidate=True)
    missing = [entrant for entrant in entrants if entrant not in starred]
    same_round = seed_key.rsplit("/", 1)[1] == key.rsplit("/", 1)[1]
    if len(starred) != len(entrants) or "*" not in starred or len(missing) != 1 or not same_round:
        raise ReplayError(f"match: seed_key {seed_key!r:.80}, expected the key {key!r:.80} with one entrant as *")
    return [missing[0] if entrant == "*" else entrant for entrant in starred]


def _check_players(written: dict[str, Any], match: dict[str, Any], order: list[str], rules: Rules) -> None:
    players = _list(written, "players", "")
    if len(players) != rules.players:
        raise ReplayError(f"players: {len(players)} of them, expected {rules.players}")
    try:
        seatings = seeds.seatings(rules, len(order))
    except ValueError as error:
        raise ReplayError(f"match: key: {error}") from None
    number = _get(match, "seating", "match: ", int)
    if not 1 <= number <= len(seatings):
        raise ReplayError(f"match: seating {number}, expected 1 to {len(seatings)}")
    hashes: dict[str, Any] = {}
    for seat, player in enumerate(players):
        where = f"players: seat {seat}: "
        _is(player, dict, where)
        if _get(player, "seat", where, int) != seat:
            raise ReplayError(f"{where}seat {player['seat']}, expected {seat}")
        text = seeds.entrant_text(_get(player, "bot", where, str), _get(player, "version", where, int))
        expected = order[seatings[number - 1][seat]]
        if text != expected:
            raise ReplayError(f"{where}{text!r:.60}, expected {expected} in seating {number}")
        sha = player.get("sha256", "")
        if sha is not None and not (isinstance(sha, str) and _HEX.fullmatch(sha)):
            raise ReplayError(f"{where}sha256 {_short(sha)}, expected 64 lower-case hexadecimal digits or null")
        if hashes.setdefault(text, sha) != sha:
            raise ReplayError(f"{where}sha256 differs from that of the same bot at another seat")


_NEVER_AT_LOAD: Final = frozenset({FaultKind.EXCEPTION, FaultKind.OFF_TURN, FaultKind.INVALID, FaultKind.ILLEGAL})
"""What needs a question: whatever a module raises while it is loaded is `load` or `memory`."""


@dataclass(frozen=True, slots=True)
class _ClaimedFault:
    seat: int
    kind: FaultKind
    deal: int
    attempt: int
    act: int


def _faults(result: dict[str, Any], rules: Rules) -> list[_ClaimedFault]:
    found = []
    for name in ("fault", "second_fault"):
        if name not in result:
            raise ReplayError(f"result: {name} is missing")
        claimed = result[name]
        if claimed is None:
            continue
        where = f"result: {name}: "
        _is(claimed, dict, where)
        kind = _get(claimed, "kind", where, str)
        if kind not in set(FaultKind):
            raise ReplayError(f"{where}kind {kind!r:.40}, expected one of {' '.join(FaultKind)}")
        numbers = [_get(claimed, part, where, int) for part in ("seat", "deal", "attempt", "act")]
        if kind in (_NEVER_AT_LOAD if numbers[3] < 0 else {FaultKind.LOAD}):
            raise ReplayError(
                f"{where}kind {kind}, expected one that happens {'at load' if numbers[3] < 0 else 'in play'}"
            )
        if not 0 <= numbers[0] < rules.players:
            raise ReplayError(f"{where}seat {numbers[0]}, expected 0 to {rules.players - 1}")
        found.append(_ClaimedFault(numbers[0], FaultKind(kind), *numbers[1:]))
    if result["fault"] is None and found:
        raise ReplayError("result: second_fault without a fault")
    return found


@dataclass(frozen=True, slots=True)
class _ClaimedDeal:
    """One deal as the document claims it; `deck` is its cards in the order of the shuffle."""

    written: dict[str, Any]
    number: int
    attempt: int
    deck: list[int]

    @property
    def where(self) -> str:
        return f"deal {self.number}/{self.attempt}"


def _claimed_deal(written: Any, index: int, rules: Rules) -> _ClaimedDeal:
    _is(written, dict, f"deals: number {index + 1}: ")
    number, attempt = (_get(written, name, f"deals: number {index + 1}: ", int) for name in ("deal", "attempt"))
    where = f"deal {number}/{attempt}: "
    hands = _list(written, "hands", where)
    if len(hands) != rules.players:
        raise ReplayError(f"{where}{len(hands)} hands, expected {rules.players}")
    cards: list[int] = []
    for seat, hand in enumerate(hands):
        found = _cards(hand, f"{where}hand of seat {seat}: ")
        if len(found) != 6:
            raise ReplayError(f"{where}hand of seat {seat}: {len(found)} cards, expected 6")
        cards += found
    cards += _cards(_list(written, "undealt", where), f"{where}undealt: ")
    if sorted(cards) != sorted(seeds.deck(rules)):
        raise ReplayError(f"{where}hands and undealt are not the {len(seeds.deck(rules))} cards of the game, each once")
    return _ClaimedDeal(written, number, attempt, cards)


def _play_again(rules: Rules, seed: str | None, deals: list[Any], faults: list[_ClaimedFault]) -> Game:
    claimed = [_claimed_deal(written, index, rules) for index, written in enumerate(deals)]
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


def _game_without_seed(rules: Rules, claimed: list[_ClaimedDeal]) -> Game:
    dealer = _get(claimed[0].written, "dealer", f"{claimed[0].where}: ", int) if claimed else 0
    if not 0 <= dealer < rules.players:
        raise ReplayError(f"{claimed[0].where}: dealer {dealer}, expected 0 to {rules.players - 1}")
    decks = {(deal.number, deal.attempt): deal.deck for deal in claimed}

    def shuffle(number: int, attempt: int) -> list[int]:
        if (number, attempt) not in decks:
            raise ReplayError(f"deal {number}/{attempt} is missing, yet the game is not over")
        return decks[number, attempt]

    return Game(rules, None, shuffle=shuffle, first_dealer=dealer)


def _fault_loads(game: Game, faults: list[_ClaimedFault]) -> None:
    last = -1
    while faults and faults[0].act < 0:
        fault = faults.pop(0)
        if (fault.deal, fault.attempt, fault.act) != (1, 1, -1):
            raise ReplayError("result: fault: at load it has deal 1, attempt 1, act -1")
        if fault.seat <= last or game.over:
            raise ReplayError("result: faults at load are judged in seat order until one side is left")
        last = fault.seat
        game.load_fault(fault.seat, fault.kind)


def _play_deal(game: Game, index: int, claimed: _ClaimedDeal, faults: list[_ClaimedFault]) -> None:
    """Plays one deal as far as it is written, and compares everything that is written of it."""
    where, written = claimed.where, claimed.written
    dealt = game.dealt[index]
    if (claimed.number, claimed.attempt) != (dealt.number, dealt.attempt):
        raise ReplayError(f"{where}: expected deal {dealt.number}/{dealt.attempt} here")
    if _get(written, "dealer", f"{where}: ", int) != dealt.dealer:
        raise ReplayError(f"{where}: dealer {written['dealer']}, expected {dealt.dealer}")
    if claimed.deck != list(dealt.deck):
        place = next(place for place, card in enumerate(claimed.deck) if card != dealt.deck[place])
        raise ReplayError(f"{where}: shuffle: card {place + 1} of the deck differs from what the seed gives")
    for act_where, phase, read in _acts(written, where):
        _fault_if_due(game, index, faults)
        deal = game.dealt[index].deal
        if game.over or deal.phase is not phase:
            expected = "nothing, the game is over" if game.over else _EXPECTED[deal.phase]
            raise ReplayError(f"{act_where}: expected {expected}")
        try:
            game.act(read(deal))
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


def _acts(written: dict[str, Any], where: str) -> Iterator[tuple[str, Phase, Callable[[Deal], Action]]]:
    """Yields the acts of a deal as written: where each stands, its phase, and how it is read when its turn comes."""
    for number, bid in enumerate(_list(written, "bids", f"{where}: "), start=1):
        place = f"{where} bid {number}"
        _is(bid, dict, f"{place}: ")
        seat = _get(bid, "seat", f"{place}: ", int)
        call = _get(bid, "bid", f"{place}: ", int)
        yield place, BID, _by_seat(place, seat, call)
    discards = _cards(_list(written, "discards", f"{where}: "), f"{where} discards: ")
    if discards:
        yield f"{where} discards", DISCARD, lambda _: tuple(discards)
    for number, trick in enumerate(_list(written, "tricks", f"{where}: "), start=1):
        place = f"{where} trick {number}"
        _is(trick, dict, f"{place}: ")
        cards = _cards(_list(trick, "cards", f"{place}: "), f"{place}: ")
        if not cards:
            raise ReplayError(f"{place}: no cards, expected at least the leader's")
        leader = _get(trick, "leader", f"{place}: ", int)
        yield place, PLAY, _by_seat(place, leader, cards[0], "leader")
        for card in cards[1:]:
            yield place, PLAY, partial(_card, card)


def _card(card: int, _: Deal) -> Action:
    return card


def _by_seat(place: str, seat: int, action: Action, name: str = "seat") -> Callable[[Deal], Action]:
    def read(deal: Deal) -> Action:
        if seat != deal.seat:
            raise ReplayError(f"{place}: {name} {seat}, expected {deal.seat}")
        return action

    return read


def _fault_if_due(game: Game, index: int, faults: list[_ClaimedFault]) -> None:
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
    claimed = _get(written, "digest", "", str)
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
            raise ReplayError(f"{where}{name} {_short(found)}, expected {_short(value)}")


def _same(found: Any, expected: Any) -> bool:
    """Compares JSON values with their types: 1, 1.0 and true are three things; unknown keys do not count."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(key in found and _same(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(_same, found, expected))
    return type(found) is type(expected) and found == expected


def _get(holder: dict[str, Any], name: str, where: str, kind: type) -> Any:
    if name not in holder:
        raise ReplayError(f"{where}{name} is missing")
    value = holder[name]
    if type(value) is not kind:
        raise ReplayError(f"{where}{name} is {_kind(value)}, expected {_kind(kind())}")
    return value


def _list(holder: dict[str, Any], name: str, where: str) -> list[Any]:
    found: list[Any] = _get(holder, name, where, list)
    return found


def _is(value: Any, kind: type, where: str) -> None:
    if type(value) is not kind:
        raise ReplayError(f"{where}{_kind(value)}, expected {_kind(kind())}")


def _cards(value: Any, where: str) -> list[int]:
    _is(value, list, where)
    for card in value:
        if not isinstance(card, str) or card not in INDEX:
            raise ReplayError(f"{where}{_short(card)} is no card")
    return [INDEX[card] for card in value]


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a text", bool: "true or false", type(None): "null"}
    if type(value) in names:
        return names[type(value)]
    return "a whole number" if type(value) is int else "a number that is no integer"


def _short(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=True)
    except ValueError:
        text = "a number of too many digits"
    return text if len(text) <= 60 else text[:57] + "..."
