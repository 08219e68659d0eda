"""What a page hands its template is used there, and a template uses nothing else."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jinja2 import meta

import dashboard
from dashboard.bot_pages import BotPage
from dashboard.fairness_pages import FairnessPage
from dashboard.match_pages import MatchList, MatchPage
from dashboard.standings_pages import HeadToHeadPage, HistoryPage, StandingsPage
from dashboard.tournament_pages import TournamentList

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI

# What the renderer gives every template, and what templates import or define for themselves.
FRAME = {
    *("frame", "url_for", "static", "suit", "self", "range", "interval_scale", "rating_chart"),
    *("parts", "charts", "cards", "words", "interval", "table", "page"),
}
CONTEXTS = {
    "bot.html": BotPage,
    "fairness.html": FairnessPage,
    "head_to_head.html": HeadToHeadPage,
    "history.html": HistoryPage,
    "match.html": MatchPage,
    "matches.html": MatchList,
    "standings.html": StandingsPage,
    "tournaments.html": TournamentList,
}
MORE = {"bot.html": {"refused"}}
"""What the page has beyond what the API has, too."""


def used_by(app: FastAPI, template: str) -> set[str]:
    """Find what a template wants to be given."""
    environment = app.state.site.renderer.environment
    text, _, _ = environment.loader.get_source(environment, template)
    return meta.find_undeclared_variables(environment.parse(text)) - FRAME


def renderings() -> Iterator[tuple[str, set[str]]]:
    """Yield every template that a page names, with the values that it is given by name."""
    for file in sorted(Path(dashboard.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="html" | "markup"),
                    args=[_, ast.Constant(value=str(template)), *_],
                    keywords=given,
                ):
                    yield template, {each.arg for each in given if each.arg}


def test_every_value_that_a_template_is_given_is_used(app: FastAPI) -> None:
    found = list(renderings())
    assert [(template, given - used_by(app, template)) for template, given in found] == [
        (each, set()) for each, _ in found
    ]
    assert len(found) > 25


@pytest.mark.parametrize("template", CONTEXTS)
def test_a_page_that_the_api_has_too_shows_every_field_and_nothing_else(app: FastAPI, template: str) -> None:
    context: Any = CONTEXTS[template]
    fields = {field.name for field in dataclasses.fields(context)} | MORE.get(template, set())
    assert used_by(app, template) == fields
