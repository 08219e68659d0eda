"""The commands `tournament contest …`: what an organiser does from the first plan to the published result."""

from __future__ import annotations

import csv as csv_module
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tournament import contest, seeds
from tournament.cli_common import (
    Db,
    Demands,
    Json,
    Refused,
    RulesOptions,
    TournamentId,
    core_count,
    house_entrants,
    opened,
    out,
    print_json,
    refusals,
    with_rules,
)
from tournament.final_order import FinalOrder
from tournament.models import TournamentState
from tournament.planning import Forecast, duration_of
from tournament.store_values import TournamentInfo
from tournament.wording import counted, duration

app = typer.Typer(no_args_is_help=True, help="Organise a contest: plan it, run it, publish it, answer for it.")

TheId = Annotated[int, typer.Argument(help="The tournament's number.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it goes to the audit log.")]
Zone = Annotated[str, typer.Option(help="The time zone of the times given, like Europe/Zurich.")]
Time = Annotated[str | None, typer.Option(help="A time like '2026-12-01 18:00'.", show_default=False)]


@app.command()
@with_rules
def make(
    name: Annotated[str, typer.Argument(help="What it is called.")],
    options: RulesOptions,
    rounds: Annotated[int | None, typer.Option(help="How often the round robin is played.", min=1)] = None,
    time_budget: Annotated[str | None, typer.Option(help="Or as often as fits, like 2h.", show_default=False)] = None,
    house: Annotated[list[str] | None, typer.Option(help="A house bot that plays along; may be repeated.")] = None,
    opens: Time = None,
    closes: Time = None,
    zone: Zone = "UTC",
    order: Annotated[FinalOrder, typer.Option(help="How the final order is made.")] = FinalOrder.SHARED,
    anchor: Annotated[str | None, typer.Option(help="The bot that shows 1500.", show_default="simple")] = None,
    all_bots: Annotated[bool, typer.Option("--all-bots", help="All bots of a contestant enter, not one.")] = False,
    auto_start: Annotated[bool, typer.Option("--auto-start", help="Start after the close by itself.")] = False,
    cores: Annotated[int | None, typer.Option(help="Matches side by side, for the forecast.", min=1)] = None,
    decision_cpu: Annotated[float | None, typer.Option(help="CPU seconds of a decision.")] = None,
    game_cpu: Annotated[float | None, typer.Option(help="CPU seconds of a game, to begin with.")] = None,
    deal_cpu: Annotated[float | None, typer.Option(help="CPU seconds added for each deal.")] = None,
    load_cpu: Annotated[float | None, typer.Option(help="CPU seconds to load a bot.")] = None,
    memory_mib: Annotated[int | None, typer.Option(help="Memory of a bot.", min=16)] = None,
    demand: Demands = None,
    repeat_share: Annotated[float, typer.Option(help="Share played again by another worker.", min=0, max=1)] = 0.02,
    practice_at: Annotated[str | None, typer.Option(help="Practice rounds every day at HH:MM.")] = None,
    db: Db = None,
) -> None:
    """Make a tournament, or practice rounds, with every option; its commitment is shown at once."""
    names = tuple(each.name for each in house_entrants(house or []))
    given = {
        "decision_cpu_s": decision_cpu, "game_cpu_s": game_cpu, "deal_cpu_s": deal_cpu, "load_cpu_s": load_cpu,
        "memory_bytes": None if memory_mib is None else memory_mib << 20,
    }  # fmt: skip
    wish = contest.Wish(
        name=name, rules=options.make(), rounds=rounds, budget=time_budget or "", house=names, opens=opens or "",
        closes=closes or "", zone=zone, order=order, anchor=anchor or "", all_bots=all_bots, auto_start=auto_start,
        cores=cores or core_count(), limits={key: value for key, value in given.items() if value is not None},
        demands=tuple(demand or ()), repeat_share=repeat_share,
    )  # fmt: skip
    with opened(db) as store, refusals():
        new = wish.made(store, store.now())
        if practice_at is not None:
            number, first = contest.practise(store, new, practice_at)
            out.print(f"Practice rounds {number}: first at {contest.moment_text(first, zone)}")
        else:
            found = store.create(new)
            out.print(f"Tournament {found}; commitment to its secret {seeds.commitment(new.secret)}")


@app.command("list")
def list_(db: Db = None, json: Json = False) -> None:
    """List tournaments and practice rounds."""
    with opened(db) as store:
        rows = [_row(info) for info in store.tournaments()]
        for each in store.practices():
            state = f"every day at {each.at} {each.zone}" if each.next_at is not None else "stopped"
            rows.append({"practice": each.id, "name": each.name, "state": state, "tournament": each.last_tournament})
    if json:
        print_json(rows)
        return
    for row in rows:
        out.print("  ".join(f"{key} {value}" for key, value in row.items() if value is not None))


def _row(info: TournamentInfo) -> dict[str, Any]:
    zone = info.plan.zone
    times = {"opens": info.opens_at, "closes": info.closes_at, "held": info.held_at}
    shown = {key: None if at is None else contest.moment_text(at, zone) for key, at in times.items()}
    return {"tournament": info.id, "name": info.name, "mode": info.rules.mode, "state": str(info.state), **shown}


@app.command()
def plan(
    tournament: TournamentId = None,
    house: Annotated[list[str] | None, typer.Option(help="The house bots that play along, from now on.")] = None,
    no_house: Annotated[bool, typer.Option("--no-house", help="No house bot plays along.")] = False,
    rounds: Annotated[int | None, typer.Option(help="Set the rounds.", min=1)] = None,
    time_budget: Annotated[str | None, typer.Option(help="Set the time it may take.", show_default=False)] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Say what a start would come to: bots, matches, games, expected time, the worst that the clocks allow."""
    with opened(db) as store:
        newest = store.tournaments(limit=1)
        info = newest[0] if tournament is None and newest else store.tournament(tournament)
        changes: dict[str, Any] = {}
        with refusals():
            if house or no_house:
                changes["house"] = [each.name for each in house_entrants(house or [])]
            if rounds is not None or time_budget is not None:
                changes["budget_s"] = None if time_budget is None else duration_of(time_budget)
            if changes:
                store.replan(info.id, changes, rounds=rounds)
                info = store.tournament(info.id)
            entrants = contest.entrants_of(store, info, house_entrants)
            found = contest.forecast_of(store, info, entrants)
        waiting = store.undecided(info.id, info.closes_at)
    if json:
        print_json({"bots": len(entrants), "waiting": waiting, **{n: getattr(found, n) for n in found.__slots__}})
        return
    out.print(f"{counted(len(entrants), 'bot')}; {counted(waiting, 'submission')} without a verdict yet.")
    out.print(forecast_text(found))


def forecast_text(found: Forecast) -> str:
    """Says a forecast in a sentence."""
    return (
        f"{counted(found.rounds, 'round')}, {counted(found.matches, 'match')}, {counted(found.games, 'game')}: about "
        f"{duration(found.expected_s)} on {counted(found.cores, 'core')}; {duration(found.worst_s)} if every "
        "bot uses up every clock in the longest games."
    )


@app.command()
def times(
    tournament: TheId,
    opens: Time = None,
    closes: Time = None,
    zone: Annotated[str | None, typer.Option(help="Time zone (default: the tournament's).")] = None,
    only: Annotated[str | None, typer.Option("--for", help="Extend the close for this contestant only.")] = None,
    reason: Reason = "",
    db: Db = None,
) -> None:
    """Set when entries open and close; a later close is an extension, for all or with --for for one."""
    with opened(db) as store:
        info = store.tournament(tournament)
        zone = zone or info.plan.zone
        with refusals():
            contest.zone_of(zone)  # also where each time given names its own offset
            opens_at, closes_at = (None if text is None else contest.moment_of(text, zone) for text in (opens, closes))
            if only is not None:
                store.extend(info.id, store.find_account(only).id, closes_at, why=reason)
            else:
                store.set_times(info.id, opens_at or info.opens_at, closes_at or info.closes_at, why=reason)
        contest.tick(store, store.now(), house_entrants)
        shown = _row(store.tournament(tournament))
        out.print(f"Tournament {tournament} is {shown['state']}, closes {shown['closes'] or 'by hand'}.")
        if only is not None:
            said = "like all" if closes_at is None else f"until {contest.moment_text(closes_at, zone)}"
            out.print(f"{only} may hand in {said}.")


@app.command()
def start(
    tournament: TheId,
    anyway: Annotated[bool, typer.Option("--anyway", help="Before the close, or without the last verdicts.")] = False,
    db: Db = None,
) -> None:
    """Start: the last accepted version of every contestant that was received in time plays."""
    with opened(db) as store, refusals():
        found = contest.start(store, tournament, house_entrants, anyway=anyway, now=store.now())
        out.print(f"Tournament {tournament} runs: {forecast_text(found)}")


def _mover(name: str, state: TournamentState, text: str) -> None:
    def move(tournament: TheId, db: Db = None) -> None:
        with opened(db) as store:
            store.set_state(tournament, state)
        out.print(f"Tournament {tournament} is {state}.")

    move.__doc__ = text
    app.command(name)(move)


_mover("open", TournamentState.OPEN, "Open entries by hand.")
_mover("close", TournamentState.CLOSED, "Close entries by hand.")
_mover("pause", TournamentState.PAUSED, "Hand out no more matches; those that are being played are recorded.")
_mover("continue", TournamentState.RUNNING, "Go on after a pause.")


@app.command()
def cancel(tournament: TheId, db: Db = None) -> None:
    """Cancel a tournament: what is not played stays unplayed."""
    with opened(db) as store:
        out.print(f"Not played any more: {counted(store.cancel(tournament), 'match')}.")


@app.command()
def hold(tournament: TheId, db: Db = None) -> None:
    """Hold the standings: all but organisers see only what has ended up to now."""
    with opened(db) as store:
        store.hold(tournament, store.now())
    out.print(f"The standings of tournament {tournament} are held.")


@app.command()
def publish(tournament: TheId, db: Db = None) -> None:
    """Publish held standings, and with them the secret if the tournament has ended."""
    with opened(db) as store:
        store.hold(tournament, None)
        info = store.tournament(tournament)
    out.print(
        f"Published. {f'The secret is {info.secret}' if info.secret_is_out else f'It is {info.state}.'}", markup=False
    )


@app.command()
def void(
    tournament: TheId,
    numbers: Annotated[list[int], typer.Argument(help="Numbers of matches.")],
    reason: Annotated[str, typer.Option(help="Why; it is public.")],
    db: Db = None,
) -> None:
    """Take results out and have the matches played again."""
    with opened(db) as store, refusals():
        for number in numbers:
            store.void(tournament, number, reason)
    out.print(f"Played again: {counted(len(numbers), 'match')}.")


@app.command()
def retry(tournament: TheId, db: Db = None) -> None:
    """Play matches again that failed through our fault."""
    with opened(db) as store:
        out.print(f"Played again: {counted(store.retry(tournament), 'match')}.")


@app.command()
def disqualify(
    tournament: TheId,
    bot: Annotated[str, typer.Argument(help="A bot, or name:version.")],
    reason: Annotated[str | None, typer.Option(help="Why; it is public.", show_default=False)] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Re-instate it.")] = False,
    db: Db = None,
) -> None:
    """Disqualify a bot for a reason, or re-instate it; its matches stay."""
    if (reason is None) != undo:
        raise Refused("disqualify: expected --reason, or --undo to re-instate")
    with opened(db) as store:
        found = [each for each in store.entrants(tournament) if bot in (each.text, each.name)]
        if len(found) != 1:
            raise Refused(f"{bot!r:.60} names {len(found)} bots of tournament {tournament}: expected one")
        with refusals():
            store.disqualify(tournament, found[0].position, reason)
    out.print(f"{found[0].text} is {'re-instated' if undo else 'disqualified'}.")


@app.command()
def announce(
    text: Annotated[str, typer.Argument(help="What all shall read.")],
    tournament: Annotated[int | None, typer.Option(help="It is about this one.")] = None,
    db: Db = None,
) -> None:
    """Put a text on the site, for all."""
    with opened(db) as store, refusals():
        out.print(f"Announcement {store.announce_text(text, tournament)}.")


@app.command("stop-practice")
def stop_practice(number: Annotated[int, typer.Argument(help="Of the practice rounds.")], db: Db = None) -> None:
    """End practice rounds."""
    with opened(db) as store:
        store.stop_practice(number)


@app.command()
def grades(tournament: TournamentId = None, db: Db = None) -> None:
    """Print the grade CSV: contestant, bot, version, place, and how it stands to each house bot."""
    from tournament.archive import grade_rows

    with opened(db) as store:
        writer = csv_module.writer(sys.stdout, lineterminator="\n")
        # Names are foreign text: a spreadsheet shall not take one for a formula.
        for row in grade_rows(store, store.tournament(tournament).id):
            writer.writerow([f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell for cell in row])


@app.command()
def archive(
    to: Annotated[Path, typer.Option(help="The folder to write.")], tournament: TournamentId = None, db: Db = None
) -> None:
    """Write everything there is of a tournament: not for the public."""
    from tournament.archive import write_archive

    with opened(db) as store:
        out.print(f"Wrote {', '.join(write_archive(store, store.tournament(tournament).id, to))} to {to}")


@app.command()
def audit(
    limit: Annotated[int, typer.Option(help="How many lines.", min=1)] = 50, db: Db = None, json: Json = False
) -> None:
    """Show the last acts of organisers."""
    with opened(db) as store:
        lines = store.audit_log(limit)
    if json:
        print_json([{name: getattr(line, name) for name in line.__slots__} for line in lines])
        return
    shown = Table("time", "account", "act", "on", "why", title="Audit log, newest first", title_justify="left")
    for line in lines:
        who = "command" if line.account_id is None else str(line.account_id)
        shown.add_row(contest.moment_text(line.at, "UTC"), who, line.act, line.subject, line.reason)
    out.print(shown)


@app.command()
def repeat(
    tournament: TournamentId = None,
    share: Annotated[float, typer.Option(help="Share of the matches, drawn by chance.", min=0, max=1)] = 0.02,
    numbers: Annotated[list[int] | None, typer.Option("--match", help="These matches instead.")] = None,
    db: Db = None,
) -> None:
    """Have a sample played again by another worker, or by the server where there is none."""
    with opened(db) as store, refusals():
        count = contest.repeat_sample(store, store.tournament(tournament).id, numbers or (), share=share)
    out.print(f"Played again: {counted(count, 'match')}; the page of the contest tells how that ends.")
