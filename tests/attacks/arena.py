"""Plays hostile bots in real guests against seats that the test itself plays."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tournament.deal import BID
from tournament.game import FaultKind, Game
from tournament.observation import QuestionWriter
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from workers.sandbox.faults import GuestFault
from workers.sandbox.frames import GuestInit
from workers.sandbox.host import Sandbox

BOTS = Path(__file__).parent / "bots"
TIGHT = Limits(decision_cpu_s=0.1, game_cpu_s=0.1, deal_cpu_s=0.05, load_cpu_s=0.2, decision_wall_s=0.2)
"""For bots that are to run into a limit."""


@dataclass(frozen=True)
class Attack:
    """A hostile bot and what its first line demands."""

    name: str
    expect: str
    variants: int
    dual: bool

    @classmethod
    def of(cls, path: Path) -> Attack:
        head = path.read_bytes().split(b"\n", 1)[0].decode()
        expect = re.search(r"EXPECT: (\S+)( DUAL)?$", head)
        assert expect, f"{path.name} does not say what to expect"
        variants = re.search(r"VARIANTS: (\d+)", head)
        return cls(path.stem, expect[1], int(variants[1]) if variants else 1, bool(expect[2]))

    @property
    def text(self) -> bytes:
        return (BOTS / f"{self.name}.py").read_bytes()

    @property
    def rules(self) -> Rules:
        if self.dual:
            return Rules.make("wisconsin", bidder_takes=0, deal_limit=2)
        if self.name.startswith("g11"):
            return Rules.make("wisconsin", bidder_takes=2, deal_limit=3)
        return Rules.make("cutthroat", players=2, deal_limit=3, target=100)

    @property
    def limits(self) -> Limits:
        return TIGHT if self.expect.startswith("fault:timeout") or self.expect == "fault" else Limits()


@dataclass
class Played:
    """What became of a game: the first fault, the logs by seat, the questions that were answered."""

    fault: GuestFault | None = None
    logs: dict[int, str] = field(default_factory=dict)
    answers: int = 0


def play(sandbox: Sandbox, bots: Mapping[int, BotSource], rules: Rules, limits: Limits, seed: str = "0" * 64) -> Played:
    """Plays a game; seats without a bot bid when they can, so that there is something to play."""
    played = Played()
    numbers = random.Random(seed)
    game = Game(rules, seed)
    writer = QuestionWriter(game)
    guests = {
        seat: sandbox.spawn(bot, GuestInit(rules, limits, seat, f"{seat:064x}"), seat) for seat, bot in bots.items()
    }
    try:
        for guest in guests.values():
            guest.wait_ready()
        legal = game.advance()
        while legal:
            deal = game.deal
            assert deal is not None
            if deal.seat in guests:
                number = numbers.randrange(1000, 65_536)
                question = writer.question(deal.seat, number, deal.phase, legal)
                index = guests[deal.seat].ask(question, number, len(legal), game.deals_begun)
                played.answers += 1
            else:
                index = 1 if deal.phase is BID else numbers.randrange(len(legal))
            game.act_legal(legal[index])
            legal = game.advance()
    except GuestFault as fault:
        played.fault = fault
    finally:
        for seat, guest in guests.items():
            guest.close()
            played.logs[seat] = guest.log()
    return played


def attack_with(
    sandbox: Sandbox, attack: Attack, canary: Path, turn: int = 0, secret: int | None = None, other: bytes = b""
) -> Played:
    """Runs one attack; a dual one sits at both seats of a partnership, and only the first is told the secret."""
    files = {"bot.py": attack.text, "turn": str(turn).encode(), "canary": str(canary).encode()}
    bots = {0: BotSource.of_files([*files.items(), ("secret", str(secret).encode())])}
    if attack.dual:
        bots[2] = BotSource.of_files(list(files.items()))
    if other:
        bots[1] = BotSource.of_file(other)
    return play(sandbox, bots, attack.rules, attack.limits)


def fits(expect: str, fault: GuestFault | None) -> bool:
    """Tells whether the outcome is one that `expect` names."""
    if "plays" in expect and fault is None:
        return True
    if fault is None:
        return False
    if ":" in expect:
        return fault.kind == expect.partition(":")[2]
    if expect == "illegal":
        return fault.kind in (FaultKind.INVALID, FaultKind.ILLEGAL)
    return "fault" in expect


def all_attacks() -> list[Attack]:
    return [Attack.of(path) for path in sorted(BOTS.glob("*.py"))]
