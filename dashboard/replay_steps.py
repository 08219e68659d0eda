"""A deal of a replay document as a list of steps, each with the engine's state after it.

A step is the deal itself, a bid, the bidder taking cards, its discards, a card, a complete trick, the score of the
deal, or a fault. The rules engine plays the deal again, so what was legal at a step is the engine's word.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tournament.cards import INDEX, PIPS, TEXTS
from tournament.deal import Action, Deal, Phase
from tournament.rules import GameName, High, Rules

Document = dict[str, Any]


class StepKind(StrEnum):
    """What happens at a step."""

    DEAL = "deal"
    BID = "bid"
    TAKE = "take"
    DISCARD = "discard"
    PLAY = "play"
    TRICK = "trick"
    SCORE = "score"
    FAULT = "fault"


DECISIONS = frozenset({StepKind.BID, StepKind.DISCARD, StepKind.PLAY})


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a deal.

    Attributes:
        kind: what happens.
        seat: who acts, wins the trick or faults; the dealer at the deal, -1 at the score.
        action: the bid, the card or the cards of a decision, the taken cards, or None.
        legal: what the rules allowed at a decision or where a fault came instead of one.
        before: acts of the deal that come before this step.
        tricks: complete tricks that the step shows; a trick's last card shows it on the table still.
        deal: the engine's state after the step.
        fault: the fault's kind at a fault.
        house: the seats that the house plays at this step.
    """

    kind: StepKind
    seat: int
    action: Action | None
    legal: tuple[Action, ...]
    before: int
    tricks: int
    deal: Deal
    fault: str | None = None
    house: frozenset[int] = frozenset()

    @property
    def table(self) -> tuple[tuple[int, int], ...]:
        """The cards on the table with their seats, the leader's first."""
        if self.tricks < len(self.deal.tricks):
            trick = self.deal.tricks[self.tricks]
            leader, cards = trick.leader, list(trick.cards)
        elif self.kind is StepKind.TRICK:
            last = self.deal.tricks[-1]
            leader, cards = last.leader, list(last.cards)
        else:
            leader, cards = self.deal.leader, self.deal.trick
        players = self.deal.rules.players
        return tuple(((leader + offset) % players, card) for offset, card in enumerate(cards))


@dataclass(frozen=True, slots=True)
class Point:
    """Where one of the four points stands: whether that is settled, for which side, by which card in which trick."""

    name: str
    settled: bool
    side: int | None = None
    card: str | None = None
    trick: int | None = None


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


def deal_position(document: Document, deal: int, attempt: int) -> int | None:
    """Find a deal in the document's list."""
    places = [(entry["deal"], entry["attempt"]) for entry in document["deals"]]
    return places.index((deal, attempt)) if (deal, attempt) in places else None


def faults_of(document: Document) -> list[dict[str, Any]]:
    """Give the faults of a game in the order in which they came."""
    result = document["result"]
    return [fault for fault in (result["fault"], result["second_fault"]) if fault]


def steps_of(document: Document, position: int) -> list[Step]:
    """Play the deal at a position of the document's list and give its steps."""
    entry = document["deals"][position]
    rules = Rules.from_dict(document["rules"])
    deal = Deal(rules, entry["dealer"], [_indices(hand) for hand in entry["hands"]], _indices(entry["undealt"]))
    place = (entry["deal"], entry["attempt"])
    earlier = [fault for fault in faults_of(document) if (fault["deal"], fault["attempt"]) < place]
    here = [fault for fault in faults_of(document) if (fault["deal"], fault["attempt"]) == place]
    house = frozenset(fault["seat"] for fault in earlier)
    steps = [Step(StepKind.DEAL, entry["dealer"], None, (), 0, 0, deal.copy(), house=house)]
    acts = 0

    def add_faults() -> None:
        nonlocal house
        while here and here[0]["act"] <= acts:
            fault = here.pop(0)
            legal = tuple(deal.legal()) if fault["act"] >= 0 and not deal.over else ()
            house |= {fault["seat"]}
            state = deal.copy()
            steps.append(
                Step(StepKind.FAULT, fault["seat"], None, legal, acts, len(deal.tricks), state, fault["kind"], house)
            )

    add_faults()
    for action in _actions(entry):
        seat, legal, phase = deal.seat, tuple(deal.legal()), deal.phase
        done = len(deal.tricks)
        deal.act(action)
        kind = (StepKind.BID, StepKind.DISCARD, StepKind.PLAY)[phase]
        steps.append(Step(kind, seat, action, legal, acts, done, deal.copy(), house=house))
        acts += 1
        if phase is Phase.BID and deal.phase is Phase.DISCARD:
            steps.append(Step(StepKind.TAKE, deal.bidder, deal.taken, (), acts, 0, deal.copy(), house=house))
        if len(deal.tricks) > done:
            winner = deal.tricks[-1].winner
            steps.append(Step(StepKind.TRICK, winner, None, (), acts, done + 1, deal.copy(), house=house))
        add_faults()
    if deal.over:
        steps.append(Step(StepKind.SCORE, -1, None, (), acts, len(deal.tricks), deal.copy(), house=house))
    return steps


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


def pips_at(step: Step, count_discards: bool) -> list[int]:
    """Give the running card points of each side in the tricks that the step shows as complete."""
    rules = step.deal.rules
    pips = [0] * rules.side_count
    if count_discards and step.deal.bidder >= 0:
        pips[rules.side_of(step.deal.bidder)] += sum(PIPS[card] for card in step.deal.discards)
    for trick in step.deal.tricks[: step.tricks]:
        pips[rules.side_of(trick.winner)] += sum(PIPS[card] for card in trick.cards)
    return pips


def points_at(step: Step, pips: Sequence[int]) -> tuple[Point, ...]:
    """Tell where High, Low, Jack and Game stand at a step, by what has been played up to it."""
    deal = step.deal
    rules, trump = deal.rules, deal.trump
    final = step.kind is StepKind.SCORE
    played = [(card, seat, number) for number, card, seat in _played(step) if card // 13 == trump]
    high, low, jack = Point("High", final), Point("Low", final), Point("Jack", final)
    if played:
        card, seat, number = max(played)
        ace = card % 13 == 12
        if ace or rules.high is High.HIGHEST_IN_PLAY:
            high = Point("High", ace or final, rules.side_of(seat), TEXTS[card], number)
        card, seat, number = min(played)
        lowest = card % 13 == rules.lowest_rank - 2
        if rules.game is GameName.CUTTHROAT or lowest:
            low = Point("Low", lowest or final, rules.side_of(seat), TEXTS[card], number)
    for number, trick in enumerate(deal.tricks[: step.tricks], start=1):
        if trump * 13 + 9 in trick.cards:
            jack = Point("Jack", True, rules.side_of(trick.winner), TEXTS[trump * 13 + 9], number)
    most = max(pips)
    return high, low, jack, Point("Game", final, pips.index(most) if list(pips).count(most) == 1 else None)


def _played(step: Step) -> Iterator[tuple[int, int, int]]:
    """Yield trick number, card and seat of everything played up to a step."""
    players = step.deal.rules.players
    for number, trick in enumerate(step.deal.tricks[: step.tricks], start=1):
        for offset, card in enumerate(trick.cards):
            yield number, card, (trick.leader + offset) % players
    if step.kind is not StepKind.TRICK:
        for seat, card in step.table:
            yield step.tricks + 1, card, seat


def _actions(entry: Mapping[str, Any]) -> Iterator[Action]:
    """Yield the actions of a deal in order."""
    for bid in entry["bids"]:
        yield bid["bid"]
    if entry["discards"]:
        yield tuple(_indices(entry["discards"]))
    for trick in entry["tricks"]:
        yield from _indices(trick["cards"])


def _indices(cards: Sequence[str]) -> list[int]:
    return [INDEX[card] for card in cards]


def notation(step: Step, visible: bool = True) -> str:
    """Write a step as a token of the text notation; unseen cards are counted, not named."""
    if step.kind is StepKind.BID:
        return f"{step.seat}:{step.action or '-'}"
    if step.kind is StepKind.PLAY:
        assert isinstance(step.action, int)
        return f"{step.seat}:{TEXTS[step.action]}"
    if step.kind in (StepKind.TAKE, StepKind.DISCARD):
        assert isinstance(step.action, tuple)
        mark = "+" if step.kind is StepKind.TAKE else "~"
        return mark + ("".join(TEXTS[card] for card in step.action) if visible else str(len(step.action)))
    if step.kind is StepKind.TRICK:
        return f"t{step.tricks}>{step.seat}"
    if step.kind is StepKind.FAULT:
        return f"{step.seat}!{step.fault}"
    return str(step.kind)
