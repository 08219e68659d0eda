"""What goes to whoever plays a match and what comes back, as JSON values.

A `MatchTask` carries the deal seed and the bots' seeds of one match, never the tournament's secret, and names the bots'
sources by their hash. A result carries acts; `checked_result` plays them again, for a recorder that believes nothing.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from tournament import seeds
from tournament.game import End, Fault, Game, Outcome
from tournament.replay import GameRecord, Player, ReplayError, document, fault_of, play_again
from tournament.results import FaultReport, GameResult, MatchResult, Tally
from tournament.rules import Limits, Rules

MAX_ACTS_BYTES: Final = 16 * 1024 * 1024
"""Most acts of one game that are unpacked: a guard against a compressed bomb, far above any real game."""

_TEXTS: Final = ("message", "traceback", "log_tail")
_NUMBERS: Final = ("measured", "limit")


@dataclass(frozen=True, slots=True)
class MatchTask:
    """One match to play.

    Attributes:
        match_id: the store's number of the match; 0 for a match outside the store.
        attempt: the number of the lease it is played under.
        key: the match key.
        rules: the rules of its games.
        limits: the limits of its bots.
        seed: the deal seed.
        players: its entrants in the order of the seatings' numbers (the key's order; in a gauntlet that of `seed_key`).
        bot_seeds: for each seating to play: its number, and the seed of each seat's `random`.
        seed_key: in a gauntlet, the key that the seeds are made from; else None.
    """

    match_id: int
    attempt: int
    key: str
    rules: Rules
    limits: Limits
    seed: str
    players: tuple[Player, ...]
    bot_seeds: tuple[tuple[int, tuple[str, ...]], ...]
    seed_key: str | None = None

    @classmethod
    def of(
        cls,
        secret: str,
        key: str,
        rules: Rules,
        limits: Limits,
        players: tuple[Player, ...],
        *,
        match_id: int = 0,
        attempt: int = 1,
        seed_key: str | None = None,
        seatings: tuple[int, ...] = (),
    ) -> MatchTask:
        """Makes the task of a match: all seatings unless `seatings` names the numbers of some."""
        source = seed_key or key
        count = len(seeds.seatings(rules, len(players)))
        numbers = seatings or tuple(range(1, count + 1))
        bot_seeds = tuple(
            (number, tuple(seeds.bot_seed(secret, source, number, seat) for seat in range(rules.players)))
            for number in numbers
        )
        seed = seeds.deal_seed(secret, source)
        return cls(match_id, attempt, key, rules, limits, seed, players, bot_seeds, seed_key)

    def seats(self, seating: int) -> tuple[int, ...]:
        """Returns for each seat of a seating the position of its entrant in `players`."""
        return seeds.seatings(self.rules, len(self.players))[seating - 1]

    def record(self, seating: int, acts: bytes, faults: tuple[Fault, ...]) -> GameRecord:
        """Returns the record of one of its games."""
        players = tuple(self.players[position] for position in self.seats(seating))
        return GameRecord(self.key, seating, self.rules, self.seed, players, acts, faults, self.seed_key)

    def to_json(self) -> dict[str, Any]:
        """Returns the task as JSON values."""
        return {**asdict(self), "rules": self.rules.to_dict()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MatchTask:
        """Reads what `to_json` wrote.

        Raises:
            ValueError: something is missing or wrong.
        """
        try:
            return cls(
                int(data["match_id"]), int(data["attempt"]), str(data["key"]), Rules.from_dict(data["rules"]),
                Limits.from_dict(data["limits"]), str(data["seed"]),
                tuple(Player(str(each["bot"]), int(each["version"]), each["sha256"]) for each in data["players"]),
                tuple((int(number), tuple(map(str, texts))) for number, texts in data["bot_seeds"]),
                data.get("seed_key"),
            )  # fmt: skip
        except (KeyError, TypeError) as error:
            raise ValueError(f"no match task: {type(error).__name__} {error}") from None


def game_result(
    task: MatchTask, game: Game, seating: int, reports: tuple[FaultReport, ...], timings: bytes
) -> GameResult:
    """Sums up a finished game of a match, with the digest of its document."""
    written = document(task.record(seating, bytes(game.acts), game.faults), game)
    return GameResult.of(game, seating, task.seats(seating), written["digest"], reports, timings)


def result_to_json(result: MatchResult) -> dict[str, Any]:
    """Returns a match's result as JSON values; acts and timings are compressed."""
    return {
        "match_id": result.match_id,
        "attempt": result.attempt,
        "worker": result.worker,
        "play_s": result.play_s,
        "games": [
            {
                "seating": game.seating,
                "acts": _packed(game.acts),
                "digest": game.digest,
                "outcome": asdict(game.outcome),
                "deals": game.deals,
                "tallies": [asdict(tally) for tally in game.tallies],
                "reports": [_report_to_json(report) for report in game.reports],
                "timings": _packed(game.timings),
            }
            for game in result.games
        ],
    }


def checked_result(task: MatchTask, data: Mapping[str, Any]) -> MatchResult:
    """Reads a result that may come from anybody: plays every game again and takes only what follows.

    Raises:
        ValueError: the message has another shape, or a game does not play again; the text says what is wrong.
    """
    try:
        games = []
        for game in data["games"]:
            seating = int(game["seating"])
            reports = tuple(_report_from_json(report) for report in game["reports"])
            faults = tuple(report.fault for report in reports)
            acts = _unpacked(game["acts"])
            played = play_again(task.rules, task.seed, acts, faults)
            games.append(game_result(task, played, seating, reports, _unpacked(game["timings"])))
        expected = [number for number, _ in task.bot_seeds]
        if [game.seating for game in games] != expected:
            raise ValueError(f"games of seatings {[game.seating for game in games]}: expected {expected}")
        return MatchResult(task.match_id, task.attempt, tuple(games), str(data["worker"])[:100], float(data["play_s"]))
    except ReplayError as error:
        raise ValueError(f"a game that does not play again: {error}") from None
    except (KeyError, TypeError, AttributeError, zlib.error) as error:
        raise ValueError(f"no match result: {type(error).__name__} {error}") from None


def own_result(task: MatchTask, data: Mapping[str, Any]) -> MatchResult:
    """Reads a result of this machine's own process, without playing its games again."""
    games = []
    for game in data["games"]:
        reports = tuple(_report_from_json(report) for report in game["reports"])
        faults = (*(report.fault for report in reports), None, None)
        ended = game["outcome"]
        scores, places = tuple(ended["scores"]), tuple(ended["places"])
        outcome = Outcome(End(ended["end"]), ended["winner"], scores, places, faults[0], faults[1])
        tallies = tuple(
            Tally(each["points"], each["deals"], tuple(each["bids"]), tuple(each["made"])) for each in game["tallies"]
        )
        acts, timings = _unpacked(game["acts"]), _unpacked(game["timings"])
        games.append(
            GameResult(game["seating"], acts, outcome, game["deals"], game["digest"], tallies, reports, timings)
        )
    return MatchResult(task.match_id, task.attempt, tuple(games), data["worker"], data["play_s"])


def _packed(content: bytes) -> str:
    return base64.b85encode(zlib.compress(content, 6)).decode("ascii")


def _unpacked(text: str) -> bytes:
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(base64.b85decode(text), MAX_ACTS_BYTES)
    if unpacker.unconsumed_tail:
        raise ValueError(f"more than {MAX_ACTS_BYTES} bytes of acts in one game")
    return content


def _report_to_json(report: FaultReport) -> dict[str, Any]:
    shown = {name: getattr(report, name) for name in (*_TEXTS, *_NUMBERS)}
    return {**report.fault.to_dict(), **shown, "question": report.question.hex()}


def _report_from_json(data: Mapping[str, Any]) -> FaultReport:
    message, traceback, log_tail = (str(data[name]) for name in _TEXTS)
    measured, limit = (None if data[name] is None else float(data[name]) for name in _NUMBERS)
    return FaultReport(fault_of(data), message, traceback, log_tail, measured, limit, bytes.fromhex(data["question"]))
