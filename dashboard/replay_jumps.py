"""Addresses inside a game, and where each control and key of the replay leads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dashboard.replay_steps import DECISIONS, Document, Step, StepKind, faults_of, steps_of


@dataclass(frozen=True, slots=True)
class Place:
    """An address inside a game: deal, attempt, step, and whose view (None: all hands)."""

    deal: int = 1
    attempt: int = 1
    step: int = 0
    view: int | None = None

    @property
    def at(self) -> tuple[int, int, int]:
        """Where it is in the game."""
        return self.deal, self.attempt, self.step


@dataclass(frozen=True, slots=True)
class Jump:
    """Where a control leads, and the key that does the same; no place: nothing there."""

    key: str
    words: str
    label: str
    place: Place | None


def deal_position(document: Document, deal: int, attempt: int) -> int | None:
    """Find a deal in the document's list."""
    places = [(entry["deal"], entry["attempt"]) for entry in document["deals"]]
    return places.index((deal, attempt)) if (deal, attempt) in places else None


def jumps_of(document: Document, position: int, steps: Sequence[Step], place: Place) -> tuple[Jump, ...]:
    """Give the targets of all controls, in the order in which they stand on the page."""
    last = len(steps) - 1

    def at(index: int | None) -> Place | None:
        return None if index is None else replace(place, step=index)

    def other_deal(offset: int) -> Place | None:
        if not 0 <= position + offset < len(document["deals"]):
            return None
        entry = document["deals"][position + offset]
        return Place(entry["deal"], entry["attempt"], 0, place.view)

    def seek(kinds: frozenset[StepKind], forward: bool, mine: bool = False) -> int | None:
        indices = range(place.step + 1, last + 1) if forward else range(place.step - 1, -1, -1)
        fits = (i for i in indices if steps[i].kind in kinds and not (mine and place.view not in (None, steps[i].seat)))
        return next(fits, None)

    earlier_fault, later_fault = _fault_jumps(document, place)
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
        Jump("F", "previous fault", "fault −", earlier_fault),
        Jump("f", "next fault", "fault +", later_fault),
    )


def fault_places(document: Document) -> list[tuple[dict[str, Any], Place | None]]:
    """Give the faults of a game in order, each with its place if a deal had begun."""
    found = []
    for fault in faults_of(document):
        position = deal_position(document, fault["deal"], fault["attempt"])
        steps = steps_of(document, position) if position is not None else []
        here = (i for i, step in enumerate(steps) if step.kind is StepKind.FAULT and step.seat == fault["seat"])
        index = next(here, None)
        found.append((fault, None if index is None else Place(fault["deal"], fault["attempt"], index)))
    return found


def _fault_jumps(document: Document, here: Place) -> tuple[Place | None, Place | None]:
    """Find the last fault before a place and the first after it."""
    places = [replace(place, view=here.view) for _, place in fault_places(document) if place]
    before = (place for place in reversed(places) if place.at < here.at)
    return next(before, None), next((place for place in places if place.at > here.at), None)
