"""The replay document: a game is recorded as its acts, and the document is made by playing them again.

`GameRecord` is what workers send and the store keeps; `document` expands it (format `smear-replay/1`, described in
docs/replay-format.md). `tournament.verify` goes the other way and believes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tournament import seeds
from tournament.cards import INDEX, SUITS, TEXTS
from tournament.deal import BID, DISCARD, Action, Deal, IllegalAction, Phase
from tournament.game import BID_CODE, DealtDeal, Fault, FaultKind, Game, acts_in
from tournament.rules import Rules

FORMAT: Final = "smear-replay/1"


class ReplayError(ValueError):
    """A record or document that does not play again to a game; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Player:
    """The bot version at one seat; `sha256` is None for a bot that is only an object in memory."""

    bot: str
    version: int
    sha256: str | None

    @property
    def text(self) -> str:
        """How match keys write it."""
        return seeds.entrant_text(self.bot, self.version)


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One game as acts: with the rules enough to make the whole document.

    Attributes:
        match_key: which match of the schedule.
        seating: which of its seatings, from 1.
        rules: the rules of the game.
        seed: the deal seed, 64 hexadecimal digits.
        players: one per seat, in seat order.
        acts: all acts as `Game.acts` encodes them.
        faults: the faults, at most two, in their order.
        seed_key: in a gauntlet, the key that the seeds are made from; else None.
    """

    match_key: str
    seating: int
    rules: Rules
    seed: str
    players: tuple[Player, ...]
    acts: bytes
    faults: tuple[Fault, ...] = ()
    seed_key: str | None = None

    def play_again(self) -> Game:
        """Plays the game again from its seed and acts.

        Raises:
            ReplayError: an act is illegal, or acts or faults are missing or left over.
        """
        return play_again(self.rules, self.seed, self.acts, self.faults)


def play_again(rules: Rules, seed: str, acts: bytes, faults: Sequence[Fault]) -> Game:
    """Plays a game again from its seed, its acts and its faults; believes none of them.

    Raises:
        ReplayError: an act is illegal, or acts or faults are missing or left over.
    """
    game = Game(rules, seed)
    pending = list(faults)
    try:
        while pending and pending[0].act < 0:
            _load_fault(game, pending.pop(0))
        game.start()
        at = 0
        while not game.over:
            deal, last = game.deal, game.dealt[-1]
            assert deal is not None
            if pending and _is_due(pending[0], last, deal):
                fault = pending.pop(0)
                game.fault(fault.seat, fault.kind)
                continue
            if at >= len(acts):
                raise ReplayError(f"the acts end in deal {last.number}/{last.attempt}, the game does not")
            size = len(deal.taken) if deal.phase is DISCARD else 1
            game.act(_decoded(deal.phase, acts[at : at + size]))
            at += size
    except IllegalAction as error:
        last = game.dealt[-1]
        raise ReplayError(f"deal {last.number}/{last.attempt} act {acts_in(last.deal)}: {error}") from None
    except ReplayError:
        raise
    except ValueError as error:
        raise ReplayError(str(error)) from None
    if at < len(acts) or pending:
        raise ReplayError(f"the game is over, yet {len(acts) - at} acts and {len(pending)} faults are left")
    return game


def _load_fault(game: Game, fault: Fault) -> None:
    if (fault.deal, fault.attempt, fault.act) != (1, 1, -1):
        raise ReplayError("a fault at load has deal 1, attempt 1, act -1")
    if game.faults and fault.seat <= game.faults[-1].seat:
        raise ReplayError("faults at load are judged in seat order")
    game.load_fault(fault.seat, fault.kind)


def _is_due(fault: Fault, last: DealtDeal, deal: Deal) -> bool:
    return (fault.deal, fault.attempt, fault.act) == (last.number, last.attempt, acts_in(deal))


def _decoded(phase: Phase, encoded: bytes) -> Action:
    if phase is DISCARD:
        return tuple(encoded)
    code = encoded[0]
    if phase is BID:
        return code & ~BID_CODE if code & BID_CODE else -1
    return code


def document(record: GameRecord, game: Game | None = None) -> dict[str, Any]:
    """Returns the replay document of a game.

    Args:
        record: the game.
        game: the same game as it was played, if it is still at hand; else it is played again.

    Raises:
        ReplayError: the record does not play again.
    """
    game = game or record.play_again()
    match: dict[str, Any] = {"key": record.match_key, "seating": record.seating}
    if record.seed_key is not None:
        match["seed_key"] = record.seed_key
    body = {
        "format": FORMAT,
        "match": match,
        "rules": record.rules.to_dict(),
        "seed": record.seed,
        "players": [
            {"seat": seat, "bot": player.bot, "version": player.version, "sha256": player.sha256}
            for seat, player in enumerate(record.players)
        ],
        "deals": [deal_document(dealt) for dealt in game.dealt],
        "result": result_document(game),
    }
    return {**body, "digest": digest(body)}


def record_of(written: dict[str, Any]) -> GameRecord:
    """Returns the record of a document that `tournament.verify` has found sound; it has to have its seed.

    Raises:
        ReplayError: the document has no seed.
    """
    if written["seed"] is None:
        raise ReplayError("a document without a seed cannot be played again from its acts")
    match, result = written["match"], written["result"]
    acts = bytearray()
    for deal in written["deals"]:
        acts.extend(BID_CODE | bid["bid"] for bid in deal["bids"])
        acts.extend(INDEX[card] for card in deal["discards"])
        acts.extend(INDEX[card] for trick in deal["tricks"] for card in trick["cards"])
    faults = tuple(fault_of(each) for each in (result["fault"], result["second_fault"]) if each is not None)
    players = tuple(Player(each["bot"], each["version"], each["sha256"]) for each in written["players"])
    return GameRecord(
        match["key"], match["seating"], rules_in(written), written["seed"], players, bytes(acts), faults,
        match.get("seed_key"),
    )  # fmt: skip


def fault_of(written: Mapping[str, Any]) -> Fault:
    """Reads what `Fault.to_dict` wrote."""
    kind = FaultKind(written["kind"])
    return Fault(int(written["seat"]), kind, int(written["deal"]), int(written["attempt"]), int(written["act"]))


def rules_in(written: dict[str, Any]) -> Rules:
    """Returns the rules of a document; keys that are none of theirs do not count.

    Raises:
        ValueError: one is missing or not allowed.
    """
    return Rules.from_dict({name: value for name, value in written["rules"].items() if name in Rules.__slots__})


def deal_document(dealt: DealtDeal) -> dict[str, Any]:
    """Returns one deal as the document writes it, as far as it was played."""
    deal = dealt.deal
    rules = deal.rules
    hands, undealt = seeds.dealt(rules, dealt.deck)
    bidding_over = deal.phase in (DISCARD, Phase.PLAY, Phase.DONE)
    tricks: list[dict[str, Any]] = [
        {"leader": trick.leader, "cards": _texts(trick.cards), "winner": trick.winner} for trick in deal.tricks
    ]
    if deal.trick:
        tricks.append({"leader": deal.leader, "cards": _texts(deal.trick), "winner": None})
    written: dict[str, Any] = {
        "deal": dealt.number,
        "attempt": dealt.attempt,
        "dealer": dealt.dealer,
        "hands": [_texts(hand) for hand in hands],
        "undealt": _texts(undealt),
        "bids": [
            {"seat": (dealt.dealer + 1 + place) % rules.players, "bid": bid} for place, bid in enumerate(deal.bids)
        ],
        "bidder": deal.bidder if bidding_over else None,
        "bid": deal.bid if bidding_over else None,
        "taken": _texts(deal.taken),
        "discards": _texts(deal.discards),
        "trump": SUITS[deal.trump] if deal.trump >= 0 else None,
        "tricks": tricks,
    }
    if dealt.scores is not None:
        written |= {
            "points": deal.points._asdict(),
            "card_points": list(deal.pips),
            "scores": list(dealt.scores),
        }
    return written


def result_document(game: Game) -> dict[str, Any]:
    """Returns how a game ended, as the document writes it."""
    outcome = game.outcome
    if outcome is None:
        raise ValueError("the game is not over")
    return {
        "end": str(outcome.end),
        "winner": outcome.winner,
        "scores": list(outcome.scores),
        "places": list(outcome.places),
        "fault": outcome.fault.to_dict() if outcome.fault else None,
        "second_fault": outcome.second_fault.to_dict() if outcome.second_fault else None,
    }


def digest(body: dict[str, Any]) -> str:
    """Returns the digest of a document, with or without its key `digest`."""
    bare = {key: value for key, value in body.items() if key != "digest"}
    return "sha256:" + hashlib.sha256(_compact(bare).encode()).hexdigest()


def to_line(written: dict[str, Any]) -> str:
    """Returns a document as it is stored: compact, keys sorted, one line with its line feed."""
    return _compact(written) + "\n"


def _compact(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _texts(cards: Sequence[int]) -> list[str]:
    return [TEXTS[card] for card in cards]
