"""The commands for bot writers: new, check, reproduce, verify."""

from __future__ import annotations

import ast
import re
import shlex
import time
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tournament import seeds, verify
from tournament.adapter import BotError, SeatAdapter
from tournament.cli_common import (
    BOTS,
    Json,
    LocalBot,
    Refused,
    RulesOptions,
    Save,
    Secret,
    escaped_prints,
    find_bots,
    house_bot,
    local_sandbox,
    notes,
    out,
    print_json,
    refusals,
    secret_of,
    with_rules,
)
from tournament.decision import FORMAT, Decision, decision_at, decision_from, in_words
from tournament.intake import UploadRefused
from tournament.kit import STARTER, options_of, write_kit
from tournament.play import PASSES_THROUGH
from tournament.replay import record_of, to_line
from tournament.rules import Limits, Rules
from tournament.source import BotSource
from tournament.view import VIEW_FIELDS
from workers.check import CheckResult, check_bot

app = typer.Typer()

_MODES: Final = {"cutthroat/2": "--players 2", "cutthroat/3": "--players 3", "wisconsin/4": "--game wisconsin"}
"""The three modes, and the options that mean one of them alone."""

Contest = Annotated[Path | None, typer.Option(help="A kit's contest.json: its rules and limits.")]


@app.command(rich_help_panel=BOTS)
@with_rules
def new(
    options: RulesOptions,
    file: Annotated[Path | None, typer.Argument(help="The file to write, like my_bot.py.", show_default=False)] = None,
    kit: Annotated[Path | None, typer.Option(help="Write a folder instead: bot, test, options, guide.")] = None,
) -> None:
    """Write a commented bot to start from."""
    if file is not None and kit is not None:
        raise Refused("new: expected a file to write, or --kit and a folder, not both")
    target = file or kit
    if target is None:
        raise Refused("new: expected a file to write, like my_bot.py, or --kit and a folder")
    if target.exists():
        raise Refused(f"{target}: is there already; nothing was written")
    if target is kit:
        write_kit(kit, options.make(), Limits())
        out.print(f"Wrote {kit}; its README.md says what to do first.")
        return
    if target.suffix != ".py" or not seeds.BOT_NAME.fullmatch(target.stem.lower()):
        raise Refused(f"{target.name}: expected a name like my_bot.py: a-z, 0-9, - and _, at most 39 of them")
    target.write_text(STARTER, encoding="utf-8")
    out.print(f"Wrote {target}. Try: tournament check {target}, then: tournament play {target} simple")


@app.command(rich_help_panel=BOTS)
@with_rules
def check(
    bot: Annotated[str, typer.Argument(help="A bot: a file, folder, zip, or a house bot's name.")],
    options: RulesOptions,
    json: Json = False,
    seed: Annotated[str | None, typer.Option(help="The probes' seed text; else random.")] = None,
    save: Save = None,
    contest: Contest = None,
) -> None:
    """Load a bot, play a probe in each mode, and say what is wrong on which line; rules options leave modes out."""
    if contest is not None and options:
        raise Refused("check: expected --contest or options of the rules, not both")
    modes, limits = (options.modes(), Limits()) if contest is None else _contest(contest)
    try:
        (candidate,) = find_bots([bot])
    except UploadRefused as refused:
        if json:
            print_json(CheckResult.refused(str(refused)).to_dict())
        else:
            for reason in refused.reasons:
                out.print(reason, style="red")
            out.print("Not accepted: the upload checks refuse it.")
        raise typer.Exit(1) from None
    opponent = house_bot("random" if candidate.house and candidate.name == "simple" else "simple")
    seed = secret_of(seed, size=4)
    with local_sandbox() as sandbox:
        tried = [(rules, limits) for rules in modes]
        found = check_bot(
            (candidate.player, candidate.source), (opponent.player, opponent.source), tried, sandbox, seed
        )
    if save is not None and found.documents:
        save.write_text(to_line(found.documents[-1]), encoding="utf-8", newline="\n")
    if json:
        print_json({**found.to_dict(), "modes": [rules.mode for rules in modes[: len(found.documents)]]})
    else:
        _print_check(candidate, found, modes, is_contest=contest is not None)
        if found.report is not None and found.report.fault.act >= 0:
            probe, mine, secret = (shlex.quote(str(each)) for each in (save or "probe.json", bot, seed))
            if save is None:
                rules = (
                    f"--contest {shlex.quote(str(contest))}" if contest else options_of(modes[len(found.documents) - 1])
                )
                out.print(f"To go there: tournament check {mine} {rules} --seed {secret} --save {probe}")
            out.print(f"       then: tournament reproduce {probe} --bot {mine} --secret {secret}")
    raise typer.Exit(0 if found.accepted else 1)


def _contest(file: Path) -> tuple[list[Rules], Limits]:
    """Reads the file that a kit has its contest's rules and limits in."""
    try:
        written = verify.parse(file.read_bytes())
        return [Rules.from_dict(written["rules"])], Limits.from_dict(written["limits"])
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(f"{file}: expected the contest.json of a kit: {type(error).__name__} {error}") from None


def _print_check(candidate: LocalBot, found: CheckResult, modes: list[Rules], *, is_contest: bool) -> None:
    if found.log:
        out.print("It printed:", style="bold")
        out.print(found.log.rstrip())
    tried = [rules.mode for rules in modes[: len(found.documents)]]
    left = [f"{mode} ({options})" for mode, options in _MODES.items() if mode not in tried]
    if found.report is not None:
        fault = found.report.fault
        where = "" if found.line is None else f" line {found.line}:"
        out.print(f"{candidate.name}:{where} {fault.kind}: {found.report.message}", style="red")
        if found.report.traceback:
            out.print(found.report.traceback.rstrip())
        if fault.act < 0:
            out.print("Not accepted: it could not be loaded.")
            return
        place = f"deal {fault.deal}/{fault.attempt}, act {fault.act}"
        out.print(f"Not accepted: a fault stopped the probe of {tried.pop()} in {place}.")
        if tried:
            out.print(f"Without a fault: {', '.join(tried)}.")
    else:
        out.print(f"Accepted: {candidate.name} loads and plays {', '.join(tried)}.", style="green")
    if left and not is_contest:
        out.print(f"Not tried: {', '.join(left)}.")
    memory = "not known here" if found.memory_bytes is None else f"{found.memory_bytes / 2**20:.0f} MiB"
    out.print(f"Slowest decision {found.slowest_cpu_s * 1000:.1f} ms of CPU; memory {memory}.")
    out.print(f"Modules it imports: {', '.join(imported_modules(candidate.source)) or 'none'}.")


def imported_modules(source: BotSource) -> list[str]:
    """Returns the names of the modules that a bot's own files import, read from their text."""
    names: set[str] = set()
    for path, content in source.files:
        for node in ast.walk(ast.parse(content)) if path.endswith(".py") else ():
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    return sorted(names)


@app.command(rich_help_panel=BOTS)
def reproduce(
    file: Annotated[Path, typer.Argument(help="A decision file, or a replay document.")],
    bot: Annotated[str | None, typer.Option(help="The bot's code now: a file, folder or zip.")] = None,
    at: Annotated[str | None, typer.Option(help="Of a replay: the decision, as deal:act or deal/attempt:act.")] = None,
    secret: Secret = None,
    contest: Contest = None,
    to: Annotated[Path | None, typer.Option(help="Write the decision as a small file.")] = None,
) -> None:
    """Put a bot's code at a fault, or at any decision, in one process; exit status 1 if it faults there."""
    if bot is None and to is None:
        raise Refused("reproduce: expected --bot and your bot, or --to and a file to write")
    limits = Limits() if contest is None else _contest(contest)[1]
    with refusals(f"{file}: "):
        data = verify.parse(file.read_bytes())
        decision = decision_from(data) if data.get("format") == FORMAT else _cut(data, at, secret, limits)
    if to is not None:
        to.write_text(decision.to_text() + "\n", encoding="utf-8", newline="\n")
        notes.print(f"Wrote {to}. Try: tournament reproduce {to} --bot your_bot.py")
    if bot is not None:
        raise typer.Exit(_reproduce(decision, find_bots([bot])[0]))


def _cut(data: dict[str, Any], at: str | None, secret: str | None, limits: Limits) -> Decision:
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
    return decision_at(record, place, random_seeds, limits)


def _reproduce(decision: Decision, bot: LocalBot) -> int:
    if decision.random_seed is None:
        notes.print("The seed of the bot's own random is not known: give --secret if it draws.")
    if bot.source.sha256 != decision.player.sha256:
        notes.print(f"This is not the code that played: {decision.player.text} had other files.")
    adapter = SeatAdapter(decision.rules, decision.limits, decision.seat, passes_through=PASSES_THROUGH)
    where = "at load"
    try:
        with escaped_prints():
            adapter.load(bot.source, decision.random_seed or "")
        for asked, view in zip(decision.asked, decision.views(), strict=True):
            where = f"deal {asked.deal}/{asked.attempt} act {asked.act}"
            is_last = asked is decision.asked[-1]
            if is_last:
                out.print(f"{where}, seat {decision.seat}:", style="bold")
                for name in VIEW_FIELDS[2:-2]:
                    out.print(f"  {name:<9} {in_words(getattr(view, name))}")
            begun_s = time.thread_time()
            with escaped_prints():
                _, index = adapter.answer(asked.question)
            took_ms = (time.thread_time() - begun_s) * 1000
            now, then = ("a fault" if place is None else in_words(view.legal[place]) for place in (index, asked.answer))
            if is_last:
                out.print(f"answers {now} (in the game: {then}), after {took_ms:.1f} ms of CPU")
            elif index != asked.answer:
                notes.print(f"{where}: answers {now} now, {then} in the game")
    except BotError as error:
        out.print(f"{where}: {error.kind}: {error.text}".rstrip(), style="red")
        return 1
    return 0


@app.command(name="verify", rich_help_panel=BOTS)
def verify_command(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Replay documents: one a file, or one a line.", show_default=False)
    ] = None,
    secret: Secret = None,
    tournament: Annotated[Path | None, typer.Option(help="Check an export: its folder, or the site's zip.")] = None,
) -> None:
    """Play replay documents again, or work out a whole tournament again, and say what is wrong."""
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
                        out.print(f"{file}:{checked.line}: {checked.problem}")
        except OSError as error:
            notes.print(f"{file}: cannot be read: {error.strerror}")
            unread = True
            continue
        if read == before:
            empty = True
            out.print(f"{file}:1: empty, expected a replay document")
    if unshuffled:
        out.print(f"{unshuffled} without a seed: the shuffle and the first dealer were not checked")
    out.print(f"{read} documents, {refused} refused")
    raise typer.Exit(2 if unread else 1 if refused or empty or not read else 0)


def _verify_tournament(folder: Path) -> None:
    if not folder.exists():
        raise Refused(f"--tournament {folder}: expected a folder that `tournament export` wrote, or its archive")
    from tournament.verify_tournament import Answer, verify_export

    wrong = 0
    for finding in verify_export(folder):
        wrong += finding.answer is Answer.WRONG
        out.print(str(finding))
    out.print("Something does not follow." if wrong else "Everything that can be checked follows.")
    raise typer.Exit(1 if wrong else 0)
