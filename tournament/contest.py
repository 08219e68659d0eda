"""Running contests by the clock: plans, deadlines with their zones, practice rounds, and the start.

Times are seconds since 1970; whoever calls `tick` hands in the time. Several processes may call it: every act is one
conditional change in the store, so that it happens once.
"""

from __future__ import annotations

import logging
import random
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tournament.environment import demanding
from tournament.final_order import FinalOrder
from tournament.models import TournamentState
from tournament.planning import MOST_ROUNDS, Forecast, Plan, duration_of, forecast
from tournament.rules import Limits, Rules
from tournament.schedule import Entry
from tournament.store import Store, WrongState
from tournament.store_contest import PracticeInfo, renumbered
from tournament.store_repeats import order_repeats
from tournament.store_values import NewEntrant, NewTournament, TournamentInfo
from tournament.wording import counted

_CLOCK: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
MOST_NAME: Final = 120
_SHOWN: Final = "%Y-%m-%d %H:%M"

House = Callable[[Sequence[str]], Sequence[NewEntrant]]
"""Returns house bots by their names; the core does not know them."""

logger = logging.getLogger(__name__)


class NotReady(WrongState):
    """A tournament cannot start yet; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody asks for, in words or by command, before it is checked; what is empty takes its usual value.

    Attributes:
        budget: time that it may take, like ``2h``, instead of rounds.
        opens: when entries open, a time in `zone`.
        closes: when they close, likewise.
        limits: some of the limits by name.
        demands: the layers of the sandbox without which no bot is played.
    """

    name: str
    rules: Rules
    rounds: int | None = None
    budget: str = ""
    house: tuple[str, ...] = ()
    opens: str = ""
    closes: str = ""
    zone: str = "UTC"
    order: FinalOrder = FinalOrder.SHARED
    anchor: str = ""
    all_bots: bool = False
    auto_start: bool = False
    cores: int = 1
    limits: Mapping[str, float] = field(default_factory=dict)
    demands: tuple[str, ...] = ()
    repeat_share: float = 0.02

    def made(self, store: Store, now: float) -> NewTournament:
        """Returns the settings, with a secret of their own.

        Args:
            store: where the bot that is to show 1500 is looked for.
            now: the time; entries close after it.

        Raises:
            ValueError: something asked for makes no sense.
        """
        if not 1 <= len(self.name.strip()) <= MOST_NAME:
            raise ValueError(f"the name: expected 1 to {MOST_NAME} letters")
        if self.rounds is not None and self.budget:
            raise ValueError("rounds and a time budget: expected one of them")
        for name, number in (("rounds", self.rounds), ("cores", self.cores)):
            if number is not None and not 1 <= number <= MOST_ROUNDS:
                raise ValueError(f"{name} is {number}: expected 1 to {MOST_ROUNDS}")
        if not 0 <= self.repeat_share <= 1:
            raise ValueError(f"{self.repeat_share} as the share to play again: expected 0 to 1")
        zone_of(self.zone)
        opens_at, closes_at = (moment_of(text, self.zone) if text else None for text in (self.opens, self.closes))
        if opens_at is not None and closes_at is not None and closes_at <= opens_at:
            raise ValueError(f"it closes at {self.closes}, before it opens at {self.opens}")
        if closes_at is not None and closes_at <= now:
            raise ValueError(f"it closes at {self.closes}, which is over: expected a later time")
        anchor = self.anchor.strip()
        if anchor and anchor.partition(":")[0] not in (*self.house, *(bot.name for bot in store.bots())):
            raise ValueError(f"anchor {anchor!r:.60}: expected one of its house bots, or a bot that was handed in")
        budget_s = duration_of(self.budget) if self.budget else None
        plan = Plan(
            self.house, budget_s, self.cores, self.zone, self.all_bots, self.auto_start,
            repeat_share=self.repeat_share,
        )  # fmt: skip
        return NewTournament(
            self.name.strip(), self.rules, 1 if self.rounds is None else self.rounds, new_secret(),
            Limits.from_dict({**Limits().to_dict(), **self.limits}), self.order, anchor or None,
            demanding(self.demands), opens_at, closes_at, plan,
        )  # fmt: skip


# Times ---------------------------------------------------------------------------------------------------------------


def zone_of(name: str) -> tzinfo:
    """Returns a time zone by its name, like ``Europe/Zurich``.

    Raises:
        ValueError: this machine knows none of this name.
    """
    if name == "UTC":
        return UTC  # also where a machine has no zones
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r:.60} is no time zone: expected a name like Europe/Zurich, or UTC") from None


def moment_of(text: str, zone: str) -> float:
    """Reads a time like ``2026-12-01 18:00`` in a zone; one that names its own offset keeps it.

    Raises:
        ValueError: it is none, or the clocks of the zone leave it out.

    >>> moment_of("2026-12-01 18:00", "UTC") - moment_of("2026-12-01 18:00", "Asia/Tokyo")
    32400.0
    """
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r:.60} is no time: expected one like 2026-12-01 18:00") from None
    if read.tzinfo is not None:
        return read.timestamp()
    there = read.replace(tzinfo=zone_of(zone))
    if there.astimezone(UTC).astimezone(there.tzinfo).replace(tzinfo=None) != read:
        raise ValueError(f"{text} is left out by the clocks of {zone}, which go forward then")
    return there.timestamp()


def moment_text(moment: float, zone: str) -> str:
    """Writes a time with its zone.

    >>> moment_text(0, "UTC")
    '1970-01-01 00:00 UTC'
    """
    return datetime.fromtimestamp(moment, zone_of(zone)).strftime(f"{_SHOWN} %Z")


def next_time(after: float, at: str, zone: str) -> float:
    """Returns the next moment at which clocks of a zone show ``HH:MM``; where they leave it out, that much later.

    Raises:
        ValueError: there is no such time or zone.
    """
    found = _CLOCK.fullmatch(at)
    if found is None:
        raise ValueError(f"{at!r:.20} is no time of day: expected one like 02:00")
    there = zone_of(zone)
    day = datetime.fromtimestamp(after, there).replace(
        hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0
    )
    while (moment := day.replace(fold=0).timestamp()) <= after:
        day += timedelta(days=1)
    return moment


def last_deadline(store: Store, info: TournamentInfo) -> float | None:
    """Returns until when anybody may hand in for a tournament; None where no time is set."""
    if info.closes_at is None:
        return None
    return max([info.closes_at, *store.extensions(info.id).values()])


# Starting ------------------------------------------------------------------------------------------------------------


def entrants_of(store: Store, info: TournamentInfo, house: House) -> list[NewEntrant]:
    """Returns who would enter a tournament if it started now, the house bots of its plan among them."""
    entered = store.contest_entries(info.id, info.closes_at, all_bots=info.plan.all_bots)
    return [*entered, *renumbered(house(info.plan.house))]


def forecast_of(store: Store, info: TournamentInfo, entrants: Sequence[NewEntrant]) -> Forecast:
    """Returns what a tournament will come to with these entrants.

    Raises:
        ValueError: there is no schedule for them.
    """
    listed = sorted(entrants, key=lambda entrant: entrant.text)
    measured = store.deal_seconds(listed)
    entries = [Entry(entrant.text, entrant.owner) for entrant in listed]
    deal_s = [measured.get(entrant.text) for entrant in listed]
    cores, budget_s = info.plan.cores, info.plan.budget_s
    return forecast(info.rules, info.limits, entries, deal_s, cores, rounds=info.rounds, budget_s=budget_s)


def start(
    store: Store, tournament_id: int, house: House, *, by: int | None = None, anyway: bool = False, now: float
) -> Forecast:
    """Starts a tournament with the last accepted version of every contestant that was received in time.

    Args:
        store: the store.
        tournament_id: which.
        house: gives the house bots.
        by: the organiser; None is the command line.
        anyway: also while submissions that were received in time have no verdict yet.
        now: the time.

    Raises:
        NotFound: there is no such tournament.
        WrongState: it has started, or has been cancelled.
        NotReady: submissions wait for their verdicts, or somebody may still hand in.
        ValueError: there is no schedule for these entrants.
    """
    info = store.tournament(tournament_id)
    waiting, last = store.undecided(tournament_id, info.closes_at), last_deadline(store, info)
    if not anyway and last is not None and now < last:
        raise NotReady(f"entries are open until {moment_text(last, info.plan.zone)}")
    if not anyway and waiting:
        verb = "waits for its verdict" if waiting == 1 else "wait for their verdicts"
        raise NotReady(f"{counted(waiting, 'submission')} received in time {verb}")
    entrants = entrants_of(store, info, house)
    found = forecast_of(store, info, entrants)
    store.start(tournament_id, entrants, rounds=found.rounds, by=by, now=now)
    return found


def repeat_sample(
    store: Store, tournament_id: int, numbers: Sequence[int] = (), *, share: float = 0.02, by: int | None = None
) -> int:
    """Has these matches played again to compare, or a sample of those that are recorded. Returns how many."""
    if not numbers:
        recorded = [row.number for row in store.match_rows(tournament_id)]
        if not recorded:
            raise ValueError(f"no match of tournament {tournament_id} is recorded yet: expected some to play again")
        count = min(len(recorded), max(1, round(share * len(recorded))))
        numbers = sorted(random.SystemRandom().sample(recorded, count))
    return order_repeats(store, tournament_id, numbers, by=by)


def new_secret() -> str:
    """Returns the secret of a public contest: 32 random bytes."""
    return secrets.token_hex(32)


# The clock -----------------------------------------------------------------------------------------------------------


def tick(store: Store, now: float, house: House) -> list[str]:
    """Does what is due: opens and closes entries, starts what starts by itself, begins practice rounds.

    Returns:
        What was done, in words.
    """
    done: list[str] = []
    for tournament_id in store.not_started():
        try:
            done += _advance(store, store.tournament(tournament_id), now, house)
        except NotReady:
            continue
        except (WrongState, ValueError) as error:
            # Another process was first, or there are too few bots, which the page of the contest says: at every tick.
            logger.debug("tournament %d: %s", tournament_id, error)
    for practice in store.practices():
        if practice.next_at is not None and practice.next_at <= now:
            done += _practise(store, practice, now, house)
    return done


def _advance(store: Store, info: TournamentInfo, now: float, house: House) -> list[str]:
    done = []
    last = last_deadline(store, info)
    if info.state is TournamentState.DRAFT and info.opens_at is not None and info.opens_at <= now:
        store.set_state(info.id, TournamentState.OPEN, now=now)
        info = store.tournament(info.id)
        done.append(f"tournament {info.id} is open")
    if info.state is TournamentState.OPEN and info.closes_at is not None and info.closes_at <= now:
        store.set_state(info.id, TournamentState.CLOSED, now=now)
        info = store.tournament(info.id)
        done.append(f"tournament {info.id} is closed")
    elif info.state is TournamentState.CLOSED and info.closes_at is not None and now < info.closes_at:
        store.set_state(info.id, TournamentState.OPEN, now=now)  # the deadline was put off for all
        done.append(f"tournament {info.id} is open again")
    elif info.state is TournamentState.CLOSED and info.plan.auto_start and (last is None or last <= now):
        start(store, info.id, house, now=now)
        done.append(f"tournament {info.id} has started")
    return done


def _practise(store: Store, practice: PracticeInfo, now: float, house: House) -> list[str]:
    """Plays practice rounds that are due; what was missed while nothing ran is made up for once, not once a day."""
    assert practice.next_at is not None
    if not store.take_practice(practice.id, practice.next_at, next_time(now, practice.at, practice.zone)):
        return []
    name, plan = f"{practice.name} {practice.runs + 1}", replace(practice.settings.plan, practice=True)
    new = replace(practice.settings, name=name, secret=new_secret(), plan=plan)
    tournament_id = store.create(new, now=now)
    try:
        start(store, tournament_id, house, anyway=True, now=now)
    except ValueError as error:
        store.cancel(tournament_id, now=now)
        logger.warning("practice rounds %d: %s", practice.id, error)
        return [f"tournament {tournament_id} is cancelled: {error}"]
    store.note_practice(practice.id, tournament_id)
    return [f"tournament {tournament_id} has started"]


def practise(store: Store, new: NewTournament, at: str, *, by: int | None = None) -> tuple[int, float]:
    """Begins practice rounds with these settings every day, and returns their number and the first time.

    Raises:
        ValueError: there is no such time of day, or the settings have times for entries.
    """
    if new.opens_at is not None or new.closes_at is not None:
        raise ValueError("practice rounds with times for entries: expected none, whoever is accepted then plays")
    first = next_time(store.now(), at, new.plan.zone)
    return store.add_practice(replace(new, secret=""), at, first, by=by), first
