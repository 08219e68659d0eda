"""The names in a replay, and how the game ended, in words."""

from dashboard.replay_steps import Document
from dashboard.web import number

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
