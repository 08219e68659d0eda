"""The JSON API: the same queries and contexts as the pages, with ETags and the errors of RFC 9457."""

import hashlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from dashboard import feed
from dashboard.bot_pages import bot_page
from dashboard.fairness_pages import fairness_page
from dashboard.match_pages import match_list, match_page
from dashboard.problems import PROBLEM_MEDIA_TYPE, Problem
from dashboard.replay_pages import one_game
from dashboard.site import ContestDep, SiteDep, TournamentRow, numbers
from dashboard.standings_pages import head_to_head_page, history_page, standings_page
from dashboard.tournament_pages import tournament_list
from dashboard.web import unchanged

WORDS = {
    400: "the body cannot be read",
    401: "no token, or one that is not good for anything",
    403: "the token does not allow that",
    404: "there is no such thing, or it is not yours",
    409: "something that is there is in the way, or the match is not complete",
    413: "the body is too large",
    422: "a parameter makes no sense",
    429: "a quota is used up, or too many wrong tokens came; `Retry-After` says for how long",
    503: "busy; `Retry-After` says for how long",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the errors of an operation."""
    content = {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": WORDS[status], "content": content} for status in statuses}


def api_document(request: Request) -> dict[str, Any]:
    """Give the OpenAPI document, with the schema of the errors."""
    document: dict[str, Any] = request.app.openapi()
    document["components"]["schemas"]["Problem"] = TypeAdapter(Problem).json_schema()
    return document


class TaggedRoute(APIRoute):
    """Gives every answer to a GET an ETag, and 304 to who has it already."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap FastAPI's own handler."""
        handle = super().get_route_handler()

        async def tagged(request: Request) -> Response:
            answer = await handle(request)
            if request.method != "GET":
                return answer
            etag = hashlib.sha256(answer.body).hexdigest()[:24]
            answer.headers.update({"etag": f'"{etag}"', "cache-control": "no-cache"})
            return unchanged(request, etag) or answer

        return tagged


router = APIRouter(prefix="/api/v1", responses=problems(401, 404, 422, 429), tags=["v1"], route_class=TaggedRoute)
router.include_router(feed.router)


@dataclass(frozen=True, slots=True)
class Tournament:
    """A tournament with its counts, which always add up; the secret is out once it has ended."""

    tournament: TournamentRow
    progress: dict[str, int]
    rules: dict[str, Any]
    limits: dict[str, Any]
    commitment: str
    secret: str | None
    last_event: int


def get_tournament(site: SiteDep, contest: ContestDep) -> Tournament:
    """Give a tournament's rules, limits, commitment and counts."""
    about = contest.info
    return Tournament(
        contest.ref,
        numbers(site.store.counts(about.id)),
        about.rules.to_dict(),
        about.limits.to_dict(),
        about.commitment,
        about.secret if about.secret_is_out else None,
        site.store.last_event(about.id),
    )


def get_replay(request: Request, site: SiteDep, game: str) -> dict[str, Any]:
    """Give the replay document of a game, named by tournament, match and seating, like 1-17-2."""
    return one_game(request, site, game)


for path, make, operation, more in (
    ("/tournaments", tournament_list, "list_tournaments", None),
    ("/tournaments/{tournament_id}", get_tournament, "get_tournament", None),
    ("/tournaments/{tournament_id}/fairness", fairness_page, "get_fairness", None),
    ("/standings", standings_page, "get_standings", None),
    ("/head-to-head", head_to_head_page, "get_head_to_head", None),
    ("/history", history_page, "get_history", None),
    ("/bots/{name}", bot_page, "get_bot", None),
    ("/matches", match_list, "list_matches", None),
    ("/matches/{match_id}", match_page, "get_match", None),
    ("/games/{game}/replay", get_replay, "get_replay", problems(409)),
):
    router.add_api_route(path, make, name=operation, operation_id=operation, responses=more)
