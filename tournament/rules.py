"""The rules of a game as data: which game, every option of it, and the limits of time and memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any, Final


class GameName(StrEnum):
    """The two games of the Smear family."""

    CUTTHROAT = "cutthroat"
    WISCONSIN = "wisconsin"


class High(StrEnum):
    """Who is given the High point (rules.md, part 4)."""

    ACE = "ace"
    HIGHEST_IN_PLAY = "highest_in_play"


class Win(StrEnum):
    """When a game is won by reaching the target (rules.md, part 4)."""

    BID_AT_TARGET = "bid_at_target"
    BID_REACHES_TARGET = "bid_reaches_target"
    REACH_TARGET = "reach_target"


MAX_NUMBER: Final = 2**24
"""Largest `target`, `deal_limit` and `redeal_limit`: numbers and scores travel in four bytes."""

HAND_SIZE: Final = 6


@dataclass(frozen=True, slots=True)
class Rules:
    """Every field of a game's rules (rules.md, part 4), and the two limits that end a game without a winner."""

    game: GameName
    players: int
    target: int
    bidder_takes: int
    high: High
    win: Win
    cap_defenders: bool
    deal_limit: int = 100
    redeal_limit: int = 100

    def __post_init__(self) -> None:
        """Checks the fields.

        Raises:
            ValueError: a field is outside what rules.md, part 4, allows.
        """
        _expect(isinstance(self.game, GameName), "game", self.game, "cutthroat or wisconsin")
        cutthroat = self.game is GameName.CUTTHROAT
        for name in ("players", "target", "bidder_takes", "deal_limit", "redeal_limit"):
            _expect(type(getattr(self, name)) is int, name, getattr(self, name), "a whole number")
        if cutthroat:
            _expect(self.players in (2, 3), "players", self.players, "2 or 3 in cutthroat")
            _expect(self.bidder_takes == 0, "bidder_takes", self.bidder_takes, "0 in cutthroat")
        else:
            _expect(self.players == 4, "players", self.players, "4 in wisconsin")
            _expect(0 <= self.bidder_takes <= 3, "bidder_takes", self.bidder_takes, "0 to 3")
        _expect(isinstance(self.high, High), "high", self.high, "ace or highest_in_play")
        _expect(isinstance(self.win, Win), "win", self.win, ", ".join(Win))
        _expect(type(self.cap_defenders) is bool, "cap_defenders", self.cap_defenders, "true or false")
        _expect(not (cutthroat and self.cap_defenders), "cap_defenders", True, "false in cutthroat")
        for name in ("target", "deal_limit", "redeal_limit"):
            _expect(1 <= getattr(self, name) <= MAX_NUMBER, name, getattr(self, name), f"1 to {MAX_NUMBER}")

    @classmethod
    def make(cls, game: str, **options: Any) -> Rules:
        """Makes the rules of a game from its name and the options that differ from the defaults.

        Raises:
            ValueError: the game or an option is not known, or a value is not allowed.

        >>> Rules.make("cutthroat", players=2).target
        11
        """
        try:
            default = DEFAULTS[GameName(game)]
        except ValueError:
            raise ValueError(f"game is {game!r:.40}: expected one of {', '.join(GameName)}") from None
        unknown = sorted(set(options) - {field.name for field in fields(cls)})
        if unknown or "game" in options:
            raise ValueError(f"no such option of the rules: {', '.join(unknown) or 'game'}")
        return replace(default, **_parse_enums(options))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Rules:
        """Reads what `to_dict` wrote; every field is required and no other is allowed.

        Raises:
            ValueError: a field is missing, unknown or not allowed.
        """
        names = {field.name for field in fields(cls)}
        if not isinstance(data, Mapping):
            raise ValueError(f"rules are {type(data).__name__}: expected an object")
        for problem, wrong in (("missing", names - set(data)), ("unknown", set(data) - names)):
            if wrong:
                raise ValueError(f"{problem} in rules: {', '.join(sorted(map(str, wrong)))}")
        return cls(**_parse_enums(dict(data)))

    def to_dict(self) -> dict[str, Any]:
        """Returns all fields as JSON values."""
        return {key: str(value) if isinstance(value, StrEnum) else value for key, value in asdict(self).items()}

    @property
    def mode(self) -> str:
        """Game and number of players, as match keys begin: one ladder for each mode."""
        return f"{self.game}/{self.players}"

    @property
    def side_count(self) -> int:
        """How many sides score: one a seat, or the two partnerships."""
        return 2 if self.players == 4 else self.players

    def side_of(self, seat: int) -> int:
        """Returns the side that `seat` scores for (seats 0 and 2 against 1 and 3 in Wisconsin)."""
        return seat % 2 if self.players == 4 else seat

    @property
    def lowest_rank(self) -> int:
        """The lowest rank in the deck: 2 in Cutthroat, 7 in Wisconsin."""
        return 7 if self.game is GameName.WISCONSIN else 2


def _expect(fits: bool, name: str, value: object, expected: str) -> None:
    if not fits:
        raise ValueError(f"{name} is {value!r:.40}: expected {expected}")


def _parse_enums(options: dict[str, Any]) -> dict[str, Any]:
    for name, kind in (("game", GameName), ("high", High), ("win", Win)):
        if name in options:
            try:
                options[name] = kind(options[name])
            except ValueError:
                raise ValueError(f"{name} is {options[name]!r:.40}: expected one of {', '.join(kind)}") from None
    return options


DEFAULTS: Final[dict[GameName, Rules]] = {
    GameName.CUTTHROAT: Rules(GameName.CUTTHROAT, 3, 11, 0, High.ACE, Win.BID_AT_TARGET, cap_defenders=False),
    GameName.WISCONSIN: Rules(GameName.WISCONSIN, 4, 15, 3, High.ACE, Win.REACH_TARGET, cap_defenders=False),
}
"""The literal reading of the rule pages (rules.md, part 4)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a bot may use; settings of a tournament, the same in every match of it.

    Attributes:
        decision_cpu_s: CPU seconds for one decision.
        game_cpu_s: CPU seconds for all decisions of a game, to begin with.
        deal_cpu_s: CPU seconds added to that for every deal begun, so that no opponent can run a bot out of time.
        load_cpu_s: CPU seconds for loading the module and making `Bot()`.
        decision_wall_s: second limit for one decision, on wall time less the time spent waiting for a processor.
        memory_bytes: memory a bot may take beyond what its process starts with.
    """

    decision_cpu_s: float = 1.0
    game_cpu_s: float = 3.0
    deal_cpu_s: float = 0.5
    load_cpu_s: float = 5.0
    decision_wall_s: float = 5.0
    memory_bytes: int = 256 * 1024 * 1024

    def __post_init__(self) -> None:
        """Checks the fields.

        Raises:
            ValueError: a limit is not a positive number.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            number = type(value) is int or (type(value) is float and field.name != "memory_bytes")
            _expect(number and 0 < value < 1e12, field.name, value, "a positive number")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Limits:
        """Reads what `to_dict` wrote.

        Raises:
            ValueError: a name is unknown or a value no positive number.
        """
        unknown = sorted(set(data) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"unknown in limits: {', '.join(unknown)}")
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """Returns all fields as JSON values."""
        return asdict(self)

    def game_cpu_allowance_s(self, deals_begun: int) -> float:
        """Returns the CPU seconds that all decisions of a seat may have taken once so many deals have begun."""
        return self.game_cpu_s + self.deal_cpu_s * deals_begun
