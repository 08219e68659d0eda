"""Random games of all modes and options as records: test data for replays, made again from a seed each time."""

import random
from collections.abc import Iterator

from tournament import seeds
from tournament.game import FaultKind, Game
from tournament.replay import GameRecord, Player
from tournament.rules import GameName, High, Rules, Win

SECRET = "the games of the tests"
HASHES = ("0" * 64, "f" * 64, None)
FAULT_CHANCE = 0.004


def random_rules(rng: random.Random) -> Rules:
    """Draws a game and every option; targets and limits are often small, so that all ends are met."""
    options = {
        "high": rng.choice(list(High)),
        "win": rng.choice(list(Win)),
        "target": rng.choice([1, 3, 7, 11, 15]),
        "deal_limit": rng.choice([1, 4, 12]),
        "redeal_limit": rng.choice([1, 2, 6]),
    }
    game = rng.choice(list(GameName))
    if game is GameName.CUTTHROAT:
        return Rules.make(game, players=rng.choice([2, 3]), **options)
    return Rules.make(game, bidder_takes=rng.randint(0, 3), cap_defenders=rng.random() < 0.5, **options)


def random_record(rng: random.Random, number: int) -> tuple[GameRecord, Game]:
    """Plays a game at random, with faults now and then, and returns its record."""
    rules = random_rules(rng)
    entrants = sorted(f"bot-{letter}:{rng.randint(1, 12)}" for letter in "abc"[: rng.randint(1, rules.side_count)])
    key = seeds.match_key(rules, entrants, number)
    seatings = seeds.seatings(rules, len(entrants))
    seating = rng.randint(1, len(seatings))
    game = Game(rules, seeds.deal_seed(SECRET, key))
    for seat in range(rules.players):
        if rng.random() < 0.01 and not game.over:
            game.load_fault(seat, rng.choice([FaultKind.LOAD, FaultKind.MEMORY]))
    passes = rng.random()
    legal = game.advance()
    while legal:
        assert game.deal is not None
        if rng.random() < FAULT_CHANCE:
            game.fault(game.deal.seat, rng.choice([kind for kind in FaultKind if kind is not FaultKind.LOAD]))
        else:
            game.act_legal(legal[0] if legal[0] == 0 and rng.random() < passes else rng.choice(legal))
        legal = game.advance()
    players = tuple(Player(*_split(entrants[place]), HASHES[place]) for place in seatings[seating - 1])
    faults = game.faults
    return GameRecord(key, seating, rules, game_seed(key), players, bytes(game.acts), faults), game


def game_seed(key: str) -> str:
    """Returns the deal seed of a match of the tests."""
    return seeds.deal_seed(SECRET, key)


def random_records(count: int, seed: int = 1) -> Iterator[tuple[GameRecord, Game]]:
    """Yields so many random games."""
    rng = random.Random(seed)
    for number in range(1, count + 1):
        yield random_record(rng, number)


def _split(entrant: str) -> tuple[str, int]:
    name, version = entrant.split(":")
    return name, int(version)
