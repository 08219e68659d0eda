"""What commands share: common options, bots by path or name, the store and the sandbox, the consoles."""

from __future__ import annotations

import functools
import inspect
import json
import logging
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

import bots
from tournament import seeds
from tournament.intake import UploadRefused, read_bot
from tournament.replay import Player
from tournament.rules import GameName, High, Rules, Win
from tournament.settings import Settings
from tournament.source import BotSource
from workers.sandbox.faults import SandboxRefused, safe_text
from workers.sandbox.host import Sandbox
from workers.sandbox.plain import PlainSandbox

if TYPE_CHECKING:
    from tournament.store import Store
    from tournament.store_values import NewEntrant

logger = logging.getLogger(__name__)

BOTS: Final = "Bots"
TOURNAMENTS: Final = "Tournaments"
CONTESTS: Final = "Contests"
SERVERS: Final = "Servers"
"""The groups of the help."""


def terminal_text(text: str) -> str:
    r"""Returns foreign text with all that would steer a terminal escaped: control characters, marks that reorder.

    >>> terminal_text("\x1b[31mred\a")
    '\\x1b[31mred\\x07'
    """
    return safe_text(text, sys.maxsize)


class SafeConsole(Console):
    """A console on which names, logs and exceptions of bots steer nothing, whatever they hold; no markup in texts."""

    def __init__(self, *, stderr: bool = False) -> None:
        """Writes to standard output, or to standard error."""
        super().__init__(stderr=stderr, highlight=False, soft_wrap=True, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Renders, and escapes the texts of which that is made; Rich's own controls and styles stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=terminal_text(segment.text))


out = SafeConsole()
"""Results go to standard output."""

notes = SafeConsole(stderr=True)
"""Progress and messages go to standard error."""


class _Escaping:
    """A stream into which a bot prints in this process. It is no terminal, so that nobody colours what is escaped."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        self._stream.write(terminal_text(text))
        return len(text)

    def isatty(self) -> bool:
        return False


@contextmanager
def escaped_prints() -> Iterator[None]:
    """Escapes what is printed meanwhile by a bot that runs in this process; the debugger works."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_Escaping, before)  # all that print and pdb need
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class Refused(ValueError):
    """Wrong input to a command: one line that says what was expected; exit status 2."""


@contextmanager
def refusals(head: str = "") -> Iterator[None]:
    """Makes one line of what is said no to, with `head` before it: a `ValueError` becomes `Refused`."""
    try:
        yield
    except ValueError as error:
        raise Refused(f"{head}{error}") from None
    except RecursionError:
        raise Refused(f"{head}nested too deeply") from None


def _rules_option(kind: type, text: str, *flags: str) -> Any:
    option = typer.Option(*flags, help=text, rich_help_panel="Rules", show_default=False)
    return Annotated[kind | None, option]


_RULES_OPTIONS: Final = {
    "game": _rules_option(GameName, "Which game is played (default: cutthroat)."),
    "players": _rules_option(
        int, "Seats at the table in Cutthroat: 2 or 3 (default: 3, or 2 where only two bots meet)."
    ),
    "bidder_takes": _rules_option(int, "Undealt cards that the bidder takes in Wisconsin: 0 to 3 (default 3)."),
    "high": _rules_option(High, "Who gets High: the player of the ace of trumps, or of the highest trump played."),
    "win": _rules_option(Win, "When a side wins; docs/rules.md, part 4."),
    "cap_defenders": _rules_option(
        bool, "Wisconsin: points of defenders do not count beyond the target.", "--cap-defenders"
    ),
    "target": _rules_option(int, "Points to play to: 11 in Cutthroat, 15 in Wisconsin."),
    "deal_limit": _rules_option(int, "Deals after which a game ends without a winner (default 100)."),
    "redeal_limit": _rules_option(int, "Thrown-in deals in a row after which a game ends (default 100)."),
}


Db = Annotated[str | None, typer.Option(help="Database: an SQLite file or a PostgreSQL address.", show_default=False)]
Demands = Annotated[
    list[str] | None,
    typer.Option(help="Play no bot without this layer of the sandbox: landlock or own-uid; may be repeated."),
]
Jobs = Annotated[
    int | None, typer.Option(help="Matches side by side (default: one a core).", min=1, show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]
Save = Annotated[Path | None, typer.Option(help="Write the replay document, of several the last, to this file.")]
TournamentId = Annotated[
    int | None, typer.Argument(help="The tournament's number (default: the newest).", show_default=False)
]


class RulesOptions(dict[str, Any]):
    """The rules options that were given on the command line."""

    def make(self, bot_count: int | None = None, **more: Any) -> Rules:
        """Makes the rules; without `--players`, two bots that meet at a Cutthroat table are two players, others three.

        Raises:
            Refused: an option is not allowed.
        """
        given = {**self, **more}
        game = given.pop("game", GameName.CUTTHROAT)
        if game is GameName.CUTTHROAT and bot_count == 2:
            given.setdefault("players", 2)
        with refusals():
            return Rules.make(game, **given)

    def modes(self) -> list[Rules]:
        """Returns the rules of each of the three modes that the options leave open.

        Raises:
            Refused: an option is not allowed in one of them.
        """
        if "players" in self or self.get("game") is GameName.WISCONSIN:
            return [self.make()]
        wisconsin = [] if "game" in self else [self.make(game=GameName.WISCONSIN)]
        return [self.make(players=2), self.make(players=3), *wisconsin]


def with_rules(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of the rules; it receives them as one argument `options: RulesOptions`."""

    @functools.wraps(command)
    def wrapper(**arguments: Any) -> None:
        given = {name: arguments.pop(name) for name in _RULES_OPTIONS}
        command(options=RulesOptions({name: value for name, value in given.items() if value is not None}), **arguments)

    signature = inspect.signature(command, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "options"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _RULES_OPTIONS.items()
    ]
    wrapper.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *added)}
    return wrapper


@dataclass(frozen=True, slots=True)
class LocalBot:
    """A bot named on the command line: its name and version in the tournament, its files, whether it is the house's."""

    name: str
    version: int
    source: BotSource
    house: bool

    @property
    def text(self) -> str:
        """How match keys write it."""
        return seeds.entrant_text(self.name, self.version)

    @property
    def player(self) -> Player:
        """How replay documents name it."""
        return Player(self.name, self.version, self.source.sha256)


def house_bot(name: str) -> LocalBot:
    """Returns a house bot.

    Raises:
        Refused: there is none of that name.
    """
    if name not in bots.NAMES:
        raise Refused(f"no house bot {name!r:.60}: expected one of {', '.join(bots.NAMES)}")
    found = bots.house_bot(name)
    return LocalBot(found.name, found.version, BotSource.of_file(found.code), house=True)


def house_entrants(names: Sequence[str]) -> list[NewEntrant]:
    """Returns house bots, to be entered in a tournament.

    Raises:
        Refused: there is no house bot of one of the names.
    """
    from tournament.store_values import NewEntrant

    return [NewEntrant(each.name, each.version, each.source, 0, house=True) for each in map(house_bot, names)]


def find_bots(texts: Sequence[str]) -> list[LocalBot]:
    """Finds bots by house name or path, and gives them names and versions (replay format, Seeds).

    Raises:
        Refused: a bot is neither or may not be called so; the line says which.
        UploadRefused: the files of a bot are not allowed.
        OSError: one cannot be read.
    """
    found: list[LocalBot] = []
    for text in texts:
        if not text:
            raise Refused("a bot's name is empty: expected a path or a house bot's name")
        found.append(house_bot(text) if text in bots.NAMES else _from_path(Path(text), found))
    return found


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
    taken = [bot.version for bot in before if bot.name == name]
    if name in bots.NAMES:
        taken.append(house_bot(name).version)
    return LocalBot(name, max(taken, default=0) + 1, source, house=False)


@contextmanager
def opened(db: str | None, *, wait_s: float = 0.0) -> Iterator[Store]:
    """Opens the store that `--db` or the environment names, its tables up to date.

    What a person asks for is passed to it under `refusals`; any other `ValueError` is a mistake of ours.

    Args:
        db: what `--db` says.
        wait_s: how long a database server that starts or recovers is waited for.
    """
    from sqlalchemy.exc import OperationalError

    from tournament.store import Store

    with closing(Store(Settings.from_environment(os.environ, db).database_url)) as store:
        if wait_s and not store.is_sqlite:
            try:
                store.wait_until_ready(0)
            except OperationalError as error:
                reason = " ".join(str(error.orig).split())
                logger.warning("the database does not answer; waiting for it, %.0f s at most: %s", wait_s, reason)
                store.wait_until_ready(wait_s)
        store.migrate()
        yield store


def without_password(url: str) -> str:
    """Returns the address of a database as it may be shown."""
    from sqlalchemy import make_url

    return make_url(url).render_as_string(hide_password=True)


@contextmanager
def local_sandbox() -> Iterator[Sandbox | PlainSandbox]:
    """Gives the sandbox, or, where there is none, says so and plays bots in plain child processes.

    Only for house bots and one's own files.
    """
    with ExitStack() as stack:
        sandbox: Sandbox | PlainSandbox
        try:
            sandbox = stack.enter_context(Sandbox())
        except SandboxRefused as failure:
            say_plain(str(failure))
            sandbox = PlainSandbox()
        yield sandbox


def core_count() -> int:
    """Returns how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def say_plain(reason: str) -> None:
    """Says that bots run without the sandbox."""
    notes.print(f"Bots run in plain child processes here ({reason}): only for house bots and your own files.")


def secret_of(seed: str | None, size: int = 32) -> str:
    """Returns the secret that `--seed` gives, or `size` random bytes as hexadecimal digits.

    Raises:
        Refused: it is empty, or bytes that are no text.
    """
    return secrets.token_hex(size) if seed is None else text_of(seed, "--seed")


def text_of(argument: str, option: str) -> str:
    """Returns the text that an option gives.

    Raises:
        Refused: it is empty, or bytes that are no text.
    """
    # Bytes that are no text arrive as halves of surrogate pairs.
    if not argument or any("\ud800" <= character <= "\udfff" for character in argument):
        raise Refused(f"{option} is no text: expected one that is not empty, in UTF-8")
    return argument


Secret = Annotated[
    str | None,
    typer.Option(
        help="The tournament's secret, once it is published.",
        callback=lambda given: given if given is None else text_of(given, "--secret"),
    ),
]


def print_json(value: Any) -> None:
    """Prints one JSON value to standard output, in ASCII, so that no console can spoil it."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")
