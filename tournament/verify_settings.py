"""What a public export looks like, and its settings, `tournament.json`, read: types are checked, none believed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final
from zipfile import Path as ZipPath

from tournament import seeds
from tournament.final_order import FinalOrder
from tournament.replay import ReplayError
from tournament.rules import Rules
from tournament.store_values import EntrantInfo
from tournament.verify import MAX_LINE_BYTES, parse

FORMAT: Final = "smear-tournament/1"
FILES: Final = ("tournament.json", "standings.csv", "matches.csv", "replays.jsonl", "final-order.csv")

KEYS: Final = frozenset(
    "anchor commitment disqualifications entrants final_order format limits name results rounds rules schedule secret "
    "voids without_result".split()
)
"""The keys of `tournament.json`."""

ENTRANT_KEYS: Final = ("version", "sha256", "owner", "upload_order", "house")
"""The keys of an entrant in it beside `bot`, its name."""

_SIDES: Final = "abc"

Folder = Path | ZipPath


def match_header(rules: Rules, entrant_count: int) -> list[str]:
    """Returns the columns of `matches.csv`."""
    sides = _SIDES[: min(entrant_count, rules.side_count)]
    pairs = combinations(sides, 2)
    scores = (f"score_{one}{other}" for one, other in pairs)
    return ["match", "round", "key", *(f"bot_{side}" for side in sides), "games", *scores, "faults"]


def match_cells(number: int, key: str, games: int, scores: Iterable[int], faults: int) -> list[str]:
    """Returns a row of `matches.csv`; half points are what is stored, whole ones are what people count in."""
    _, texts, round_number = key.rsplit("/", 2)
    shown = (f"{score // 2}{'.5' if score % 2 else ''}" for score in scores)
    return [str(number), round_number, key, *texts.split(","), str(games), *shown, str(faults)]


@dataclass(frozen=True, slots=True)
class Settings:
    """What `tournament.json` says, with its types checked."""

    rules: Rules
    rounds: int
    entrants: tuple[EntrantInfo, ...]
    anchor: str | None
    order: FinalOrder
    schedule: tuple[tuple[int, str], ...]
    without: tuple[int, ...]
    commitment: str
    secret: str | None
    results: str


class BadExport(ValueError):
    """A file that cannot be read as what it should be."""


def read_settings(path: Folder) -> Settings:
    """Reads the file.

    Raises:
        BadExport: it is none of these.
        OSError: it cannot be read.
    """
    try:
        data = parse(_bounded(path))
    except ReplayError as error:
        raise BadExport(str(error)) from None
    if data.get("format") != FORMAT:
        raise BadExport(f"format {data.get('format')!r:.60}, expected {FORMAT!r}")
    if strange := data.keys() - KEYS:
        raise BadExport(f"unknown: {', '.join(sorted(strange))}"[:300])
    try:
        texts = [seeds.entrant_text(each["bot"], each["version"]) for each in data["entrants"]]
        if texts != sorted(set(texts)):
            raise ValueError("entrants: expected them sorted, each once")
        numbers = {number for number, _ in data["schedule"]}
        for number in (*data["without_result"], *(void["match"] for void in data["voids"])):
            if number not in numbers:
                raise ValueError(f"match {number!r:.60} is not in the schedule")
        for each in data["disqualifications"]:
            if each["entrant"] not in texts:
                raise ValueError(f"{each['entrant']!r:.60} is disqualified and no entrant")
        return Settings(
            rules=Rules.from_dict(data["rules"]),
            rounds=_typed(data["rounds"], int),
            entrants=tuple(_entrant(place, each, data) for place, each in enumerate(data["entrants"])),
            anchor=None if data["anchor"] is None else _typed(data["anchor"], str),
            order=FinalOrder(data["final_order"]),
            schedule=tuple((_typed(number, int), _typed(key, str)) for number, key in data["schedule"]),
            without=tuple(_typed(number, int) for number in data["without_result"]),
            commitment=_typed(data["commitment"], str),
            secret=None if data["secret"] is None else _typed(data["secret"], str),
            results=_typed(data["results"], str),
        )
    except KeyError as error:
        raise BadExport(f"{error} is missing") from None
    except (TypeError, ValueError) as error:
        raise BadExport(f"malformed: {error}"[:300]) from None


def _bounded(path: Folder) -> bytes:
    with path.open("rb") as file:
        content = file.read(MAX_LINE_BYTES)
    assert isinstance(content, bytes)
    return content


def _typed(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{value!r:.60} is no {kind.__name__}")
    return value


def _entrant(place: int, data: dict[str, Any], whole: dict[str, Any]) -> EntrantInfo:
    name, version = _typed(data["bot"], str), _typed(data["version"], int)
    if strange := data.keys() - {"bot", *ENTRANT_KEYS}:
        raise ValueError(f"unknown in entrants: {', '.join(sorted(strange))}")
    text = seeds.entrant_text(name, version)
    reasons = [each["reason"] for each in whole["disqualifications"] if each["entrant"] == text]
    sha256, owner, order = data["sha256"], _typed(data["owner"], int), _typed(data["upload_order"], int)
    house = _typed(data["house"], bool)
    return EntrantInfo(place, name, version, sha256, owner, order, house, next(iter(reasons), None))
