"""While the standings are held, the public sees what ended before, and can work out no more than that."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.play import THREE, TWO, play, play_all, started
from tournament.export import export_tournament, standings_of
from tournament.models import MatchState
from tournament.rules import Rules
from tournament.store import Store
from tournament.store_public import PublicStore, holds
from tournament.store_values import Topic
from tournament.verify_tournament import Answer, verify_export


@pytest.fixture
def public(store_url: str) -> Iterator[PublicStore]:
    with PublicStore(store_url) as made:
        yield made


def half_played(store: Store, rules: Rules = TWO) -> int:
    """Plays a part, holds the standings at second 150, and plays on."""
    tournament = started(store, 4, rules, rounds=2)
    for moment, match in enumerate(store.lease(5, 60, now=100), 100):
        store.record([play(store, match, faults=True)], now=float(moment))
    store.hold(tournament, 150.0)
    for moment, match in enumerate(store.lease(2, 60, now=200), 200):
        store.record([play(store, match, faults=True)], now=float(moment))
    return tournament


def test_without_a_hold_the_public_sees_everything(store: Store, public: PublicStore) -> None:
    tournament = started(store, 4, THREE)
    play_all(store, tournament)
    store.void(tournament, 1, "overloaded machine")
    assert not holds(store)
    assert public.tournament(tournament) == store.tournament(tournament)
    assert public.matches(tournament) == store.matches(tournament)
    assert public.figures(tournament) == store.figures(tournament)
    assert list(public.game_records(tournament)) == list(store.game_records(tournament))
    assert public.events(tournament) == store.events(tournament)
    assert public.faults(tournament) == store.faults(tournament)
    assert public.voids(tournament) == store.voids(tournament)


@pytest.mark.parametrize("rules", [TWO, THREE], ids=["two", "three"])
def test_what_ended_after_the_hold_is_queued_for_the_public(store: Store, public: PublicStore, rules: Rules) -> None:
    tournament = half_played(store, rules)
    store.lease(1, 60, worker="w")
    assert holds(store)
    seen = public.counts(tournament)
    assert (seen.finished, seen.running, seen.queued) == (5, 0, seen.planned - 5)
    assert store.counts(tournament).finished == 7
    states = [match.state for match in public.matches(tournament)]
    assert states == [MatchState.DONE] * 5 + [MatchState.QUEUED] * (len(states) - 5)
    sixth = public.match(tournament, 6)
    assert (sixth.scores, sixth.worker, sixth.recorded_at, sixth.attempt, sixth.faults) == ((), None, None, 0, 0)
    assert public.games(sixth.id) == []
    assert public.faults(tournament, match_id=sixth.id) == []
    assert {number for number, _ in public.game_records(tournament)} == {1, 2, 3, 4, 5}
    assert public.running_matches(tournament) == []
    assert max(match.number for match in public.latest_matches(tournament)) == 5
    assert sum(event.topic is Topic.MATCH for event in public.events(tournament)) == 5
    assert len(list(public.game_digests(tournament))) == len(list(store.game_digests(tournament))) // 7 * 5
    assert public.tournament(tournament).last_order == 5
    assert not public.tournament(tournament).secret_is_out


def test_the_public_table_is_the_one_of_the_moment_of_the_hold(
    store: Store, public: PublicStore, tmp_path: Path
) -> None:
    tournament = half_played(store)
    before = standings_of(public, public.tournament(tournament), public.entrants(tournament))
    play_all(store, tournament)
    assert standings_of(public, public.tournament(tournament), public.entrants(tournament)) == before
    assert standings_of(store, store.tournament(tournament), store.entrants(tournament)) != before
    export_tournament(public, tournament, tmp_path / "held")
    assert [each for each in verify_export(tmp_path / "held") if each.answer is Answer.WRONG] == []
    value = json.loads((tmp_path / "held" / "tournament.json").read_text())
    assert value["secret"] is None
    assert value["without_result"] == [6, 7, 8, 9, 10, 11, 12]
    store.hold(tournament, None)
    assert public.tournament(tournament).secret_is_out
    assert public.figures(tournament) == store.figures(tournament)


def test_a_void_of_a_held_result_takes_it_out_and_one_of_a_later_result_shows_nothing(
    store: Store, public: PublicStore
) -> None:
    tournament = half_played(store)
    assert public.figures(tournament).order == 5
    store.void(tournament, 7, "later")
    assert public.voids(tournament) == []
    assert sum(totals.matches for totals in public.figures(tournament).totals) == 10
    store.void(tournament, 2, "earlier")
    assert [void.reason for void in public.voids(tournament)] == ["earlier"]
    assert sum(totals.matches for totals in public.figures(tournament).totals) == 8
    play_all(store, tournament)
    assert public.match(tournament, 2).state is MatchState.QUEUED
    assert sum(totals.matches for totals in public.figures(tournament).totals) == 8


def test_a_hold_from_an_earlier_moment_takes_figures_back(store: Store, public: PublicStore) -> None:
    tournament = half_played(store)
    assert public.figures(tournament).order == 5
    store.hold(tournament, 102.5)
    assert public.figures(tournament).order == 3
    assert public.counts(tournament).finished == 3


def test_what_the_public_writes_is_written(store: Store, public: PublicStore) -> None:
    tournament = half_played(store)
    public.void(tournament, 6, "written through")
    assert store.voids(tournament)[0].reason == "written through"
    store.announce("w", 1, {}, task="match 7")
    assert [worker.task for worker in public.workers()] == [None]
