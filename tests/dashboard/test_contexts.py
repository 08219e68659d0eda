"""Contexts are types: every field of one is used by its template, and a template uses nothing else."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from jinja2 import meta

import dashboard

if TYPE_CHECKING:
    from fastapi import FastAPI

# What the base gives every template, and what templates import or define for themselves.
FRAME = {"frame", "url_for", "static", "suit", "self", "range", "parts", "charts", "cards", "interval", "table", "page"}


def contexts() -> list[type[Any]]:
    """Find every context of the package; one that another extends is shown as that one."""
    found: list[type[Any]] = []
    for module in pkgutil.iter_modules(dashboard.__path__, "dashboard."):
        values = vars(importlib.import_module(module.name)).values()
        found += (value for value in values if dataclasses.is_dataclass(value) and hasattr(value, "template"))
    extended = {base for each in found for base in each.__mro__[1:]}
    return sorted(set(found) - extended, key=lambda each: each.__name__)


def test_each_context_and_its_template_name_the_same_things(app: FastAPI) -> None:
    environment = app.state.site.renderer.environment
    checked = 0
    for context in contexts():
        text, _, _ = environment.loader.get_source(environment, context.template)
        used = meta.find_undeclared_variables(environment.parse(text)) - FRAME
        fields = {field.name for field in dataclasses.fields(context)}
        assert used - fields == set(), context.__name__
        assert fields - used - UNUSED.get(context.__name__, set()) == set(), context.__name__
        checked += 1
    assert checked > 15


# What only the API shows.
UNUSED = {"RulesPage": {"rules"}, "MatchPage": {"started_at"}, "LivePart": set()}
