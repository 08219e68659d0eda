"""Pages of prose: help, the rules as played here, the guide for bots, and the API explained."""

import re
from dataclasses import fields
from importlib import resources
from itertools import count

from fastapi import APIRouter, Request, Response
from markdown_it import MarkdownIt
from markupsafe import Markup

from dashboard.api import api_document
from dashboard.site import SiteDep
from tournament.rules import DEFAULTS, GameName, Rules

router = APIRouter()


def to_html(text: str) -> Markup:
    r"""Turn our own Markdown into HTML, its tables and code in regions that a key can scroll.

    Only files that ship with the project go through here, never anything that a contestant wrote.

    >>> to_html("# Hi\n\nUse `x < y` **now**.")
    Markup('<h1 id="hi">Hi</h1>\n<p>Use <code>x &lt; y</code> <strong>now</strong>.</p>\n')
    """
    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    html = re.sub(r"<h(\d)>(.*?)</h", lambda found: f'<h{found[1]} id="{_slug(found[2])}">{found[2]}</h', html)
    html = re.sub(r"<pre><code[^>]*>", '<pre tabindex="0"><code>', html)
    html = re.sub(r' style="text-align:\w+"', "", html).replace("<th>", '<th scope="col">')
    numbers = count(1)
    html = re.sub("<table>", lambda _: _table(next(numbers)), html).replace("</table>", "</table></div>")
    # Files of the repository are not on the site.
    html = re.sub(r'<a href="(?!#|https?://)[^"]*">(.*?)</a>', r"\1", html)
    return Markup(html)  # noqa: S704  # raw HTML in the text is escaped


def _slug(heading: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"<[^>]+>|&\w+;", "", heading).lower()).strip("-")


def _table(number: int) -> str:
    region = f'<div class="scroll" tabindex="0" role="region" aria-label="Table {number}">'
    return f"{region}<table><caption>Table {number}</caption>"


@router.get("/help", name="help")
def show_help(request: Request, site: SiteDep) -> Response:
    """Show keys, words and how to read the numbers."""
    return site.renderer.html(request, "help.html")


@router.get("/rules", name="rules")
def show_rules(
    request: Request, site: SiteDep, tournament: int | None = None, game: GameName | None = None
) -> Response:
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
def show_guide(request: Request, site: SiteDep) -> Response:
    """Show the guide for those who write bots, out of the installed package."""
    file = resources.files("bots").joinpath("README.md")
    text = file.read_text("utf-8") if file.is_file() else "# Guide\n\nThe guide is not installed."
    return site.renderer.html(request, "guide.html", body=to_html(text))


@router.get("/api", name="api_page")
def show_api(request: Request, site: SiteDep) -> Response:
    """Show every operation of the API as its OpenAPI document describes it, readable without script."""
    base = str(request.base_url).rstrip("/")
    return site.renderer.html(request, "api.html", paths=api_document(request)["paths"], base=base)
