"""How large a tournament gets and how long it takes: rounds for a time, the expected time, the worst that clocks allow.

Pure functions of the settings, the entrants and what their probes measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from tournament.rules import DEFAULTS, GameName, Limits, Rules
from tournament.schedule import Entry, games_per_match, schedule

USUAL_DEALS: Final = {"cutthroat/2": 9.2, "cutthroat/3": 13.2, "wisconsin/4": 9.4}
"""Deals of a game to the usual target, counted over games of the house bots."""

SEAT_START_S: Final = 0.008
"""What a seat costs a game beside its decisions: a guest is made, loads its bot and is cleared away."""

SEAT_DEAL_S: Final = 0.0012
"""What a seat costs a deal beside its decisions: questions, answers, the engine (measured with the quickest bot)."""

UNKNOWN_DEAL_S: Final = 0.0005
"""CPU per deal of a bot that no probe has measured, which house bots are."""

MOST_ROUNDS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Plan:
    """What is settled about a tournament before its start, beside its rules, limits and rounds.

    Attributes:
        house: the house bots that play along, by name.
        budget_s: time that it may take: the rounds follow at the start; None if the rounds are set.
        cores: matches side by side, for the forecast.
        zone: in which zone its times are shown.
        all_bots: whether all bots of a contestant enter, not one.
        auto_start: whether it starts by itself once entries are closed and all of them have their verdicts.
        practice: whether it is a practice round.
        repeat_share: share of its matches that is played again by another worker, to compare.
    """

    house: tuple[str, ...] = ()
    budget_s: float | None = None
    cores: int = 1
    zone: str = "UTC"
    all_bots: bool = False
    auto_start: bool = False
    practice: bool = False
    repeat_share: float = 0.0

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Reads what `to_dict` wrote; a key that this version does not know is left out."""
        known = {each.name for each in fields(cls)}
        given = {name: value for name, value in data.items() if name in known}
        return cls(**{**given, "house": tuple(given.get("house", ()))})

    def to_dict(self) -> dict[str, Any]:
        """Returns all fields as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a tournament will come to.

    Attributes:
        rounds: how often the round robin is played.
        matches: all matches.
        games: all games.
        cores: matches side by side.
        expected_s: time that it probably takes.
        worst_s: time if every bot uses up every clock in games as long as they may get.
    """

    rounds: int
    matches: int
    games: int
    cores: int
    expected_s: float
    worst_s: float


def forecast(
    rules: Rules,
    limits: Limits,
    entries: Sequence[Entry],
    deal_s: Sequence[float | None],
    cores: int,
    *,
    rounds: int = 1,
    budget_s: float | None = None,
) -> Forecast:
    """Plans a tournament.

    Args:
        rules: of its games.
        limits: of its bots.
        entries: sorted by text.
        deal_s: CPU seconds per deal that the probe of each entry measured, in their order; None where there was none.
        cores: how many matches are played side by side.
        rounds: how often the round robin is played, unless `budget_s` says.
        budget_s: time that the tournament may take: as many rounds as are expected to fit, at least one.

    Raises:
        ValueError: as `schedule` says, or there is no time or no core.
    """
    if cores < 1 or (budget_s is not None and not budget_s > 0):
        raise ValueError(f"{cores} cores and {budget_s} seconds: expected at least one core and some time")
    # One round is like another, save for a few tables where not all pairs can meet equally often.
    per_round = sum(1 for _ in schedule(rules, entries, 1, "plan"))
    per_match = games_per_match(rules, min(len(entries), rules.side_count))
    round_s = per_round * per_match * game_s(rules, deal_s) / cores
    if budget_s is not None:
        rounds = max(1, min(MOST_ROUNDS, int(budget_s / round_s)))
    worst_game_s = rules.players * (limits.load_cpu_s + limits.game_cpu_allowance_s(rules.deal_limit))
    matches = rounds * per_round
    games = matches * per_match
    return Forecast(rounds, matches, games, cores, rounds * round_s, games * worst_game_s / cores)


def game_s(rules: Rules, deal_s: Sequence[float | None]) -> float:
    """Returns about how long a game takes on one core: all seats' decisions, and what surrounds them."""
    known = [each for each in deal_s if each is not None]
    usual_s = sorted(known)[len(known) // 2] if known else UNKNOWN_DEAL_S
    mean_s = sum(usual_s if each is None else each for each in deal_s) / max(1, len(deal_s))
    usual_target = DEFAULTS[GameName(rules.game)].target
    deals = min(rules.deal_limit, USUAL_DEALS[rules.mode] * rules.target / usual_target)
    return rules.players * (SEAT_START_S + deals * (SEAT_DEAL_S + mean_s))


def duration_of(text: str) -> float:
    """Reads a length of time like ``2h``, ``90min``, ``1h30min`` or ``45s`` in seconds.

    Raises:
        ValueError: it is none.

    >>> duration_of("2h"), duration_of("1h 30min"), duration_of("45 s")
    (7200.0, 5400.0, 45.0)
    """
    rest, total = text.replace(" ", "").lower(), 0.0
    for unit, seconds in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        number, mark, after = rest.partition(unit)
        if mark and number.replace(".", "", 1).isdecimal():
            total, rest = total + float(number) * seconds, after
    if rest or not total:
        raise ValueError(f"{text!r:.40} is no length of time: expected one like 2h, 90min or 1h30min")
    return total
