"""Pages of prose: help, the rules as played here, the guide for bots, and the API explained."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import resources
from typing import Any, ClassVar

from fastapi import APIRouter, Request
from markupsafe import Markup

from dashboard.markdown import to_html
from dashboard.site import SiteDep, TournamentRef, shown
from tournament.rules import DEFAULTS, GameName, Rules

router = APIRouter()


@dataclass(frozen=True, slots=True)
class HelpPage:
    """Keys, words and how to read the numbers."""

    template: ClassVar[str] = "help.html"


@dataclass(frozen=True, slots=True)
class RulesPage:
    """The rules of the game of a tournament, or of the defaults where there is none; ``changed`` names options."""

    template: ClassVar[str] = "rules.html"
    tournament: TournamentRef | None
    rules: Rules
    changed: frozenset[str]


@dataclass(frozen=True, slots=True)
class GuidePage:
    """The guide for those who write bots."""

    template: ClassVar[str] = "guide.html"
    body: Markup


@dataclass(frozen=True, slots=True)
class ApiPage:
    """Every operation of the API as its OpenAPI document describes it, readable without script."""

    template: ClassVar[str] = "api.html"
    paths: dict[str, Any]
    base: str


def rules_page(site: SiteDep, tournament: int | None = None, game: str = "") -> RulesPage:
    """Give the rules as a tournament plays them, by default the newest; or a game with its defaults."""
    newest = site.store.tournaments(limit=1) if tournament is None and not game else []
    ref, rules = None, Rules.make(game if game in list(GameName) else GameName.CUTTHROAT)
    if newest or tournament is not None:
        contest = site.contest(tournament if tournament is not None else newest[0].id)
        ref, rules = contest.ref, contest.info.rules
    usual = DEFAULTS[rules.game]
    names = (each.name for each in fields(Rules))
    return RulesPage(ref, rules, frozenset(name for name in names if getattr(rules, name) != getattr(usual, name)))


def guide_page() -> GuidePage:
    """Read the guide out of the installed package."""
    file = resources.files("bots").joinpath("README.md")
    return GuidePage(to_html(file.read_text("utf-8") if file.is_file() else "# Guide\n\nThe guide is not installed."))


def api_page(request: Request) -> ApiPage:
    """Explain the API."""
    return ApiPage(request.app.openapi()["paths"], str(request.base_url).rstrip("/"))


router.add_api_route("/help", shown(HelpPage), name="help")
router.add_api_route("/rules", shown(rules_page), name="rules")
router.add_api_route("/guide", shown(guide_page), name="guide")
router.add_api_route("/api", shown(api_page), name="api_page")
