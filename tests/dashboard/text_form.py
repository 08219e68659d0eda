"""A second reader of the text form of replays, written from its description: what is written must parse back."""

from __future__ import annotations

import json
import re
from typing import Any

from dashboard.replay_text import HEADING, POINTS

Document = dict[str, Any]
POINTS_TOKENS = ("points", "pips", "score")


def from_text(text: str) -> Document:
    """Read what `replay_text.to_text` wrote.

    Raises:
        ValueError: it is something else.
    """
    lines = text.splitlines()
    if not lines or lines[0] != HEADING:
        raise ValueError(f"expected the first line {HEADING!r}")
    document: Document = {}
    deals: list[dict[str, Any]] = []
    following = iter(lines[1:])
    for line in following:
        key, _, rest = line.partition(" ")
        if key == "deal":
            deals.append(_deal(rest, next(following, "")))
        else:
            document[key] = json.loads(rest)
    return document | {"deals": deals}


def _deal(head: str, acts: str) -> dict[str, Any]:
    words = head.split()
    cards = [_cards(word.partition(":")[2]) for word in words[4:]]
    entry: dict[str, Any] = {"deal": int(words[0]), "attempt": int(words[1]), "dealer": int(words[3])}
    entry |= {"hands": cards[:-1], "undealt": cards[-1], "bids": [], "bidder": None, "bid": None}
    entry |= {"taken": [], "discards": [], "trump": None, "tricks": []}
    tokens = acts.split()
    for place, token in enumerate(tokens):
        if token in POINTS_TOKENS:
            _result(entry, token, tokens[place + 1])
        elif token[0] in "+~":
            entry["taken" if token[0] == "+" else "discards"] = _cards(token[1:])
        elif found := re.fullmatch(r"t\d+>(\d)", token):
            entry["tricks"][-1]["winner"] = int(found[1])
        elif found := re.fullmatch(r"(\d):(..)", token):
            _play(entry, int(found[1]), found[2], len(cards) - 1)
        elif found := re.fullmatch(r"(\d):([-234])", token):
            entry["bids"].append({"seat": int(found[1]), "bid": 0 if found[2] == "-" else int(found[2])})
    _close_bidding(entry, len(cards) - 1)
    return entry


def _result(entry: dict[str, Any], name: str, values: str) -> None:
    parts = values.split("/")
    if name == "points":
        entry["points"] = {key: None if part == "-" else int(part) for key, part in zip(POINTS, parts, strict=True)}
    else:
        entry["card_points" if name == "pips" else "scores"] = [int(part) for part in parts]


def _play(entry: dict[str, Any], seat: int, card: str, players: int) -> None:
    tricks = entry["tricks"]
    if not tricks:
        entry["trump"] = card[1]
    if not tricks or len(tricks[-1]["cards"]) == players:
        tricks.append({"leader": seat, "cards": [], "winner": None})
    tricks[-1]["cards"].append(card)


def _close_bidding(entry: dict[str, Any], players: int) -> None:
    """Name the bidder once the bidding has ended: at a bid of four, or when the dealer has spoken."""
    bids = entry["bids"]
    ended = len(bids) == players or (bids and bids[-1]["bid"] == 4)
    best = max(bids, key=lambda bid: bid["bid"], default=None)
    if ended and best is not None and best["bid"]:
        entry["bidder"], entry["bid"] = best["seat"], best["bid"]


def _cards(text: str) -> list[str]:
    return [text[place : place + 2] for place in range(0, len(text), 2)]
