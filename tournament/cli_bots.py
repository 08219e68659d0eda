"""The commands for bot writers: new, check, play, replay, verify."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.text import Text

import bots
from tournament import seeds, verify
from tournament.adapter import BotError, SeatAdapter
from tournament.cli_common import (
    BOTS,
    LocalBot,
    Refused,
    RulesOptions,
    find_bots,
    is_text,
    local_sandbox,
    notes,
    out,
    print_json,
    secret_of,
    with_rules,
)
from tournament.deal import Points
from tournament.decision import Decision, decision_at, decision_from, is_decision
from tournament.game import Game, acts_in
from tournament.intake import UploadRefused
from tournament.kit import starter_bot, write_kit
from tournament.observation import VIEW_FIELDS
from tournament.play import PASSES_THROUGH, play_game
from tournament.replay import Player, ReplayError, document, record_of, to_line
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from tournament.wire import MatchTask
from workers.check import CheckResult, check_bot
from workers.referee import Referee, SeatedBot

app = typer.Typer()

Notes = dict[tuple[int, int, int], list[tuple[int, str]]]
"""What bots printed: (deal, attempt, act) to the seat and its text."""

_SUIT_STYLES = {"C": "green", "D": "blue", "H": "red", "S": "bold"}
_SUIT_SIGNS = {"C": "♣", "D": "♦", "H": "♥", "S": "♠"}


@app.command(rich_help_panel=BOTS)
@with_rules
def new(
    options: RulesOptions,
    file: Annotated[Path | None, typer.Argument(help="The file to write, like my_bot.py.", show_default=False)] = None,
    kit: Annotated[Path | None, typer.Option(help="Write a folder instead: bot, test, options, guide.")] = None,
) -> None:
    """Write a commented bot to start from."""
    if (file is None) == (kit is None):
        raise Refused("new: expected a file to write, like my_bot.py, or --kit and a folder")
    target = kit or file
    assert target is not None
    if target.exists():
        raise Refused(f"{target}: is there already; nothing was written")
    if kit is not None:
        write_kit(kit, options.make(), Limits())
        out.print(f"Wrote {kit}; its README.md says what to do first.", markup=False)
        return
    if target.suffix != ".py" or not seeds.BOT_NAME.fullmatch(target.stem.lower()):
        raise Refused(f"{target.name}: expected a name like my_bot.py: a-z, 0-9, - and _, at most 39 of them")
    try:
        target.write_text(starter_bot(), encoding="utf-8")
    except OSError as error:
        raise Refused(f"{target}: cannot be written: {error.strerror}") from None
    out.print(f"Wrote {target}. Try: tournament check {target}, then: tournament play {target} simple", markup=False)


@app.command(rich_help_panel=BOTS)
@with_rules
def check(
    bot: Annotated[str, typer.Argument(help="A bot: a file, folder, zip, or a house bot's name.")],
    options: RulesOptions,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON value.")] = False,
    seed: Annotated[str | None, typer.Option(help="The probe's seed text; else random.")] = None,
    save: Annotated[Path | None, typer.Option(help="Write the probe's replay document to this file.")] = None,
) -> None:
    """Load a bot, play a probe, and say what is wrong on which line."""
    rules = options.make()
    try:
        (candidate,) = find_bots([bot])
    except UploadRefused as refused:
        if json:
            print_json(CheckResult.refused(str(refused)).to_dict())
        else:
            for reason in refused.reasons:
                out.print(reason, style="red", markup=False)
            out.print("Not accepted: the upload checks refuse it.")
        raise typer.Exit(1) from None
    opponent = bots.house_bot("simple")
    house = Player(opponent.name, opponent.version, BotSource.of_file(opponent.code).sha256)
    if candidate.player.text == house.text:
        opponent = bots.house_bot("random")
        house = Player(opponent.name, opponent.version, BotSource.of_file(opponent.code).sha256)
    with closing(local_sandbox()) as sandbox:
        found = check_bot(
            (candidate.player, candidate.source),
            (house, BotSource.of_file(opponent.code)),
            [(rules, Limits())],
            sandbox,
            secret_of(seed),
        )
    if save is not None and found.documents:
        save.write_text(to_line(found.documents[-1]), encoding="utf-8", newline="\n")
    if json:
        print_json(found.to_dict())
    else:
        _print_check(candidate, found, bot if save is None else None)
    raise typer.Exit(0 if found.accepted else 1)


def _print_check(candidate: LocalBot, found: CheckResult, bot: str | None) -> None:
    if found.log:
        out.print("It printed:", style="bold")
        out.print(found.log.rstrip(), markup=False)
    if found.report is not None:
        where = "" if found.line is None else f" line {found.line}:"
        out.print(f"[red]{candidate.name}:{where} {found.report.fault.kind}:[/red] {escape(found.report.message)}")
        if found.report.traceback:
            out.print(found.report.traceback.rstrip(), markup=False)
        if found.report.fault.act < 0:
            out.print("Not accepted: it could not be loaded.")
            return
        fault = found.report.fault
        out.print(f"Not accepted: a fault stopped the probe in deal {fault.deal}/{fault.attempt}, act {fault.act}.")
        if bot is not None:
            out.print(f"To go there: tournament check {bot} --save probe.json", markup=False)
            out.print(f"        then: tournament reproduce probe.json --bot {bot}", markup=False)
    else:
        out.print(f"[green]Accepted:[/green] {candidate.name} loads and plays.")
    memory = "not known here" if found.memory_bytes is None else f"{found.memory_bytes / 2**20:.0f} MiB"
    out.print(f"Slowest decision {found.slowest_cpu_s * 1000:.1f} ms of CPU; memory {memory}.")
    out.print(f"Modules it imports: {', '.join(imported_modules(candidate.source)) or 'none'}.", markup=False)


def imported_modules(source: BotSource) -> list[str]:
    """Returns the names of the modules that a bot's own files import, read from their text."""
    names: set[str] = set()
    for path, content in source.files:
        if not path.endswith(".py"):
            continue
        for node in ast.walk(ast.parse(content)):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    return sorted(names)


@app.command(rich_help_panel=BOTS)
@with_rules
def play(
    bots: Annotated[list[str], typer.Argument(help="Two or three bots, by path or house name, in seat order.")],
    options: RulesOptions,
    seed: Annotated[str | None, typer.Option(help="The seed text; else random, and said.")] = None,
    debug: Annotated[bool, typer.Option(help="All in one process, so that breakpoint() works.")] = False,
    save: Annotated[Path | None, typer.Option(help="Write the replay document to this file.")] = None,
) -> None:
    """Play one game and show it act by act, with what the bots print."""
    found = find_bots(bots)
    rules = options.make(len(found))
    task = _one_game(found, rules, secret_of(seed))
    if seed is None:
        notes.print(f"seed {task[1]}: repeat this game with --seed {task[1]}", markup=False)
    written, said, errors = _play_in_process(found, *task) if debug else _play_sandboxed(found, *task)
    if save is not None:
        save.write_text(to_line(written), encoding="utf-8", newline="\n")
    print_game(written, None, said)
    for error in errors:
        out.print(error, style="red", markup=False)


def _one_game(found: list[LocalBot], rules: Rules, secret: str) -> tuple[MatchTask, str]:
    """Makes the task of the one game in which the bots sit in the given order; partners and free seats repeat it."""
    if not 2 <= len(found) <= rules.side_count:
        raise Refused(f"bots: {len(found)}, expected 2{'' if rules.side_count == 2 else ' or 3'} for {rules.mode}")
    players = tuple(sorted({bot.text: bot.player for bot in found}.values(), key=lambda player: player.text))
    wanted = [next(place for place, player in enumerate(players) if player.text == bot.text) for bot in found]
    wanted += [wanted[-1]] * (rules.side_count - len(wanted))
    seats = tuple(wanted[rules.side_of(seat)] for seat in range(rules.players))
    number = seeds.seatings(rules, len(players)).index(seats) + 1
    key = seeds.match_key(rules, [player.text for player in players], 1)
    return MatchTask.of(secret, key, rules, Limits(), players, seatings=(number,)), secret


def _play_sandboxed(found: list[LocalBot], task: MatchTask, _: str) -> tuple[dict[str, Any], Notes, list[str]]:
    said: Notes = defaultdict(list)
    heard: dict[int, int] = defaultdict(int)

    def listen(game: Game, seat: int, bot: SeatedBot) -> None:
        log = bot.log()
        if len(log) > heard[seat]:
            last = game.dealt[-1] if game.dealt else None
            place = (last.number, last.attempt, acts_in(last.deal)) if last else (1, 1, 0)
            said[place].append((seat, log[heard[seat] :]))
            heard[seat] = len(log)

    with closing(local_sandbox()) as sandbox:
        sources = {bot.source.sha256: bot.source for bot in found}
        (result,) = Referee(sandbox, sources, watcher=listen).play_match(task)
    faults = tuple(report.fault for report in result.reports)
    errors = [
        f"seat {report.fault.seat} {report.fault.kind}: {report.message}\n{report.traceback}".rstrip()
        for report in result.reports
    ]
    return document(task.record(result.seating, result.acts, faults)), said, errors


def _play_in_process(found: list[LocalBot], task: MatchTask, secret: str) -> tuple[dict[str, Any], Notes, list[str]]:
    sources = {bot.text: bot.source for bot in found}
    texts = [task.players[position].text for position in task.seats(task.bot_seeds[0][0])]
    played = play_game([sources[text] for text in texts], task.rules, secret, names=texts)
    faults = played.record.faults
    errors = [
        f"seat {fault.seat} {fault.kind}: {error}".rstrip() for fault, error in zip(faults, played.errors, strict=True)
    ]
    return played.document(), {}, errors


@app.command(rich_help_panel=BOTS)
def replay(
    file: Annotated[Path, typer.Argument(help="A replay document, or several, one a line.")],
    deal: Annotated[int | None, typer.Option(help="Show only this deal.")] = None,
    game: Annotated[int, typer.Option(help="Which document of the file, from 1.")] = 1,
) -> None:
    """Show a game in the terminal, act by act."""
    try:
        text = file.read_bytes()
    except OSError as error:
        raise Refused(f"{file}: cannot be read: {error.strerror}") from None
    try:
        written = verify.parse(_document_text(text, game))
        verify.check_document(written)
    except ReplayError as error:
        raise Refused(f"{file}: not shown: {error}") from None
    except RecursionError:
        raise Refused(f"{file}: not shown: nested too deeply") from None
    if deal is not None and deal not in {each["deal"] for each in written["deals"]}:
        last = max((each["deal"] for each in written["deals"]), default=0)
        raise Refused(f"--deal {deal}: expected 1 to {last}" if last else "--deal: the game ended before a deal")
    print_game(written, deal, {})


def _document_text(text: bytes, game: int) -> bytes:
    lines = [line for line in text.split(b"\n") if line.strip()]
    if not lines:
        raise ReplayError("empty, expected a replay document")
    if lines[0].strip() == b"{" or len(lines) == 1:
        lines = [text]
    if not 1 <= game <= len(lines):
        raise ReplayError(f"--game {game}: expected 1 to {len(lines)}")
    return lines[game - 1]


@app.command(rich_help_panel=BOTS)
def reproduce(
    file: Annotated[Path, typer.Argument(help="A decision file, or a replay document.")],
    bot: Annotated[str | None, typer.Option(help="The bot's code now: a file, folder or zip.")] = None,
    at: Annotated[str | None, typer.Option(help="Of a replay: the decision, as deal:act or deal/attempt:act.")] = None,
    secret: Annotated[str | None, typer.Option(help="Of a replay: the secret, for the bot's own random.")] = None,
    to: Annotated[Path | None, typer.Option(help="Write the decision as a small file.")] = None,
) -> None:
    """Put a bot's code at a fault, or at any decision, in one process; print and breakpoint() work."""
    if bot is None and to is None:
        raise Refused("reproduce: expected --bot and your bot, or --to and a file to write")
    _check_secret(secret)
    try:
        data = verify.parse(file.read_bytes())
        decision = decision_from(data) if is_decision(data) else _decision_of_replay(data, at, secret)
    except OSError as error:
        raise Refused(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise Refused(f"{file}: {error}") from None
    if to is not None:
        to.write_text(decision.to_text() + "\n", encoding="utf-8", newline="\n")
        notes.print(f"Wrote {to}. Try: tournament reproduce {to} --bot your_bot.py", markup=False)
    if bot is not None:
        raise typer.Exit(_reproduce(decision, find_bots([bot])[0]))


def _decision_of_replay(data: dict[str, Any], at: str | None, secret: str | None) -> Decision:
    verify.check_document(data, secret)
    record = record_of(data)
    place = None
    if at is not None:
        found = re.fullmatch(r"(\d+)(?:/(\d+))?:(\d+)", at)
        if found is None:
            raise Refused(f"--at {at}: expected deal:act or deal/attempt:act, like 3:12")
        place = int(found[1]), int(found[2] or 1), int(found[3])
    random_seeds = None
    if secret is not None:
        key = record.seed_key or record.match_key
        random_seeds = tuple(seeds.bot_seed(secret, key, record.seating, seat) for seat in range(record.rules.players))
    return decision_at(record, place, random_seeds, Limits())


def _reproduce(decision: Decision, bot: LocalBot) -> int:
    if decision.random_seed is None:
        notes.print("The seed of the bot's own random is not known: give --secret if it draws.", markup=False)
    if bot.source.sha256 != decision.player.sha256:
        notes.print(f"This is not the code that played: {decision.player.text} had other files.", markup=False)
    adapter = SeatAdapter(decision.rules, decision.limits, decision.seat, passes_through=PASSES_THROUGH)
    *before, last = decision.asked
    try:
        adapter.load(bot.source, decision.random_seed or "")
        for asked in before:
            _, index = adapter.answer(asked.question)
            if index != asked.answer:
                where = f"deal {asked.deal}/{asked.attempt} act {asked.act}"
                notes.print(f"{where}: answers {index} now, {asked.answer} in the game", markup=False)
        place = f"deal {last.deal}/{last.attempt} act {last.act}"
        out.print(f"{place}, seat {decision.seat}:", style="bold", markup=False)
        view = decision.view()
        for name in VIEW_FIELDS[2:-2]:
            out.print(f"  {name:<9} {getattr(view, name)!r}", markup=False)
        _, index = adapter.answer(last.question)
    except BotError as error:
        out.print(f"{error.kind}: {error.text}".rstrip(), style="red", markup=False)
        return 1
    was = "a fault" if last.answer is None else str(view.legal[last.answer])
    out.print(f"answers {view.legal[index]} (in the game: {was})", markup=False)
    return 0


@app.command(name="verify", rich_help_panel=BOTS)
def verify_command(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Replay documents: one a file, or one a line.", show_default=False)
    ] = None,
    secret: Annotated[str | None, typer.Option(help="The tournament's secret, to check the seeds themselves.")] = None,
    tournament: Annotated[Path | None, typer.Option(help="Check an export: its folder, or the site's zip.")] = None,
) -> None:
    """Play replay documents again, or work out a whole tournament again, and say what is wrong."""
    _check_secret(secret)
    if tournament is not None and not files:
        _verify_tournament(tournament)
    if tournament is not None or not files:
        raise Refused("verify: expected replay documents, or --tournament and a folder")
    read = refused = unshuffled = 0
    unread = empty = False
    for file in files:
        before = read
        try:
            with file.open("rb") as stream:
                for checked in verify.check_stream(stream, secret):
                    read += 1
                    unshuffled += not checked.shuffle_checked and checked.problem is None
                    if checked.problem is not None:
                        refused += 1
                        _say(f"{file}:{checked.line}: {checked.problem}")
        except OSError as error:
            notes.print(f"{file}: cannot be read: {error.strerror}", markup=False)
            unread = True
            continue
        if read == before:
            empty = True
            _say(f"{file}:1: empty, expected a replay document")
    if unshuffled:
        _say(f"{unshuffled} without a seed: the shuffle and the first dealer were not checked")
    _say(f"{read} documents, {refused} refused")
    raise typer.Exit(2 if unread else 1 if refused or empty or not read else 0)


def _check_secret(secret: str | None) -> None:
    if secret is not None and not (secret and is_text(secret)):
        raise Refused("--secret is no text: expected the one that was published")


def _verify_tournament(folder: Path) -> None:
    if not folder.exists():
        raise Refused(f"--tournament {folder}: expected a folder that `tournament export` wrote, or its archive")
    try:
        from tournament.verify_tournament import Answer, verify_export
    except ImportError:
        raise Refused("a tournament is checked with numpy and scipy: install the extra `ratings`") from None
    wrong = 0
    for finding in verify_export(folder):
        wrong += finding.answer is Answer.WRONG
        _say(str(finding))
    _say("Something does not follow." if wrong else "Everything that can be checked follows.")
    raise typer.Exit(1 if wrong else 0)


def _say(line: str) -> None:
    typer.echo(line.encode("utf-8", "backslashreplace").decode())


def print_game(written: dict[str, Any], only: int | None, said: Notes) -> None:
    """Prints a replay document that has been checked, or one deal of it."""
    names = [f"{player['bot']}:{player['version']}" for player in written["players"]]
    width = max(map(len, names))
    rules = Rules.from_dict(written["rules"])
    out.print(f"{rules.mode} to {rules.target}, match {written['match']['key']}", style="bold", markup=False)
    for number, name in enumerate(names):
        out.print(f"  seat {number}  {name}", markup=False)
    for deal in written["deals"]:
        if only in (None, deal["deal"]):
            _print_deal(deal, names, width, rules, said)
    result = written["result"]
    for title in ("fault", "second_fault"):
        fault = result[title]
        if fault is not None:
            where = "at load" if fault["act"] < 0 else f"in deal {fault['deal']}/{fault['attempt']}, act {fault['act']}"
            out.print(f"Fault: {names[fault['seat']]} (seat {fault['seat']}): {fault['kind']} {where}", style="red")
    winner = "nobody wins" if result["winner"] is None else f"{_side(result['winner'], names, rules)} wins"
    scores = ", ".join(f"{_side(side, names, rules)} {score}" for side, score in enumerate(result["scores"]))
    out.print(
        f"End: {result['end']}: {winner}. Scores: {scores}. Places: {result['places']}", style="bold", markup=False
    )


def _print_deal(deal: dict[str, Any], names: list[str], width: int, rules: Rules, said: Notes) -> None:
    attempt = f", attempt {deal['attempt']}" if deal["attempt"] > 1 else ""
    out.print(f"\nDeal {deal['deal']}{attempt}: {names[deal['dealer']]} (seat {deal['dealer']}) deals", style="bold")
    for seat, hand in enumerate(deal["hands"]):
        out.print(Text(f"  {seat} {names[seat]:<{width}}  ").append_text(_cards(hand)))
    act = 0
    _print_said(said, deal, act, names)
    for bid in deal["bids"]:
        act += 1
        out.print(
            f"  {bid['seat']} {names[bid['seat']]:<{width}}  {'bids ' + str(bid['bid']) if bid['bid'] else 'passes'}"
        )
        _print_said(said, deal, act, names)
    if deal["bidder"] is None and not deal["tricks"] and "scores" not in deal:
        out.print("  thrown in" if len(deal["bids"]) == rules.players else "  cut off here")
        return
    if deal["discards"]:
        act += 1
        line = Text(f"  {deal['bidder']} {names[deal['bidder']]:<{width}}  takes ").append_text(_cards(deal["taken"]))
        out.print(line.append(", discards ").append_text(_cards(deal["discards"])))
        _print_said(said, deal, act, names)
    for number, trick in enumerate(deal["tricks"], start=1):
        line = Text(f"  trick {number}  ")
        for place, card in enumerate(trick["cards"]):
            line.append(f"{(trick['leader'] + place) % rules.players}:").append_text(_cards([card])).append(" ")
        out.print(line.append("" if trick["winner"] is None else f"→ {trick['winner']} {names[trick['winner']]}"))
        for _ in trick["cards"]:
            act += 1
            _print_said(said, deal, act, names)
    if "scores" not in deal:
        out.print("  cut off here")
        return
    points = "  ".join(
        f"{name.title()} {'–' if (side := deal['points'][name]) is None else _side(side, names, rules)}"
        for name in Points._fields
    )
    out.print(f"  {points}  (card points {' '.join(map(str, deal['card_points']))})", markup=False)
    out.print(f"  scores {' '.join(map(str, deal['scores']))}")


def _print_said(said: Notes, deal: dict[str, Any], act: int, names: list[str]) -> None:
    for seat, text in said.get((deal["deal"], deal["attempt"], act), ()):
        for line in text.rstrip("\n").splitlines():
            out.print(Text(f"      {names[seat]} (seat {seat}) | {line}", style="dim"))


def _cards(cards: list[str]) -> Text:
    text = Text()
    signs = _SUIT_SIGNS if _can_print("".join(_SUIT_SIGNS.values())) else {}
    for place, card in enumerate(cards):
        text.append(" " if place else "").append(
            card[0].replace("T", "10") + signs.get(card[1], card[1]), style=_SUIT_STYLES[card[1]]
        )
    return text


def _can_print(text: str) -> bool:
    try:
        text.encode(out.encoding)
    except UnicodeEncodeError:
        return False
    return True


def _side(side: int, names: list[str], rules: Rules) -> str:
    if rules.players == 4:
        return f"{names[side]} (seats {side} and {side + 2})"
    return names[side] if names.count(names[side]) == 1 else f"{names[side]} (seat {side})"
