"""The public page about fairness: who met whom how often, who played it where, and what anybody can check."""

import math
import secrets
import shutil
import tempfile
import threading
import weakref
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, cast

from fastapi import APIRouter, HTTPException, Request, Response
from starlette.responses import FileResponse

from dashboard.field import Field, field_of
from dashboard.match_pages import VoidLine
from dashboard.site import BotRef, Contest, ContestDep, SiteDep, TournamentRow, moment, shown
from tournament import fairness, seeds
from tournament.export import export_zip
from tournament.fairness import FairMatch, WorkerShare
from tournament.models_contest import Verdict
from tournament.results import comparisons
from tournament.store import Store
from tournament.store_cluster import COORDINATOR
from tournament.store_repeats import repeats
from tournament.store_values import value_of

router = APIRouter()
MOST_EXPORTS: Final = 4


@dataclass(frozen=True, slots=True)
class OddPairLine:
    """Two bots at whose tables the third does unusually badly."""

    first: BotRef
    second: BotRef
    matches: int
    lost: float
    z: float


@dataclass(frozen=True, slots=True)
class FairnessPage:
    """Whether the tournament is fair, as far as numbers can tell.

    `pairs` says how many pairs have played so many matches; `seats` how many games were played in an order of seats, by
    places among a match's bots.
    """

    tournament: TournamentRow
    matches: int
    pair_count: int
    pairs: dict[int, int]
    seats: dict[str, int]
    workers: tuple[WorkerShare, ...]
    voids: tuple[VoidLine, ...]
    odd: tuple[OddPairLine, ...]
    three: bool
    repeated: int
    repeated_elsewhere: int
    not_repeatable: tuple[BotRef, ...]
    commitment: str
    secret: str | None
    results: str


def fairness_page(site: SiteDep, contest: ContestDep) -> FairnessPage:
    """Give matches per pair, order of seats and worker, voids, and the digest of all results."""
    about, store = contest.info, site.store
    rows = store.match_rows(about.id)
    matches = _matches(contest, field_of(site, contest), rows)
    voids = store.voids(about.id)
    sitting = min(len(contest.entrants), about.rules.side_count)
    seatings = seeds.seatings(about.rules, sitting) if sitting > 1 else ()
    met = Counter(fairness.pair_counts(matches).values())
    public = {row.number for row in rows}
    again = [each for each in repeats(store, about.id) if each.number in public]
    marked = {each.entrant for each in again if each.verdict is Verdict.NOT_REPEATABLE and each.entrant is not None}
    return FairnessPage(
        tournament=contest.ref,
        matches=len(matches),
        pair_count=math.comb(len(contest.entrants), 2),
        pairs=dict(sorted(met.items())),
        seats={
            " ".join("abc"[place] for place in seats): count
            for seats, count in fairness.seating_counts(matches, seatings).items()
        },
        workers=fairness.worker_shares(matches, [void.worker or "" for void in voids]),
        voids=tuple(value_of(VoidLine, void, voided_at=moment(void.voided_at)) for void in voids),
        odd=tuple(
            value_of(OddPairLine, pair, first=contest.bot(pair.first), second=contest.bot(pair.second))
            for pair in fairness.odd_pairs(matches)
        ),
        three=sitting == 3,
        repeated=len(again),
        repeated_elsewhere=sum(not each.repeated_by.startswith(COORDINATOR) for each in again),
        not_repeatable=tuple(map(contest.bot, sorted(marked))),
        commitment=about.commitment,
        secret=about.secret if about.secret_is_out else None,
        results=fairness.results_digest(store.game_digests(about.id)),
    )


def _matches(contest: Contest, field: Field, rows: Sequence[FairMatch]) -> list[FairMatch]:
    """Put beside every match what the ratings promise for it, in half points."""
    rules, strengths = contest.info.rules, field.ladder.fit.strengths
    games = {size: comparisons(rules, seeds.seatings(rules, size)) for size in range(2, min(rules.side_count, 3) + 1)}
    found = []
    for row in rows:
        promised = tuple(
            2 * count / (1 + math.exp(float(strengths[row.entrants[other]] - strengths[row.entrants[one]])))
            for (one, other), count in games[len(row.entrants)].items()
        )
        found.append(replace(row, promised=promised))
    return found


class Exports:
    """The archives that were asked for last, each made once: all games are played again for it."""

    def __init__(self) -> None:
        self._making = threading.Lock()
        self._made: dict[object, Path] = {}
        self._folder: Path | None = None

    def of(self, contest: Contest, store: Store) -> Path | None:
        """Give a tournament's archive as it is now; None while one is being made for somebody else."""
        about = contest.info
        state = about.id, about.last_order, about.last_void_order, about.finished_at, contest.entrants
        if state in self._made:
            return self._made[state]
        if not self._making.acquire(blocking=False):
            return None
        try:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="exports-"))
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            path = self._folder / f"{secrets.token_hex(8)}.zip"
            with path.open("wb") as file:
                export_zip(store, about.id, file)
            self._made[state] = path
            for oldest in list(self._made)[:-MOST_EXPORTS]:
                self._made.pop(oldest).unlink()
            return path
        finally:
            self._making.release()


@router.get("/tournaments/{tournament_id}/export.zip", name="export")
def show_export(request: Request, site: SiteDep, contest: ContestDep) -> Response:
    """Give the public export of a tournament that has ended, for `tournament verify --tournament`."""
    if not (contest.info.secret_is_out and contest.entrants):
        raise HTTPException(409, "The export is given out when the tournament has ended and nothing is held back.")
    path = cast("Exports", request.app.state.exports).of(contest, site.store)
    if path is None:
        raise HTTPException(503, "An export is being made: try again in a minute.", {"retry-after": "60"})
    return FileResponse(path, media_type="application/zip", filename=f"tournament-{contest.info.id}.zip")


router.add_api_route("/tournaments/{tournament_id}/fairness", shown(fairness_page, "fairness.html"), name="fairness")
