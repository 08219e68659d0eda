"""One decision of one seat as a small file, so that its author can put the bot's code at that very point again.

A bot may remember what it was asked before and draw from its `random`, so the file holds all questions to the seat
from the beginning of the game, with what was answered then, and the seed of the bot's own `random`. Format
`smear-decision/1`: one JSON object; questions in hexadecimal as `tournament.observation` describes them, without their
two length bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tournament.cards import Card
from tournament.deal import BID, Action, Phase
from tournament.game import BID_CODE, Game, acts_in
from tournament.observation import LENGTH_BYTES, QuestionReader, QuestionWriter
from tournament.replay import GameRecord, Player
from tournament.rules import Limits, Rules
from tournament.view import VIEW_FIELDS, View

FORMAT: Final = "smear-decision/1"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to the seat, and the index of what was answered; None where the bot faulted instead."""

    deal: int
    attempt: int
    act: int
    question: bytes
    answer: int | None


@dataclass(frozen=True, slots=True)
class Decision:
    """All questions to one seat of a game up to one decision.

    Attributes:
        rules: the rules of the game.
        limits: the limits, of which `time_left` tells the bot.
        seat: the seat.
        player: the bot version that sat there.
        random_seed: what its `random` was seeded with; None if that is not known.
        asked: all questions, the decision's last.
    """

    rules: Rules
    limits: Limits
    seat: int
    player: Player
    random_seed: str | None
    asked: tuple[Asked, ...]

    def views(self) -> list[View]:
        """Returns what the bot is shown at each question, the decision's last."""
        reader = QuestionReader(self.rules, self.limits, self.seat)
        return [reader.read(asked.question)[3] for asked in self.asked]

    def to_text(self) -> str:
        """Returns the file's text, with the view in words beside the questions."""
        view = self.views()[-1]
        return json.dumps(
            {
                "format": FORMAT,
                "rules": self.rules.to_dict(),
                "limits": self.limits.to_dict(),
                "seat": self.seat,
                "bot": self.player.bot,
                "version": self.player.version,
                "sha256": self.player.sha256,
                "random_seed": self.random_seed,
                "view": {
                    name: in_words(getattr(view, name)) for name in VIEW_FIELDS if name not in ("rules", "limits")
                },
                "asked": [[each.deal, each.attempt, each.act, each.question.hex(), each.answer] for each in self.asked],
            },
            ensure_ascii=False,
            indent=1,
        )


def in_words(value: object) -> str:
    """Returns a part of a view, or an action, as people write it: cards and suits bare.

    >>> in_words((Card("QS"), Card("7H"))), in_words("C"), in_words(2)
    ('(QS, 7H)', 'C', '2')
    """
    return re.sub(r"Card\('(..)'\)", r"\1", str(value) if isinstance(value, str | Card) else repr(value))


def decision_from(data: dict[str, Any]) -> Decision:
    """Reads what `Decision.to_text` wrote, parsed.

    Raises:
        ValueError: something is missing or wrong.
    """
    try:
        asked = tuple(
            Asked(int(deal), int(attempt), int(act), bytes.fromhex(question), answer)
            for deal, attempt, act, question, answer in data["asked"]
        )
        player = Player(str(data["bot"]), int(data["version"]), data["sha256"])
        rules, limits = Rules.from_dict(data["rules"]), Limits.from_dict(data["limits"])
        if not asked or not 0 <= data["seat"] < rules.players:
            raise ValueError("it asks nothing, or of no seat of this game")
        decision = Decision(rules, limits, int(data["seat"]), player, data["random_seed"], asked)
        decision.views()
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"no decision file: {type(error).__name__} {error}") from None
    return decision


def decision_at(
    record: GameRecord,
    place: tuple[int, int, int] | None,
    random_seeds: tuple[str, ...] | None,
    limits: Limits,
) -> Decision:
    """Cuts a decision out of a recorded game.

    Args:
        record: the game.
        place: deal, attempt and act of the decision; None for that of the game's first fault.
        random_seeds: the seed of each seat's `random`, if they are known.
        limits: the limits of the game.

    Raises:
        ValueError: nobody had a choice there, or there is no fault in play.
    """
    if place is None:
        place = _place_of_fault(record)
    game = Game(record.rules, record.seed)
    writer = QuestionWriter(game)
    asked: list[list[Asked]] = [[] for _ in range(record.rules.players)]
    faults = list(record.faults)
    while faults and faults[0].act < 0:
        fault = faults.pop(0)
        game.load_fault(fault.seat, fault.kind)
    while legal := game.advance():
        deal, last = game.deal, game.dealt[-1]
        assert deal is not None
        here = last.number, last.attempt, acts_in(deal)
        faulted = bool(faults) and (faults[0].deal, faults[0].attempt, faults[0].act) == here
        index = None if faulted else _index_of(record.acts[len(game.acts) :], deal.phase, legal)
        question = writer.question(deal.seat, 0, deal.phase, legal)[LENGTH_BYTES:]
        asked[deal.seat].append(Asked(*here, question, index))
        if here == place:
            seat = deal.seat
            random_seed = random_seeds[seat] if random_seeds else None
            return Decision(record.rules, limits, seat, record.players[seat], random_seed, tuple(asked[seat]))
        if index is None:
            game.fault(deal.seat, faults.pop(0).kind)
        else:
            game.act_legal(legal[index])
    raise ValueError(f"nobody had a choice in deal {place[0]}/{place[1]} at act {place[2]}")


def _place_of_fault(record: GameRecord) -> tuple[int, int, int]:
    found = [fault for fault in record.faults if fault.act >= 0]
    if not found:
        raise ValueError(
            "the game has no fault in play: expected the place of a decision, as deal:act; "
            "a bot that does not load is looked at with `tournament check`"
        )
    if len({record.players[fault.seat].text for fault in found}) > 1:
        named = " or ".join(
            f"{each.deal}/{each.attempt}:{each.act} (seat {each.seat}, {record.players[each.seat].text})"
            for each in found
        )
        raise ValueError(f"two bots faulted: expected --at {named}")
    return found[0].deal, found[0].attempt, found[0].act


def _index_of(acts: bytes, phase: Phase, legal: Sequence[Action]) -> int:
    """Returns which of the legal actions the acts of a game go on with."""
    codes = (
        bytes(action) if isinstance(action, tuple) else bytes([action | BID_CODE if phase is BID else action])
        for action in legal
    )
    return next(index for index, code in enumerate(codes) if acts.startswith(code))
