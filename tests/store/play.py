"""Tournaments without bots: games played at random, the same whenever they are played again."""

import random
from collections.abc import Sequence
from pathlib import Path

from tournament import seeds
from tournament.game import FaultKind, Game
from tournament.replay import GameRecord, document
from tournament.results import FaultReport, GameResult, MatchResult
from tournament.rules import Rules
from tournament.source import BotSource
from tournament.store import Store
from tournament.store_values import LeasedMatch, NewEntrant, NewTournament

TWO = Rules.make("cutthroat", players=2, target=2, deal_limit=4)
THREE = Rules.make("cutthroat", players=3, target=2, deal_limit=3)
PARTNERS = Rules.make("wisconsin", target=3, deal_limit=3)


def entrants(count: int) -> list[NewEntrant]:
    return [
        NewEntrant(f"bot{place}", 1, BotSource.of_file(f"number = {place}\n".encode()), owner=place, upload_order=place)
        for place in range(count)
    ]


def new(rules: Rules = TWO, rounds: int = 1, name: str = "trial") -> NewTournament:
    return NewTournament(name, rules, rounds, "demo")


def started(store: Store, count: int = 3, rules: Rules = TWO, rounds: int = 1, now: float = 1000.0) -> int:
    return store.create_running(new(rules, rounds), entrants(count), now=now)


def play_game(
    rules: Rules, seed: str, choices: random.Random, fault_seats: Sequence[int] = ()
) -> tuple[Game, list[FaultReport]]:
    """Plays at random; each of `fault_seats` faults at its first choice."""
    game = Game(rules, seed)
    reports: list[FaultReport] = []
    waiting = set(fault_seats)
    while legal := game.advance():
        assert game.deal is not None
        seat = game.deal.seat
        if seat in waiting:
            waiting.remove(seat)
            game.fault(seat, FaultKind.EXCEPTION)
            text = f"oh\0no {seat} \udc80"
            reports.append(FaultReport(game.faults[-1], text, "line 3", "printed", 1.5, 1.0, b"question"))
        else:
            game.act_legal(choices.choice(legal))
    return game, reports


def play(
    store: Store, leased: LeasedMatch, *, worker: str = "tests", faults: bool = False, salt: int = 0
) -> MatchResult:
    """Plays all games of a leased match, in the last with faults if told so; with another salt other games."""
    tournament, entered = store.tournament(leased.tournament_id), store.entrants(leased.tournament_id)
    rules = tournament.rules
    seed = seeds.deal_seed(tournament.secret, leased.key)
    seatings = seeds.seatings(rules, len(leased.entrants))
    results = []
    for number, seats in enumerate(seatings, 1):
        # Patient or the game: seats that mostly pass make longer games, and both kinds of end come up.
        choices = random.Random(seeds.bot_seed(tournament.secret, leased.key, number, salt))
        game, reports = play_game(rules, seed, choices, (1,) if faults and number == len(seatings) else ())
        players = tuple(entered[leased.entrants[place]].player for place in seats)
        record = GameRecord(leased.key, number, rules, seed, players, bytes(game.acts), game.faults)
        results.append(GameResult.of(game, number, seats, document(record, game)["digest"], reports, b"times"))
    return MatchResult(leased.id, leased.attempt, tuple(results), worker, 0.5)


def play_all(store: Store, tournament_id: int, chunk: int = 7) -> None:
    while leased := store.lease(chunk, 60, tournaments=[tournament_id]):
        store.record(play(store, match, faults=match.number % 3 == 0) for match in leased)


def migrated(url: str | Path) -> Store:
    store = Store(str(url))
    store.migrate()
    return store
