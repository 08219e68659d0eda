"""The commands `tournament rate` and `tournament sprt`: anybody's results and match counts."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

NEEDS_EXTRA = "this command needs numpy and scipy: install the extra `ratings`"
OPEN_END = "open"
MOST_DIGITS = 9


def rate(
    file: Annotated[Path, typer.Argument(help="CSV with the columns a,b,score and maybe count,match; - reads stdin")],
    prior: Annotated[float, typer.Option(min=0, help="ghost games per bot: 1 is half a win and half a loss")] = 1.0,
    anchor: Annotated[str, typer.Option(help="the bot that shows 1500 where it takes part")] = "simple",
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON value")] = False,
) -> None:
    """Rate the bots of any results, with 95 % bars."""
    try:
        from tournament.rating_csv import rate_csv
    except ImportError:
        raise _wrong(NEEDS_EXTRA) from None
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
        rows, remarks = rate_csv(text.splitlines(), prior, anchor)
    except (OSError, ValueError) as error:
        raise _wrong(f"{file}: {error}") from None
    for remark in remarks:
        typer.echo(remark, err=True)
    if as_json:
        typer.echo(json.dumps([row.to_dict() for row in rows]))
        return
    table = Table("bot", *(_right(title) for title in ("rating", "low", "high", "se", "games")))
    for row in rows:
        numbers = (row.rating, row.low, row.high, row.se)
        table.add_row(row.bot, *(OPEN_END if n is None else f"{n:.1f}" for n in numbers), str(row.games))
    Console(markup=False).print(table)


def sprt(
    wdl: Annotated[str, typer.Option(help="wins, draws and losses of single games: W,D,L")] = "",
    pairs: Annotated[str, typer.Option(help="matches of two games by points 0, ½, 1, 1½, 2: N0,N1,N2,N3,N4")] = "",
    elo0: Annotated[float, typer.Option(help="H0: stronger by so much")] = 0.0,
    elo1: Annotated[float, typer.Option(help="H1: stronger by so much")] = 20.0,
    alpha: Annotated[float, typer.Option(help="chance to take H1 under H0")] = 0.05,
    beta: Annotated[float, typer.Option(help="chance to take H0 under H1")] = 0.05,
    model: Annotated[str, typer.Option(help="logistic, normalized, bayesian or cutechess")] = "logistic",
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON value")] = False,
) -> None:
    """Test whether counted results show a better bot: exact GSPRT."""
    try:
        from tournament.sprt import sprt_report
    except ImportError:
        raise _wrong(NEEDS_EXTRA) from None
    try:
        report = sprt_report(_counts(wdl), _counts(pairs), (elo0, elo1, alpha, beta), model)
    except ValueError as error:
        raise _wrong(str(error)) from None
    if as_json:
        typer.echo(json.dumps(report))
        return
    for name, value in report.items():
        shown = OPEN_END if value is None else f"{value:.4f}" if isinstance(value, float) else value
        typer.echo(f"{name:9} {shown}")


def _counts(text: str) -> list[int]:
    parts = text.split(",") if text else []
    if not all(part.strip().isdecimal() for part in parts):
        raise ValueError(f"expected whole numbers with commas between them, not {text[:60]!r}")
    if any(len(part.strip()) > MOST_DIGITS for part in parts):
        raise ValueError(f"expected counts of at most {MOST_DIGITS} digits")
    return [int(part) for part in parts]


def _right(title: str) -> Column:
    return Column(title, justify="right")


def _wrong(message: str) -> typer.Exit:
    typer.echo(message, err=True)
    return typer.Exit(2)
