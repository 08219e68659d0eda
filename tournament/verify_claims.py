"""What a replay document says, read as claims: types and shapes are checked here, what they mean in `verify`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from tournament import seeds
from tournament.cards import INDEX
from tournament.deal import BID, DISCARD, PLAY, Action, Phase
from tournament.game import Fault, FaultKind
from tournament.replay import ReplayError, rules_in
from tournament.rules import Rules

_HEX: Final = re.compile(r"[0-9a-f]{64}")
_KEY: Final = re.compile(r"([a-z]+/\d)/([^/]+)/([1-9][0-9]{0,17})")
_ENTRANT: Final = re.compile(r"(" + seeds.BOT_NAME.pattern + r"):([1-9][0-9]{0,17})")


def rules_of(written: dict[str, Any]) -> Rules:
    """Returns the rules of a document."""
    get(written, "rules", "", dict)
    try:
        return rules_in(written)
    except (ValueError, TypeError) as error:
        raise ReplayError(f"rules: {error}") from None


def seed_of(written: dict[str, Any], rules: Rules, secret: str | None) -> str | None:
    """Checks match, players and seed; returns the seed to check the shuffle with."""
    match = get(written, "match", "", dict)
    key = get(match, "key", "match: ", str)
    entrants = _entrants(key, rules, "match: key", candidate=False)
    order = entrants
    seed_key = key
    if "seed_key" in match:
        seed_key = get(match, "seed_key", "match: ", str)
        order = _gauntlet_order(key, entrants, seed_key, rules)
    _check_players(written, match, order, rules)
    seed = written.get("seed", "")
    if seed is not None and not (isinstance(seed, str) and _HEX.fullmatch(seed)):
        raise ReplayError(f"seed {short(seed)}, expected 64 lower-case hexadecimal digits or null")
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
    players = get(written, "players", "", list)
    if len(players) != rules.players:
        raise ReplayError(f"players: {len(players)} of them, expected {rules.players}")
    try:
        seatings = seeds.seatings(rules, len(order))
    except ValueError as error:
        raise ReplayError(f"match: key: {error}") from None
    number = get(match, "seating", "match: ", int)
    if not 1 <= number <= len(seatings):
        raise ReplayError(f"match: seating {number}, expected 1 to {len(seatings)}")
    hashes: dict[str, Any] = {}
    for seat, player in enumerate(players):
        where = f"players: seat {seat}: "
        expect(player, dict, where)
        if get(player, "seat", where, int) != seat:
            raise ReplayError(f"{where}seat {player['seat']}, expected {seat}")
        text = seeds.entrant_text(get(player, "bot", where, str), get(player, "version", where, int))
        expected = order[seatings[number - 1][seat]]
        if text != expected:
            raise ReplayError(f"{where}{text!r:.60}, expected {expected} in seating {number}")
        sha = player.get("sha256", "")
        if sha is not None and not (isinstance(sha, str) and _HEX.fullmatch(sha)):
            raise ReplayError(f"{where}sha256 {short(sha)}, expected 64 lower-case hexadecimal digits or null")
        if hashes.setdefault(text, sha) != sha:
            raise ReplayError(f"{where}sha256 differs from that of the same bot at another seat")


_NEVER_AT_LOAD: Final = frozenset({FaultKind.EXCEPTION, FaultKind.OFF_TURN, FaultKind.INVALID, FaultKind.ILLEGAL})
"""What needs a question: whatever a module raises while it is loaded is `load` or `memory`."""


def faults_of(result: dict[str, Any], rules: Rules) -> list[Fault]:
    """Returns the faults that a result claims, the first one first."""
    found = []
    for name in ("fault", "second_fault"):
        if name not in result:
            raise ReplayError(f"result: {name} is missing")
        claimed = result[name]
        if claimed is None:
            continue
        where = f"result: {name}: "
        expect(claimed, dict, where)
        kind = get(claimed, "kind", where, str)
        if kind not in set(FaultKind):
            raise ReplayError(f"{where}kind {kind!r:.40}, expected one of {' '.join(FaultKind)}")
        numbers = [get(claimed, part, where, int) for part in ("seat", "deal", "attempt", "act")]
        if kind in (_NEVER_AT_LOAD if numbers[3] < 0 else {FaultKind.LOAD}):
            raise ReplayError(
                f"{where}kind {kind}, expected one that happens {'at load' if numbers[3] < 0 else 'in play'}"
            )
        if not 0 <= numbers[0] < rules.players:
            raise ReplayError(f"{where}seat {numbers[0]}, expected 0 to {rules.players - 1}")
        found.append(Fault(numbers[0], FaultKind(kind), *numbers[1:]))
    if result["fault"] is None and found:
        raise ReplayError("result: second_fault without a fault")
    return found


@dataclass(frozen=True, slots=True)
class ClaimedDeal:
    """One deal as the document claims it; `deck` is its cards in the order of the shuffle."""

    written: dict[str, Any]
    number: int
    attempt: int
    deck: list[int]

    @property
    def where(self) -> str:
        """How messages call it."""
        return f"deal {self.number}/{self.attempt}"


def claimed_deal(written: Any, index: int, rules: Rules) -> ClaimedDeal:
    """Returns a deal of the list, if its cards are those of the game, each once."""
    expect(written, dict, f"deals: number {index + 1}: ")
    number, attempt = (get(written, name, f"deals: number {index + 1}: ", int) for name in ("deal", "attempt"))
    where = f"deal {number}/{attempt}: "
    hands = get(written, "hands", where, list)
    if len(hands) != rules.players:
        raise ReplayError(f"{where}{len(hands)} hands, expected {rules.players}")
    cards: list[int] = []
    for seat, hand in enumerate(hands):
        found = cards_of(hand, f"{where}hand of seat {seat}: ")
        if len(found) != 6:
            raise ReplayError(f"{where}hand of seat {seat}: {len(found)} cards, expected 6")
        cards += found
    cards += cards_of(get(written, "undealt", where, list), f"{where}undealt: ")
    if sorted(cards) != sorted(seeds.deck(rules)):
        raise ReplayError(f"{where}hands and undealt are not the {len(seeds.deck(rules))} cards of the game, each once")
    return ClaimedDeal(written, number, attempt, cards)


def acts_of(written: dict[str, Any], where: str) -> Iterator[tuple[str, Phase, int | None, Action]]:
    """Yields the acts of a deal as written: where each stands, its phase, whose it is (None: not said), and itself."""
    for number, bid in enumerate(get(written, "bids", f"{where}: ", list), start=1):
        place = f"{where} bid {number}"
        expect(bid, dict, f"{place}: ")
        yield place, BID, get(bid, "seat", f"{place}: ", int), get(bid, "bid", f"{place}: ", int)
    discards = cards_of(get(written, "discards", f"{where}: ", list), f"{where} discards: ")
    if discards:
        yield f"{where} discards", DISCARD, None, tuple(discards)
    for number, trick in enumerate(get(written, "tricks", f"{where}: ", list), start=1):
        place = f"{where} trick {number}"
        expect(trick, dict, f"{place}: ")
        cards = cards_of(get(trick, "cards", f"{place}: ", list), f"{place}: ")
        if not cards:
            raise ReplayError(f"{place}: no cards, expected at least the leader's")
        yield place, PLAY, get(trick, "leader", f"{place}: ", int), cards[0]
        for card in cards[1:]:
            yield place, PLAY, None, card


def get(holder: dict[str, Any], name: str, where: str, kind: type) -> Any:
    """Returns a value of an object, if it has the type `kind`; `where` begins the message if not."""
    if name not in holder:
        raise ReplayError(f"{where}{name} is missing")
    value = holder[name]
    if type(value) is not kind:
        raise ReplayError(f"{where}{name} is {kind_of(value)}, expected {kind_of(kind())}")
    return value


def expect(value: Any, kind: type, where: str) -> None:
    """Refuses a value of another type."""
    if type(value) is not kind:
        raise ReplayError(f"{where}{kind_of(value)}, expected {kind_of(kind())}")


def cards_of(value: Any, where: str) -> list[int]:
    """Reads a list of cards."""
    expect(value, list, where)
    for card in value:
        if not isinstance(card, str) or card not in INDEX:
            raise ReplayError(f"{where}{short(card)} is no card")
    return [INDEX[card] for card in value]


def kind_of(value: Any) -> str:
    """Says what a JSON value is, in words."""
    names = {dict: "an object", list: "an array", str: "a text", bool: "true or false", type(None): "null"}
    if type(value) in names:
        return names[type(value)]
    return "a whole number" if type(value) is int else "a number that is no integer"


def short(value: Any) -> str:
    """Writes a JSON value for a message."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except ValueError:
        text = "a number of too many digits"
    return text if len(text) <= 60 else text[:57] + "..."
