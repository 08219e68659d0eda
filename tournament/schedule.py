"""The schedule: which entrants meet in which match, a pure function of entrants, rules, rounds and secret.

docs/schedule.md says how to work it out again in any language.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

from tournament import seeds
from tournament.rules import Rules
from tournament.triples import Draw, cover

ALL_TRIPLES_UP_TO: Final = 12
"""Entrants up to whom every triple meets in every round; all triples of 64 would be 41,664."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entrant as the schedule sees it: its text in match keys, and its owner's number."""

    text: str
    owner: int


@dataclass(frozen=True, slots=True)
class PlannedMatch:
    """One match of the schedule.

    Attributes:
        number: from 1, by round, then by the entrants' texts.
        round: from 1.
        key: the match key, from which the deal seed follows.
        entrants: the positions of its entrants in the sorted list of all, ascending.
    """

    number: int
    round: int
    key: str
    entrants: tuple[int, ...]


def schedule(rules: Rules, entries: Sequence[Entry], rounds: int, secret: str) -> Iterator[PlannedMatch]:
    """Yields all matches of a round robin in the order of their numbers.

    Args:
        rules: they say how many sit at a table.
        entries: sorted by text, as in a match key, each text once.
        rounds: how often the round robin is played.
        secret: the tournament's secret; it decides which pairs meet twice in a round at tables of three.

    Raises:
        ValueError: entries are unsorted, repeated or too few, or there is no round.
    """
    texts = [entry.text for entry in entries]
    for one, other in pairwise(texts):
        if one >= other:
            reason = "the same entrant twice" if one == other else "expected them sorted"
            raise ValueError(f"entrants {one} and {other}: {reason}")
    if len(entries) < 2:
        raise ValueError(f"{len(entries)} entrants: expected at least two")
    if rounds < 1:
        raise ValueError(f"{rounds} rounds: expected at least one")
    owners = [entry.owner for entry in entries]
    if rules.side_count == 3 and len(entries) > 2 and len(set(owners)) < 3:
        raise ValueError(
            f"{len(set(owners))} owners: three sit at a table, never two entrants of one owner, so expected at least "
            "three owners"
        )
    return _numbered(rules, texts, owners, rounds, secret)


def _numbered(
    rules: Rules, texts: Sequence[str], owners: Sequence[int], rounds: int, secret: str
) -> Iterator[PlannedMatch]:
    number = 0
    doubled: dict[tuple[int, int], int] = {}
    for round_number in range(1, rounds + 1):
        tables: Sequence[tuple[int, ...]]
        if rules.side_count == 2 or len(texts) == 2:
            tables = list(combinations(range(len(texts)), 2))
        elif len(texts) <= ALL_TRIPLES_UP_TO:
            triples = combinations(range(len(texts)), 3)
            tables = [triple for triple in triples if len({owners[entrant] for entrant in triple}) == 3]
        else:
            tables = cover(owners, Draw(secret, f"schedule/{round_number}"), doubled)
        for table in tables:
            number += 1
            yield PlannedMatch(
                number, round_number, seeds.match_key(rules, (texts[each] for each in table), round_number), table
            )


def games_per_match(rules: Rules, entrant_count: int) -> int:
    """Returns how many games each match of so many entrants has: one for each seating."""
    return len(seeds.seatings(rules, min(entrant_count, rules.side_count)))
