"""The few reads that only pages need, beside those of the store; each is one statement, whatever the data."""

import struct
from dataclasses import dataclass

from sqlalchemy import func, or_, select

from dashboard.site import Contest
from tournament import seeds
from tournament.models import MatchState
from tournament.results import Block, comparisons
from tournament.store import Store
from tournament.store_record import entrants_of
from tournament.store_tables import FAULT, GAME, MATCH

SAMPLED_GAMES = 120  # enough for a 95th percentile of decision times; a game has hundreds of decisions
TIMING = struct.Struct("<BI")


@dataclass(frozen=True, slots=True)
class FaultGroup:
    """Faults of one kind and message."""

    kind: str
    message: str
    count: int


def fault_groups(store: Store, tournament_id: int, entrant: int) -> tuple[FaultGroup, ...]:
    """Group the faults of an entrant, most frequent first."""
    keys = (FAULT.c.kind, FAULT.c.message)
    query = (
        select(*keys, func.count())
        .where(FAULT.c.tournament_id == tournament_id, FAULT.c.entrant == entrant)
        .group_by(*keys)
        .order_by(func.count().desc(), FAULT.c.message)
        .limit(50)
    )
    with store.read() as conn:
        return tuple(FaultGroup(*row) for row in conn.execute(query))


def decision_micros(store: Store, contest: Contest, entrant: int) -> list[int]:
    """Read the microseconds of the decisions that an entrant made in its newest games, sorted."""
    query = (
        select(MATCH.c.e0, MATCH.c.e1, MATCH.c.e2, GAME.c.seating, GAME.c.timings)
        .join(GAME, GAME.c.match_id == MATCH.c.id)
        .where(
            MATCH.c.tournament_id == contest.info.id,
            MATCH.c.state == MatchState.DONE,
            or_(MATCH.c.e0 == entrant, MATCH.c.e1 == entrant, MATCH.c.e2 == entrant),
            GAME.c.timings.is_not(None),
        )
        .order_by(MATCH.c.record_order.desc())
        .limit(SAMPLED_GAMES)
    )
    found: list[int] = []
    with store.read() as conn:
        for row in conn.execute(query):
            sitting = entrants_of(row)
            seats = seeds.seatings(contest.info.rules, len(sitting))[row.seating - 1]
            mine = {seat for seat, place in enumerate(seats) if sitting[place] == entrant}
            whole = bytes(row.timings)[: len(row.timings) // TIMING.size * TIMING.size]
            found.extend(micros for seat, micros in TIMING.iter_unpack(whole) if seat in mine)
    return sorted(found)


def buckets(store: Store, contest: Contest, step: int) -> list[list[Block]]:
    """Read the sums of the results between checkpoints that lie ``step`` results apart."""
    bucket = ((MATCH.c.record_order - 1) // step).label("bucket")
    keys = (bucket, MATCH.c.e0, MATCH.c.e1, MATCH.c.e2)
    one, two, three = MATCH.c.s01, MATCH.c.s02, MATCH.c.s12
    products = (one * one, one * two, one * three, two * two, two * three, three * three)
    query = (
        select(*keys, func.count(), *map(func.sum, (one, two, three, *products)))
        .where(MATCH.c.tournament_id == contest.info.id, MATCH.c.record_order.is_not(None))
        .group_by(*keys)
    )
    games = {
        size: tuple(comparisons(contest.info.rules, seeds.seatings(contest.info.rules, size)).values())
        for size in (2, 3)[: contest.info.rules.side_count - 1]
    }
    found: dict[int, list[Block]] = {}
    with store.read() as conn:
        for number, e0, e1, e2, count, *values in conn.execute(query):
            if e2 is None:
                block = Block((e0, e1), games[2], count, (int(values[0]),), (int(values[3]),))
            else:
                whole = [int(value) for value in values]
                block = Block((e0, e1, e2), games[3], count, tuple(whole[:3]), tuple(whole[3:]))
            found.setdefault(int(number), []).append(block)
    return [found.get(number, []) for number in range(max(found, default=-1) + 1)]
