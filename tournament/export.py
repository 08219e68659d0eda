"""The public export of a tournament: five files from which anybody can work everything out again.

Nothing in them depends on when, where or in which order things ran: no times, worker names or numbers of the database.
docs/export.md describes them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from tournament.fairness import results_digest
from tournament.final_order import HEADER, FinalOrder, Place, final_order
from tournament.models import MatchState
from tournament.replay import document, to_line
from tournament.store import Store, WrongState
from tournament.store_values import EntrantInfo, MatchInfo, TournamentInfo
from tournament.table import COLUMNS, TableRow, ladder_of, table
from tournament.verify_settings import ENTRANT_KEYS, FILES, FORMAT, match_cells, match_header

_PAGE: Final = 1000


def export_tournament(store: Store, tournament_id: int, folder: Path) -> tuple[str, ...]:
    """Writes the export into a folder, which is made if it is not there; a file of the same name is replaced.

    Returns:
        The names of the files.

    Raises:
        NotFound: there is no such tournament.
        WrongState: it has not started, so that there is nothing to tell yet.
    """
    writers = _writers(store, tournament_id)
    folder.mkdir(parents=True, exist_ok=True)
    for name, write in writers.items():
        with _replaced(folder / name) as file:
            write(file)
    return FILES


def export_zip(store: Store, tournament_id: int, stream: IO[bytes]) -> None:
    """Writes the export as a zip archive, the same whenever it is made.

    Raises:
        NotFound: there is no such tournament.
        WrongState: it has not started, so that there is nothing to tell yet.
    """
    with ZipFile(stream, "w", ZIP_DEFLATED) as archive:
        for name, write in _writers(store, tournament_id).items():
            entry = ZipInfo(name)  # of 1980: the time of making would be another each time
            entry.compress_type = ZIP_DEFLATED
            with (
                archive.open(entry, "w", force_zip64=True) as raw,
                TextIOWrapper(raw, encoding="utf-8", newline="\n") as file,
            ):
                write(file)


def _writers(store: Store, tournament_id: int) -> dict[str, Callable[[IO[str]], None]]:
    tournament, entrants = store.tournament(tournament_id), store.entrants(tournament_id)
    if not entrants:
        raise WrongState(f"tournament {tournament_id} has not started: there is nothing to export")
    rows = standings_of(store, tournament, entrants)
    writers: tuple[Callable[[IO[str]], None], ...] = (
        lambda file: _write_tournament(file, store, tournament, entrants),
        lambda file: _write_csv(file, [COLUMNS, *(row.to_dict().values() for row in rows)]),
        lambda file: _write_matches(file, store, tournament, entrants),
        lambda file: file.writelines(to_line(document(record)) for _, record in store.game_records(tournament_id)),
        lambda file: _write_csv(file, [HEADER, *(place.cells() for place in places_of(tournament, entrants, rows))]),
    )
    return dict(zip(FILES, writers, strict=True))


@contextmanager
def _replaced(path: Path) -> Iterator[IO[str]]:
    """Opens a file beside `path` that takes its place when all is written: nobody sees half a file."""
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _write_tournament(file: IO[str], store: Store, tournament: TournamentInfo, entrants: Sequence[EntrantInfo]) -> None:
    schedule, missing = [], []
    for match in all_matches(store, tournament.id):
        schedule.append([match.number, match.key])
        if match.state is not MatchState.DONE:
            missing.append(match.number)
    value = {
        "format": FORMAT,
        "name": tournament.name,
        "rules": tournament.rules.to_dict(),
        "limits": tournament.limits.to_dict(),
        "rounds": tournament.rounds,
        "entrants": [
            {"bot": entrant.name} | {name: getattr(entrant, name) for name in ENTRANT_KEYS} for entrant in entrants
        ],
        "final_order": tournament.final_order,
        "anchor": tournament.anchor,
        "disqualifications": [
            {"entrant": entrant.text, "reason": entrant.disqualified} for entrant in entrants if entrant.disqualified
        ],
        "voids": [{"match": void.number, "reason": void.reason} for void in store.voids(tournament.id)],
        "schedule": schedule,
        "without_result": missing,
        "commitment": tournament.commitment,
        "results": results_digest(store.game_digests(tournament.id)),
        "secret": tournament.secret if tournament.secret_is_out else None,
    }
    json.dump(value, file, indent=1, sort_keys=True, ensure_ascii=False)
    file.write("\n")


def standings_of(store: Store, tournament: TournamentInfo, entrants: Sequence[EntrantInfo]) -> tuple[TableRow, ...]:
    """Returns the rows of the standings."""
    figures = store.figures(tournament.id)
    return table(tournament.rules, entrants, figures, ladder_of(entrants, figures, tournament.anchor))


def places_of(
    tournament: TournamentInfo, entrants: Sequence[EntrantInfo], rows: Sequence[TableRow]
) -> tuple[Place, ...]:
    """Returns the final order by the tournament's own rule."""
    return final_order(entrants, rows, FinalOrder(tournament.final_order))


def _write_csv(file: IO[str], rows: Iterable[Iterable[Any]]) -> None:
    csv.writer(file, lineterminator="\n").writerows(rows)


def _write_matches(file: IO[str], store: Store, tournament: TournamentInfo, entrants: Sequence[EntrantInfo]) -> None:
    rows = (
        match_cells(match.number, match.key, match.games, match.scores, match.faults)
        for match in all_matches(store, tournament.id)
        if match.state is MatchState.DONE
    )
    _write_csv(file, [match_header(tournament.rules, len(entrants))])
    _write_csv(file, rows)


def all_matches(store: Store, tournament_id: int) -> Iterator[MatchInfo]:
    """Yields the matches of a tournament by number."""
    after = 0
    while page := store.matches(tournament_id, after=after, limit=_PAGE):
        yield from page
        after = page[-1].number
