"""Steps, contracts and points of a replay in sentences, for readers and screen readers alike."""

from collections.abc import Sequence

from dashboard.replay_steps import Document, Place, Point, Step, StepKind
from dashboard.web import FAULT_WORDS, SUIT_WORDS, card_words, number, signed
from tournament.cards import PIPS, TEXTS
from tournament.rules import GameName

END_WORDS = {
    "target": "won by reaching the target",
    "bid_of_four": "won with a made bid of four",
    "deal_limit": "stopped by the limit of deals",
    "redeal_limit": "stopped by the limit of deals thrown in",
    "forfeit": "won by forfeit",
}


def bot_names(document: Document) -> list[str]:
    """Give the bot's name and version for every seat."""
    return [f"{player['bot']} v{player['version']}" for player in document["players"]]


def side_names(document: Document) -> tuple[str, ...]:
    """Name the sides: the partnerships by letter, a side of one seat by its number."""
    names = bot_names(document)
    if len(names) == 4:
        return (f"A: {names[0]}", f"B: {names[1]}")
    return tuple(f"{seat}: {name}" for seat, name in enumerate(names))


def _who(document: Document, seat: int) -> str:
    return f"{bot_names(document)[seat]} in seat {seat}"


def sentence(document: Document, step: Step, place: Place, before: Sequence[int], after: Sequence[int] | None) -> str:
    """Say what happens at a step."""
    deal = step.deal
    seen = place.view in (None, step.seat)
    if step.kind is StepKind.DEAL:
        again = f", attempt {place.attempt}" if place.attempt > 1 else ""
        return f"Deal {place.deal}{again}: {_who(document, step.seat)} deals."
    if step.kind is StepKind.SCORE:
        return _score_words(document, step, before, after)
    who = _who(document, step.seat)
    if step.kind is StepKind.FAULT:
        ends = deal.rules.side_count == 2 or len(step.house) > 1
        what = "The game is forfeit." if ends else "The house plays on for it."
        return f"{who} {FAULT_WORDS.get(step.fault or '', step.fault)}. {what}"
    if step.kind is StepKind.BID:
        return f"{who} bids {step.action}." if step.action else f"{who} passes."
    if step.kind in (StepKind.TAKE, StepKind.DISCARD):
        cards = step.action if isinstance(step.action, tuple) else ()
        verb = "takes" if step.kind is StepKind.TAKE else "discards"
        named = "the " + ", the ".join(card_words(TEXTS[card]) for card in cards)
        return f"{who} {verb} {named if seen else f'{len(cards)} cards'}."
    if step.kind is StepKind.TRICK:
        trick = deal.tricks[step.tricks - 1]
        best = trick.cards[(step.seat - trick.leader) % deal.rules.players]
        pips = sum(PIPS[card] for card in trick.cards)
        return (
            f"{who} wins trick {step.tricks} with the {card_words(TEXTS[best])}: {pips} pip{'s' if pips != 1 else ''}."
        )
    assert isinstance(step.action, int)
    card = TEXTS[step.action]
    verb = "leads" if len(step.table) == 1 else "plays"
    trumps = f": {SUIT_WORDS[card[1]]} are trumps" if len(step.table) == 1 and step.tricks == 0 else ""
    house = " (the house plays)" if step.seat in step.house else ""
    return f"{who}{house} {verb} the {card_words(card)}{trumps}."


def _score_words(document: Document, step: Step, before: Sequence[int], after: Sequence[int] | None) -> str:
    """Say what the deal brought to every side."""
    deal = step.deal
    if deal.bidder < 0 or after is None:
        return f"Everybody passed: the cards are thrown in and {_who(document, deal.dealer)} deals again."
    names = side_names(document)
    bidding = deal.rules.side_of(deal.bidder)
    changes = [new - old for new, old in zip(after, before, strict=True)]
    verdict = f"made it: {signed(changes[bidding])}" if deal.made else f"failed: {signed(changes[bidding])}"
    others = [f"{names[side]} {signed(change)}" for side, change in enumerate(changes) if side != bidding]
    return f"{_who(document, deal.bidder)} bid {deal.bid} and {verdict}; {', '.join(others)}."


def needs_words(step: Step, points: Sequence[Point]) -> str:
    """Say what the contract still needs."""
    deal = step.deal
    if deal.bidder < 0 or deal.phase == 0:
        return ""
    if step.kind is StepKind.SCORE:
        won = deal.won[deal.rules.side_of(deal.bidder)]
        return f"{'Made' if deal.made else 'Failed'}: {won} won, {deal.bid} bid."
    side = deal.rules.side_of(deal.bidder)
    secured = [point.name for point in points if point.settled and point.side == side]
    still_open = [point.name for point in points if not point.settled]
    missing = deal.bid - len(secured)
    if missing <= 0:
        return f"Made: {', '.join(secured)} are in."
    if missing > len(still_open):
        return f"Cannot be made any more: {missing} needed, {len(still_open)} open."
    return f"Needs {missing}{' more' if secured else ''} of {', '.join(still_open)}."


def point_words(document: Document, step: Step, point: Point) -> str:
    """Say where one of the four points stands."""
    final = step.kind is StepKind.SCORE
    if point.side is None:
        return _nobody(step, point.name) if final else "open"
    side = side_names(document)[point.side]
    words = side if point.settled else f"{side} so far"
    if point.card is not None:
        words += f", {card_words(TEXTS[point.card])} in trick {point.trick}"
    return words


def _nobody(step: Step, name: str) -> str:
    """Say why nobody has the point."""
    if step.deal.bidder < 0:
        return "nobody: thrown in"
    if name == "Game":
        return "nobody: a tie"
    card = {"High": "ace", "Low": "seven", "Jack": "jack"}[name]
    if name == "Low" and step.deal.rules.game is GameName.CUTTHROAT:
        return "nobody"
    return f"nobody: the {card} of trumps was not played"


def result_words(document: Document) -> str:
    """Say how the game ended, for titles and link previews."""
    result = document["result"]
    scores = " : ".join(number(score) for score in result["scores"])
    if result["winner"] is None:
        return f"No winner, {END_WORDS[result['end']]}, {scores}"
    return f"{side_names(document)[result['winner']]} {END_WORDS[result['end']]}, {scores}"
