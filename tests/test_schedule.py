"""The schedule: every pair meets as the texts say, and the same inputs give the same matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tournament.rules import Rules
from tournament.schedule import Entry, PlannedMatch, games_per_match, schedule

TWO = Rules.make("cutthroat", players=2)
THREE = Rules.make("cutthroat", players=3)
PARTNERS = Rules.make("wisconsin")


def entries(owners: Sequence[int]) -> list[Entry]:
    return sorted((Entry(f"bot-{place}:1", owner) for place, owner in enumerate(owners)), key=lambda entry: entry.text)


def planned(rules: Rules, owners: Sequence[int], rounds: int = 1, secret: str = "demo") -> list[PlannedMatch]:
    return list(schedule(rules, entries(owners), rounds, secret))


def meetings(matches: Sequence[PlannedMatch]) -> Counter[tuple[int, int]]:
    return Counter(pair for match in matches for pair in combinations(match.entrants, 2))


def fewest(count: int) -> int:
    """The smallest number of triples in which every pair meets once or twice (docs/schedule.md)."""
    pairs = count * (count - 1) // 2
    extra = {1: 0, 3: 0, 0: count // 2, 2: count // 2 + 1, 4: count // 2 + 1, 5: 5}[count % 6]
    assert (pairs + extra) % 3 == 0
    return (pairs + extra) // 3


@pytest.mark.parametrize("rules", [TWO, PARTNERS], ids=["two", "partners"])
@pytest.mark.parametrize("count", [2, 3, 5, 13])
def test_at_two_sides_every_pair_meets_once_a_round(rules: Rules, count: int) -> None:
    matches = planned(rules, range(count), rounds=3)
    assert meetings(matches) == dict.fromkeys(combinations(range(count), 2), 3)


def test_at_two_sides_entrants_of_one_owner_meet() -> None:
    assert meetings(planned(TWO, [7, 7, 7])) == {(0, 1): 1, (0, 2): 1, (1, 2): 1}


@pytest.mark.parametrize("count", range(3, 13))
def test_up_to_twelve_entrants_all_triples_meet_in_every_round(count: int) -> None:
    matches = planned(THREE, range(count), rounds=2)
    assert [match.entrants for match in matches] == list(combinations(range(count), 3)) * 2


@pytest.mark.parametrize("count", range(13, 65))
def test_above_twelve_every_pair_meets_once_or_twice_in_the_fewest_triples(count: int) -> None:
    matches = planned(THREE, range(count), rounds=2)
    for number in (1, 2):
        tables = [match.entrants for match in matches if match.round == number]
        assert len(tables) == len(set(tables)) == fewest(count)
        met = meetings([match for match in matches if match.round == number])
        assert set(met) == set(combinations(range(count), 2))
        assert set(met.values()) <= {1, 2}


@pytest.mark.parametrize("count", [14, 16, 17, 18, 23, 24, 40])
def test_the_pairs_that_meet_twice_change_with_the_round(count: int) -> None:
    matches = planned(THREE, range(count), rounds=6)
    doubled = []
    for number in range(1, 7):
        met = meetings([match for match in matches if match.round == number])
        doubled.append({pair for pair, times in met.items() if times == 2})
    assert all(doubled)
    for one, other in pairwise(doubled):
        assert len(one & other) <= len(one) // 2
    assert max(Counter(pair for pairs in doubled for pair in pairs).values()) < 6


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=3, max_size=30).filter(lambda owners: len(set(owners)) >= 3),
    st.text(min_size=1),
)
def test_entrants_of_one_owner_never_share_a_table_of_three_and_all_others_meet(owners: list[int], secret: str) -> None:
    listed = entries(owners)
    matches = list(schedule(THREE, listed, 1, secret))
    met = meetings(matches)
    apart = {(a, b) for a, b in combinations(range(len(owners)), 2) if listed[a].owner != listed[b].owner}
    assert set(met) == apart
    assert len({match.entrants for match in matches}) == len(matches)


@pytest.mark.parametrize(
    ("sizes", "at_most"),
    [((2,) * 10, 60), ((5, 5, 5), 25), ((9, 9, 8), 88), ((6, 4, 4, 3, 3, 2), 70), ((8, 8, 8, 8), 128)],
)
def test_owners_with_several_entrants_meet_once_or_twice_in_few_triples(sizes: tuple[int, ...], at_most: int) -> None:
    owners = [owner for owner, size in enumerate(sizes) for _ in range(size)]
    for secret in ("one", "two", "three"):
        matches = planned(THREE, owners, secret=secret)
        assert len(matches) <= at_most
        assert max(meetings(matches).values()) <= 2


def test_pairs_meet_more_often_where_there_is_no_third_otherwise() -> None:
    matches = planned(THREE, [0] * 20 + [1, 2])
    assert len(matches) == 20
    assert max(meetings(matches).values()) == 20


@pytest.mark.parametrize("owners", [[1, 1, 1], [1, 1, 2], [1, 2, 1, 2, 1]])
def test_fewer_than_three_owners_are_refused_at_three(owners: list[int]) -> None:
    with pytest.raises(ValueError, match="at least three owners"):
        planned(THREE, owners)


@pytest.mark.parametrize("owners", [[1, 2], [1, 1]])
def test_two_entrants_alone_play_the_duel_at_three(owners: list[int]) -> None:
    assert [match.key for match in planned(THREE, owners, rounds=2)] == [
        "cutthroat/3/bot-0:1,bot-1:1/1",
        "cutthroat/3/bot-0:1,bot-1:1/2",
    ]
    assert games_per_match(THREE, 2) == 6


def test_matches_are_numbered_by_round_then_by_their_entrants_texts() -> None:
    listed = [Entry(text, place) for place, text in enumerate(["a-b:1", "a:1", "counter:10", "counter:2"])]
    matches = list(schedule(TWO, listed, 2, "demo"))
    assert [match.number for match in matches] == list(range(1, 13))
    assert [match.key for match in matches][:3] == [
        "cutthroat/2/a-b:1,a:1/1",
        "cutthroat/2/a-b:1,counter:10/1",
        "cutthroat/2/a-b:1,counter:2/1",
    ]
    assert [match.round for match in matches] == [1] * 6 + [2] * 6


def test_the_schedule_follows_from_its_inputs_and_from_nothing_else() -> None:
    owners = list(range(20))
    assert planned(THREE, owners, 3) == planned(THREE, owners, 3)
    assert planned(THREE, owners, 3)[:67] == planned(THREE, owners, 1)
    assert planned(THREE, owners, 1, "other") != planned(THREE, owners, 1)


def test_a_known_schedule_has_not_changed() -> None:
    """Golden: whoever changes the method changes the meaning of every published secret."""
    tables = [match.entrants for match in planned(THREE, [0, 0, *range(1, 13)])]
    assert tables == GOLDEN


@pytest.mark.parametrize(
    ("listed", "rounds", "reason"),
    [
        ([Entry("b:1", 1), Entry("a:1", 2)], 1, "expected them sorted"),
        ([Entry("a:1", 1), Entry("a:1", 2)], 1, "the same entrant twice"),
        ([Entry("a:1", 1)], 1, "expected at least two"),
        ([Entry("a:1", 1), Entry("b:1", 2)], 0, "expected at least one"),
    ],
)
def test_wrong_inputs_are_refused_with_the_reason(listed: list[Entry], rounds: int, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        list(schedule(TWO, listed, rounds, "demo"))


GOLDEN: list[tuple[int, ...]] = [
    (0, 1, 4), (0, 2, 7), (0, 3, 8), (0, 6, 9), (0, 10, 13), (0, 11, 12), (1, 2, 3), (1, 5, 11),
    (1, 6, 12), (1, 7, 12), (1, 8, 13), (1, 9, 10), (2, 4, 5), (2, 4, 9), (2, 6, 8), (2, 10, 12),
    (2, 11, 13), (3, 4, 8), (3, 5, 12), (3, 6, 11), (3, 7, 10), (3, 9, 13), (4, 6, 10), (4, 7, 11),
    (4, 12, 13), (5, 6, 10), (5, 7, 8), (5, 9, 13), (6, 7, 13), (7, 9, 11), (8, 9, 12), (8, 10, 11),
]  # fmt: skip
