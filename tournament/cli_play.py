"""The commands that show a game in the terminal: play, replay."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import typer
from rich.highlighter import RegexHighlighter

from tournament import seeds, verify
from tournament.cli_common import (
    BOTS,
    LocalBot,
    Refused,
    RulesOptions,
    Save,
    escaped_prints,
    find_bots,
    local_sandbox,
    notes,
    out,
    refusals,
    secret_of,
    with_rules,
)
from tournament.deal import Points
from tournament.game import Game, acts_in
from tournament.play import play_game
from tournament.replay import ReplayError, document, to_line
from tournament.rules import Limits, Rules
from tournament.wire import MatchTask
from tournament.wording import counted
from workers.referee import Referee, SeatedBot

app = typer.Typer()

Prints = dict[tuple[int, int, int], list[tuple[int, str]]]
"""What bots printed: (deal, attempt, act) to the seat and its text."""

_SUIT_SIGNS: Final = {"C": "♣", "D": "♦", "H": "♥", "S": "♠"}


class _Suits(RegexHighlighter):
    """Colours cards, whose suits are signs or letters."""

    highlights: ClassVar = [
        rf"(?P<{style}>\b[0-9AKQJ]+{suits})"
        for style, suits in {"green": "[C♣]", "blue": "[D♦]", "red": "[H♥]", "bold": "[S♠]"}.items()
    ]


@app.command(rich_help_panel=BOTS)
@with_rules
def play(
    bots: Annotated[list[str], typer.Argument(help="Two or three bots, by path or house name, in seat order.")],
    options: RulesOptions,
    seed: Annotated[str | None, typer.Option(help="The seed text; else random, and said.")] = None,
    debug: Annotated[bool, typer.Option(help="All in one process, so that breakpoint() works.")] = False,
    save: Save = None,
) -> None:
    """Play one game and show it act by act, with what the bots print."""
    found = find_bots(bots)
    secret = secret_of(seed, size=4)
    task = _one_game(found, options.make(len(found)), secret)
    if seed is None:
        notes.print(f"seed {secret}: repeat this game with --seed {secret}")
    written, prints, errors = _play_in_process(found, task, secret) if debug else _play_sandboxed(found, task)
    if save is not None:
        save.write_text(to_line(written), encoding="utf-8", newline="\n")
    _Shown(written, prints).print()
    for error in errors:
        out.print(error, style="red")


def _one_game(found: list[LocalBot], rules: Rules, secret: str) -> MatchTask:
    """Makes the task of the one game in which the bots sit in the given order; partners and free seats repeat it."""
    if not 2 <= len(found) <= rules.side_count:
        raise Refused(f"bots: {len(found)}, expected 2{'' if rules.side_count == 2 else ' or 3'} for {rules.mode}")
    players = tuple(sorted({bot.text: bot.player for bot in found}.values(), key=lambda player: player.text))
    wanted = [next(place for place, player in enumerate(players) if player.text == bot.text) for bot in found]
    wanted += [wanted[-1]] * (rules.side_count - len(wanted))
    seats = tuple(wanted[rules.side_of(seat)] for seat in range(rules.players))
    number = seeds.seatings(rules, len(players)).index(seats) + 1
    key = seeds.match_key(rules, [player.text for player in players], 1)
    return MatchTask.of(secret, key, rules, Limits(), players, seatings=(number,))


def _play_sandboxed(found: list[LocalBot], task: MatchTask) -> tuple[dict[str, Any], Prints, list[str]]:
    prints: Prints = defaultdict(list)
    heard: dict[int, int] = defaultdict(int)

    def listen(game: Game, seat: int, bot: SeatedBot) -> None:
        log = bot.log()
        if len(log) > heard[seat]:
            prints[_now(game)].append((seat, log[heard[seat] :]))
            heard[seat] = len(log)

    with local_sandbox() as sandbox:
        sources = {bot.source.sha256: bot.source for bot in found}
        (result,) = Referee(sandbox, sources, watcher=listen).play_match(task)
    faults = tuple(report.fault for report in result.reports)
    errors = [
        f"seat {report.fault.seat} {report.fault.kind}: {report.message}\n{report.traceback}".rstrip()
        for report in result.reports
    ]
    return document(task.record(result.seating, result.acts, faults)), prints, errors


def _now(game: Game) -> tuple[int, int, int]:
    """Returns deal and attempt that the last question belongs to, and how many acts had been made after it."""
    if not game.dealt:
        return 1, 1, 0
    last = game.dealt[-1]
    faulted = any((fault.deal, fault.attempt, fault.act) == (last.number, last.attempt, 0) for fault in game.faults)
    if len(game.dealt) > 1 and not acts_in(last.deal) and not faulted:
        last = game.dealt[-2]  # the answer ended a deal, and the next one lies there already
    return last.number, last.attempt, acts_in(last.deal)


def _play_in_process(found: list[LocalBot], task: MatchTask, secret: str) -> tuple[dict[str, Any], Prints, list[str]]:
    sources = {bot.text: bot.source for bot in found}
    texts = [task.players[position].text for position in task.seats(task.bot_seeds[0][0])]
    with escaped_prints():
        played = play_game([sources[text] for text in texts], task.rules, secret, names=texts)
    errors = [
        f"seat {fault.seat} {fault.kind}: {error}".rstrip()
        for fault, error in zip(played.record.faults, played.errors, strict=True)
    ]
    return played.document(), {}, errors


@app.command(rich_help_panel=BOTS)
def replay(
    file: Annotated[Path, typer.Argument(help="A replay document, or several, one a line.")],
    deal: Annotated[int | None, typer.Option(help="Show only this deal, thrown-in ones in full.")] = None,
    game: Annotated[int, typer.Option(help="Which document of the file, from 1.")] = 1,
) -> None:
    """Show a game in the terminal, act by act."""
    with refusals(f"{file}: not shown: "):
        written = verify.parse(_document_text(file.read_bytes(), game))
        verify.check_document(written)
    if deal is not None and deal not in {each["deal"] for each in written["deals"]}:
        last = max((each["deal"] for each in written["deals"]), default=0)
        raise Refused(f"--deal {deal}: expected 1 to {last}" if last else "--deal: the game ended before a deal")
    _Shown(written, {}).print(deal)


def _document_text(text: bytes, game: int) -> bytes:
    lines = [line for line in text.split(b"\n") if line.strip()]
    if not lines:
        raise ReplayError("empty, expected a replay document")
    if lines[0].strip() == b"{" or len(lines) == 1:
        lines = [text]
    if not 1 <= game <= len(lines):
        raise ReplayError(f"--game {game}: expected 1 to {len(lines)}")
    return lines[game - 1]


class _Shown:
    """A checked replay document as it is shown: before each act stands its place, as `reproduce --at` takes it."""

    def __init__(self, written: dict[str, Any], prints: Prints) -> None:
        self._written = written
        self._prints = prints
        self._rules = Rules.from_dict(written["rules"])
        self._names = [f"{player['bot']}:{player['version']}" for player in written["players"]]
        self._width = max(map(len, self._names))
        self._signs = _SUIT_SIGNS if _can_print("".join(_SUIT_SIGNS.values())) else {}

    def print(self, only: int | None = None) -> None:
        """Prints the game, or one deal of it; thrown-in deals are counted unless they are asked for or have prints."""
        written, rules = self._written, self._rules
        out.print(f"{rules.mode} to {rules.target}, match {written['match']['key']}", style="bold")
        for seat, name in enumerate(self._names):
            out.print(f"  seat {seat}  {name}")
        out.print("Before each act stands its place, for `tournament reproduce GAME.json --at`.", style="dim")
        thrown_in = 0
        for deal in written["deals"]:
            if only not in (None, deal["deal"]):
                continue
            if only is None and _is_thrown_in(deal, rules) and not self._has_prints(deal):
                thrown_in += 1
                continue
            self._count(thrown_in)
            thrown_in = 0
            self._deal(deal)
        self._count(thrown_in)
        self._end()

    def _count(self, thrown_in: int) -> None:
        if thrown_in:
            out.print(
                f"\n{counted(thrown_in, 'deal')} thrown in: everybody passed (`tournament replay --deal` shows them)"
            )

    def _has_prints(self, deal: dict[str, Any]) -> bool:
        return any(place[:2] == (deal["deal"], deal["attempt"]) for place in self._prints)

    def _end(self) -> None:
        result = self._written["result"]
        for fault in filter(None, (result["fault"], result["second_fault"])):
            where = "at load" if fault["act"] < 0 else f"at {_place(fault)}:{fault['act']}"
            out.print(
                f"Fault: {self._names[fault['seat']]} (seat {fault['seat']}): {fault['kind']} {where}", style="red"
            )
        winner = "nobody wins" if result["winner"] is None else f"{self._side(result['winner'])} wins"
        scores = ", ".join(f"{self._side(side)} {score}" for side, score in enumerate(result["scores"]))
        out.print(f"End: {result['end']}: {winner}. Scores: {scores}. Places: {result['places']}", style="bold")

    def _deal(self, deal: dict[str, Any]) -> None:
        attempt = f", attempt {deal['attempt']}" if deal["attempt"] > 1 else ""
        out.print(
            f"\nDeal {deal['deal']}{attempt}: {self._names[deal['dealer']]} (seat {deal['dealer']}) deals", style="bold"
        )
        for seat, hand in enumerate(deal["hands"]):
            out.print(_Suits()(f"{'':<14}{self._who(seat)}{self._cards(hand)}"))
        act = 0
        self._say(deal, act)
        for bid in deal["bids"]:
            said = f"bids {bid['bid']}" if bid["bid"] else "passes"
            act = self._act(deal, act, self._who(bid["seat"]) + said)
        if deal["discards"]:
            taken, discards = self._cards(deal["taken"]), self._cards(deal["discards"])
            act = self._act(deal, act, f"{self._who(deal['bidder'])}takes {taken}, discards {discards}")
        for number, trick in enumerate(deal["tricks"], start=1):
            seats = [(trick["leader"] + place) % self._rules.players for place in range(len(trick["cards"]))]
            cards = " ".join(f"{seat}:{self._cards([card])}" for seat, card in zip(seats, trick["cards"], strict=True))
            winner = trick["winner"]
            won = "" if winner is None else f" → {winner} {self._names[winner]}"
            act = self._act(deal, act, f"trick {number}  {cards}{won}", len(seats))
        if _is_thrown_in(deal, self._rules):
            out.print("  thrown in")
        elif "scores" not in deal:
            out.print("  cut off here")
        else:
            points = "  ".join(
                f"{name.title()} {'–' if (side := deal['points'][name]) is None else self._side(side)}"
                for name in Points._fields
            )
            out.print(f"  {points}  (card points {' '.join(map(str, deal['card_points']))})")
            out.print(f"  scores {' '.join(map(str, deal['scores']))}")

    def _act(self, deal: dict[str, Any], act: int, line: str, count: int = 1) -> int:
        """Prints a line of `count` acts from number `act` on, and what was printed at them; returns the next number."""
        last = f"-{act + count - 1}" if count > 1 else ""
        out.print(_Suits()(f"  {f'{_place(deal)}:{act}{last}':<10}  {line}"))
        for after in range(act + 1, act + count + 1):
            self._say(deal, after)
        return act + count

    def _say(self, deal: dict[str, Any], act: int) -> None:
        """Prints what bots printed when so many acts of a deal had been made."""
        for seat, text in self._prints.get((deal["deal"], deal["attempt"], act), ()):
            for line in text.rstrip("\n").splitlines():
                out.print(f"{'':<16}{self._names[seat]} (seat {seat}) | {line}", style="dim")

    def _who(self, seat: int) -> str:
        return f"{seat} {self._names[seat]:<{self._width}}  "

    def _side(self, side: int) -> str:
        name = self._names[side]
        if self._rules.players == 4:
            return f"{name} (seats {side} and {side + 2})"
        return name if self._names.count(name) == 1 else f"{name} (seat {side})"

    def _cards(self, cards: list[str]) -> str:
        return " ".join(card[0].replace("T", "10") + self._signs.get(card[1], card[1]) for card in cards)


def _place(deal: dict[str, Any]) -> str:
    """Returns a deal as `reproduce --at` has it, without the attempt where that is the first."""
    return f"{deal['deal']}" + (f"/{deal['attempt']}" if deal["attempt"] > 1 else "")


def _is_thrown_in(deal: dict[str, Any], rules: Rules) -> bool:
    return deal["bidder"] is None and len(deal["bids"]) == rules.players


def _can_print(text: str) -> bool:
    try:
        text.encode(out.encoding)
    except UnicodeEncodeError:
        return False
    return True
