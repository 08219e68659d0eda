"""What a reader sees at one step of a game: the table, the contract, the points, the strip of all steps.

The view is made for one seat or for all hands. Cards that the chosen seat could not know are not part of the view at
all, so that they cannot be in the markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from dashboard.replay_jumps import Jump, Place, deal_position, jumps_of
from dashboard.replay_steps import (
    DECISIONS,
    Document,
    Point,
    Step,
    StepKind,
    faults_of,
    notation,
    pips_at,
    points_at,
    steps_of,
)
from dashboard.replay_words import bot_names, needs_words, point_words, sentence, side_names
from tournament.cards import PIPS, TEXTS
from tournament.rules import Rules, Win

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tournament.deal import Deal, Trick

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
class SeatView:
    """One seat at the table."""

    seat: int
    name: str
    side: str
    position: str
    cards: tuple[CardView, ...]
    dealer: bool
    to_act: bool
    acted: bool
    house: bool
    bid: str


@dataclass(frozen=True, slots=True)
class TableCard:
    """A card on the table and who played it; the first was led."""

    seat: int
    position: str
    card: CardView
    wins: bool


@dataclass(frozen=True, slots=True)
class TrickView:
    """A complete trick."""

    plays: tuple[tuple[int, str], ...]
    winner: int
    pips: int


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
    warning: bool
    ms: float | None


@dataclass(frozen=True, slots=True)
class DealLink:
    """A deal of the game; score after it per side, empty while unknown."""

    deal: int
    attempt: int
    scores: tuple[int, ...]
    bid: str
    faulty: bool


@dataclass(frozen=True, slots=True)
class GameView:
    """Everything that the replay template shows of one step."""

    place: Place
    last_step: int
    players: int
    sentence: str
    seats: tuple[SeatView, ...]
    table: tuple[TableCard, ...]
    trump: str | None
    led: str | None
    undealt: tuple[str, ...]
    taken: tuple[str, ...]
    discards: tuple[str, ...]
    contract: str
    needs: str
    points: tuple[Point, ...]
    sides: tuple[str, ...]
    pips: tuple[int, ...]
    scores: tuple[int, ...]
    tricks: tuple[TrickView, ...]
    strip: tuple[StepLink, ...]
    deals: tuple[DealLink, ...]
    jumps: tuple[Jump, ...]
    legal_words: str
    must_bid: tuple[str, ...]
    target: int


def game_view(document: Document, place: Place, times: Times = NO_TIMES) -> GameView | None:
    """Make the view of a place; a step out of range is clamped, an unknown deal gives None."""
    position = deal_position(document, place.deal, place.attempt)
    if position is None:
        return None
    steps = steps_of(document, position)
    place = replace(place, step=max(0, min(place.step, len(steps) - 1)))
    step = steps[place.step]
    rules = step.deal.rules
    open_cards = place.view is None
    knows_discards = open_cards or place.view == step.deal.bidder
    pips = pips_at(step, knows_discards)
    points = _points(document, position, step, pips)
    before = _scores_before(document, position)
    after = document["deals"][position].get("scores") if step.kind is StepKind.SCORE else None
    sides = side_names(document)
    faulty = {(fault["deal"], fault["attempt"]) for fault in faults_of(document)}
    return GameView(
        place=place,
        last_step=len(steps) - 1,
        players=rules.players,
        sentence=sentence(document, step, place, before, after),
        seats=tuple(_seat(document, steps, place, offset) for offset in range(rules.players)),
        table=tuple(
            TableCard(
                seat,
                POSITIONS[rules.players][(seat - (place.view or 0)) % rules.players],
                CardView(TEXTS[card], trump=step.deal.trump == card // 13),
                wins=step.kind is StepKind.TRICK and seat == step.seat,
            )
            for seat, card in step.table
        ),
        trump="CDHS"[step.deal.trump] if step.deal.trump >= 0 else None,
        led="CDHS"[step.table[0][1] // 13] if step.table else None,
        undealt=tuple(TEXTS[card] for card in step.deal.undealt) if open_cards else (),
        taken=tuple(TEXTS[card] for card in step.deal.taken) if knows_discards else (),
        discards=tuple(TEXTS[card] for card in step.deal.discards) if knows_discards else (),
        contract=_contract(document, step),
        needs=needs_words(step, points),
        points=tuple(replace(point, words=point_words(document, step, point)) for point in points),
        sides=sides,
        pips=tuple(pips),
        scores=tuple(after or before),
        tricks=tuple(_trick(trick) for trick in step.deal.tricks[: step.tricks]),
        strip=tuple(_link(each, index, place, times) for index, each in enumerate(steps)),
        deals=tuple(
            DealLink(
                entry["deal"],
                entry["attempt"],
                tuple(entry.get("scores", ())),
                "" if entry["bidder"] is None else f"{entry['bidder']}:{entry['bid']}",
                (entry["deal"], entry["attempt"]) in faulty,
            )
            for entry in document["deals"]
        ),
        jumps=jumps_of(document, position, steps, place),
        legal_words=_legal_words(step, place.view),
        must_bid=tuple(
            sides[side] for side, score in enumerate(before) if score >= rules.target and rules.win is Win.BID_AT_TARGET
        ),
        target=rules.target,
    )


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


def _seat(document: Document, steps: Sequence[Step], place: Place, offset: int) -> SeatView:
    step = steps[place.step]
    deal = step.deal
    players = deal.rules.players
    south = place.view or 0
    seat = (south + offset) % players
    open_cards = place.view in (None, seat)
    following = next((later for later in steps[place.step + 1 :] if later.kind in DECISIONS), None)
    spoken = {(deal.dealer + 1 + turn) % players: bid for turn, bid in enumerate(deal.bids)}
    return SeatView(
        seat=seat,
        name=bot_names(document)[seat],
        side="AB"[seat % 2] if players == 4 else "",
        position=POSITIONS[players][offset],
        cards=tuple(_hand(steps[0].deal, step, seat, open_cards)),
        dealer=seat == deal.dealer,
        to_act=following is not None and following.seat == seat and step.kind is not StepKind.SCORE,
        acted=step.kind in DECISIONS and step.seat == seat,
        house=seat in step.house,
        bid=("pass" if not spoken[seat] else str(spoken[seat])) if seat in spoken else "",
    )


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


def _trick(trick: Trick) -> TrickView:
    plays = (((trick.leader + offset) % len(trick.cards), TEXTS[card]) for offset, card in enumerate(trick.cards))
    return TrickView(tuple(plays), trick.winner, sum(PIPS[card] for card in trick.cards))


def _contract(document: Document, step: Step) -> str:
    deal = step.deal
    if deal.bidder < 0:
        return "nobody has bid" if not deal.over else "thrown in: everybody passed"
    name = bot_names(document)[deal.bidder]
    return f"{name} in seat {deal.bidder} {'bids' if deal.phase == 0 else 'bid'} {deal.bid}"


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
        warning=step.kind is StepKind.FAULT and known,
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
