"""Puts the site together: routes, middleware, error answers and static files."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from fastapi import FastAPI, Form, HTTPException, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from dashboard.headers import SafetyHeaders, SameOrigin
from dashboard.pages_text import router as text_router
from dashboard.problems import install_problems
from dashboard.site import Site, site_of
from dashboard.web import THEMES, Renderer

if TYPE_CHECKING:
    from collections.abc import Callable

YEAR_S = 31_536_000


def _now() -> datetime:
    return datetime.now(UTC)


def create_app(*, title: str = "Smear", clock: Callable[[], datetime] = _now) -> FastAPI:
    """Make the application over a store."""
    app = FastAPI(title=title, version="1", docs_url=None, redoc_url=None)
    app.state.site = Site(renderer=Renderer(app, title, clock), clock=clock)
    app.add_middleware(SameOrigin)
    app.add_middleware(SafetyHeaders)
    install_problems(app)
    _add_plumbing(app)
    app.include_router(text_router, include_in_schema=False)
    return app


def _add_plumbing(app: FastAPI) -> None:
    """Add the addresses that are no pages: static files, the choice of colours, health."""

    @app.get("/static/{digest}/{name}", name="static", include_in_schema=False)
    def static(request: Request, digest: str, name: str) -> Response:
        file = site_of(request).renderer.files.get(name)
        if file is None or file.digest != digest:
            raise HTTPException(404, "No such file.")
        headers = {"cache-control": f"public, max-age={YEAR_S}, immutable"}
        return Response(file.body, media_type=file.media_type, headers=headers)

    @app.post("/theme", name="set_theme", include_in_schema=False)
    def set_theme(theme: Annotated[str, Form()] = "", back: Annotated[str, Form()] = "/") -> Response:
        # Only a path of this site: "//host" and "/\\host" would lead to another one.
        target = back if back.startswith("/") and back[1:2] not in ("/", "\\") else "/"
        answer = RedirectResponse(target, 303)
        if theme in THEMES:
            answer.set_cookie("theme", theme, max_age=YEAR_S, samesite="lax", httponly=True)
        else:
            answer.delete_cookie("theme")
        return answer

    @app.get("/healthz", name="healthz", include_in_schema=False)
    def healthz() -> Response:
        return PlainTextResponse("ok\n")
