"""The final order by both rules, and the grades."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tournament.final_order import FinalOrder, Place, final_order, grades
from tournament.store_values import EntrantInfo
from tournament.table import TableRow

Contender = tuple[EntrantInfo, TableRow]


def contender(
    place: int, low: int, high: int, rating: float = 1500.0, points: float | None = 1.0, *, upload: int = 0,
    house: bool = False, out: str | None = None,
) -> Contender:  # fmt: skip
    row = TableRow(f"bot{place}", 1, rating, None, None, low, high, 0, 0, points, 0, provisional=False)
    return EntrantInfo(place, f"bot{place}", 1, None, place, upload, house, out), row


def order_of(standings: list[Contender], rule: FinalOrder = FinalOrder.SHARED) -> tuple[Place, ...]:
    return final_order([entrant for entrant, _ in standings], [row for _, row in standings], rule)


def placed(standings: list[Contender], rule: FinalOrder = FinalOrder.SHARED) -> list[tuple[int | None, int]]:
    return [(each.place, each.entrant.position) for each in order_of(standings, rule)]


def test_places_are_shared_where_rank_ranges_overlap() -> None:
    standings = [contender(0, 1, 2), contender(1, 1, 3), contender(2, 3, 4), contender(3, 3, 4), contender(4, 5, 5)]
    assert placed(standings) == [(1, 0), (1, 1), (3, 2), (3, 3), (5, 4)]


def test_no_two_who_share_a_place_are_clearly_apart() -> None:
    # The first overlaps with the third, but the second does not.
    assert placed([contender(0, 1, 3), contender(1, 1, 2), contender(2, 3, 4)]) == [(1, 0), (1, 1), (3, 2)]


def test_by_elo_ties_go_to_points_per_deal_and_then_to_the_earlier_upload() -> None:
    standings = [
        contender(0, 1, 4, 1600.0, 1.1, upload=9),
        contender(1, 1, 4, 1600.0, 1.2, upload=8),
        contender(2, 1, 4, 1600.0, 1.1, upload=7),
        contender(3, 1, 4, 1700.0, None, upload=6),
    ]
    assert placed(standings, FinalOrder.ELO) == [(1, 3), (2, 1), (3, 2), (4, 0)]


def test_house_bots_and_disqualified_bots_take_no_place() -> None:
    standings = [contender(0, 1, 1, house=True), contender(1, 2, 2, out="copied"), contender(2, 3, 3)]
    for rule in FinalOrder:
        assert placed(standings, rule) == [(1, 2), (None, 0), (None, 1)]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 4)), max_size=9))
def test_shared_places_count_like_in_any_competition(ranges: list[tuple[int, int]]) -> None:
    standings = [contender(place, low, low + more) for place, (low, more) in enumerate(ranges)]
    order = order_of(standings)
    places = [each.place for each in order if each.place is not None]
    assert places == sorted(places)
    assert all(place == places.index(place) + 1 for place in places)
    for one, other in combinations(order, 2):
        if one.place == other.place:
            assert one.row.rank_low <= other.row.rank_high
            assert other.row.rank_low <= one.row.rank_high


def test_the_grades_compare_every_contestant_with_every_house_bot() -> None:
    standings = [contender(0, 1, 1), contender(1, 2, 3, house=True), contender(2, 2, 3), contender(3, 4, 4, out="x")]
    rows = grades(
        order_of(standings),
        lambda one, other: (one, other) in {(0, 1), (0, 2), (1, 3)},
        lambda entrant: f"person {entrant.position}",
    )
    assert rows == [
        ["contestant", "bot", "version", "place", "than bot1:1"],
        ["person 0", "bot0", "1", "1", "better"],
        ["person 2", "bot2", "1", "2", "open"],
        ["person 3", "bot3", "1", "disqualified", "not better"],
    ]
