"""Small recorded tournaments for the tests of the site: real games of the real engine, played by chance.

Everything follows from the seeds given, so that pages can be compared byte for byte.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tournament.deal import Phase
from tournament.game import FaultKind, Game
from tournament.replay import Player
from tournament.results import FaultReport, GameResult, MatchResult
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from tournament.store import Store
from tournament.store_values import NewEntrant, NewTournament
from tournament.wire import MatchTask, game_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tournament.deal import Action, Deal

DATA = Path(__file__).parents[1] / "data"
STARTED = 1_760_000_000.0
MESSAGE = "ValueError: no card fits"


@dataclass(frozen=True)
class Sample:
    """What is played: `clumsy` faults with the chance `clumsiness` at a decision, `leave` matches stay in the queue."""

    rules: Rules
    names: Sequence[tuple[str, int]]
    rounds: int = 3
    name: str = "Sample"
    clumsy: str = ""
    clumsiness: float = 0.004
    leave: int = 0


def worth(hand: Sequence[int]) -> int:
    """Give what a hand is worth as a bid, by its best suit."""
    suits = [[card for card in hand if card // 13 == suit] for suit in range(4)]
    best = max(len(suit) + sum(card % 13 >= 9 for card in suit) for suit in suits)
    return {5: 2, 6: 2, 7: 3, 8: 3}.get(best, 0 if best < 5 else 4)


def sensible_card(deal: Deal, legal: Sequence[int]) -> int:
    """Lead high from the longest suit, take a trick that can be taken, else throw the least."""
    if not deal.trick:
        longest = max(range(4), key=lambda suit: sum(card // 13 == suit for card in legal))
        return max(legal, key=lambda card: (card // 13 == (deal.trump if deal.trump >= 0 else longest), card % 13))
    led, top = deal.trick[0] // 13, max(deal.trick)
    winning = [card for card in legal if card // 13 == led and card > top]
    return max(winning) if winning else min(legal, key=lambda card: (card // 13 == deal.trump, card % 13))


def play_game(sample: Sample, task: MatchTask, seating: int, rng: random.Random) -> GameResult:
    """Play one game of a match by chance."""
    game = Game(task.rules, task.seed)
    seats = task.seats(seating)
    reports: list[FaultReport] = []
    timings = b""
    while legal := game.advance():
        deal = game.deal
        assert deal is not None
        seat = deal.seat
        bot = task.players[seats[seat]].bot
        if bot == sample.clumsy and rng.random() < sample.clumsiness:
            game.fault(seat, rng.choice([FaultKind.EXCEPTION, FaultKind.TIMEOUT_CPU]))
            trace = 'Traceback:\n  File "bot.py", line 7, in play\n' + MESSAGE
            reports.append(FaultReport(game.faults[-1], MESSAGE, trace, "thinking…\n\x1b[31mred\x1b[0m", 1.02, 1.0))
            continue
        skill = 0.15 + 0.85 * (sum(map(ord, bot)) % 7) / 6
        sensible = rng.random() < skill
        choice: Action
        if deal.phase is Phase.BID:
            wanted = worth(deal.hands[seat]) if sensible else rng.choice((0, 0, 2, 3))
            choice = wanted if wanted in legal else 0
        elif deal.phase is Phase.PLAY and sensible:
            choice = sensible_card(deal, [card for card in legal if isinstance(card, int)])
        else:
            choice = rng.choice(legal)
        timings += struct.pack("<BI", seat, rng.randrange(40, 9000))
        game.act_legal(choice)
    return game_result(task, game, seating, tuple(reports), timings)


def play_match(sample: Sample, store: Store, tournament_id: int, leased: object, rng: random.Random) -> MatchResult:
    """Play all games of a leased match."""
    info, entrants = store.tournament(tournament_id), store.entrants(tournament_id)
    players = tuple(
        Player(entrants[each].name, entrants[each].version, entrants[each].sha256)
        for each in leased.entrants  # type: ignore[attr-defined]
    )
    task = MatchTask.of(info.secret, leased.key, sample.rules, Limits(), players, match_id=leased.id)  # type: ignore[attr-defined]
    games = tuple(play_game(sample, task, seating, rng) for seating, _seeds in task.bot_seeds)
    return MatchResult(leased.id, leased.attempt, games, worker="worker-1", play_s=0.4)  # type: ignore[attr-defined]


def add_tournament(store: Store, sample: Sample, secret: str = "demo") -> int:
    """Make a tournament in a store and play it, save the matches to be left in the queue."""
    entrants = [
        NewEntrant(name, version, BotSource.of_file(f"# {name} {version}\n".encode()), owner, owner)
        for owner, (name, version) in enumerate(sample.names)
    ]
    new = NewTournament(sample.name, sample.rules, sample.rounds, secret)
    tournament_id = store.create_running(new, entrants, now=STARTED)
    total = store.counts(tournament_id).planned
    rng = random.Random(secret)
    at = STARTED
    for leased in store.lease(total - sample.leave, 60.0, worker="worker-1", tournaments=[tournament_id], now=STARTED):
        at += 1.5
        store.record([play_match(sample, store, tournament_id, leased, rng)], now=at)
    return tournament_id


TWO_NAMES = [("counter", 1), ("simple", 1), ("simple", 2), ("random", 1)]
THREE_NAMES = [("counter", 1), ("simple", 1), ("random", 1)]
PARTNER_NAMES = [("counter", 1), ("simple", 1), ("a-name-that-is-thirty-nine-letters-long", 12)]
TWO = Rules.make("cutthroat", target=7, players=2, deal_limit=40)
SAMPLES = (
    Sample(TWO, TWO_NAMES, 8, "Two at a table", clumsy="random", leave=3),
    Sample(Rules.make("cutthroat", win="reach_target"), THREE_NAMES, 4, "Three at a table", clumsy="random"),
    Sample(Rules.make("wisconsin"), PARTNER_NAMES, 6, "Partners", clumsy="simple"),
)


def sample_store(path: Path, samples: Sequence[Sample] = SAMPLES) -> Store:
    """Make a store with some tournaments; the last one is the newest."""
    store = Store(str(path))
    store.migrate()
    for sample in samples:
        add_tournament(store, sample)
    return store
