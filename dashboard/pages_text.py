"""Pages of prose: help and the guide, and the machine side explained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from dashboard.site import SiteDep

router = APIRouter()


@dataclass(frozen=True, slots=True)
class HelpPage:
    """Keys, words and how to read the numbers."""

    template: ClassVar[str] = "help.html"


@router.get("/help", name="help")
def show_help(request: Request, site: SiteDep) -> HTMLResponse:
    """Show the help page."""
    return site.renderer.html(request, HelpPage())
