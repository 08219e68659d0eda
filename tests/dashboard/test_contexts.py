"""What a page hands its template is used there, and a template uses nothing else."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jinja2 import meta, nodes

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
    *("frame", "url_for", "static", "suit", "self", "range", "interval_scale", "rating_chart", "labels"),
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


def made_in(app: FastAPI, template: str) -> set[str]:
    """Find what a template sets, or names in a loop or a macro, which counts as wanted where another branch has it."""
    environment = app.state.site.renderer.environment
    text, _, _ = environment.loader.get_source(environment, template)
    names = environment.parse(text).find_all(nodes.Name)
    return {name.name for name in names if name.ctx in ("store", "param")}


def renderings() -> Iterator[tuple[str, set[str], bool]]:
    """Yield every template that a page names, with the values that it is given by name, and whether these are all."""
    for file in sorted(Path(dashboard.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="html" | "markup"),
                    args=[_, ast.Constant(value=str(template)), *_],
                    keywords=given,
                ):
                    yield template, {each.arg for each in given if each.arg}, all(each.arg for each in given)


def test_every_value_that_a_template_is_given_is_used(app: FastAPI) -> None:
    found = list(renderings())
    assert [(template, given - used_by(app, template)) for template, given, _ in found] == [
        (each, set()) for each, *_ in found
    ]
    assert len(found) > 25


def test_every_value_that_a_template_uses_is_given(app: FastAPI) -> None:
    whole = [(template, given) for template, given, all_of_it in renderings() if all_of_it]
    assert [(template, used_by(app, template) - made_in(app, template) - given) for template, given in whole] == [
        (each, set()) for each, _ in whole
    ]
    assert len(whole) > 15


def test_a_template_that_others_import_wants_to_be_given_nothing(app: FastAPI) -> None:
    environment = app.state.site.renderer.environment
    imported = set()
    for name in environment.list_templates(["html"]):
        tree = environment.parse(environment.loader.get_source(environment, name)[0])
        found = tree.find_all((nodes.Import, nodes.FromImport, nodes.Include, nodes.Extends))
        imported |= {each.template.value for each in found}
    assert {each: used_by(app, each) - made_in(app, each) for each in imported} == {each: set() for each in imported}
    assert imported >= {"base.html", "_parts.html", "_people.html"}


@pytest.mark.parametrize("template", CONTEXTS)
def test_a_page_that_the_api_has_too_shows_every_field_and_nothing_else(app: FastAPI, template: str) -> None:
    context: Any = CONTEXTS[template]
    fields = {field.name for field in dataclasses.fields(context)} | MORE.get(template, set())
    assert used_by(app, template) == fields
