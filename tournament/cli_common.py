"""What commands share: the options of the rules, bots by path or name, the sandbox of this machine, the consoles."""

from __future__ import annotations

import functools
import inspect
import secrets
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console

import bots
from tournament import seeds
from tournament.intake import UploadRefused, read_bot
from tournament.replay import Player
from tournament.rules import GameName, High, Rules, Win
from tournament.source import BotSource
from workers.sandbox.faults import SandboxRefused
from workers.sandbox.plain import PlainSandbox

if TYPE_CHECKING:
    from tournament.store_values import NewEntrant
    from workers.sandbox.host import Sandbox

BOTS: Final = "Bots"
TOURNAMENTS: Final = "Tournaments"
CONTESTS: Final = "Contests"
SERVERS: Final = "Servers"
"""The groups of the help."""

out = Console(highlight=False, soft_wrap=True)
"""Results go to standard output."""

notes = Console(stderr=True, highlight=False, soft_wrap=True)
"""Progress and messages go to standard error."""


class Refused(ValueError):
    """Wrong input to a command: one line that says what was expected; exit status 2."""


_RULES_OPTIONS: Final[dict[str, tuple[Any, str]]] = {
    "game": (GameName, "Which game is played."),
    "players": (int, "Seats at the table in Cutthroat: 2 or 3."),
    "bidder_takes": (int, "Undealt cards that the bidder takes in Wisconsin: 0 to 3 (default 3)."),
    "high": (High, "Who gets High: the player of the ace of trumps, or of the highest trump played."),
    "win": (Win, "When a side wins; docs/rules.md, part 4."),
    "cap_defenders": (bool, "Wisconsin: points of defenders do not count beyond the target."),
    "target": (int, "Points to play to: 11 in Cutthroat, 15 in Wisconsin."),
    "deal_limit": (int, "Deals after which a game ends without a winner (default 100)."),
    "redeal_limit": (int, "Thrown-in deals in a row after which a game ends (default 100)."),
}


Demands = Annotated[
    list[str] | None,
    typer.Option(help="Play no bot without this layer of the sandbox: landlock or own-uid; may be repeated."),
]


class RulesOptions(dict[str, Any]):
    """The rules options that were given on the command line."""

    def make(self, bot_count: int | None = None) -> Rules:
        """Makes the rules; without `--players`, `bot_count` bots at a Cutthroat table are so many players.

        Raises:
            Refused: an option is not allowed.
        """
        given = dict(self)
        game = given.pop("game", GameName.CUTTHROAT)
        if game is GameName.CUTTHROAT and bot_count in (2, 3):
            given.setdefault("players", bot_count)
        try:
            return Rules.make(game, **given)
        except ValueError as error:
            raise Refused(str(error)) from None


def with_rules(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of the rules; it receives them as one argument `options: RulesOptions`."""

    @functools.wraps(command)
    def wrapper(**arguments: Any) -> None:
        given = {name: arguments.pop(name) for name in _RULES_OPTIONS}
        command(options=RulesOptions({name: value for name, value in given.items() if value is not None}), **arguments)

    signature = inspect.signature(command, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "options"]
    added = []
    for name, (kind, text) in _RULES_OPTIONS.items():
        flag = "--cap-defenders" if kind is bool else f"--{name.replace('_', '-')}"
        option = typer.Option(flag, help=text, rich_help_panel="Rules", show_default=False)
        annotation = Annotated[kind | None, option]  # type: ignore[valid-type]  # a type made while running
        added.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    wrapper.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *added)}
    return wrapper


@dataclass(frozen=True, slots=True)
class LocalBot:
    """A bot named on the command line.

    Attributes:
        name: its name in the tournament.
        version: its version there.
        source: its files.
        house: whether it is a house bot.
        path: where it came from; None for a house bot.
    """

    name: str
    version: int
    source: BotSource
    house: bool
    path: Path | None

    @property
    def text(self) -> str:
        """How match keys write it."""
        return seeds.entrant_text(self.name, self.version)

    @property
    def player(self) -> Player:
        """How replay documents name it."""
        return Player(self.name, self.version, self.source.sha256)


def find_bots(texts: Sequence[str]) -> list[LocalBot]:
    """Finds bots by house name or path, and gives them names and versions (replay format, Seeds).

    Raises:
        Refused: a bot is neither, cannot be read or may not be called so; the line says which.
        UploadRefused: the files of a bot are not allowed.
    """
    found: list[LocalBot] = []
    for text in texts:
        if text in bots.NAMES and not Path(text).suffix:
            house = bots.house_bot(text)
            found.append(LocalBot(house.name, house.version, BotSource.of_file(house.code), house=True, path=None))
        else:
            if not text:
                raise Refused("a bot's name is empty: expected a path or a house bot's name")
            found.append(_from_path(Path(text), found))
    return found


def house_entrants(names: Sequence[str]) -> list[NewEntrant]:
    """Returns house bots, to be entered in a tournament.

    Raises:
        Refused: there is no house bot of one of the names.
    """
    from tournament.store_values import NewEntrant

    unknown = [name for name in names if name not in bots.NAMES]
    if unknown:
        raise Refused(f"no house bot {unknown[0]!r:.60}: expected one of {', '.join(bots.NAMES)}")
    found = [bots.house_bot(name) for name in names]
    return [NewEntrant(each.name, each.version, BotSource.of_file(each.code), 0, house=True) for each in found]


def _from_path(path: Path, before: Sequence[LocalBot]) -> LocalBot:
    if not path.exists():
        raise Refused(f"no bot {path}: expected a file, a folder, a zip or one of {', '.join(bots.NAMES)}")
    name = (path.resolve().name if path.is_dir() else path.stem).lower()
    if not seeds.BOT_NAME.fullmatch(name):
        raise Refused(
            f"{path}: {name!r} is no bot name: expected at most 39 of a-z, 0-9, - and _, a letter or digit first; "
            "rename the file"
        )
    try:
        source = read_bot(path)
    except UploadRefused as refused:
        raise UploadRefused(f"{path.name}: {reason}" for reason in refused.reasons) from None
    except OSError as error:
        raise Refused(f"{path}: cannot be read: {error.strerror}") from None
    taken = [bot.version for bot in before if bot.name == name]
    if name in bots.NAMES:
        taken.append(bots.house_bot(name).version)
    return LocalBot(name, max(taken, default=0) + 1, source, house=False, path=path)


def local_sandbox() -> Sandbox | PlainSandbox:
    """Starts the sandbox, or, where there is none, says so and plays bots in plain child processes.

    Only for house bots and one's own files.
    """
    sandbox, reason = start_sandbox()
    if reason:
        say_plain(reason)
    return sandbox


def start_sandbox() -> tuple[Sandbox | PlainSandbox, str]:
    """Starts the sandbox; where that cannot be, the plain one, with the reason."""
    try:
        from workers.sandbox.host import Sandbox
    except ImportError as error:  # a module of Unix is missing: this is another system
        return PlainSandbox().start(), f"uploaded bots run on Linux only; no {error.name} here"
    try:
        return Sandbox().start(), ""
    except SandboxRefused as failure:
        return PlainSandbox().start(), str(failure)


def say_plain(reason: str) -> None:
    """Says that bots run without the sandbox."""
    notes.print(
        f"Bots run in plain child processes here ({reason}): only for house bots and your own files.", markup=False
    )


def secret_of(seed: str | None) -> str:
    """Returns the secret that `--seed` gives, or 32 random bytes as 64 digits.

    Raises:
        Refused: it is empty, or bytes that are no text.
    """
    if seed is None:
        return secrets.token_hex(32)
    if not seed or not is_text(seed):
        raise Refused("--seed is no text: expected one that is not empty, in UTF-8")
    return seed


def is_text(argument: str) -> bool:
    """Returns whether the bytes of an argument were text: others arrive as halves of surrogate pairs."""
    return not any("\ud800" <= character <= "\udfff" for character in argument)


def print_json(value: Any) -> None:
    """Prints one JSON value to standard output, in ASCII, so that no console can spoil it."""
    import json

    sys.stdout.write(json.dumps(value) + "\n")
