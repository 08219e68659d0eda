"""The organiser's pages about contests: make and plan them, run them, hold and publish, void, disqualify, announce."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request, Response
from pydantic import AfterValidator, BaseModel, Field

from dashboard.auth import OrganiserDep
from dashboard.kit import house_names
from dashboard.problems import typed
from dashboard.site import ContestDep, SiteDep
from dashboard.web import csv_file, duration
from tournament import contest
from tournament.archive import grade_rows
from tournament.contest import House
from tournament.final_order import FinalOrder
from tournament.models import TRANSITIONS, TournamentState
from tournament.people import Identity
from tournament.planning import duration_of
from tournament.rules import GameName, High, Rules, Win
from tournament.store import NotFound, Store
from tournament.store_contest import BEFORE_START
from tournament.store_repeats import repeats, repeats_waiting
from tournament.store_values import TournamentInfo

router = APIRouter()
NEWEST = 20
_Text = Annotated[str, Field(max_length=2000)]
_House = Annotated[
    tuple[str, ...], AfterValidator(lambda names: tuple(name for name in names if name in house_names()))
]
_MOVES = {
    "open": TournamentState.OPEN,
    "close": TournamentState.CLOSED,
    "pause": TournamentState.PAUSED,
    "continue": TournamentState.RUNNING,
}


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


def _when(info: TournamentInfo, at: float | None) -> str:
    return "" if at is None else contest.moment_text(at, info.plan.zone)


@router.get("/admin/contests", name="contests")
def show_contests(request: Request, site: SiteDep, _: OrganiserDep) -> Response:
    """Show all tournaments, practice rounds and announcements, and the form for a new one."""
    store = site.store
    return site.renderer.html(
        request,
        "contests.html",
        contests=[(info, _when(info, info.closes_at)) for info in store.tournaments(limit=50)],
        practices=store.practices(),
        announcements=store.announcements(limit=20),
        house=house_names(),
        cores=max(1, sum(worker.slots for worker in store.workers())),
    )


class NewContest(BaseModel):
    """The form for a new tournament; what is empty takes its usual value."""

    game: GameName = GameName.CUTTHROAT
    players: int | None = None
    target: int | None = None
    deal_limit: int | None = None
    redeal_limit: int | None = None
    bidder_takes: int | None = None
    high: High | None = None
    win: Win | None = None
    cap_defenders: bool | None = None

    decision_cpu_s: float | None = None
    game_cpu_s: float | None = None
    deal_cpu_s: float | None = None
    load_cpu_s: float | None = None
    memory_mib: int | None = Field(None, ge=16, le=4096)

    name: _Text = ""
    rounds: int | None = None
    budget: _Text = ""
    house: _House = ()
    opens: _Text = ""
    closes: _Text = ""
    zone: _Text = "UTC"
    order: FinalOrder = FinalOrder.SHARED
    anchor: _Text = ""
    all_bots: bool = False
    auto_start: bool = False
    cores: int = 1
    demands: tuple[str, ...] = ()
    repeat_percent: float = 2.0
    practice_at: _Text = ""

    def wish(self) -> contest.Wish:
        """Give what is asked for.

        Raises:
            ValueError: the rules are not to be had.
        """
        given = self.model_dump(exclude_none=True, exclude={"repeat_percent", "practice_at"})
        options = {name: given.pop(name) for name in RULE_OPTIONS if name in given}
        limits = {name: given.pop(name) for name in LIMITS if name in given}
        if self.memory_mib is not None:
            limits["memory_bytes"] = given.pop("memory_mib") << 20
        rules = Rules.make(given.pop("game"), **options)
        return contest.Wish(rules=rules, limits=limits, repeat_share=self.repeat_percent / 100, **given)


RULE_OPTIONS = "players target deal_limit redeal_limit bidder_takes high win cap_defenders".split()
LIMITS = ("decision_cpu_s", "game_cpu_s", "deal_cpu_s", "load_cpu_s")


@router.post("/admin/contests", name="make_contest")
def make_contest(site: SiteDep, visitor: OrganiserDep, form: Annotated[NewContest, Form()]) -> Response:
    """Make a tournament, or practice rounds, as the form says."""
    with typed():
        new = form.wish().made(site.store, site.clock().timestamp())
        if form.practice_at:
            contest.practise(site.store, new, form.practice_at, by=visitor.account_id)
            return site.renderer.lead_to("contests")
    return site.renderer.lead_to("contest", tournament_id=site.store.create(new, by=visitor.account_id))


@router.get("/admin/contests/{tournament_id}", name="contest")
def show_contest(request: Request, site: SiteDep, _: OrganiserDep, about: ContestDep) -> Response:
    """Show one tournament with all that can be done to it now."""
    store, info = site.store, about.info
    before, forecast, problem = info.state in BEFORE_START, None, ""
    entering = contest.entrants_of(store, info, site.house) if before else []
    if before:
        try:
            forecast = contest.forecast_of(store, info, entering)
        except ValueError as error:
            problem = str(error)
    return site.renderer.html(
        request,
        "contest.html",
        contest=info,
        plan=info.plan,
        opens=_when(info, info.opens_at),
        closes=_when(info, info.closes_at),
        extensions=[(_name(store, who), _when(info, at)) for who, at in store.extensions(info.id).items()],
        bots=len(entering),
        waiting=store.undecided(info.id, info.closes_at) if before else 0,
        forecast=forecast,
        problem=problem,
        before_start=before,
        # A start makes it run, and after the end a void does.
        moves=[
            word
            for word, state in _MOVES.items()
            if state in TRANSITIONS[info.state] and (word != "continue" or info.state is TournamentState.PAUSED)
        ],
        entrants=about.entrants,
        suspects=[each for each in repeats(store, info.id) if each.detail],
        repeats_waiting=repeats_waiting(store, info.id),
        house=house_names(),
    )


def _name(store: Store, account_id: int) -> str:
    try:
        return store.account(account_id).name
    except NotFound:
        return str(account_id)


class ActForm(BaseModel):
    """What the forms of the page of a tournament say; each act reads its own."""

    opens: _Text = ""
    closes: _Text = ""
    account: _Text = ""
    reason: _Text = ""
    matches: _Text = ""
    bot: int = -1
    rounds: int | None = None
    budget: _Text = ""
    house: _House = ()

    def numbers(self) -> list[int]:
        """Read numbers of matches.

        Raises:
            ValueError: one is none.
        """
        return [int(text) for text in self.matches.replace(",", " ").split()]


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
        return contest.moment_of(text, self.info.plan.zone) if text else None

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
        budget_s = duration_of(self.form.budget) if self.form.budget else None
        changed = {"house": self.form.house, "budget_s": budget_s}
        self.store.replan(self.info.id, changed, rounds=self.form.rounds, by=self.by)

    def void(self) -> None:
        """Take results out."""
        numbers = self.form.numbers()
        if not numbers:
            raise ValueError("no match named: expected numbers of matches like 17, 18")
        for number in numbers:
            self.store.void(self.info.id, number, self.form.reason, by=self.by)

    def disqualify(self, reason: str | None) -> None:
        """Disqualify a bot for a reason, or re-instate it."""
        self.store.disqualify(self.info.id, self.form.bot, reason, by=self.by)


ACTS: dict[str, Callable[[Act], object]] = {
    **{word: lambda act, state=state: act.store.set_state(act.info.id, state, by=act.by)  # type: ignore[misc]
       for word, state in _MOVES.items()},
    "start": Act.start,
    "start-anyway": lambda act: act.start(anyway=True),
    "cancel": lambda act: act.store.cancel(act.info.id, by=act.by),
    "hold": lambda act: act.store.hold(act.info.id, act.store.now(), by=act.by),
    "publish": lambda act: act.store.hold(act.info.id, None, by=act.by),
    "times": Act.times,
    "extend": Act.extend,
    "plan": Act.replan,
    "void": Act.void,
    "repeat": lambda act: contest.repeat_sample(act.store, act.info.id, act.form.numbers(), by=act.by),
    "retry": lambda act: act.store.retry(act.info.id, by=act.by),
    "disqualify": lambda act: act.disqualify(act.form.reason),
    "re-instate": lambda act: act.disqualify(None),
    "announce": lambda act: act.store.announce_text(act.form.reason, act.info.id, by=act.by),
}  # fmt: skip


@router.post("/admin/contests/{tournament_id}/{act}", name="run_contest")
def run_contest(
    site: SiteDep,
    visitor: OrganiserDep,
    about: ContestDep,
    act: str,
    form: Annotated[ActForm, Form()],
) -> Response:
    """Do one of the acts that the page offers."""
    if act not in ACTS:
        raise HTTPException(404, "There is no such act.")
    with typed():
        ACTS[act](Act(site.store, about.info, visitor.account_id, form, site.house))
    return site.renderer.lead_to("contest", tournament_id=about.info.id)


@router.post("/admin/announcements", name="add_announcement")
def add_announcement(
    site: SiteDep, visitor: OrganiserDep, text: Annotated[str, Form(max_length=1000)] = ""
) -> Response:
    """Say something to all."""
    with typed():
        site.store.announce_text(text, None, by=visitor.account_id)
    return site.renderer.lead_to("contests")


@router.post("/admin/announcements/{number}/drop", name="drop_announcement")
def drop_announcement(site: SiteDep, visitor: OrganiserDep, number: int) -> Response:
    """Take an announcement back."""
    site.store.drop_announcement(number, by=visitor.account_id)
    return site.renderer.lead_to("contests")


@router.post("/admin/practice/{number}/stop", name="stop_practice")
def stop_practice(site: SiteDep, visitor: OrganiserDep, number: int) -> Response:
    """End practice rounds."""
    site.store.stop_practice(number, by=visitor.account_id)
    return site.renderer.lead_to("contests")


@router.get("/admin/contests/{tournament_id}/grades.csv", name="grades")
def show_grades(site: SiteDep, _: OrganiserDep, tournament_id: int) -> Response:
    """Give the grades of all contestants."""
    header, *rows = grade_rows(site.store, tournament_id)
    return csv_file("grades.csv", header, rows)
