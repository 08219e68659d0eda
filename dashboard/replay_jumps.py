"""Addresses inside a game, and where each control and key of the replay leads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.replay_steps import DECISIONS, Document, Step, StepKind, faults_of, steps_of

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Place:
    """An address inside a game: deal, attempt, step, and whose view (None: all hands)."""

    deal: int = 1
    attempt: int = 1
    step: int = 0
    view: int | None = None


@dataclass(frozen=True, slots=True)
class Jump:
    """Where a control leads, and the key that does the same; no place: nothing there."""

    key: str
    words: str
    label: str
    place: Place | None


def deal_position(document: Document, deal: int, attempt: int) -> int | None:
    """Find a deal in the document's list."""
    for position, entry in enumerate(document["deals"]):
        if (entry["deal"], entry["attempt"]) == (deal, attempt):
            return position
    return None


def jumps_of(document: Document, position: int, steps: Sequence[Step], place: Place) -> tuple[Jump, ...]:
    """Give the targets of all controls, in the order in which they stand on the page."""
    last = len(steps) - 1

    def at(index: int | None) -> Place | None:
        return None if index is None else Place(place.deal, place.attempt, index, place.view)

    def other_deal(offset: int) -> Place | None:
        if not 0 <= position + offset < len(document["deals"]):
            return None
        entry = document["deals"][position + offset]
        return Place(entry["deal"], entry["attempt"], 0, place.view)

    def seek(kinds: frozenset[StepKind], forward: bool, mine: bool = False) -> int | None:
        indices = range(place.step + 1, last + 1) if forward else range(place.step - 1, -1, -1)
        fits = (i for i in indices if steps[i].kind in kinds and not (mine and place.view not in (None, steps[i].seat)))
        return next(fits, None)

    tricks = frozenset({StepKind.TRICK, StepKind.SCORE})
    starts = frozenset({StepKind.TRICK, StepKind.DEAL})
    return (
        Jump("Home", "start of the deal", "⇤", at(0 if place.step else None)),
        Jump("ArrowUp", "previous trick", "⇈", at(seek(starts, forward=False))),
        Jump("ArrowLeft", "previous step", "←", at(place.step - 1 if place.step else None)),
        Jump("ArrowRight", "next step", "→", at(place.step + 1 if place.step < last else None)),
        Jump("ArrowDown", "next trick", "⇊", at(seek(tricks, forward=True))),
        Jump("End", "end of the deal", "⇥", at(last if place.step < last else None)),
        Jump("b", "previous deal", "deal −", other_deal(-1)),
        Jump("n", "next deal", "deal +", other_deal(1)),
        Jump("d", "next decision", "decision", at(seek(DECISIONS, forward=True, mine=True))),
        Jump("F", "previous fault", "fault −", _fault_jump(document, place, forward=False)),
        Jump("f", "next fault", "fault +", _fault_jump(document, place, forward=True)),
    )


def fault_places(document: Document, view: int | None = None) -> list[Place]:
    """Give the places of a game's faults in order; a fault of a game without deals has none."""
    places = []
    for fault in faults_of(document):
        position = deal_position(document, fault["deal"], fault["attempt"])
        if position is None:
            continue
        for index, step in enumerate(steps_of(document, position)):
            if step.kind is StepKind.FAULT and step.seat == fault["seat"]:
                places.append(Place(fault["deal"], fault["attempt"], index, view))
    return places


def _fault_jump(document: Document, place: Place, forward: bool) -> Place | None:
    here = (place.deal, place.attempt, place.step)
    found = fault_places(document, place.view)
    if forward:
        return next((fault for fault in found if (fault.deal, fault.attempt, fault.step) > here), None)
    return next((fault for fault in reversed(found) if (fault.deal, fault.attempt, fault.step) < here), None)
