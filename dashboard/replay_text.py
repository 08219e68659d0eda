"""The words of a replay: names, how the game ended, and its text form.

The text form has two lines for each deal, to read, to copy and to parse back. A token is ``seat:bid`` (``-`` is a
pass), ``seat:card``, ``t3>1`` (seat 1 wins trick 3), ``+8S9D`` taken, ``~9D7H`` discarded, ``2!timeout-cpu`` (a fault
of seat 2). ``|`` stands before every trick and before the result.
"""

import json

from dashboard.replay_steps import Document, StepKind, notation, steps_of
from dashboard.web import number

HEADING = "# smear-replay-text/1"
POINTS = ("high", "low", "jack", "game")
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


def result_words(document: Document) -> str:
    """Say how the game ended, for titles and link previews."""
    result = document["result"]
    scores = " : ".join(number(score) for score in result["scores"])
    if result["winner"] is None:
        return f"No winner, {END_WORDS[result['end']]}, {scores}"
    return f"{side_names(document)[result['winner']]} {END_WORDS[result['end']]}, {scores}"


def to_text(document: Document) -> str:
    """Write a replay document as text."""
    lines = [HEADING]
    lines += [f"{key} {_compact(document[key])}" for key in document if key != "deals"]
    for position, entry in enumerate(document["deals"]):
        hands = " ".join(f"{seat}:{''.join(hand)}" for seat, hand in enumerate(entry["hands"]))
        place = f"deal {entry['deal']} {entry['attempt']} dealer {entry['dealer']}"
        lines += [f"{place} {hands} undealt:{''.join(entry['undealt'])}", _acts_line(document, position)]
    return "\n".join(lines) + "\n"


def _acts_line(document: Document, position: int) -> str:
    entry = document["deals"][position]
    tokens: list[str] = []
    new_trick = False
    for step in steps_of(document, position)[1:]:
        if step.kind is StepKind.SCORE:
            continue
        if step.kind is StepKind.PLAY and (new_trick or "|" not in tokens):
            tokens.append("|")
        new_trick = step.kind is StepKind.TRICK
        tokens.append(notation(step))
    if "scores" in entry:
        points = "/".join("-" if entry["points"][name] is None else str(entry["points"][name]) for name in POINTS)
        pips = "/".join(map(str, entry["card_points"]))
        tokens += ["|", f"points {points}", f"pips {pips}", f"score {'/'.join(map(str, entry['scores']))}"]
    return " ".join(tokens)


def _compact(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
