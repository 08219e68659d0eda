"""The organiser's pages about contests: make and plan them, run them, hold and publish, void, disqualify, announce."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from starlette.responses import RedirectResponse, Response

from dashboard.auth import OrganiserDep
from dashboard.kit import house_names
from dashboard.problems import typed
from dashboard.site import Site, SiteDep, row_id
from dashboard.web import csv_text, download, duration
from tournament import contest
from tournament.archive import grade_rows
from tournament.contest import House, Plan
from tournament.final_order import FinalOrder
from tournament.models import TRANSITIONS, TournamentState
from tournament.planning import Forecast, duration_of
from tournament.rules import GameName, High, Rules, Win
from tournament.store import NotFound, Store
from tournament.store_contest import BEFORE_START
from tournament.store_repeats import repeats, repeats_waiting
from tournament.store_values import TournamentInfo

if TYPE_CHECKING:
    from datetime import datetime

    from tournament.people import Identity
    from tournament.store_contest import AnnouncementInfo, PracticeInfo
    from tournament.store_repeats import RepeatInfo
    from tournament.store_values import EntrantInfo

router = APIRouter()
LEAST_MIB, MOST_MIB = 16, 4096
_Text = Annotated[str, Form(max_length=2000)]
NEWEST = 20

_MOVES = {
    "open": TournamentState.OPEN,
    "close": TournamentState.CLOSED,
    "pause": TournamentState.PAUSED,
    "continue": TournamentState.RUNNING,
}


@dataclass(frozen=True, slots=True)
class ContestRow:
    """A tournament in the organiser's list; times with their zone."""

    id: int
    name: str
    mode: str
    state: str
    closes: str
    held: bool


@dataclass(frozen=True, slots=True)
class ContestsPage:
    """All tournaments, practice rounds and announcements, and the form for a new one."""

    template: ClassVar[str] = "contests.html"
    contests: tuple[ContestRow, ...]
    practices: tuple[PracticeInfo, ...]
    announcements: tuple[AnnouncementInfo, ...]
    house: tuple[str, ...]
    cores: int


@dataclass(frozen=True, slots=True)
class ContestPage:
    """One tournament with all that an organiser can do to it now."""

    template: ClassVar[str] = "contest.html"
    contest: ContestRow
    plan: Plan
    rounds: int
    order: str
    opens: str
    extensions: tuple[tuple[str, str], ...]
    bots: int
    waiting: int
    forecast: Forecast | None
    problem: str
    before_start: bool
    moves: tuple[str, ...]
    entrants: tuple[EntrantInfo, ...]
    suspects: tuple[RepeatInfo, ...]
    repeats_waiting: int
    house: tuple[str, ...]


def notices(store: Store, now: datetime, visitor: Identity | None = None) -> tuple[str, ...]:
    """Give what stands above every page: announcements, deadlines, the visitor's own extension, and what is held."""
    found = [each.text for each in reversed(store.announcements(limit=3))]
    for info in store.tournaments(limit=NEWEST):
        if info.held_at is not None:
            found.append(f"The standings of {info.name} are held since {_when(info, info.held_at)}: "
                         "what ended later is shown when they are published.")  # fmt: skip
        for state, words, at in (
            (TournamentState.DRAFT, "open", info.opens_at),
            (TournamentState.OPEN, "close", info.closes_at),
        ):
            if info.state is state and at is not None:
                left_s = max(0.0, at - now.timestamp())
                found.append(f"Entries of {info.name} {words} {_when(info, at)}, in {duration(left_s)}.")
        if visitor is not None and info.state in BEFORE_START:
            mine = store.extensions(info.id).get(visitor.account_id, 0.0) - now.timestamp()
            if mine > 0:
                until = _when(info, now.timestamp() + mine)
                found.append(f"You may hand in for {info.name} until {until}: {duration(mine)} are left.")
    return tuple(found)


def _row(info: TournamentInfo) -> ContestRow:
    return ContestRow(
        info.id, info.name, info.rules.mode, str(info.state), _when(info, info.closes_at), info.held_at is not None
    )


def _when(info: TournamentInfo, at: float | None) -> str:
    return "" if at is None else contest.moment_text(at, Plan.from_dict(info.plan).zone)


def _house(request: Request) -> House:
    return cast("House", request.app.state.house)


@router.get("/admin/contests", name="contests")
def show_contests(request: Request, site: SiteDep, _: OrganiserDep) -> Response:
    """Show all tournaments and the form for a new one."""
    store = site.store
    page = ContestsPage(
        tuple(_row(info) for info in store.tournaments(limit=50)),
        tuple(store.practices()),
        tuple(store.announcements(limit=20)),
        house_names(),
        max(1, sum(worker.slots for worker in store.workers())),
    )
    return site.renderer.html(request, page)


@dataclass(frozen=True, slots=True)
class NewContest:
    """The form for a new tournament; what is empty takes its usual value."""

    name: _Text = ""
    game: Annotated[GameName, Form()] = GameName.CUTTHROAT
    players: _Text = ""
    target: _Text = ""
    deal_limit: _Text = ""
    redeal_limit: _Text = ""
    bidder_takes: _Text = ""
    high: _Text = ""
    win: _Text = ""
    cap_defenders: Annotated[bool, Form()] = False
    rounds: _Text = ""
    time_budget: _Text = ""
    opens: _Text = ""
    closes: _Text = ""
    zone: _Text = "UTC"
    order: Annotated[FinalOrder, Form()] = FinalOrder.SHARED
    anchor: _Text = ""
    all_bots: Annotated[bool, Form()] = False
    auto_start: Annotated[bool, Form()] = False
    cores: _Text = "1"
    decision_cpu: _Text = ""
    game_cpu: _Text = ""
    deal_cpu: _Text = ""
    load_cpu: _Text = ""
    memory_mib: _Text = ""
    practice_at: _Text = ""
    repeat_percent: _Text = ""
    house: Annotated[tuple[str, ...], Form()] = ()
    demand: Annotated[tuple[str, ...], Form()] = ()

    def wish(self) -> contest.Wish:
        """Give what is asked for.

        Raises:
            ValueError: a number is none, or the rules are not to be had.
        """
        numbers = ("players", "target", "deal_limit", "redeal_limit", "bidder_takes")
        options: dict[str, Any] = {name: _whole(text, name) for name in numbers if (text := getattr(self, name))}
        options |= {name: kind(text) for name, kind in (("high", High), ("win", Win)) if (text := getattr(self, name))}
        options |= {"cap_defenders": True} if self.cap_defenders else {}
        names = ("decision", "game", "deal", "load")
        limits: dict[str, float] = {
            f"{name}_cpu_s": _number(text, f"CPU seconds ({name})")
            for name in names if (text := getattr(self, f"{name}_cpu"))
        }  # fmt: skip
        if self.memory_mib:
            mib = _whole(self.memory_mib, "memory in MiB")
            if not LEAST_MIB <= mib <= MOST_MIB:
                raise ValueError(f"memory in MiB is {mib}: expected {LEAST_MIB} to {MOST_MIB}")
            limits["memory_bytes"] = mib << 20
        return contest.Wish(
            name=self.name, rules=Rules.make(self.game, **options), budget=self.time_budget, opens=self.opens,
            rounds=_whole(self.rounds, "rounds") if self.rounds else None, closes=self.closes, zone=self.zone,
            house=tuple(name for name in self.house if name in house_names()), order=self.order, anchor=self.anchor,
            all_bots=self.all_bots, auto_start=self.auto_start, cores=_whole(self.cores, "cores"), limits=limits,
            demands=self.demand, repeat_share=_number(self.repeat_percent or "2", "percent to play again") / 100,
        )  # fmt: skip


def _whole(text: str, name: str) -> int:
    if not (text.isdecimal() and len(text) < 7 and int(text) > 0) and text != "0":
        raise ValueError(f"{name} is {text!r:.20}: expected a whole number")
    return int(text)


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r:.20}: expected a number like 2 or 0.5") from None


@router.post("/admin/contests", name="make_contest")
def make_contest(site: SiteDep, visitor: OrganiserDep, form: Annotated[NewContest, Depends()]) -> Response:
    """Make a tournament, or practice rounds, as the form says."""
    with typed():
        new = form.wish().made()
        if form.practice_at:
            contest.practise(site.store, new, form.practice_at, by=visitor.account_id)
            return _to(site, None)
    return _to(site, site.store.create(new, by=visitor.account_id))


@router.get("/admin/contests/{tournament_id}", name="contest")
def show_contest(request: Request, site: SiteDep, _: OrganiserDep, tournament_id: int) -> Response:
    """Show one tournament with what can be done."""
    store = site.store
    info = site.contest(row_id(tournament_id)).info
    before, found, problem = info.state in BEFORE_START, None, ""
    entering = contest.entrants_of(store, info, _house(request)) if before else []
    if before:
        try:
            found = contest.forecast_of(store, info, entering)
        except ValueError as error:
            problem = str(error)
    # A start makes it run, and after the end a void does.
    moves = [
        word for word, state in _MOVES.items()
        if state in TRANSITIONS[info.state] and (word != "continue" or info.state is TournamentState.PAUSED)
    ]  # fmt: skip
    page = ContestPage(
        contest=_row(info),
        plan=Plan.from_dict(info.plan),
        rounds=info.rounds,
        order=info.final_order,
        opens=_when(info, info.opens_at),
        extensions=tuple((_name(store, who), _when(info, at)) for who, at in store.extensions(info.id).items()),
        bots=len(entering),
        waiting=store.undecided(info.id, info.closes_at) if before else 0,
        forecast=found,
        problem=problem,
        before_start=before,
        moves=tuple(moves),
        entrants=tuple(store.entrants(info.id)),
        suspects=tuple(each for each in repeats(store, info.id) if each.detail),
        repeats_waiting=repeats_waiting(store, info.id),
        house=house_names(),
    )
    return site.renderer.html(request, page)


def _name(store: Store, account_id: int) -> str:
    try:
        return store.account(account_id).name
    except NotFound:
        return str(account_id)


@dataclass(frozen=True, slots=True)
class ActForm:
    """What the forms of the page of a tournament say; each act reads its own."""

    opens: _Text = ""
    closes: _Text = ""
    account: _Text = ""
    reason: _Text = ""
    matches: _Text = ""
    bot: Annotated[int, Form()] = -1
    rounds: _Text = ""
    time_budget: _Text = ""
    house: Annotated[tuple[str, ...], Form()] = ()


@dataclass(frozen=True, slots=True)
class Act:
    """One act of an organiser."""

    store: Store
    info: TournamentInfo
    by: int
    form: ActForm
    bots: House

    def moment(self, text: str) -> float | None:
        """Read a time in the tournament's zone; None if there is none."""
        return contest.moment_of(text, Plan.from_dict(self.info.plan).zone) if text else None

    def start(self, *, anyway: bool = False) -> None:
        """Start it."""
        contest.start(self.store, self.info.id, self.bots, by=self.by, anyway=anyway, now=self.store.now())

    def times(self) -> None:
        """Set when entries open and close, for all."""
        opens_at = self.moment(self.form.opens) or self.info.opens_at
        closes_at = self.moment(self.form.closes) or self.info.closes_at
        self.store.set_times(self.info.id, opens_at, closes_at, by=self.by, why=self.form.reason)
        contest.tick(self.store, self.store.now(), self.bots)

    def extend(self) -> None:
        """Put off the close for one contestant."""
        account, until = self.store.find_account(self.form.account), self.moment(self.form.closes)
        self.store.extend(self.info.id, account.id, until, by=self.by, why=self.form.reason)

    def replan(self) -> None:
        """Change rounds, time and house bots."""
        budget_s = duration_of(self.form.time_budget) if self.form.time_budget else None
        known = [name for name in self.form.house if name in house_names()]
        changed = {**Plan.from_dict(self.info.plan).to_dict(), "house": known, "budget_s": budget_s}
        rounds = _whole(self.form.rounds, "rounds") if self.form.rounds else None
        if rounds == 0:
            raise ValueError("rounds is 0: expected 1 or more")
        self.store.replan(self.info.id, changed, rounds=rounds, by=self.by)

    def numbers(self) -> list[int]:
        """Read numbers of matches."""
        return [_whole(text, "match") for text in self.form.matches.replace(",", " ").split()]

    def void(self) -> None:
        """Take results out."""
        numbers = self.numbers()
        if not numbers:
            raise ValueError("no match named: expected numbers of matches like 17, 18")
        for number in numbers:
            self.store.void(self.info.id, number, self.form.reason, by=self.by)


ACTS: dict[str, Callable[[Act], object]] = {
    **{word: lambda act, state=state: act.store.set_state(act.info.id, state, by=act.by)  # type: ignore[misc]
       for word, state in _MOVES.items()},
    "start": lambda act: act.start(),
    "start-anyway": lambda act: act.start(anyway=True),
    "cancel": lambda act: act.store.cancel(act.info.id, by=act.by),
    "hold": lambda act: act.store.hold(act.info.id, act.store.now(), by=act.by),
    "publish": lambda act: act.store.hold(act.info.id, None, by=act.by),
    "times": Act.times,
    "extend": Act.extend,
    "plan": Act.replan,
    "void": Act.void,
    "repeat": lambda act: contest.repeat_sample(act.store, act.info.id, act.numbers(), by=act.by),
    "retry": lambda act: act.store.retry(act.info.id, by=act.by),
    "disqualify": lambda act: act.store.disqualify(act.info.id, act.form.bot, act.form.reason, by=act.by),
    "re-instate": lambda act: act.store.disqualify(act.info.id, act.form.bot, None, by=act.by),
    "announce": lambda act: act.store.announce_text(act.form.reason, act.info.id, by=act.by),
}  # fmt: skip


@router.post("/admin/contests/{tournament_id}/{act}", name="run_contest")
def run_contest(
    request: Request,
    site: SiteDep,
    visitor: OrganiserDep,
    tournament_id: int,
    act: str,
    form: Annotated[ActForm, Depends()],
) -> Response:
    """Do one of the acts that the page offers."""
    if act not in ACTS:
        raise HTTPException(404, "There is no such act.")
    info = site.contest(row_id(tournament_id)).info
    with typed():
        ACTS[act](Act(site.store, info, visitor.account_id, form, _house(request)))
    return _to(site, info.id)


@router.post("/admin/announcements", name="add_announcement")
def add_announcement(
    site: SiteDep, visitor: OrganiserDep, text: Annotated[str, Form(max_length=1000)] = ""
) -> Response:
    """Say something to all."""
    with typed():
        site.store.announce_text(text, None, by=visitor.account_id)
    return _to(site, None)


@router.post("/admin/announcements/{number}/drop", name="drop_announcement")
def drop_announcement(site: SiteDep, visitor: OrganiserDep, number: int) -> Response:
    """Take an announcement back."""
    site.store.drop_announcement(row_id(number), by=visitor.account_id)
    return _to(site, None)


@router.post("/admin/practice/{number}/stop", name="stop_practice")
def stop_practice(site: SiteDep, visitor: OrganiserDep, number: int) -> Response:
    """End practice rounds."""
    site.store.stop_practice(row_id(number), by=visitor.account_id)
    return _to(site, None)


@router.get("/admin/contests/{tournament_id}/grades.csv", name="grades")
def show_grades(site: SiteDep, _: OrganiserDep, tournament_id: int) -> Response:
    """Give the grades of all contestants."""
    header, *rows = grade_rows(site.store, row_id(tournament_id))
    return download(csv_text(header, rows), "grades.csv", "text/csv; charset=utf-8")


def _to(site: Site, tournament_id: int | None) -> Response:
    if tournament_id is None:
        return RedirectResponse(site.renderer.url_for("contests"), 303)
    return RedirectResponse(site.renderer.url_for("contest", tournament_id=tournament_id), 303)
