"""The JSON API: the same queries and contexts as the pages, with ETags and the errors of RFC 9457."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from dashboard import feed
from dashboard.bot_pages import BotPage, bot_page
from dashboard.fairness_pages import FairnessPage, fairness_page
from dashboard.match_pages import match_list, match_page
from dashboard.problems import PROBLEM_MEDIA_TYPE
from dashboard.replay_pages import one_game
from dashboard.site import Progress, SiteDep
from dashboard.standings_pages import head_to_head_page, history_page, standings_page
from dashboard.tournament_pages import LivePart, TournamentRow, live_part, tournament_list, tournament_row
from dashboard.web import unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

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
NOT_YET: dict[int | str, dict[str, Any]] = {409: PROBLEM_ANSWERS[404] | {"description": "the match is not complete"}}


class TaggedRoute(APIRoute):
    """Gives every answer to a GET an ETag, and 304 to who has it already."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap FastAPI's own handler."""
        handle = super().get_route_handler()

        async def tagged(request: Request) -> Response:
            answer = await handle(request)
            return _tagged(request, answer) if request.method == "GET" else answer

        return tagged


router = APIRouter(prefix="/api/v1", responses=PROBLEM_ANSWERS, tags=["v1"], route_class=TaggedRoute)
router.include_router(feed.router)


def _tagged(request: Request, response: Response) -> Response:
    etag = hashlib.sha256(response.body).hexdigest()[:24]
    response.headers.update({"etag": f'"{etag}"', "cache-control": "no-cache"})
    return unchanged(request, etag) or response


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


def get_tournament(site: SiteDep, tournament_id: int) -> Tournament:
    """Give a tournament's rules, limits, commitment and counts."""
    contest = site.contest(tournament_id)
    info = contest.info
    return Tournament(
        tournament_row(info),
        site.progress(tournament_id),
        info.rules.to_dict(),
        info.limits.to_dict(),
        info.commitment,
        info.secret if info.secret_is_out else None,
        site.store.last_event(tournament_id),
    )


def get_live(site: SiteDep, tournament_id: int) -> LivePart:
    """Give what moves on the page of a tournament."""
    return live_part(site, site.contest(tournament_id))


def get_fairness(site: SiteDep, tournament_id: int) -> FairnessPage:
    """Give matches per pair, order of seats and worker, voids, and the digest of all results."""
    return fairness_page(site, tournament_id)


def get_bot(site: SiteDep, name: str, version: int | None = None, tournament: int | None = None) -> BotPage:
    """Give a bot's standing, versions, contracts, decision times, opponents and faults."""
    return bot_page(site, name, version, tournament)


def get_replay(request: Request, site: SiteDep, game: str) -> dict[str, Any]:
    """Give the replay document of a game, named by tournament, match and seating, like 1-17-2."""
    return one_game(request, site, game).document


for path, make, operation, more in (
    ("/tournaments", tournament_list, "list_tournaments", None),
    ("/tournaments/{tournament_id}", get_tournament, "get_tournament", None),
    ("/tournaments/{tournament_id}/live", get_live, "get_live", None),
    ("/tournaments/{tournament_id}/fairness", get_fairness, "get_fairness", None),
    ("/standings", standings_page, "get_standings", None),
    ("/head-to-head", head_to_head_page, "get_head_to_head", None),
    ("/history", history_page, "get_history", None),
    ("/bots/{name}", get_bot, "get_bot", None),
    ("/matches", match_list, "list_matches", None),
    ("/matches/{match_id}", match_page, "get_match", None),
    ("/games/{game}/replay", get_replay, "get_replay", NOT_YET),
):
    router.add_api_route(path, make, name=operation, operation_id=operation, responses=more)
