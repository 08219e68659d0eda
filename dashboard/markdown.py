"""Our own guide as HTML, its tables and code in regions that a key can scroll.

Only files that ship with the project go through here, never anything that a contestant wrote.
"""

import re
from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")


def to_html(text: str) -> Markup:
    r"""Turn Markdown into HTML.

    >>> to_html("# Hi\n\nUse `x < y` **now**.")
    Markup('<h1 id="hi">Hi</h1>\n<p>Use <code>x &lt; y</code> <strong>now</strong>.</p>\n')
    """
    return Markup(PARSER.render(text, {"tables": 0}))  # noqa: S704  # raw HTML in the text is escaped


def _rule(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Render a token with what our pages want of it."""
    token = tokens[index]
    match token.type:
        case "heading_open":
            token.attrSet("id", re.sub(r"[^a-z0-9]+", "-", tokens[index + 1].content.lower()).strip("-"))
        case "fence":
            return str(Markup('<pre tabindex="0"><code>{}</code></pre>\n').format(token.content.rstrip("\n")))
        case "table_open":
            env["tables"] += 1
            number = env["tables"]
            region = f'<div class="scroll" tabindex="0" role="region" aria-label="Table {number}">'
            return f"{region}<table><caption>Table {number}</caption>\n"
        case "table_close":
            return "</table></div>\n"
        case "th_open":
            return '<th scope="col">'
        case "td_open":
            return "<td>"
        case "link_open":
            # Files of the repository are not on the site.
            env["linked"] = str(token.attrGet("href")).startswith(("#", "http://", "https://"))
    if token.type in ("link_open", "link_close") and not env["linked"]:
        return ""
    return renderer.renderToken(tokens, index, options, env)


for name in ("heading_open", "fence", "table_open", "table_close", "th_open", "td_open", "link_open", "link_close"):
    PARSER.add_render_rule(name, _rule)
