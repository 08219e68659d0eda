"""Handing in a bot, and the page of its verdict."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, Response, UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse

from dashboard.auth import SubmitterDep, VisitorDep
from dashboard.kit import house_names, kit_zip
from dashboard.problems import refusal_of
from dashboard.site import Site, SiteDep
from dashboard.web import download
from tournament.intake import MAX_MODULE_BYTES, MAX_TOTAL_BYTES, MAX_UPLOAD_BYTES, MODULES, UploadRefused, check_upload
from tournament.models_people import OPEN_STATES, SubmissionState
from tournament.people import Identity, SubmissionInfo, TrialInfo, top_score
from tournament.store import NotFound, StoreError
from tournament.store_submissions import NewSubmission

router = APIRouter()

STAGES = ("received", "upload checks", "loads", "probe", "accepted")
"""The stages of a submission, in order; a probe says besides which of how many it is."""
NO_VERDICT: Mapping[str, Any] = {"reasons": (), "fault": None, "advice": "", "log": "", "use": {}, "python": ""}


@dataclass(frozen=True, slots=True)
class TrialLine:
    """How a new version did against the one before, in the background."""

    old: int
    played: int
    share: float
    verdict: str


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
    found = site.store.submission(submission_id)
    if found.state is SubmissionState.WAITING and site.store.fail_stalled():
        found = site.store.submission(submission_id)
    if found.account_id != visitor.account_id and not visitor.organises:
        raise NotFound(f"no submission {submission_id}")
    return found


def stage_states(submission: SubmissionInfo) -> list[tuple[str, str]]:
    """Say how each stage stands: done, now, failed or open."""
    here = next((place for place, name in enumerate(STAGES) if submission.stage.startswith(name)), 0)
    state = "done"
    if submission.state in (SubmissionState.REJECTED, SubmissionState.FAILED):
        state = "failed"
    elif submission.state is SubmissionState.CHECKING:
        state = "now"
    done = [(name, "done") for name in STAGES[:here]]
    return [*done, (submission.stage, state), *((name, "open") for name in STAGES[here + 1 :])]


def trial_line(trial: TrialInfo | None) -> TrialLine | None:
    """Say how the trial of a version goes."""
    if trial is None:
        return None
    from_all = len(trial.scores) * top_score(trial.rules)
    share = sum(trial.scores) / from_all if from_all else 0.5
    return TrialLine(trial.old[0], len(trial.scores), share, trial.verdict or "")


def submit_page(
    request: Request,
    site: Site,
    visitor: Identity,
    typed: Mapping[str, str],
    problem: str = "",
    refusal: HTTPException | None = None,
) -> Response:
    """Show the form, with what is expected, what was typed and what is wrong with it."""
    options = site.store.options()
    answer = site.renderer.html(
        request,
        "submit.html",
        refusal.status_code if refusal else 200,
        bots=[each.name for each in site.store.bots(account_id=visitor.account_id)],
        typed={"bot": "", "note": "", "code": "", **typed},
        problem=problem,
        options=options,
        upload_bytes=MAX_UPLOAD_BYTES,
        files_bytes=min(options.source_bytes, MAX_TOTAL_BYTES),
        module_bytes=min(options.source_bytes, MAX_MODULE_BYTES),
        modes=site.store.open_modes(),
        modules=", ".join(sorted(name for name in MODULES if not name.startswith("_") and "." not in name)),
    )
    answer.headers.update((refusal.headers if refusal else None) or {})
    return answer


@router.get("/submit", name="submit")
def show_submit(request: Request, site: SiteDep, visitor: VisitorDep, bot: str = "") -> Response:
    """Show the form."""
    return submit_page(request, site, visitor, {"bot": bot})


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
    name, data = "pasted.py", code.replace("\r\n", "\n").encode()
    if file is not None and file.filename:
        name, data = file.filename, file.file.read()
    try:
        if not data:
            raise ValueError("There is nothing to submit: choose a file, or paste the text of your bot.")
        number = receive(site, visitor, bot.strip(), name, data, note)
    except (StoreError, ValueError) as error:
        typed = {"bot": bot.strip(), "note": note, "code": code}
        return submit_page(request, site, visitor, typed, str(error), refusal_of(error))
    return site.renderer.lead_to("submission", submission_id=number)


@router.get("/submissions/{submission_id}", name="submission")
def show_submission(
    request: Request, site: SiteDep, visitor: VisitorDep, submission_id: int, part: bool = False
) -> Response:
    """Show how a submission stands, as a page or as the page's part."""
    found = visible_submission(site, visitor, submission_id)
    is_open = found.state in OPEN_STATES
    ahead, wait_s = site.store.waiting(found.id) if is_open else (0, 0.0)
    markup = site.renderer.markup(
        request,
        "_verdict.html",
        submission=found,
        v={**NO_VERDICT, **found.verdict},
        stages=stage_states(found),
        open=is_open,
        ahead=ahead,
        wait_s=wait_s,
        trial=trial_line(site.store.trial(found.id) if found.version else None),
    )
    if part:
        return HTMLResponse(markup)
    return site.renderer.html(request, "submission.html", submission=found, open=is_open, part=markup)


@router.post("/submissions/{submission_id}/retry", name="retry_submission")
def retry(site: SiteDep, visitor: SubmitterDep, submission_id: int) -> Response:
    """Check a submission again whose check failed through us."""
    visible_submission(site, visitor, submission_id)
    site.store.retry_check(submission_id, by=visitor.account_id)
    return site.renderer.lead_to("submission", submission_id=submission_id)


@router.get("/kit.zip", name="kit")
def show_kit(request: Request, site: SiteDep) -> Response:
    """Give the kit of this contest: the package, a starter bot with the contest's options, a test."""
    try:
        made = kit_zip(site.store.open_modes(), site.door.base(request))
    except PackageNotFoundError as error:
        raise HTTPException(404, "The kit can be had only where the project is installed as a package.") from error
    return download(made, "smear-kit.zip", "application/zip")
