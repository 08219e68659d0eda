"""Checks a tournament's public export: works everything out again from it alone, and says whether each number follows.

Nothing in the files is believed. Seeds and schedule follow from the secret and the entrants, deals and results from
the seeds and the acts, matches from the games, ratings and places from the matches (docs/export.md).
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import zip_longest
from operator import eq
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile, ZipFile, is_zipfile
from zipfile import Path as ZipPath

from tournament import seeds, verify
from tournament.fairness import results_digest
from tournament.final_order import HEADER as ORDER_HEADER
from tournament.final_order import final_order
from tournament.replay import ReplayError, rules_in
from tournament.results import Block, Tally, comparisons, pair_scores, side_entrants
from tournament.rules import Rules
from tournament.schedule import ALL_TRIPLES_UP_TO, Entry, schedule
from tournament.store_values import EntrantTotals, Figures
from tournament.table import COLUMNS, ladder_of, table
from tournament.verify_settings import FILES, BadExport, Folder, Settings, match_cells, match_header, read_settings

MOST_PROBLEMS: Final = 20
"""Differences of one kind that are written out; the rest is counted."""

_ROUNDING: Final = 0.0005
"""Ratings are rounded to four decimals, whose last one may differ between linear algebra libraries."""


class Answer(StrEnum):
    """Whether something follows from what the export says before it."""

    FOLLOWS = "follows"
    WRONG = "does not follow"
    OPEN = "cannot be checked"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one part of an export."""

    subject: str
    answer: Answer
    text: str

    def __str__(self) -> str:
        """Returns the line that the command prints."""
        return f"{self.subject}: {self.answer}{': ' if self.text else ''}{self.text}"


@dataclass(slots=True)
class _Played:
    """The games of one match as they were found: sums over them."""

    seatings: list[int] = field(default_factory=list)
    scores: dict[tuple[int, int], int] = field(default_factory=dict)
    tallies: list[Tally] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)


def verify_export(path: Path) -> Iterator[Finding]:
    """Checks the public export in a folder or a zip archive; what cannot be read is a finding that says so."""
    if path.is_dir() or not is_zipfile(path):
        yield from _verify(path)
        return
    try:
        with ZipFile(path) as archive:
            names = archive.namelist()
            if len(names) != len(set(names)):
                raise BadZipFile("a file is in it twice")
            yield from _verify(ZipPath(archive))
    except (BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        yield Finding("archive", Answer.WRONG, f"cannot be read: {error}"[:300])


def _verify(folder: Folder) -> Iterator[Finding]:
    try:
        settings = read_settings(folder / "tournament.json")
    except (BadExport, OSError) as error:
        yield Finding("tournament.json", Answer.WRONG, _why(error))
        return
    yield _commitment(settings)
    yield _schedule(settings)
    played: dict[int, _Played] = {}
    digests: list[str] = []
    checks: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
        ("games", lambda: _games(folder / "replays.jsonl", settings, played, digests)),
        ("matches", lambda: _matches(folder / "matches.csv", settings, played)),
        ("ratings", lambda: _standings(folder, settings, played)),
    )
    for subject, check in checks:
        try:
            yield from check()
        except (BadExport, OSError) as error:
            yield Finding(subject, Answer.WRONG, _why(error))
    found = results_digest(digests)
    if settings.results != found:
        yield Finding("digest of all results", Answer.WRONG, f"{settings.results}, expected {found}")
    else:
        yield Finding("digest of all results", Answer.FOLLOWS, found)
    if strange := sorted(each.name for each in folder.iterdir() if each.name not in FILES):
        yield Finding("other files", Answer.OPEN, f"no part of an export: {', '.join(strange)[:300]}")
    for subject in ("name, clocks", "which are house bots", "disqualifications, voids", "who stands behind an owner"):
        yield Finding(subject, Answer.OPEN, "the organiser's word")


def _why(error: Exception) -> str:
    return (
        f"cannot be read: {error.strerror or 'No such file or directory'}" if isinstance(error, OSError) else str(error)
    )


def _commitment(settings: Settings) -> Finding:
    if settings.secret is None:
        return Finding("secret", Answer.OPEN, "it is not out yet: nor can the seeds be checked")
    expected = seeds.commitment(settings.secret)
    if settings.commitment != expected:
        return Finding("commitment", Answer.WRONG, f"{settings.commitment[:12]}…, the secret gives {expected[:12]}…")
    return Finding("commitment", Answer.FOLLOWS, f"{expected}, if that is what was published before the start")


def _schedule(settings: Settings) -> Finding:
    drawn = settings.rules.side_count == 3 and len(settings.entrants) > ALL_TRIPLES_UP_TO
    if settings.secret is None and drawn:
        return Finding("schedule", Answer.OPEN, "at tables of three it follows from the secret, which is not out yet")
    entries = [Entry(entrant.text, entrant.owner) for entrant in settings.entrants]
    try:
        planned = schedule(settings.rules, entries, settings.rounds, settings.secret or "")
    except ValueError as error:
        return Finding("schedule", Answer.WRONG, str(error))
    for found, wanted in zip_longest(settings.schedule, ((match.number, match.key) for match in planned)):
        if found != wanted:
            return Finding("schedule", Answer.WRONG, f"{_match_text(found)}, expected {_match_text(wanted)}")
    return Finding("schedule", Answer.FOLLOWS, f"{len(settings.schedule)} matches")


def _match_text(match: tuple[int, str] | None) -> str:
    return "no further match" if match is None else f"match {match[0]} {match[1]:.200}"


def _games(path: Folder, settings: Settings, played: dict[int, _Played], digests: list[str]) -> Iterator[Finding]:
    numbers = {key: number for number, key in settings.schedule}
    problems = _Problems()
    count, last = 0, (0, 0)
    with path.open("rb") as stream:
        for line, raw in enumerate(iter(lambda: stream.readline(verify.MAX_LINE_BYTES), b""), 1):
            where = f"replays.jsonl:{line}"
            count += 1
            try:
                written = verify.parse(raw)
                verify.check_document(written, settings.secret)
                number, seating = _belongs(written, settings, numbers)
                if (number, seating) <= last:
                    problems.add(f"{where}: match {number} seating {seating} comes twice or in the wrong place")
                    continue
                last = (number, seating)
                digests.append(written["digest"])
                _add(played.setdefault(number, _Played()), written, settings.rules, seating)
            except ReplayError as error:
                problems.add(f"{where}: {error}")
            except RecursionError:
                problems.add(f"{where}: malformed: nested too deeply")
    for number, key in settings.schedule:
        size = _size_of(key)
        games = played[number].seatings if number in played else []
        if number in settings.without:
            if games:
                problems.add(f"match {number} has games, yet is listed as without a result")
        elif games != list(range(1, len(seeds.seatings(settings.rules, size)) + 1)):
            problems.add(f"match {number}: games of the seatings {games or 'none'}, expected all")
    yield from problems.findings("games", f"{count} games played again")
    if settings.without:
        listed = ", ".join(map(str, settings.without[:10])) + (", …" if len(settings.without) > 10 else "")
        text = f"{len(settings.without)} ({listed}); once the secret is out the organiser owes a reason for each"
        yield Finding("matches without a result", Answer.OPEN, text)
    if settings.secret is not None and not problems.lines:
        yield Finding("seeds and deals", Answer.FOLLOWS, "from the secret")


def _size_of(key: str) -> int:
    return key.count(",") + 1


def _belongs(written: dict[str, Any], settings: Settings, numbers: dict[str, int]) -> tuple[int, int]:
    """Returns the number of the match and the seating of a sound document, if it is one of this tournament."""
    key, seating = written["match"]["key"], written["match"]["seating"]
    if key not in numbers:
        raise ReplayError(f"match {key!r:.200} is not in the schedule")
    if written["seed"] is None:
        raise ReplayError("seed null, expected that of the match")
    if "seed_key" in written["match"]:
        raise ReplayError("a seed_key, which only gauntlets have")
    if rules_in(written) != settings.rules:
        raise ReplayError("rules that are not the tournament's")
    hashes = {entrant.text: entrant.sha256 for entrant in settings.entrants}
    for player in written["players"]:
        text = seeds.entrant_text(player["bot"], player["version"])
        if hashes.get(text, "") != player["sha256"]:
            raise ReplayError(f"{text} has another sha256 than among the entrants")
    return numbers[key], seating


def _add(played: _Played, written: dict[str, Any], rules: Rules, seating: int) -> None:
    """Adds up a sound document, from what it says of scores, places and faults."""
    size = _size_of(written["match"]["key"])
    seats = seeds.seatings(rules, size)[seating - 1]
    result, owners = written["result"], side_entrants(rules, seats)
    played.seatings.append(seating)
    for pair, score in pair_scores(rules, seats, result["places"]).items():
        played.scores[pair] = played.scores.get(pair, 0) + score
    deals = sum("scores" in deal for deal in written["deals"])
    if not played.tallies:
        played.tallies, played.faults = [Tally()] * size, [0] * size
    for side, owner in enumerate(owners):
        played.tallies[owner] += Tally(result["scores"][side], deals)
    for fault in (result["fault"], result["second_fault"]):
        if fault is not None:
            played.faults[seats[fault["seat"]]] += 1


def _matches(path: Folder, settings: Settings, played: dict[int, _Played]) -> Iterator[Finding]:
    expected = [match_header(settings.rules, len(settings.entrants))]
    for number, key in settings.schedule:
        if number in played and number not in settings.without:
            sums = played[number]
            scores = (score for _, score in sorted(sums.scores.items()))
            expected.append(match_cells(number, key, len(sums.seatings), scores, sum(sums.faults)))
    yield from _compare_rows(path, expected, "matches", f"{len(expected) - 1} results", eq)


def _standings(folder: Folder, settings: Settings, played: dict[int, _Played]) -> Iterator[Finding]:
    figures = _figures(settings, played)
    try:
        ladder = ladder_of(settings.entrants, figures, settings.anchor)
    except ValueError as error:
        yield Finding("ratings", Answer.WRONG, str(error))
        return
    rows = table(settings.rules, settings.entrants, figures, ladder)
    cells = (row.to_dict().values() for row in rows)
    expected = [list(COLUMNS), *(["" if cell is None else str(cell) for cell in row] for row in cells)]
    yield from _compare_rows(folder / "standings.csv", expected, "ratings", f"{len(rows)} entrants", _same_number)
    order = final_order(settings.entrants, rows, settings.order)
    expected = [list(ORDER_HEADER), *(each.cells() for each in order)]
    yield from _compare_rows(
        folder / "final-order.csv", expected, "final order", f"rule {settings.order}", _same_number
    )


def _figures(settings: Settings, played: dict[int, _Played]) -> Figures:
    positions = {entrant.text: entrant.position for entrant in settings.entrants}
    totals = [EntrantTotals()] * len(positions)
    blocks: dict[tuple[int, ...], Block] = {}
    for number, key in settings.schedule:
        sums = played.get(number)
        if sums is None or number in settings.without:
            continue
        with suppress(KeyError):  # an entrant that there is not: the schedule has been found wrong already
            sitting = tuple(positions[text] for text in key.split("/")[2].split(","))
            games = tuple(comparisons(settings.rules, seeds.seatings(settings.rules, len(sitting))).values())
            scores = tuple(score for _, score in sorted(sums.scores.items()))
            block = Block.of_match(sitting, games, scores)
            blocks[sitting] = blocks[sitting] + block if sitting in blocks else block
            for position, tally, faults in zip(sitting, sums.tallies, sums.faults, strict=True):
                totals[position] += EntrantTotals(1, faults, tally)
    return Figures(0, tuple(blocks[key] for key in sorted(blocks)), tuple(totals))


def _compare_rows(
    path: Folder, expected: Sequence[list[str]], subject: str, text: str, same: Callable[[str, str], bool]
) -> Iterator[Finding]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            found = list(csv.reader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadExport(f"{path.name}: malformed: {error}") from None
    problems = _Problems()
    nothing: list[str] = []
    for line, (row, wanted) in enumerate(zip_longest(found, expected, fillvalue=nothing), 1):
        if len(row) != len(wanted) or not wanted:
            texts = ",".join(row)[:120] or "nothing", ",".join(wanted) or "an end"
            problems.add(f"{path.name}:{line}: {texts[0]}, expected {texts[1]}")
            continue
        for name, value, correct in zip(expected[0], row, wanted, strict=True):
            if not same(value, correct):
                problems.add(f"{path.name}:{line}: {name} {value!r:.80}, expected {correct!r}")
    yield from problems.findings(subject, text)


def _same_number(found: str, expected: str) -> bool:
    if found == expected:
        return True
    try:
        return "." in expected and abs(float(found) - float(expected)) <= _ROUNDING
    except ValueError:
        return False


@dataclass(slots=True)
class _Problems:
    """Differences of one kind: the first are written out, all are counted."""

    lines: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, line: str) -> None:
        self.count += 1
        if self.count <= MOST_PROBLEMS:
            self.lines.append(line)

    def findings(self, subject: str, text: str) -> Iterator[Finding]:
        if not self.count:
            yield Finding(subject, Answer.FOLLOWS, text)
        for line in self.lines:
            yield Finding(subject, Answer.WRONG, line)
        if self.count > len(self.lines):
            yield Finding(subject, Answer.WRONG, f"and {self.count - len(self.lines)} more")
