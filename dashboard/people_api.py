"""The API for those who take part: join, who am I, submit and read verdicts. Changes want a bearer token."""

import os
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request

from dashboard.api import TaggedRoute, problems
from dashboard.auth import SubmitterDep, VisitorDep, use_code
from dashboard.problems import typed
from dashboard.site import Site, SiteDep
from dashboard.submit_pages import TrialLine, receive, trial_line, visible_submission
from tournament import tokens
from tournament.models_people import OPEN_STATES
from tournament.people import BotInfo, SubmissionInfo
from tournament.store_values import value_of

router = APIRouter(
    prefix="/api/v1",
    tags=["taking part"],
    responses=problems(401, 429),
    route_class=TaggedRoute,
    generate_unique_id_function=lambda route: route.name,
)


@dataclass(frozen=True, slots=True)
class Joining:
    """A code, and the name to go by."""

    code: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Joined:
    """An account with its token, which is shown this once."""

    account: int
    name: str
    role: str
    token: str


@dataclass(frozen=True, slots=True)
class Me:
    """Who asks, for what the token may be used, and what the account has."""

    account: int
    name: str
    role: str
    scopes: tuple[str, ...]
    bots: tuple[BotInfo, ...]


@dataclass(frozen=True, slots=True)
class Submission(SubmissionInfo):
    """A submission as it stands; `final` says whether that will still change.

    `state` is waiting, checking, accepted, rejected or failed; failed is the server's failure and can be tried again.
    While it is open `ahead` submissions come first and the verdict is about `wait_s` seconds away.
    """

    final: bool
    ahead: int
    wait_s: float
    trial: TrialLine | None
    probes: tuple[str, ...]
    page: str


@dataclass(frozen=True, slots=True)
class SubmissionList:
    """Submissions of one's own, newest first; `next` is the cursor for `before`."""

    items: tuple[Submission, ...]
    next: int | None


def submission_of(site: Site, found: SubmissionInfo) -> Submission:
    """Give a submission as programs read it."""
    is_open = found.state in OPEN_STATES
    ahead, wait_s = site.store.waiting(found.id) if is_open else (0, 0.0)
    url_for = site.renderer.url_for
    probes = range(1, found.probe_count + 1)
    return value_of(
        Submission,
        found,
        final=not is_open,
        ahead=ahead,
        wait_s=round(wait_s, 1),
        trial=trial_line(site.store.trial(found.id) if found.version else None),
        probes=tuple(url_for("get_probe", submission_id=found.id, number=number) for number in probes),
        page=url_for("submission", submission_id=found.id),
    )


@router.post("/join", status_code=201, responses=problems(404, 409, 422))
def api_join(request: Request, site: SiteDep, joining: Joining) -> Joined:
    """Use a code: make or take over an account and get its token, which is shown this once."""
    token = tokens.new_token(os.urandom)
    with typed():
        made = use_code(request, site, joining.code, joining.name, token)
    return Joined(made.account_id, made.name, str(made.role), token.text)


@router.get("/me")
def get_me(site: SiteDep, visitor: VisitorDep) -> Me:
    """Tell whose token this is, and which bots the account has."""
    bots = tuple(site.store.bots(account_id=visitor.account_id))
    return Me(visitor.account_id, visitor.name, str(visitor.role), tuple(sorted(visitor.scopes)), bots)


BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


@router.post(
    "/submissions",
    status_code=202,
    responses=problems(400, 403, 409, 413, 422, 503),
    openapi_extra={"requestBody": {"required": True, "content": BYTES}},
)
def post_submission(
    site: SiteDep,
    visitor: SubmitterDep,
    data: Annotated[bytes, Body(media_type="application/octet-stream")],
    bot: Annotated[str, Query(description="the bot's name: a-z, 0-9, - and _", max_length=60)],
    file_name: Annotated[str, Query(description="the file's name; it ends in .py or .zip", max_length=200)] = "bot.py",
    note: Annotated[str, Query(description="a note to yourself", max_length=400)] = "",
) -> Submission:
    """Take the bytes of a `.py` file or of a zip as a new version of a bot; the verdict is read from `/submissions`."""
    with typed():
        number = receive(site, visitor, bot, file_name, data, note)
    return submission_of(site, site.store.submission(number))


@router.get("/submissions", responses=problems(422))
def list_submissions(
    site: SiteDep, visitor: VisitorDep, before: Annotated[int | None, Query(ge=1, le=1 << 60)] = None
) -> SubmissionList:
    """List one's own submissions, newest first, in pages of 50."""
    found = site.store.submissions(account_id=visitor.account_id, before=before, limit=51)
    cursor = found[49].id if len(found) > 50 else None
    return SubmissionList(tuple(submission_of(site, each) for each in found[:50]), cursor)


@router.get("/submissions/{submission_id}", responses=problems(404, 422))
def get_submission(site: SiteDep, visitor: VisitorDep, submission_id: int) -> Submission:
    """Give a submission with its verdict."""
    return submission_of(site, visible_submission(site, visitor, submission_id))


@router.get("/submissions/{submission_id}/probes/{number}", responses=problems(404, 422))
def get_probe(site: SiteDep, visitor: VisitorDep, submission_id: int, number: int) -> dict[str, Any]:
    """Give the replay document of a probe, by its number from 1."""
    visible_submission(site, visitor, submission_id)
    return site.store.probe(submission_id, number)
