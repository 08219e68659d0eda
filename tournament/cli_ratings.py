"""The commands `tournament rate` and `tournament sprt`: anybody's results and match counts."""

import io
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tournament.cli_common import TOURNAMENTS, Json, notes, out, print_json, refusals, terminal_text

app = typer.Typer()

MOST_DIGITS = 9


@app.command(rich_help_panel=TOURNAMENTS)
def rate(
    file: Annotated[Path, typer.Argument(help="CSV with the columns a,b,score and maybe count,match; - reads stdin")],
    prior: Annotated[float, typer.Option(min=0, help="ghost games per bot: 1 is half a win and half a loss")] = 1.0,
    anchor: Annotated[str, typer.Option(help="the bot that shows 1500 where it takes part")] = "simple",
    json: Json = False,
) -> None:
    """Rate the bots of any results, with 95 % bars."""
    from tournament.rating_csv import rate_csv

    with refusals(f"{file}: "):
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError("expected a text in UTF-8; save the table as CSV in UTF-8") from None
        rows, remarks = rate_csv(list(io.StringIO(text, newline="")), prior, anchor)
    for remark in remarks:
        notes.print(remark)
    if json:
        print_json(rows)
        return
    table = Table("bot")
    for title in ("rating", "low", "high", "se", "games"):
        table.add_column(title, justify="right")
    for row in rows:
        numbers = (_number(row[name]) for name in ("rating", "low", "high", "se"))
        # Escaped before the table is laid out: what the terminal makes of it decides the width.
        table.add_row(terminal_text(row["bot"]), *numbers, str(row["games"]))
    out.print(table)


@app.command(rich_help_panel=TOURNAMENTS)
def sprt(
    wdl: Annotated[str, typer.Option(help="wins, draws and losses of single games: W,D,L")] = "",
    pairs: Annotated[str, typer.Option(help="matches of two games by points 0, ½, 1, 1½, 2: N0,N1,N2,N3,N4")] = "",
    elo0: Annotated[float, typer.Option(help="H0: stronger by so much")] = 0.0,
    elo1: Annotated[float, typer.Option(help="H1: stronger by so much")] = 20.0,
    alpha: Annotated[float, typer.Option(help="chance to take H1 under H0")] = 0.05,
    beta: Annotated[float, typer.Option(help="chance to take H0 under H1")] = 0.05,
    model: Annotated[str, typer.Option(help="logistic, normalized, bayesian or cutechess")] = "logistic",
    json: Json = False,
) -> None:
    """Test whether counted results show a better bot: exact GSPRT."""
    from tournament.sprt import sprt_report

    with refusals():
        report = sprt_report(_counts(wdl), _counts(pairs), (elo0, elo1, alpha, beta), model)
    if json:
        print_json(report)
        return
    for name, value in report.items():
        out.print(f"{name:9} {value if isinstance(value, str) else _number(value, 4)}")


def _number(value: float | None, digits: int = 1) -> str:
    return "open" if value is None else f"{value:.{digits}f}"


def _counts(text: str) -> list[int]:
    parts = text.split(",") if text else []
    if not all(part.strip().isdecimal() and len(part.strip()) <= MOST_DIGITS for part in parts):
        raise ValueError(f"expected whole numbers of at most {MOST_DIGITS} digits with commas, not {text[:60]!r}")
    return [int(part) for part in parts]
