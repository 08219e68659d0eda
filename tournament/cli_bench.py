"""The command `tournament bench`: what the runner itself costs, as ratios measured side by side in one run."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tournament.bench_peers import Peers
from tournament.cli_common import Refused, notes

ROWS = ("engine", "view", "decision", "rate", "cores", "ready", "thinking", "distributed", "flat", "refit")
ON_ALL_CORES = frozenset({"cores", "distributed"})
PEERS = Path("~/.cache/tournament-bench")


def bench(
    only: Annotated[str, typer.Option(help=f"rows, with commas between them: {', '.join(ROWS)}")] = "",
    rounds: Annotated[int, typer.Option(min=1, help="how often each pair is measured")] = 5,
    core: Annotated[int | None, typer.Option(help="the core to run on; by default the last")] = None,
    peers: Annotated[Path, typer.Option(help="where the peers' environments are, or are made")] = PEERS,
    write: Annotated[Path | None, typer.Option(help="put the rows into this Markdown file too")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON value")] = False,
) -> None:
    """Measure what the runner costs, beside bare parts and beside others."""
    chosen = [name.strip() for name in only.split(",") if name.strip()] or list(ROWS)
    if unknown := [name for name in chosen if name not in ROWS]:
        raise Refused(f"no row {unknown[0]!r}: expected some of {', '.join(ROWS)}")
    if not hasattr(os, "sched_setaffinity"):
        raise Refused("the benchmark needs Linux: it pins itself to a core, and bots to the sandbox")
    from tournament import cli_bench_rows as rows
    from workers.referee import collect_seldom

    collect_seldom()
    every = os.sched_getaffinity(0)
    found = {}
    run = rows.Run(Peers(peers.expanduser(), lambda text: notes.print(text, markup=False)), rounds)
    try:
        for name in chosen:
            notes.print(f"measuring: {name}", markup=False)
            os.sched_setaffinity(0, every if name in ON_ALL_CORES else {max(every) if core is None else core})
            found[name] = list(rows.MEASURES[name](run))
    finally:
        run.peers.close()
    if write is not None:
        rows.write_document(write, ROWS, found)
    if as_json:
        lines = {name: [asdict(line) for line in each] for name, each in found.items()}
        typer.echo(json.dumps({**rows.circumstances(), "rows": lines}))
        return
    table = Table(*rows.COLUMNS)
    for line in (line for each in found.values() for line in each):
        table.add_row(*rows.cells_of(line))
    Console(markup=False).print(table)
