"""Errors as answers: ``application/problem+json`` for programs, a page with a way on for people."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DataError
from starlette.exceptions import HTTPException

from dashboard.site import whole_site
from dashboard.web import LABELS
from tournament.store import NotFound, StoreError, WrongState
from tournament.store_people import NameTaken
from tournament.store_submissions import QuotaReached

TITLES = {
    303: "Sign in first",
    400: "The request makes no sense",
    401: "Sign in first",
    403: "Not allowed",
    404: "There is nothing here",
    405: "This address does not take that method",
    408: "Too slow",
    409: "Not yet",
    413: "Too large",
    422: "The request makes no sense",
    429: "Too much for now",
    500: "Something broke on our side",
    503: "Busy",
}
PROBLEM_MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as programs read it (RFC 9457); `type` is stable, `request_id` finds it in the log."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str


def _reads_json(request: Request) -> bool:
    return request.url.path.startswith("/api/v1") or request.url.path.endswith(".json")


def problem_answer(request: Request, status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Answer an error in the form that the asker reads: JSON under ``/api/v1``, else a page."""
    heading = TITLES.get(status, "The request failed")
    request_id = secrets.token_hex(6)
    if _reads_json(request):
        kind = "urn:smear-tournament:" + heading.lower().replace(" ", "-")
        problem = Problem(kind, heading, status, detail, request.url.path, request_id)
        return JSONResponse(asdict(problem), status, headers, media_type=PROBLEM_MEDIA_TYPE)
    page = {"status": status, "heading": heading, "detail": detail, "request_id": request_id}
    answer = whole_site(request).renderer.html(request, "problem.html", status, **page)
    answer.headers.update(headers or {})
    return answer


def refusal_of(error: StoreError | ValueError) -> HTTPException:
    """Give the answer to what the store refuses, or to something typed that cannot be used."""
    text = str(error)
    if isinstance(error, NotFound):
        return HTTPException(404, f"There is {text}." if text.startswith("no ") else text)
    if isinstance(error, QuotaReached):
        headers = {} if error.retry_s is None else {"retry-after": str(round(error.retry_s) + 1)}
        return HTTPException(503 if error.busy else 429, text, headers)
    return HTTPException(422 if isinstance(error, ValueError) else 409, text)


@contextmanager
def typed() -> Iterator[None]:
    """Answer 422 where something typed cannot be used.

    Raises:
        HTTPException: 422.
    """
    try:
        yield
    except ValueError as error:
        raise refusal_of(error) from error


def install_problems(app: FastAPI) -> None:
    """Register the handlers for refused, malformed and failed requests."""

    @app.exception_handler(NotFound)
    @app.exception_handler(WrongState)
    @app.exception_handler(NameTaken)
    @app.exception_handler(QuotaReached)
    def not_done(request: Request, error: StoreError) -> Response:
        return refused(request, refusal_of(error))

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> Response:
        detail = error.detail
        if error.status_code == 404 and detail == "Not Found":
            detail = "No page has this address. The links above lead everywhere."
        if error.status_code == 400 and detail.startswith("Part exceeded"):  # Starlette's word for a long text field
            return problem_answer(request, 413, "Text can be pasted up to 1 MiB: hand in longer text as a file.")
        return problem_answer(request, error.status_code, detail, error.headers)

    @app.exception_handler(RequestValidationError)
    def malformed(request: Request, error: RequestValidationError) -> Response:
        parts = []
        for part in error.errors():
            given = f" is {part['input']!r:.60}" if isinstance(part["input"], str) else ""
            name = ".".join(str(step) for step in part["loc"][1:])
            if part["loc"][0] == "body" and name in LABELS and not _reads_json(request):
                name = f"“{LABELS[name]}”"
            parts.append(f"{name}{given}: {part['msg']}")
        return problem_answer(request, 422, "; ".join(parts))

    # A number in an address that no database holds: SQLite's driver says the first, PostgreSQL's the second.
    @app.exception_handler(OverflowError)
    @app.exception_handler(DataError)
    def beyond(request: Request, _error: Exception) -> Response:
        return problem_answer(request, 404, "A number in this address is larger than any that there is.")

    @app.exception_handler(Exception)
    def broken(request: Request, _error: Exception) -> Response:
        return problem_answer(request, 500, "The error has been logged. Trying again in a moment may help.")
