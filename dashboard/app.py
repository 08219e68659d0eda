"""Puts the site together: routes, middleware, error answers, static files and health."""

import gc
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from threading import Thread
from typing import Annotated

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Form, HTTPException, Request, Response
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.routing import BaseRoute
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from dashboard import (
    account_pages,
    api,
    auth,
    bot_pages,
    contest_pages,
    fairness_pages,
    match_pages,
    people_api,
    people_pages,
    replay_pages,
    standings_pages,
    submit_pages,
    text_pages,
    tournament_pages,
)
from dashboard.auth import Door
from dashboard.feed import Feed
from dashboard.headers import BodyLimit, HeadAsGet, SafetyHeaders, SameOrigin
from dashboard.problems import install_problems
from dashboard.site import Site, whole_site
from dashboard.web import THEMES, Renderer
from tournament.contest import House
from tournament.intake import MAX_UPLOAD_BYTES
from tournament.people import Identity
from tournament.store import Store
from tournament.store_public import PublicStore, holds

logger = logging.getLogger(__name__)
YEAR_S = 31_536_000
WARMED = 2  # so many tournaments, the newest ones, are worked out at the start
GRACE_S = 3  # open event streams would otherwise keep a stopping server for ever
PAGES = (
    *(tournament_pages, standings_pages, match_pages, replay_pages, bot_pages, text_pages),
    *(auth, submit_pages, account_pages, people_pages, contest_pages, fairness_pages),
)
GATE = [Depends(auth.gate), Depends(auth.own_form)]
DESCRIPTION = """Everything the site shows, from the same queries. Errors are `application/problem+json`; answers carry
an `ETag`; lists come in pages of 50 with cursors."""

MAX_BODY_BYTES = MAX_UPLOAD_BYTES + (1 << 20)  # a form with the largest upload in it


def _visitor(request: Request) -> Identity | None:
    """Find out who asks, for the frame of a page; of an error page too, whatever the error was."""
    try:
        return auth.visitor_of(request)
    except (HTTPException, SQLAlchemyError):
        return None


def create_app(
    store: Store,
    *,
    title: str = "Smear",
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    door: Door = Door(),  # noqa: B008  # a frozen value
    feed: Feed | None = None,
    house: House = lambda _: (),
) -> FastAPI:
    """Make the application over a store.

    Args:
        store: everything that is shown and handed in.
        title: the name of the site.
        clock: gives the time, aware.
        door: how the site is reached from outside.
        feed: the source of the live stream, for tests that cannot wait.
        house: gives house bots by their names, to be entered in contests.
    """
    app = FastAPI(title=title, version="1", description=DESCRIPTION, openapi_url=None, dependencies=GATE)
    renderer = Renderer(app, title, clock)
    renderer.notices = lambda visitor: contest_pages.notices(store, clock(), visitor)
    renderer.asker = lambda request: (_visitor(request), door.is_bare(request))
    public = PublicStore.beside(store)
    app.state.site = Site(store, renderer, clock, feed or Feed(store), door, house)
    app.state.public_site = Site(public, renderer, clock, feed or Feed(public), door, house)
    app.state.misses, app.state.exports = auth.Misses(), fairness_pages.Exports()
    app.add_middleware(HeadAsGet)
    app.add_middleware(BodyLimit, most_bytes=MAX_BODY_BYTES)
    app.add_middleware(SameOrigin, public_host=door.host)
    app.add_middleware(SafetyHeaders)
    if door.proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(door.proxies))
    install_problems(app)
    _add_plumbing(app)
    app.router.routes.extend(_routes())
    return app


@cache
def _routes() -> list[BaseRoute]:
    """Return the pages and the API, the same for all applications: FastAPI works out anew what it gets anew."""
    router = APIRouter(dependencies=GATE)
    for module in PAGES:
        router.include_router(module.router, include_in_schema=False)
    router.include_router(api.router)
    router.include_router(people_api.router)
    return router.routes


def warm(app: FastAPI) -> None:
    """Work out what the first visitors will ask for: the templates, the standings and the history.

    At a million games the sums of all results take seconds; from then on only new ones are added.
    """
    site: Site = app.state.site
    for name in site.renderer.environment.list_templates():
        site.renderer.environment.get_template(name)
    try:
        site = app.state.public_site if holds(site.store) else site
        for info in site.store.tournaments(limit=WARMED):
            standings_pages.history_page(site, site.contest(info.id))
    except SQLAlchemyError as error:  # `/readyz` says so too; the first visitors wait instead
        logger.warning("the standings could not be worked out ahead: %s", error)


def serve(app: FastAPI, host: str, port: int) -> None:
    """Serve until a signal comes; open streams are cut after a few seconds."""
    Thread(target=warm, args=(app,), daemon=True).start()
    # What was imported stays: a full collection that looks through all of it holds up a request for 0.15 s.
    gc.freeze()
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_level="warning",
        timeout_graceful_shutdown=GRACE_S,
        server_header=False,
        proxy_headers=False,  # which proxy is believed the door says, and not uvicorn's own default
    )


def _add_plumbing(app: FastAPI) -> None:
    """Add the addresses that are no pages: the description of the API, static files, the choice of colours, health."""
    app.add_api_route("/openapi.json", api.api_document, include_in_schema=False)

    @app.get("/static/{digest}/{name}", name="static", include_in_schema=False)
    def static(request: Request, digest: str, name: str) -> Response:
        file = whole_site(request).renderer.files.get(name)
        if file is None or file.digest != digest:
            raise HTTPException(404, "No such file.")
        headers = {"cache-control": f"public, max-age={YEAR_S}, immutable"}
        return Response(file.body, media_type=file.media_type, headers=headers)

    @app.post("/theme", name="set_theme", include_in_schema=False)
    def set_theme(theme: Annotated[str, Form()] = "", back: Annotated[str, Form()] = "/") -> Response:
        answer = RedirectResponse(auth.own_path(back), 303)
        if theme in THEMES:
            answer.set_cookie("theme", theme, max_age=YEAR_S, samesite="lax", httponly=True)
        else:
            answer.delete_cookie("theme")
        return answer

    @app.get("/healthz", name="healthz", include_in_schema=False)
    def healthz() -> Response:
        return PlainTextResponse("ok\n")

    @app.get("/readyz", name="readyz", include_in_schema=False)
    def readyz(request: Request) -> Response:
        try:
            whole_site(request).store.tournaments(limit=1)
        except SQLAlchemyError:
            return PlainTextResponse("the database does not answer, or its tables are missing\n", 503)
        return PlainTextResponse("ready\n")
