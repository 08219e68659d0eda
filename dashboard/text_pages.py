"""Pages of prose: help, the rules as played here, the guide for bots, and the API explained."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from dashboard.markdown import to_html
from dashboard.site import SiteDep, TournamentRef
from tournament.rules import DEFAULTS, GameName, High, Rules, Win

if TYPE_CHECKING:
    from collections.abc import Iterator

router = APIRouter()


@dataclass(frozen=True, slots=True)
class HelpPage:
    """Keys, words and how to read the numbers."""

    template: ClassVar[str] = "help.html"


@dataclass(frozen=True, slots=True)
class OptionLine:
    """An option of the rules: its value here, what that means, and whether it is the default."""

    name: str
    value: str
    meaning: str
    default: bool


@dataclass(frozen=True, slots=True)
class RulesPage:
    """The rules of the game of a tournament, or of the defaults where there is none."""

    template: ClassVar[str] = "rules.html"
    tournament: TournamentRef | None
    rules: Rules
    wisconsin: bool
    sentences: tuple[str, ...]
    options: tuple[OptionLine, ...]
    games: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class GuidePage:
    """The guide for those who write bots."""

    template: ClassVar[str] = "guide.html"
    body: Markup


@dataclass(frozen=True, slots=True)
class OperationLine:
    """An operation of the API as its document describes it."""

    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class ApiPage:
    """Every operation of the API, readable without script."""

    template: ClassVar[str] = "api.html"
    operations: tuple[OperationLine, ...]
    base: str


def rule_sentences(rules: Rules) -> tuple[str, ...]:
    """Tell the game in ten sentences, with the options as they are played."""
    wisconsin = rules.game is GameName.WISCONSIN
    table = (
        "Four play, partners opposite: seats 0 and 2 against 1 and 3; the deck is the 32 cards from seven to ace."
        if wisconsin
        else f"{'Three' if rules.players == 3 else 'Two'} play, each for itself, with all 52 cards."
    )
    takes = rules.bidder_takes
    taking = (
        f"The bidder then takes {takes} of the undealt cards unseen by the others and discards as many, never a trump "
        "unless it holds more than six."
        if takes
        else "The cards that were not dealt stay out of the deal."
    )
    high = "the ace of trumps, if it is played" if rules.high is High.ACE else "the highest trump played"
    low = "the seven of trumps" if wisconsin else "the lowest trump played"
    bidding = (
        "From the dealer's left each speaks once: pass, or bid 2, 3 or 4, higher than every bid before; when all pass, "
        "the same dealer deals again."
    )
    following = (
        "Who holds a card of the suit led plays that suit or a trump; who holds none plays anything; the highest "
        "trump, else the highest card of the suit led, takes the trick."
    )
    points = (
        f"Four points can be won: High for {high}, Low for playing {low}, Jack for winning the jack of trumps, and "
        "Game for the most pips in tricks (ten 10, ace 4, king 3, queen 2, jack 1), a tie giving it to nobody."
    )
    scoring = (
        "A bidder's side that wins at least its bid scores all it won, otherwise it loses its bid; the others always "
        "score what they won."
    )
    return (
        table,
        "The deal passes to the left; everybody gets six cards.",
        bidding,
        taking,
        "The highest bidder leads, and the suit of that first card is trumps.",
        following,
        points,
        scoring,
        *_winning(rules),
    )


def _winning(rules: Rules) -> Iterator[str]:
    side = "side" if rules.players == 4 else "player"
    if rules.win is Win.BID_AT_TARGET:
        yield f"The game is won by a {side} that held {rules.target} or more before a deal and makes its bid in it."
    elif rules.win is Win.BID_REACHES_TARGET:
        yield f"The game is won by a {side} that makes its bid and then has {rules.target} or more."
    else:
        yield f"A {side} that has {rules.target} or more after a deal wins; the higher score, then the bidder."
    if rules.game is GameName.CUTTHROAT:
        yield "Who has at least 1 before a deal, bids four and makes it wins at once."
    elif rules.cap_defenders:
        yield f"What a side earns while the other one bids does not lift it above {rules.target}."
    else:
        yield "A bid of four has no special effect."


def option_lines(rules: Rules) -> tuple[OptionLine, ...]:
    """List every option with its value and meaning."""
    default = DEFAULTS[rules.game]
    meanings = {
        "players": "seats at the table",
        "target": "the score that wins",
        "bidder_takes": "undealt cards that the bidder takes and replaces",
        "high": "who has the High point",
        "win": "when the target wins",
        "cap_defenders": "whether defenders stop at the target",
        "deal_limit": "played deals after which a game ends without a winner",
        "redeal_limit": "deals thrown in one after the other that end a game",
    }
    return tuple(
        OptionLine(name, str(getattr(rules, name)), meaning, getattr(rules, name) == getattr(default, name))
        for name, meaning in meanings.items()
    )


def operations(document: dict[str, Any]) -> tuple[OperationLine, ...]:
    """Read the operations out of an OpenAPI document."""
    return tuple(
        OperationLine(
            method.upper(),
            path,
            operation.get("summary", ""),
            operation.get("description", ""),
            tuple(
                (parameter["name"], parameter["in"], parameter.get("description", ""))
                for parameter in operation.get("parameters", ())
            ),
        )
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )


@router.get("/help", name="help")
def show_help(request: Request, site: SiteDep) -> HTMLResponse:
    """Show the help page."""
    return site.renderer.html(request, HelpPage())


@router.get("/rules", name="rules")
def show_rules(request: Request, site: SiteDep, tournament: int | None = None, game: str = "") -> HTMLResponse:
    """Show the rules as a tournament plays them, by default the newest; or a game with its defaults."""
    newest = site.store.tournaments(limit=1) if tournament is None and not game else []
    ref, rules = None, Rules.make(game if game in list(GameName) else GameName.CUTTHROAT)
    if newest or tournament is not None:
        contest = site.contest(tournament if tournament is not None else newest[0].id)
        ref, rules = contest.ref, contest.info.rules
    games = (("cutthroat", "Cutthroat Canadian Smear"), ("wisconsin", "Four Point Northeastern Wisconsin Smear"))
    wisconsin = rules.game is GameName.WISCONSIN
    page = RulesPage(ref, rules, wisconsin, rule_sentences(rules), option_lines(rules), games)
    return site.renderer.html(request, page)


@router.get("/guide", name="guide")
def show_guide(request: Request, site: SiteDep) -> HTMLResponse:
    """Show the guide for those who write bots."""
    file = resources.files("bots").joinpath("README.md")
    text = file.read_text(encoding="utf-8") if file.is_file() else "# Guide\n\nThe guide is not installed here."
    return site.renderer.html(request, GuidePage(to_html(text)))


@router.get("/api", name="api_page")
def show_api(request: Request, site: SiteDep) -> HTMLResponse:
    """Explain the API."""
    return site.renderer.html(request, ApiPage(operations(request.app.openapi()), str(request.base_url).rstrip("/")))
