"""The organiser's archive of a tournament: the public export and everything that is not public.

Sources, tracebacks, logs, persons, workers and times: for whoever has to answer for a result, and for nobody else.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tournament.export import all_matches, export_tournament, places_of, standings_of
from tournament.final_order import grades
from tournament.models_people import FIRST_ACCOUNT
from tournament.store import NotFound, Store, WrongState
from tournament.store_repeats import repeats
from tournament.store_values import EntrantInfo
from tournament.table import ladder_of

AUDIT_LINES: Final = 1_000_000
_PAGE: Final = 500


def write_archive(store: Store, tournament_id: int, folder: Path) -> tuple[str, ...]:
    """Writes the archive into a folder.

    Returns:
        The names of what is in it.

    Raises:
        NotFound: there is no such tournament.
        WrongState: it has not started.
    """
    export_tournament(store, tournament_id, folder / "public")
    entrants = store.entrants(tournament_id)
    for entrant in entrants:
        if entrant.sha256 is not None:
            _write_source(store, entrant, folder / "sources" / entrant.text.replace(":", "-"))
    _write_lines(folder / "faults.jsonl", _faults(store, tournament_id))
    _write_lines(folder / "voids.jsonl", (asdict(each) for each in store.voids(tournament_id)))
    _write_lines(folder / "repeats.jsonl", (asdict(each) for each in repeats(store, tournament_id)))
    _write_lines(folder / "audit.jsonl", (asdict(each) for each in store.audit_log(AUDIT_LINES)))
    _write_lines(folder / "matches.jsonl", (asdict(each) for each in all_matches(store, tournament_id)))
    _write_lines(
        folder / "persons.jsonl",
        ({"entrant": each.text, "owner": each.owner, "person": person_of(store, each)} for each in entrants),
    )
    with (folder / "grades.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(grade_rows(store, tournament_id))
    return tuple(sorted(path.name for path in folder.iterdir()))


def grade_rows(store: Store, tournament_id: int) -> list[list[str]]:
    """Returns the grade CSV: contestant, bot, version, place, and how it stands to each house bot.

    Raises:
        NotFound: there is no such tournament.
        WrongState: it has not started.
    """
    info, entrants = store.tournament(tournament_id), store.entrants(tournament_id)
    if not entrants:
        raise WrongState(f"tournament {tournament_id} has not started: there are no grades yet")
    ladder = ladder_of(entrants, store.figures(tournament_id), info.anchor)
    places = places_of(info, entrants, standings_of(store, info, entrants))
    return grades(places, lambda one, other: bool(ladder.clear[one, other]), lambda each: person_of(store, each))


def person_of(store: Store, entrant: EntrantInfo) -> str:
    """Returns the display name of the contestant behind an entrant; the bot's own where there is no account."""
    if entrant.owner < FIRST_ACCOUNT:
        return entrant.name
    try:
        return store.account(entrant.owner).name
    except NotFound:
        return f"account {entrant.owner}"


def _write_source(store: Store, entrant: EntrantInfo, folder: Path) -> None:
    for path, content in store.source(entrant.sha256 or "").files:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _write_lines(path: Path, values: Iterable[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for value in values:
            file.write(json.dumps(value, sort_keys=True, default=bytes.hex) + "\n")


def _faults(store: Store, tournament_id: int) -> Iterator[dict[str, Any]]:
    before = None
    while page := store.faults(tournament_id, before=before, limit=_PAGE):
        yield from (asdict(each) for each in page)
        before = page[-1].match_id, page[-1].seating, page[-1].ordinal
