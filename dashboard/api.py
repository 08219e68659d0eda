"""The JSON API: the same queries and contexts as the pages, with ETags and the errors of RFC 9457."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from pydantic import TypeAdapter
from starlette.responses import Response

from dashboard import feed
from dashboard.bot_pages import BotPage, bot_page
from dashboard.fairness_pages import FairnessPage, fairness_page
from dashboard.match_pages import FilterDep, MatchList, MatchPage, match_list, match_page
from dashboard.problems import PROBLEM_MEDIA_TYPE, Problem
from dashboard.replay_pages import one_game
from dashboard.site import SiteDep
from dashboard.standings_pages import (
    HeadToHeadPage,
    HistoryPage,
    StandingsPage,
    head_to_head_page,
    history_page,
    standings_page,
)
from dashboard.tournament_pages import (
    LivePart,
    Progress,
    TournamentList,
    TournamentRow,
    live_part,
    tournament_list,
    tournament_row,
)
from dashboard.web import unchanged
from tournament.replay import to_line

PROBLEM_ANSWERS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": words,
        "content": {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status, words in (
        (401, "the token is not good for anything, or the site is not public"),
        (404, "there is no such thing"),
        (422, "a parameter makes no sense"),
        (429, "too many wrong tokens"),
    )
}
NOT_YET = PROBLEM_ANSWERS | {409: PROBLEM_ANSWERS[404] | {"description": "the match is not complete"}}
router = APIRouter(prefix="/api/v1", responses=PROBLEM_ANSWERS, tags=["v1"])
router.include_router(feed.router)


@dataclass(frozen=True, slots=True)
class Tournament:
    """A tournament with its counts, which always add up; the secret is out once it has ended."""

    tournament: TournamentRow
    progress: Progress
    rules: dict[str, Any]
    limits: dict[str, Any]
    commitment: str
    secret: str | None
    last_event: int


def answer(request: Request, value: Any) -> Response:
    """Write a context as JSON with an ETag; answer 304 to who has it already."""
    body = TypeAdapter(type(value)).dump_json(value)
    etag = hashlib.sha256(body).hexdigest()[:24]
    headers = {"etag": f'"{etag}"', "cache-control": "no-cache"}
    return unchanged(request, etag) or Response(body, media_type="application/json", headers=headers)


@router.get(
    "/tournaments",
    response_model=TournamentList,
    name="list_tournaments",
    operation_id="list_tournaments",
    summary="Tournaments",
)
def tournaments(request: Request, site: SiteDep, before: int | None = None) -> Response:
    """List tournaments, newest first, in pages of 50; `before` is the cursor."""
    return answer(request, tournament_list(site, before))


@router.get(
    "/tournaments/{tournament_id}",
    response_model=Tournament,
    name="get_tournament",
    operation_id="get_tournament",
    summary="One tournament",
)
def tournament(request: Request, site: SiteDep, tournament_id: int) -> Response:
    """Give a tournament's rules, limits, commitment and counts."""
    contest = site.contest(tournament_id)
    info, live = contest.info, live_part(site, contest)
    value = Tournament(
        tournament_row(contest),
        live.progress,
        info.rules.to_dict(),
        info.limits.to_dict(),
        info.commitment,
        info.secret if info.secret_is_out else None,
        site.store.last_event(tournament_id),
    )
    return answer(request, value)


@router.get(
    "/tournaments/{tournament_id}/live",
    response_model=LivePart,
    name="get_live",
    operation_id="get_live",
    summary="What moves",
)
def live(request: Request, site: SiteDep, tournament_id: int) -> Response:
    """Give what moves on the page of a tournament."""
    return answer(request, live_part(site, site.contest(tournament_id)))


@router.get(
    "/tournaments/{tournament_id}/fairness",
    response_model=FairnessPage,
    name="get_fairness",
    operation_id="get_fairness",
    summary="Fairness",
)
def fairness(request: Request, site: SiteDep, tournament_id: int) -> Response:
    """Give matches per pair, order of seats and worker, voids, and the digest of all results."""
    return answer(request, fairness_page(site, tournament_id))


@router.get(
    "/standings", response_model=StandingsPage, name="get_standings", operation_id="get_standings", summary="Standings"
)
def standings(request: Request, site: SiteDep, tournament: int | None = None, q: str = "", house: str = "") -> Response:
    """Give the standings of a tournament, by default the newest."""
    return answer(request, standings_page(site, tournament, q, house))


@router.get(
    "/head-to-head",
    response_model=HeadToHeadPage,
    name="get_head_to_head",
    operation_id="get_head_to_head",
    summary="Head to head",
)
def head_to_head(request: Request, site: SiteDep, tournament: int | None = None, bots: str = "") -> Response:
    """Give the matrix of some bots (names, or name:version, with commas), by default the first 20."""
    return answer(request, head_to_head_page(site, tournament, bots))


@router.get(
    "/history", response_model=HistoryPage, name="get_history", operation_id="get_history", summary="Rating history"
)
def rating_history(request: Request, site: SiteDep, tournament: int | None = None, bots: str = "") -> Response:
    """Give ratings at checkpoints, for up to five bots."""
    return answer(request, history_page(site, tournament, bots))


@router.get("/bots/{name}", response_model=BotPage, name="get_bot", operation_id="get_bot", summary="One bot")
def bot(
    request: Request, site: SiteDep, name: str, version: int | None = None, tournament: int | None = None
) -> Response:
    """Give a bot's standing, versions, contracts, decision times, opponents and faults."""
    return answer(request, bot_page(site, name, version, tournament))


@router.get("/matches", response_model=MatchList, name="list_matches", operation_id="list_matches", summary="Matches")
def matches(
    request: Request,
    site: SiteDep,
    chosen: FilterDep,
    tournament: int | None = None,
    after: int | None = None,
    before: int | None = None,
) -> Response:
    """List matches in the order of the schedule, 50 at a time; `earlier` goes back as `before`, `later` as `after`."""
    return answer(request, match_list(site, chosen, tournament, after, before))


@router.get(
    "/matches/{match_id}", response_model=MatchPage, name="get_match", operation_id="get_match", summary="One match"
)
def match(request: Request, site: SiteDep, match_id: str) -> Response:
    """Give a match with its games deal by deal, by tournament and number, like 1-17."""
    return answer(request, match_page(site, match_id))


@router.get(
    "/games/{game}/replay",
    name="get_replay",
    operation_id="get_replay",
    summary="One replay",
    responses=NOT_YET,
    response_model=dict[str, Any],
)
def replay(request: Request, site: SiteDep, game: str) -> Response:
    """Give the replay document of a game, named by tournament, match and seating, like 1-17-2."""
    document = one_game(request, site, game).document
    headers = {"etag": f'"{document["digest"]}"', "cache-control": "no-cache"}
    body = to_line(document)
    return unchanged(request, document["digest"]) or Response(body, media_type="application/json", headers=headers)


def problem_schema() -> dict[str, Any]:
    """Describe the errors for the OpenAPI document."""
    return TypeAdapter(Problem).json_schema()
