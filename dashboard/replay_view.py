"""What a reader sees at one step of a game: the table, the contract, the points, the strip of all steps.

The view is made for one seat or for all hands. Cards that the chosen seat could not know are not part of the view at
all, so that they cannot be in the markup.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import sub
from types import MappingProxyType

from dashboard.replay_steps import (
    DECISIONS,
    Document,
    Place,
    Point,
    Step,
    StepKind,
    deal_position,
    fault_places,
    faults_of,
    notation,
    pips_at,
    points_at,
    steps_of,
)
from dashboard.replay_text import bot_names, side_names
from tournament.cards import PIPS, TEXTS
from tournament.deal import Deal, Phase
from tournament.rules import Rules, Win

Times = Mapping[tuple[int, int, int], int]
"""Microseconds of decisions by deal, attempt and act."""
NO_TIMES: Times = MappingProxyType({})
POSITIONS = {2: ("south", "north"), 3: ("south", "west", "east"), 4: ("south", "west", "north", "east")}


@dataclass(frozen=True, slots=True)
class CardView:
    """One card as shown; ``code`` is None for a back."""

    code: str | None
    state: str = ""
    legal: bool = False
    trump: bool = False
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class StepLink:
    """One step in the strip and in the table of steps; ``token`` is empty where the view may not know it.

    ``ms`` is the processor time of a decision, where it was kept.
    """

    index: int
    kind: str
    seat: int
    token: str
    legal_count: int | None
    act: int | None
    ms: float | None


class StepView:
    """Everything that the replay's template shows of one step; a step out of range is clamped.

    Raises:
        LookupError: the game has no such deal.
    """

    def __init__(self, document: Document, place: Place, times: Times = NO_TIMES) -> None:
        position = deal_position(document, place.deal, place.attempt)
        if position is None:
            raise LookupError(f"no deal {place.deal}, attempt {place.attempt}")
        steps = steps_of(document, position)
        place = replace(place, step=max(0, min(place.step, len(steps) - 1)))
        step = steps[place.step]
        deal, rules, players = step.deal, step.deal.rules, step.deal.rules.players
        following = next((later for later in steps[place.step + 1 :] if later.kind in DECISIONS), None)
        ended = step.kind is StepKind.SCORE
        entries = document["deals"]
        before = _scores_before(document, position)
        after = entries[position].get("scores") if ended else None
        seen, knows_discards = place.view in (None, step.seat), place.view in (None, deal.bidder)

        self.place, self.last_step, self.players = place, len(steps) - 1, players
        self.names, self.sides = bot_names(document), side_names(document)
        # What happens: a bid, a card, the cards taken or discarded as far as the view may know them, or a fault.
        self.kind, self.seat = step.kind, step.seat
        self.action: int | str | list[str] | None = step.fault
        self.hidden_count = 0
        if step.kind is StepKind.PLAY and isinstance(step.action, int):
            self.action = TEXTS[step.action]
        elif isinstance(step.action, tuple):
            self.action = [TEXTS[card] for card in step.action] if seen else []
            self.hidden_count = len(step.action)
        elif step.kind is StepKind.BID:
            self.action = step.action
        # How the contract stands.
        self.bidder, self.bid, self.over = deal.bidder, deal.bid, deal.over
        self.bidding = rules.side_of(deal.bidder) if deal.bidder >= 0 else None
        self.playing = deal.phase is not Phase.BID
        self.made, self.won = deal.made, deal.won[self.bidding] if ended and self.bidding is not None else None
        self.changes = dict(zip(self.sides, map(sub, after, before), strict=True)) if after else {}
        # Who sits where, from the seat whose view it is to the left, and what lies before whom.
        self.dealer, self.house = deal.dealer, step.house
        self.bids = {(deal.dealer + 1 + turn) % players: bid for turn, bid in enumerate(deal.bids)}
        self.acted = step.seat if step.kind in DECISIONS else None
        self.to_act = following.seat if following is not None and not ended else None
        south = place.view or 0
        places = {(south + offset) % players: where for offset, where in enumerate(POSITIONS[players])}
        self.seats = [
            (seat, where, _hand(steps[0].deal, step, seat, place.view in (None, seat)))
            for seat, where in places.items()
        ]
        self.table = [
            (
                seat,
                places[seat],
                CardView(TEXTS[card], trump=deal.trump == card // 13),
                step.kind is StepKind.TRICK and seat == step.seat,
            )
            for seat, card in step.table
        ]
        self.trump = "CDHS"[deal.trump] if deal.trump >= 0 else None
        self.led = "CDHS"[step.table[0][1] // 13] if step.table else None
        self.undealt = [TEXTS[card] for card in deal.undealt] if place.view is None else []
        self.taken = [TEXTS[card] for card in deal.taken] if knows_discards else []
        self.discards = [TEXTS[card] for card in deal.discards] if knows_discards else []
        # What has been won.
        self.pips = pips_at(step, knows_discards)
        self.points = _points(document, position, step, self.pips)
        self.scores, self.target = after or before, rules.target
        self.must_bid = [
            name
            for name, score in zip(self.sides, before, strict=True)
            if score >= rules.target and rules.win is Win.BID_AT_TARGET
        ]
        self.tricks = [
            (
                [((trick.leader + turn) % players, TEXTS[card]) for turn, card in enumerate(trick.cards)],
                trick.winner,
                sum(PIPS[card] for card in trick.cards),
            )
            for trick in deal.tricks[: step.tricks]
        ]
        # Where else one can go.
        self.strip = [_link(each, index, place, times) for index, each in enumerate(steps)]
        shown = ("deal", "attempt", "bidder", "bid", "scores")  # nobody's hands
        self.deals = [{key: entry[key] for key in shown if key in entry} for entry in entries]
        self.faulty = {(fault["deal"], fault["attempt"]) for fault in faults_of(document)}
        self.jumps = _jumps(document, position, steps, place)
        self.legal_words = _legal_words(step, place.view)


def _jumps(document: Document, position: int, steps: Sequence[Step], here: Place) -> dict[str, Place | None]:
    """Give where each key leads, None where there is nothing."""
    last, deals = len(steps) - 1, document["deals"]

    def at(step: int) -> Place | None:
        return replace(here, step=step) if 0 <= step <= last and step != here.step else None

    def seek(kinds: Collection[StepKind], *, back: bool = False, mine: bool = False) -> Place | None:
        indices = range(here.step - 1, -1, -1) if back else range(here.step + 1, last + 1)
        whose = here.view if mine else None
        fits = (i for i in indices if steps[i].kind in kinds and whose in (None, steps[i].seat))
        return at(next(fits, here.step))

    def deal(index: int) -> Place | None:
        return Place(deals[index]["deal"], deals[index]["attempt"], 0, here.view) if 0 <= index < len(deals) else None

    faults = [replace(place, view=here.view) for _, place in fault_places(document) if place]
    return {
        "Home": at(0),
        "ArrowUp": seek({StepKind.TRICK, StepKind.DEAL}, back=True),
        "ArrowLeft": at(here.step - 1),
        "ArrowRight": at(here.step + 1),
        "ArrowDown": seek({StepKind.TRICK, StepKind.SCORE}),
        "End": at(last),
        "b": deal(position - 1),
        "n": deal(position + 1),
        "d": seek(DECISIONS, mine=True),
        "F": next((place for place in reversed(faults) if place.at < here.at), None),
        "f": next((place for place in faults if place.at > here.at), None),
    }


def _points(document: Document, position: int, step: Step, pips: Sequence[int]) -> tuple[Point, ...]:
    """Take the points of the engine at the score, what is known so far before it."""
    if step.kind is not StepKind.SCORE or step.deal.bidder < 0:
        return points_at(step, pips)
    stated: Mapping[str, int | None] = document["deals"][position]["points"]
    return tuple(replace(point, settled=True, side=stated[point.name.lower()]) for point in points_at(step, pips))


def _scores_before(document: Document, position: int) -> list[int]:
    for entry in reversed(document["deals"][:position]):
        if entry.get("scores"):
            return list(entry["scores"])
    return [0] * Rules.from_dict(document["rules"]).side_count


def _hand(dealt: Deal, step: Step, seat: int, open_cards: bool) -> list[CardView]:
    """Give a hand as dealt, then taken; a card that is gone keeps its place."""
    deal = step.deal
    cards = list(dealt.hands[seat])
    if seat == deal.bidder:
        cards += deal.taken
    held = set(deal.hands[seat])
    on_table = {card for _seat_of, card in step.table}
    options: set[int] = set()
    if step.seat == seat and step.kind in (StepKind.PLAY, StepKind.DISCARD, StepKind.FAULT) and deal.phase != 0:
        for action in step.legal:
            options.update(action if isinstance(action, tuple) else (action,))
    chosen = step.action if isinstance(step.action, tuple) else (step.action,)
    decided = open_cards and step.seat == seat and step.kind in (StepKind.PLAY, StepKind.DISCARD)
    views = []
    for card in cards:
        gone = "" if card in held else "discarded" if card in deal.discards else "played"
        if not (open_cards or gone == "played"):
            views.append(CardView(None, gone))
            continue
        state = "on the table" if gone and card in on_table else gone
        legal = open_cards and card in options
        views.append(CardView(TEXTS[card], state, legal, deal.trump == card // 13, decided and card in chosen))
    return views


def _link(step: Step, index: int, place: Place, times: Times) -> StepLink:
    """Make the link of a step; a view of one seat knows no later step and no hidden card."""
    mine = place.view in (None, step.seat)
    known = place.view is None or index <= place.step
    decision = step.kind in DECISIONS
    micros = times.get((place.deal, place.attempt, step.before)) if decision else None
    return StepLink(
        index=index,
        kind=str(step.kind) if known else "later step",
        seat=step.seat if known else -1,
        token=notation(step, visible=mine) if known else "",
        legal_count=len(step.legal) if decision and mine and known else None,
        act=step.before if decision else None,
        ms=None if micros is None else micros / 1000,
    )


def _legal_words(step: Step, view: int | None) -> str:
    """List what the rules allowed at a decision, for the decision panel."""
    if not step.legal or view not in (None, step.seat):
        return ""
    if isinstance(step.legal[0], tuple):
        return f"{len(step.legal)} ways to discard"
    if step.kind is StepKind.BID or step.deal.phase == 0:
        return ", ".join("pass" if not bid else str(bid) for bid in step.legal)
    return " ".join(TEXTS[card] for card in step.legal if isinstance(card, int))
