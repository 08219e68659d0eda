"""What the handlers share: the store, the renderer, the clock and the caches, one set per application."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, cast
from weakref import WeakValueDictionary

from fastapi import Depends, HTTPException, Request
from pydantic import BeforeValidator
from starlette.responses import HTMLResponse

from dashboard.web import Renderer
from tournament.contest import House
from tournament.standings import Standing
from tournament.store import NotFound, Store
from tournament.store_public import holds
from tournament.store_values import Counts, EntrantInfo, MatchInfo, TournamentInfo, value_of

if TYPE_CHECKING:
    from dashboard.auth import Door
    from dashboard.feed import Feed
    from dashboard.field import Field
    from dashboard.recorded import LoadedGame

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """The results of a pure but slow step that were asked for last, by a key that names everything they depend on."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[Hashable, Value] = {}
        self._lock = Lock()
        # A key's lock lasts as long as somebody makes its value or waits for it.
        self._making: WeakValueDictionary[Hashable, Lock] = WeakValueDictionary()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Give the kept value or make and keep it; who asks for it meanwhile waits, and for another one does not."""
        with self._lock:
            value = self._again(key)
            if value is not None:
                return value
            making = self._making.setdefault(key, Lock())
        with making:
            with self._lock:
                value = self._again(key)
            if value is None:
                value = make()
                with self._lock:
                    self._kept[key] = value
                    for stale in list(self._kept)[: -self._size]:
                        del self._kept[stale]
        return value

    def _again(self, key: Hashable) -> Value | None:
        """Give the kept value, which is now the last that was asked for."""
        value = self._kept.pop(key, None)
        if value is not None:
            self._kept[key] = value
        return value


@dataclass(frozen=True, slots=True)
class BotRef:
    """A bot version to link to."""

    name: str
    version: int


@dataclass(frozen=True, slots=True)
class TournamentRow:
    """A tournament in a list, or that a page is about."""

    id: int
    name: str
    state: str
    mode: str
    rounds: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Contest:
    """A tournament with its entrants."""

    info: TournamentInfo
    entrants: tuple[EntrantInfo, ...]

    @property
    def ref(self) -> TournamentRow:
        """Its name and state, for pages."""
        return tournament_row(self.info)

    def bot(self, position: int) -> BotRef:
        """Name an entrant."""
        return BotRef(self.entrants[position].name, self.entrants[position].version)

    def find(self, text: str) -> int | None:
        """Find the entrant that a reader names: ``name:version``, or a name alone for its newest version."""
        found = [entrant.position for entrant in self.entrants if text in (entrant.text, entrant.name)]
        return max(found, key=lambda position: self.entrants[position].version, default=None)


@dataclass(frozen=True, slots=True)
class Site:
    """The parts that handlers are given; the door is how the site is reached, the house gives bots by their names."""

    store: Store
    renderer: Renderer
    clock: Callable[[], datetime]
    feed: Feed
    door: Door
    house: House
    games: Cache[dict[int, LoadedGame]] = field(default_factory=lambda: Cache(64))
    fields: Cache[Field] = field(default_factory=lambda: Cache(8))
    checkpoints: Cache[tuple[tuple[Standing, ...], ...]] = field(default_factory=lambda: Cache(8))

    def contest(self, tournament_id: int | None) -> Contest:
        """Read the tournament that an address names, by default the newest; 404 without one."""
        try:
            info = self.store.tournament(tournament_id)
        except NotFound as error:
            way_on = "" if tournament_id else " One that is made with “tournament run” or for a contest shows here."
            raise HTTPException(404, f"There is {error}.{way_on}") from error
        return Contest(info, tuple(self.store.entrants(info.id)))

    def match(self, text: str) -> tuple[Contest, MatchInfo]:
        """Read the match that an address names as tournament-number; 404 without one."""
        tournament, _, number = text.partition("-")
        if not (tournament.isdecimal() and number.isdecimal() and len(text) < 30):
            raise HTTPException(404, "A match is named by its tournament and number, like 1-17.")
        contest = self.contest(int(tournament))
        try:
            return contest, self.store.match(contest.info.id, int(number))
        except NotFound as error:
            raise HTTPException(404, f"There is {error}.") from error


def moment(seconds: float | None) -> datetime | None:
    """Turn a stored time into an aware one."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def numbers(counts: Counts) -> dict[str, int]:
    """Give how many matches stand where; planned is always the sum of the others."""
    return {"planned": counts.planned, **asdict(counts)}


def tournament_row(about: TournamentInfo) -> TournamentRow:
    """Make the row of a tournament."""
    times = {name: moment(getattr(about, name)) for name in ("created_at", "started_at", "finished_at")}
    return value_of(TournamentRow, about, mode=about.rules.mode, state=str(about.state), **times)


def whole_site(request: Request) -> Site:
    """Give all parts of the application, for what shows no results."""
    return cast("Site", request.app.state.site)


def site_of(request: Request) -> Site:
    """Give the parts that a request may see: organisers everything, others nothing that is held back."""
    whole = whole_site(request)
    return whole if _organises(request) or not holds(whole.store) else cast("Site", request.app.state.public_site)


def stream_site_of(request: Request) -> Site:
    """Give the parts for an answer that goes on for a while, in which a hold may begin."""
    return whole_site(request) if _organises(request) else cast("Site", request.app.state.public_site)


def _organises(request: Request) -> bool:
    # `auth.gate` has found out who asks before any handler runs.
    visitor = getattr(request.state, "visitor", None)
    return visitor is not None and bool(visitor.organises)


StreamSiteDep = Annotated[Site, Depends(stream_site_of)]
SiteDep = Annotated[Site, Depends(site_of)]


def contest_of_path(site: SiteDep, tournament_id: int) -> Contest:
    """Read the tournament of a path."""
    return site.contest(tournament_id)


def empty_as(usual: object) -> BeforeValidator:
    """Read an empty value in an address as none, for which the usual one stands: a form sends empty fields too."""
    return BeforeValidator(lambda given: usual if given == "" else given)


def contest_of_query(site: SiteDep, tournament: Annotated[int | None, empty_as(None)] = None) -> Contest:
    """Read the tournament that a query names, by default the newest."""
    return site.contest(tournament)


ContestDep = Annotated[Contest, Depends(contest_of_path)]
ChosenContestDep = Annotated[Contest, Depends(contest_of_query)]


def values_of(page: Any) -> dict[str, Any]:
    """Give the fields of a context as the values of its template."""
    return {each.name: getattr(page, each.name) for each in fields(page)}


def shown(make: Callable[..., Any], template: str) -> Callable[..., HTMLResponse]:
    """Give the handler that shows a context as a page; it reads the address as the context's maker does."""

    def show(request: Request, site: SiteDep, page: Any = Depends(make)) -> HTMLResponse:  # noqa: B008  # FastAPI's way
        return site.renderer.html(request, template, **values_of(page))

    return show
