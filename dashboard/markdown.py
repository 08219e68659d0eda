"""The little Markdown that our own guide uses, as HTML: headings, paragraphs, lists, tables, code, links.

Only files that ship with the project go through here, never anything that a contestant wrote.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from markupsafe import Markup, escape


def to_html(text: str) -> Markup:
    r"""Turn Markdown into HTML; whatever is not known stays text.

    >>> to_html("# Hi\n\nUse `x < y` **now**.")
    Markup('<h1 id="hi">Hi</h1>\n<p>Use <code>x &lt; y</code> <strong>now</strong>.</p>')
    """
    numbers = itertools.count(1)
    return Markup("\n").join(_block(block, numbers) for block in _blocks(text))


def _blocks(text: str) -> list[str]:
    """Cut a text into blocks at blank lines, but not inside fenced code."""
    blocks: list[str] = []
    lines: list[str] = []
    fenced = False
    for line in [*text.splitlines(), ""]:
        if line.startswith("```"):
            if not fenced and lines:
                blocks.append("\n".join(lines))
                lines = []
            fenced = not fenced
        if line.strip() or fenced:
            lines.append(line)
        elif lines:
            blocks.append("\n".join(lines))
            lines = []
    return blocks


def _block(block: str, table_numbers: Iterator[int]) -> Markup:
    if block.startswith("```"):
        code = "\n".join(block.splitlines()[1:]).removesuffix("```").rstrip("\n")
        return Markup('<pre tabindex="0"><code>{}</code></pre>').format(code)
    if found := re.fullmatch(r"(#{1,4}) (.+)", block):
        level = len(found[1])
        anchor = re.sub(r"[^a-z0-9]+", "-", found[2].lower()).strip("-")
        return Markup('<h{0} id="{1}">{2}</h{0}>').format(level, anchor, _inline(found[2]))
    lines = block.splitlines()
    if lines[0].startswith("|"):
        return _table(lines, next(table_numbers))
    if re.match(r"([-*]|\d+\.) ", lines[0]):
        return _list(lines)
    return Markup("<p>{}</p>").format(_inline(" ".join(lines)))


def _list(lines: list[str]) -> Markup:
    items: list[str] = []
    for line in lines:
        found = re.match(r"([-*]|\d+\.) (.*)", line)
        if found:
            items.append(found[2])
        else:
            items[-1] += " " + line.strip()
    tag = "ul" if lines[0][0] in "-*" else "ol"
    body = Markup("").join(Markup("<li>{}</li>").format(_inline(item)) for item in items)
    return Markup("<{0}>{1}</{0}>").format(tag, body)


def _table(lines: list[str], number: int) -> Markup:
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(_inline(cell)) for cell in rows[0])
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(_inline(cell)) for cell in row))
        for row in rows[2:]
    )
    return Markup(
        '<div class="scroll" tabindex="0" role="region" aria-label="Table {0}">'
        "<table><caption>Table {0}</caption><thead><tr>{1}</tr></thead><tbody>{2}</tbody></table></div>"
    ).format(number, head, body)


def _inline(text: str) -> Markup:
    """Mark up code, bold, emphasis and links inside a line; code first, so that nothing in it is taken for marks."""
    parts = re.split(r"(`[^`]+`)", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part[1:-1]) if part.startswith("`") and len(part) > 2 else _marks(part)
        for part in parts
    )


def _marks(text: str) -> Markup:
    marked = str(escape(text))
    marked = re.sub(r"\[([^\]]+)\]\((#[\w-]+|https?://[^\s)]+)\)", r'<a href="\2">\1</a>', marked)
    marked = re.sub(r"\[([^\]]+)\]\([^\s)]+\)", r"\1", marked)  # files of the repository are not on the site
    marked = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", marked)
    marked = re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?!\w)", r"<em>\1</em>", marked)
    return Markup(marked)  # noqa: S704  # escaped above
