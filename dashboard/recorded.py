"""The recorded games of a match as documents, made by playing their acts again, and what is worked out from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from fastapi import HTTPException

from dashboard.charts import LineChart
from dashboard.queries import TIMING
from dashboard.replay_steps import Document, StepKind, steps_of
from dashboard.replay_text import side_names
from dashboard.site import Contest, Site
from tournament.models import MatchState
from tournament.replay import GameRecord, ReplayError, document
from tournament.seeds import seatings
from tournament.store_values import MatchInfo


@dataclass(frozen=True)
class LoadedGame:
    """A document with what checking it said; what only the replay needs is worked out once, when it is asked for."""

    document: Document
    problem: str
    timings: bytes

    @cached_property
    def times(self) -> Mapping[tuple[int, int, int], int]:
        """The microseconds of each decision by deal, attempt and act."""
        return decision_times(self.document, self.timings)

    @cached_property
    def chart(self) -> LineChart | None:
        """The scores over the deals."""
        return score_chart(self.document)


def match_id(match: MatchInfo) -> str:
    """Write how addresses name a match."""
    return f"{match.tournament_id}-{match.number}"


def load_games(site: Site, contest: Contest, match: MatchInfo) -> dict[int, LoadedGame]:
    """Give the documents of a finished match by seating; games that were not kept are left out.

    Making a document plays the game again by the rules from the tournament's secret; with the digest that was recorded
    this is the whole proof.

    Raises:
        HTTPException: 409, the match is not complete: the other seatings hold the same cards.
    """
    if match.state is not MatchState.DONE:
        raise HTTPException(409, "The match is not complete. Its games become public together when it is.")
    digests = {game.seating: game.digest for game in site.store.games(match.id)}

    def load() -> dict[int, LoadedGame]:
        records = site.store.game_records(contest.info.id, [match.number])
        return {record.seating: _load(site, match, record, digests) for _, record in records}

    return site.games.get((match.id, match.record_order), load)


def _load(site: Site, match: MatchInfo, record: GameRecord, digests: Mapping[int, str]) -> LoadedGame:
    try:
        written = document(record)
    except ReplayError as error:
        raise HTTPException(500, f"Seating {record.seating} does not play again: {error}") from error
    problem = ""
    if written["digest"] != digests.get(record.seating):
        problem = f"its digest is {written['digest']}, recorded was {digests.get(record.seating)}"
    return LoadedGame(written, problem, site.store.timings(match.id, record.seating))


def decision_times(document: Document, timings: bytes) -> dict[tuple[int, int, int], int]:
    """Give the microseconds of each answered question by deal, attempt and act.

    The referee writes one record for every question that was answered, in order: a seat that has a choice and is not
    played by the house. Records that do not fit the game are not shown at all.
    """
    records = list(TIMING.iter_unpack(timings)) if len(timings) % TIMING.size == 0 else []
    found: dict[tuple[int, int, int], int] = {}
    if not records:
        return found
    following = iter(records)
    for position, entry in enumerate(document["deals"]):
        for step in steps_of(document, position):
            if len(step.legal) < 2 or step.kind is StepKind.FAULT or step.seat in step.house:
                continue
            seat, micros = next(following, (None, 0))
            if seat != step.seat:
                return {}
            found[entry["deal"], entry["attempt"], step.before] = micros
    return found


def seating_names(contest: Contest, match: MatchInfo) -> tuple[str, ...]:
    """Say for each seating of a match who sits where, as in ``0: ada:1, 1: bob:2``."""
    texts = [contest.entrants[place].text for place in match.entrants]
    return tuple(
        ", ".join(f"{seat}: {texts[place]}" for seat, place in enumerate(seats))
        for seats in seatings(contest.info.rules, len(texts))
    )


def score_chart(document: Document) -> LineChart | None:
    """Draw the scores over the deals."""
    scored = [(entry["deal"], entry["scores"]) for entry in document["deals"] if "scores" in entry]
    if len(scored) < 2:
        return None
    zero = [(0.0, 0.0, 0.0, 0.0)]
    lines = [
        (name, zero + [(deal, scores[side], scores[side], scores[side]) for deal, scores in scored])
        for side, name in enumerate(side_names(document))
    ]
    return LineChart(lines, mark=document["rules"]["target"], height=190.0)
