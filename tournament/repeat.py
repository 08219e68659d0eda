"""What it means when a match that is played again comes out otherwise: the bot's doing, or a worker's.

Pure functions of games; `workers.repeat` plays them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from tournament.models_contest import Verdict


class Suspect(StrEnum):
    """Which worker a difference is laid to."""

    NOBODY = ""
    ORIGINAL = "who played it first"
    REPEATER = "who repeated it"
    BOTH = "both workers"


def verdict_of(
    original: Sequence[str], repeated: Sequence[str], trusted: tuple[Sequence[str], Sequence[str]] | None
) -> tuple[Verdict, Suspect]:
    """Says what came of playing a match again, from the digests of its games.

    Args:
        original: as they were recorded.
        repeated: as another worker played them.
        trusted: as one trusted worker played them twice; needed only where the first two differ.

    Raises:
        ValueError: they differ and nobody trusted has played.

    >>> verdict_of(["a"], ["b"], (["c"], ["d"]))[0].value, verdict_of(["a"], ["b"], (["a"], ["a"]))[1].value
    ('not repeatable', 'who repeated it')
    """
    if original == repeated:
        return Verdict.SAME, Suspect.NOBODY
    if trusted is None:
        raise ValueError("the results differ: expected two of a trusted worker")
    if trusted[0] != trusted[1]:
        return Verdict.NOT_REPEATABLE, Suspect.NOBODY
    if trusted[0] == original:
        return Verdict.WORKER, Suspect.REPEATER
    return Verdict.WORKER, Suspect.ORIGINAL if trusted[0] == repeated else Suspect.BOTH


def first_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[int, str] | None:
    """Returns whose seat acted otherwise first in two documents of one game, and where; None if nobody did."""
    for mine, theirs in zip_longest(_acts(one), _acts(other)):
        if mine != theirs:
            where, seat, did = mine or theirs
            then = theirs[2] if mine and theirs else "nothing"
            return seat, f"{where}: {did}, then {then}"
    return None


def _acts(document: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    """Yields every act of a game: where it is, whose it is and what it is; a fault takes the place of an act."""
    result, players = document["result"], len(document["players"])
    faults = [each for each in (result["fault"], result["second_fault"]) if each is not None]
    for fault in faults:
        if fault["act"] < 0:
            yield "at load", fault["seat"], f"fault {fault['kind']}"
    for deal in document["deals"]:
        at = deal["deal"], deal["attempt"]
        acts = [(bid["seat"], f"bid {bid['bid']}") for bid in deal["bids"]]
        if deal["discards"]:
            acts.append((deal["bidder"], f"discards {' '.join(deal['discards'])}"))
        for trick in deal["tricks"]:
            acts += [((trick["leader"] + place) % players, card) for place, card in enumerate(trick["cards"])]
        for number in range(len(acts) + 1):
            where = f"deal {at[0]}/{at[1]} act {number}"
            for fault in faults:
                if (fault["deal"], fault["attempt"], fault["act"]) == (*at, number):
                    yield where, fault["seat"], f"fault {fault['kind']}"
            if number < len(acts):
                yield where, *acts[number]
