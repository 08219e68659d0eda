"""Handing in a bot, and the page of its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from fastapi import APIRouter, File, Form, HTTPException, Request, UploadFile
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dashboard.auth import SubmitterDep, VisitorDep, door_of
from dashboard.kit import house_names, kit_zip
from dashboard.problems import refusal_of
from dashboard.site import Site, SiteDep, row_id
from dashboard.web import download
from tournament.intake import (
    MAX_MODULE_BYTES,
    MAX_TOTAL_BYTES,
    MAX_UPLOAD_BYTES,
    MODULES,
    UploadRefused,
    check_upload,
)
from tournament.models_people import OPEN_STATES, SubmissionState
from tournament.people import Identity, SubmissionInfo, top_score
from tournament.store import NotFound, StoreError
from tournament.store_submissions import NewSubmission

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tournament.people import SiteOptions, TrialInfo
    from tournament.rules import Limits, Rules

router = APIRouter()

STAGES = ("received", "upload checks", "loads", "probe", "accepted")
"""The stages of a submission, in order; a probe says besides which of how many it is."""
NO_VERDICT: Mapping[str, Any] = {"reasons": (), "fault": None, "advice": "", "log": "", "use": {}, "python": ""}


@dataclass(frozen=True, slots=True)
class SubmitPage:
    """The form, and before it what is expected."""

    template: ClassVar[str] = "submit.html"
    bots: tuple[str, ...]
    bot: str
    note: str
    code: str
    problem: str
    options: SiteOptions
    upload_bytes: int
    files_bytes: int
    module_bytes: int
    modes: tuple[tuple[Rules, Limits], ...]
    modules: str


@dataclass(frozen=True, slots=True)
class StageLine:
    """A stage and how it stands: done, now, failed or open."""

    name: str
    state: str


@dataclass(frozen=True, slots=True)
class TrialLine:
    """How a new version did against the one before, in the background."""

    old: int
    played: int
    share: float
    verdict: str


@dataclass(frozen=True, slots=True)
class VerdictPart:
    """What changes on the page of a submission."""

    template: ClassVar[str] = "_verdict.html"
    submission: SubmissionInfo
    v: Mapping[str, Any]
    stages: tuple[StageLine, ...]
    open: bool
    ahead: int
    wait_s: float
    trial: TrialLine | None


@dataclass(frozen=True, slots=True)
class SubmissionPage:
    """The page of a submission around its part."""

    template: ClassVar[str] = "submission.html"
    submission: SubmissionInfo
    open: bool
    part: Markup


def receive(site: Site, visitor: Identity, bot: str, file_name: str, data: bytes, note: str) -> int:
    """Take an upload and return the number of its submission; refused by the upload checks it is kept all the same.

    Raises:
        StoreError: something is in the way.
        ValueError: the bot cannot be called so, or is too large.
    """
    reasons: tuple[str, ...] = ()
    try:
        source = check_upload(file_name, data)
    except UploadRefused as refused:
        source, reasons = None, refused.reasons
    return site.store.submit(NewSubmission(visitor.account_id, bot, file_name, source, reasons, note), house_names())


def visible_submission(site: Site, visitor: Identity, submission_id: int) -> SubmissionInfo:
    """Give a submission to its owner or the organiser; to others there is none.

    Raises:
        NotFound: there is none.
    """
    found = site.store.submission(row_id(submission_id))
    if found.state is SubmissionState.WAITING and site.store.fail_stalled():
        found = site.store.submission(submission_id)
    if found.account_id != visitor.account_id and not visitor.organises:
        raise NotFound(f"no submission {submission_id}")
    return found


def stage_lines(submission: SubmissionInfo) -> tuple[StageLine, ...]:
    """Say how each stage stands."""
    here = next((place for place, name in enumerate(STAGES) if submission.stage.startswith(name)), 0)
    lines = []
    for place, name in enumerate(STAGES):
        state = "done" if place < here else "open"
        if place == here:
            state = {SubmissionState.REJECTED: "failed", SubmissionState.FAILED: "failed"}.get(
                submission.state, "now" if submission.state is SubmissionState.CHECKING else "done"
            )
        lines.append(StageLine(submission.stage if place == here else name, state))
    return tuple(lines)


def trial_line(trial: TrialInfo | None) -> TrialLine | None:
    """Say how the trial of a version goes."""
    if trial is None:
        return None
    from_all = len(trial.scores) * top_score(trial.rules)
    share = sum(trial.scores) / from_all if from_all else 0.5
    return TrialLine(trial.old[0], len(trial.scores), share, trial.verdict or "")


def verdict_part(site: Site, submission: SubmissionInfo) -> VerdictPart:
    """Make the part of the page that changes."""
    is_open = submission.state in OPEN_STATES
    ahead, wait_s = site.store.waiting(submission.id) if is_open else (0, 0.0)
    trial = site.store.trial(submission.id) if submission.version else None
    verdict = {**NO_VERDICT, **submission.verdict}
    return VerdictPart(submission, verdict, stage_lines(submission), is_open, ahead, wait_s, trial_line(trial))


def submit_page(
    site: Site, visitor: Identity, bot: str = "", note: str = "", code: str = "", problem: str = ""
) -> SubmitPage:
    """Make the form, with what was typed and what is wrong with it."""
    names = tuple(each.name for each in site.store.bots(account_id=visitor.account_id))
    plain = sorted(name for name in MODULES if not name.startswith("_") and "." not in name)
    options = site.store.options()
    sizes = MAX_UPLOAD_BYTES, min(options.source_bytes, MAX_TOTAL_BYTES), min(options.source_bytes, MAX_MODULE_BYTES)
    return SubmitPage(names, bot, note, code, problem, options, *sizes, site.store.open_modes(), ", ".join(plain))


@router.get("/submit", name="submit")
def show_submit(request: Request, site: SiteDep, visitor: VisitorDep, bot: str = "") -> Response:
    """Show the form."""
    return site.renderer.html(request, submit_page(site, visitor, bot=bot))


@router.post("/submit", name="submit")
def submit(
    request: Request,
    site: SiteDep,
    visitor: SubmitterDep,
    bot: Annotated[str, Form()] = "",
    note: Annotated[str, Form()] = "",
    code: Annotated[str, Form()] = "",
    file: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """Take a bot as a file or as text."""
    data = file.file.read() if file is not None and file.filename else code.replace("\r\n", "\n").encode()
    name = file.filename if file is not None and file.filename else "pasted.py"
    bot = bot.strip()
    if not data:
        problem = "There is nothing to submit: choose a file, or paste the text of your bot."
        return site.renderer.html(request, submit_page(site, visitor, bot, note, code, problem), 422)
    try:
        number = receive(site, visitor, bot, name, data, note)
    except (StoreError, ValueError) as error:
        refusal = refusal_of(error)
        page = submit_page(site, visitor, bot, note, code, str(error))
        answer = site.renderer.html(request, page, refusal.status_code)
        answer.headers.update(refusal.headers or {})
        return answer
    return RedirectResponse(site.renderer.url_for("submission", submission_id=number), 303)


@router.get("/submissions/{submission_id}", name="submission")
def show_submission(
    request: Request, site: SiteDep, visitor: VisitorDep, submission_id: int, part: bool = False
) -> Response:
    """Show how a submission stands, as a page or as the page's part."""
    found = visible_submission(site, visitor, submission_id)
    made = verdict_part(site, found)
    markup = site.renderer.text(request, made)
    if part:
        return HTMLResponse(markup)
    page = SubmissionPage(found, made.open, Markup(markup))  # noqa: S704  # our own template made it, autoescaped
    return site.renderer.html(request, page)


@router.post("/submissions/{submission_id}/retry", name="retry_submission")
def retry(site: SiteDep, visitor: SubmitterDep, submission_id: int) -> Response:
    """Check a submission again whose check failed through us."""
    visible_submission(site, visitor, submission_id)
    site.store.retry_check(submission_id, by=visitor.account_id)
    return RedirectResponse(site.renderer.url_for("submission", submission_id=submission_id), 303)


@router.get("/kit.zip", name="kit")
def show_kit(request: Request, site: SiteDep) -> Response:
    """Give the kit of this contest: the package, a starter bot with the contest's options, a test."""
    rules, limits = site.store.open_modes()[0]
    try:
        made = kit_zip(rules, limits, door_of(request).base(request))
    except PackageNotFoundError as error:
        raise HTTPException(404, "The kit can be had only where the project is installed as a package.") from error
    return download(made, "smear-kit.zip", "application/zip")
