"""What pages read: filters, cursors, and documents that play again."""

import pytest

from tests.store.play import THREE, play, play_all, started
from tournament.models import MatchState
from tournament.replay import document
from tournament.store import NotFound, Store
from tournament.store_values import MatchFilter

ALL = MatchFilter()


def numbers(store: Store, tournament: int, which: MatchFilter = ALL, **page: int) -> list[int]:
    return [match.number for match in store.matches(tournament, which, **page)]


def test_pages_of_matches_follow_each_other_in_both_directions(store: Store) -> None:
    tournament = started(store, 5)
    assert numbers(store, tournament, limit=4) == [1, 2, 3, 4]
    assert numbers(store, tournament, limit=4, after=4) == [5, 6, 7, 8]
    assert numbers(store, tournament, limit=4, after=8) == [9, 10]
    assert numbers(store, tournament, limit=4, before=9) == [5, 6, 7, 8]
    assert numbers(store, tournament, limit=4, before=1) == []


@pytest.mark.parametrize(
    "which",
    [
        MatchFilter(),
        MatchFilter(entrants=(2,)),
        MatchFilter(entrants=(3, 1)),
        MatchFilter(entrants=(0, 2, 4)),
        MatchFilter(state=MatchState.DONE),
        MatchFilter(entrants=(1,), state=MatchState.QUEUED, round=2),
        MatchFilter(faults=True),
        MatchFilter(entrants=(9,)),
    ],
)
def test_a_filter_leaves_exactly_the_matches_that_fit(store: Store, which: MatchFilter) -> None:
    tournament = started(store, 5, THREE, rounds=2)
    store.record(play(store, match, faults=match.number % 2 == 0) for match in store.lease(7, 60))
    everything = store.matches(tournament, limit=100)
    fitting = [
        match.number
        for match in everything
        if set(which.entrants) <= set(match.entrants)
        and which.state in (None, match.state)
        and which.round in (None, match.round)
        and (match.faults > 0 or not which.faults)
    ]
    assert numbers(store, tournament, which, limit=100) == fitting
    assert store.count_matches(tournament, which) == len(fitting)


def test_faults_come_in_pages_by_entrant_match_and_kind(store: Store) -> None:
    tournament = started(store, 3, THREE, rounds=9)
    play_all(store, tournament)
    everything = store.faults(tournament, limit=100)
    assert [fault.number for fault in everything] == [9, 6, 3]
    assert store.faults(tournament, limit=2) == everything[:2]
    last = everything[1]
    assert store.faults(tournament, before=(last.match_id, last.seating, last.ordinal)) == everything[2:]
    assert store.faults(tournament, entrant=everything[0].entrant) == everything
    assert store.faults(tournament, entrant=(everything[0].entrant + 1) % 3) == []
    assert store.faults(tournament, match_id=everything[2].match_id) == everything[2:]
    assert store.faults(tournament, kind=everything[0].kind) == everything


def test_records_become_the_documents_whose_digests_are_stored(store: Store) -> None:
    tournament = started(store, 4, THREE)
    play_all(store, tournament)
    digests = [game.digest for match in store.matches(tournament) for game in store.games(match.id)]
    assert [document(record)["digest"] for _, record in store.game_records(tournament)] == digests
    two = [record for _, record in store.game_records(tournament, [2])]
    assert {record.match_key for record in two} == {store.match(tournament, 2).key}
    assert [record.seating for record in two] == [1, 2, 3, 4, 5, 6]
    assert list(store.game_records(tournament, [77])) == []
    assert store.timings(store.match(tournament, 2).id, 3) == b"times"
    assert store.timings(77, 3) == b""


def test_tournaments_are_listed_newest_first_and_the_newest_is_meant(store: Store) -> None:
    with pytest.raises(NotFound, match="no tournament yet"):
        store.tournament()
    ids = [started(store, 2) for _ in range(3)]
    assert store.tournament().id == ids[-1]
    assert [each.id for each in store.tournaments(limit=2)] == ids[:0:-1]
    assert [each.id for each in store.tournaments(before=ids[1])] == ids[:1]
    with pytest.raises(NotFound, match="no tournament 99"):
        store.tournament(99)


def test_running_matches_and_their_mean_time_are_known(store: Store) -> None:
    tournament = started(store, 4)
    assert store.match_seconds(tournament) is None
    leased = store.lease(3, 60, worker="w")
    store.record([play(store, leased[0])])
    assert store.match_seconds(tournament) == 0.5
    assert [match.number for match in store.running_matches()] == [2, 3]
    assert [match.worker for match in store.running_matches(tournament)] == ["w", "w"]
    assert store.running_matches(tournament + 1) == []


def test_an_entrant_is_disqualified_for_a_reason_and_re_instated(store: Store) -> None:
    tournament = started(store, 2)
    store.disqualify(tournament, 1, "copied from another")
    assert store.entrants(tournament)[1].disqualified == "copied from another"
    store.disqualify(tournament, 1, None)
    assert store.entrants(tournament)[1].disqualified is None
    with pytest.raises(NotFound):
        store.disqualify(tournament, 2, "not there")


def test_the_secret_of_a_tournament_is_never_in_its_repr(store: Store) -> None:
    tournament = started(store, 2)
    info = store.tournament(tournament)
    assert info.secret == "demo"
    assert "demo" not in repr(info).replace(info.commitment, "")
