"""Pages of prose: help, the rules as played here, the guide for bots, and the API explained."""

from dataclasses import fields
from importlib import resources

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from dashboard.api import api_document
from dashboard.markdown import to_html
from dashboard.site import SiteDep
from tournament.rules import DEFAULTS, GameName, Rules

router = APIRouter()


@router.get("/help", name="help")
def show_help(request: Request, site: SiteDep) -> HTMLResponse:
    """Show keys, words and how to read the numbers."""
    return site.renderer.html(request, "help.html")


@router.get("/rules", name="rules")
def show_rules(
    request: Request, site: SiteDep, tournament: int | None = None, game: GameName | None = None
) -> HTMLResponse:
    """Show the rules as a tournament plays them, by default the newest; or a game with its defaults."""
    newest = site.store.tournaments(limit=1) if tournament is None and game is None else []
    ref, rules = None, Rules.make(game or GameName.CUTTHROAT)
    if newest or tournament is not None:
        contest = site.contest(tournament if tournament is not None else newest[0].id)
        ref, rules = contest.ref, contest.info.rules
    usual, names = DEFAULTS[rules.game], [each.name for each in fields(Rules)]
    changed = {name for name in names if getattr(rules, name) != getattr(usual, name)}
    return site.renderer.html(request, "rules.html", tournament=ref, rules=rules, changed=changed)


@router.get("/guide", name="guide")
def show_guide(request: Request, site: SiteDep) -> HTMLResponse:
    """Show the guide for those who write bots, out of the installed package."""
    file = resources.files("bots").joinpath("README.md")
    text = file.read_text("utf-8") if file.is_file() else "# Guide\n\nThe guide is not installed."
    return site.renderer.html(request, "guide.html", body=to_html(text))


@router.get("/api", name="api_page")
def show_api(request: Request, site: SiteDep) -> HTMLResponse:
    """Show every operation of the API as its OpenAPI document describes it, readable without script."""
    base = str(request.base_url).rstrip("/")
    return site.renderer.html(request, "api.html", paths=api_document(request)["paths"], base=base)
