"""What every page shares: addresses, static files, number and time formats, and the renderer."""

import csv
import hashlib
import io
import mimetypes
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from urllib.parse import quote, urlencode

from fastapi import FastAPI, Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Undefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse

from dashboard.charts import interval_scale, rating_chart
from tournament.people import Identity

HERE = Path(__file__).parent
THEMES = ("light", "dark")
SUIT_WORDS = {"C": "clubs", "D": "diamonds", "H": "hearts", "S": "spades"}
RANK_WORDS = {"A": "ace", "K": "king", "Q": "queen", "J": "jack", "T": "ten"} | {
    str(rank): word for rank, word in enumerate("two three four five six seven eight nine".split(), start=2)
}
LABELS = {
    "players": "Seats in Cutthroat: 2 or 3",
    "target": "Points to play to",
    "deal_limit": "Deals after which a game ends",
    "redeal_limit": "Thrown-in deals in a row after which it ends",
    "bidder_takes": "Cards that the bidder takes in Wisconsin: 0 to 3",
    "rounds": "Rounds",
    "cores": "Matches side by side",
    "decision_cpu_s": "CPU seconds of a decision",
    "game_cpu_s": "CPU seconds of a game, to begin with",
    "deal_cpu_s": "CPU seconds added for each deal",
    "load_cpu_s": "CPU seconds to load a bot",
    "memory_mib": "Memory of a bot in MiB",
    "repeat_percent": "Percent of the matches that another worker plays again",
    "public": "Everybody may look (else: only who is signed in)",
    "frozen": "Submissions are closed",
    "uploads_per_hour": "Uploads an hour, of each account",
    "bots": "Bots, of each account",
    "source_bytes": "Bytes of a bot, unpacked (16 MiB at most)",
    "check_cpu_s_per_day": "Seconds of processor time in checks a day, of each account",
    "waiting": "Submissions that may wait before the site says busy",
    "cap": "How many may join",
    "hours": "For how many hours",
    "days": "Days (0: no end)",
}
"""What forms call the fields whose values can be refused, beside the field and in the refusal."""
# Everything a terminal or a text editor could act on, and the marks that turn the direction of
# text around: shown as escapes, so that a log cannot hide part of itself.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class StaticFile:
    """One file under ``static/``, read once when the application is made."""

    body: bytes
    media_type: str
    digest: str


def card_words(card: str) -> str:
    """Give the spoken name of a card.

    >>> card_words("JH")
    'jack of hearts'
    """
    return f"{RANK_WORDS[card[0]]} of {SUIT_WORDS[card[1]]}"


def number(value: float, digits: int = 0) -> str:
    """Format with thousands separated by thin spaces and a real minus sign."""
    return f"{value:,.{digits}f}".replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "\N{MINUS SIGN}")


def rating(value: float) -> str:
    """Write an Elo number, whole and without separators, as people know it."""
    return number(value).replace("\N{NARROW NO-BREAK SPACE}", "")


def signed(value: float, digits: int = 0) -> str:
    """Format with a sign, zero without one."""
    text = number(abs(value), digits)
    if float(f"{value:.{digits}f}") == 0:
        return text
    return ("+" if value > 0 else "\N{MINUS SIGN}") + text


def percent(value: float, digits: int = 0) -> str:
    """Format a share of one as percent."""
    return number(100 * value, digits) + "\N{NARROW NO-BREAK SPACE}%"


def fraction(value: float) -> str:
    """Write points as for chess, halves as ½.

    >>> fraction(1.5), fraction(0.5), fraction(4)
    ('1½', '½', '4')
    """
    whole = int(value)
    return f"{whole or ''}½" if value != whole else str(whole)


def visible(text: str, limit: int = 8192) -> str:
    """Make control characters visible and cut foreign text to a length."""
    shown = UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", text[:limit])
    return shown if len(text) <= limit else shown + " … (cut)"


def ago(moment: datetime, now: datetime) -> str:
    """Say how long ago a time was, in words."""
    seconds = max(0, int((now - moment).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"


def duration(seconds: float) -> str:
    """Say a length of time with its two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@cache
def suit_symbol(suit: str, label: bool = False) -> Markup:
    """Draw a suit from the sprite of the base template, coloured, by default without a name."""
    name = SUIT_WORDS[suit]
    spoken = Markup(' role="img" aria-label="{}"').format(name) if label else Markup(' aria-hidden="true"')
    return Markup('<svg class="suit {}" viewBox="0 0 16 16"{}><use href="#{}"/></svg>').format(
        suit.lower(), spoken, name
    )


class Renderer:
    """Turns templates and the values that they name into pages; one per application."""

    def __init__(self, app: FastAPI, title: str, clock: Callable[[], datetime]) -> None:
        self.app = app
        self.title = title
        self.clock = clock
        self.asker: Callable[[Request], tuple[Identity | None, bool]] = lambda _: (None, False)
        """Says who asks, and whether others in the network can read along."""
        self.notices: Callable[[Identity | None], tuple[str, ...]] = lambda _: ()
        """Gives what stands above every page, for who asks."""
        self._addresses: dict[str, str] = {}
        self.files = {path.name: _read_static(path) for path in sorted((HERE / "static").iterdir())}
        self.environment = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self.environment.globals.update(
            url_for=self.url_for,
            static=self.static,
            suit=suit_symbol,
            interval_scale=interval_scale,
            rating_chart=rating_chart,
            labels=LABELS,
        )
        filters = (number, rating, signed, percent, visible, ago, duration, card_words, fraction, stamp, iso)
        self.environment.filters.update({each.__name__: each for each in filters})
        self.environment.filters.update(
            combine=lambda one, other: {**one, **other},
            suit_words=SUIT_WORDS.__getitem__,
            moment=lambda seconds: datetime.fromtimestamp(seconds, UTC),
        )

    def url_for(self, name: str, query: Mapping[str, object] | None = None, /, **path: object) -> str:
        """Make the address of a route; query values that are not set are left out."""
        address = self._addresses.get(name)
        if address is None:
            # The router searches all routes at each call, and a page of a replay has a hundred links.
            holes = {key: f"{{{key}}}" for key in path}
            address = self._addresses[name] = str(self.app.url_path_for(name, **holes))
        for key, value in path.items():
            address = address.replace(f"{{{key}}}", quote(str(value), safe=""))
        kept = {
            key: 1 if value is True else value
            for key, value in (query or {}).items()
            # By identity: seat 0 and act 0 are values, and 0 == False.
            if not isinstance(value, Undefined) and value is not None and value is not False and value != ""
        }
        return f"{address}?{urlencode(kept)}" if kept else address

    def static(self, name: str) -> str:
        """Make the address of a static file, with the hash of its content."""
        return self.url_for("static", digest=self.files[name].digest, name=name)

    def text(self, request: Request, template: str, /, **values: object) -> str:
        """Render a template with its values to markup."""
        theme = request.cookies.get("theme", "")
        visitor, bare = self.asker(request)
        frame = {
            "title": self.title,
            "path": request.url.path,
            "theme": theme if theme in THEMES else "",
            "now": self.clock(),
            "visitor": visitor,
            "bare": bare,
            "notices": () if template.startswith("_") else self.notices(visitor),  # a part has a page around it
        }
        return self.environment.get_template(template).render(frame=frame, **values)

    def markup(self, request: Request, template: str, /, **values: object) -> Markup:
        """Render a part of a page, to stand in a page."""
        return Markup(self.text(request, template, **values))  # noqa: S704  # our own template makes it, autoescaped

    def html(self, request: Request, template: str, /, status_code: int = 200, **values: object) -> HTMLResponse:
        """Render a template with its values to an answer."""
        return HTMLResponse(self.text(request, template, **values), status_code)

    def lead_to(self, name: str, query: Mapping[str, object] | None = None, /, **path: object) -> RedirectResponse:
        """Answer a change with the page to look at next."""
        return RedirectResponse(self.url_for(name, query, **path), 303)


def stamp(moment: datetime) -> str:
    """Format a time for readers, in UTC."""
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def iso(moment: datetime) -> str:
    """Format a time for machines."""
    return moment.isoformat(timespec="seconds")


def csv_text(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Write a CSV table that no spreadsheet takes for formulas.

    Text cells that start like a formula get an apostrophe in front; numbers stay as they are.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(map(_csv_cell, row) for row in rows)
    return text.getvalue()


def _csv_cell(value: object) -> object:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def csv_file(name: str, header: Iterable[str], rows: Iterable[Iterable[object]]) -> Response:
    """Answer with a CSV table to save."""
    return download(csv_text(header, rows), name, "text/csv; charset=utf-8")


def download(body: str | bytes, name: str, media_type: str, etag: str = "") -> Response:
    """Answer with a file to save."""
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    if etag:
        headers |= {"etag": f'"{etag}"', "cache-control": "no-cache"}
    return Response(body, media_type=media_type, headers=headers)


def unchanged(request: Request, etag: str) -> Response | None:
    """Answer 304 to an asker who has this very state already, else nothing."""
    known = request.headers.get("if-none-match", "")
    if etag in (part.strip().removeprefix("W/").strip('"') for part in known.split(",")):
        return Response(status_code=304, headers={"etag": f'"{etag}"'})
    return None


def _read_static(path: Path) -> StaticFile:
    body = path.read_bytes()
    kind = "text/javascript" if path.suffix == ".js" else mimetypes.guess_type(path.name)[0]
    return StaticFile(body, kind or "application/octet-stream", hashlib.sha256(body).hexdigest()[:12])
