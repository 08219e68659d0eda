"""What the handlers share: the store, the renderer, the clock and the caches, one set per application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import Depends, Request

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from dashboard.web import Renderer


@dataclass(frozen=True, slots=True)
class Site:
    """The parts that handlers are given."""

    renderer: Renderer
    clock: Callable[[], datetime]


def site_of(request: Request) -> Site:
    """Give the parts of the application that a request came to."""
    return cast("Site", request.app.state.site)


SiteDep = Annotated[Site, Depends(site_of)]
