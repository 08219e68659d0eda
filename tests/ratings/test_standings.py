"""Standings: what is shown, and what is said when little is known."""

import json
import math
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ratings.fields import BOTS, added, matches, pair, single
from tournament.results import Block
from tournament.standings import Bound, Ladder, history, rate

NAMES = tuple(f"bot-{i}:1" for i in range(BOTS))


def shown(ladder: Ladder) -> str:
    """All that a page could print, as strict JSON, which has no NaN."""
    return json.dumps(
        [
            [asdict(row) for row in ladder.rows],
            [asdict(cell) for cell in ladder.cells()],
            asdict(ladder.lack_of_fit()),
            ladder.superiority(),
            ladder.verdict(),
        ],
        allow_nan=False,
    )


@given(st.lists(matches(), max_size=30), st.randoms(use_true_random=False), st.integers(1, 4))
def test_the_same_matches_in_any_order_and_chunks_print_the_same_bytes(
    found: list[Block], random: object, chunks: int
) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    chunked = [block for start in range(chunks) for block in added(shuffled[start::chunks])]
    assert shown(rate(NAMES, found)) == shown(rate(NAMES, chunked))


@given(st.lists(matches(), max_size=10))
def test_whatever_the_results_each_row_makes_sense(found: list[Block]) -> None:
    ladder = rate(NAMES, found)
    assert shown(ladder)
    for row in ladder.rows:
        assert 1 <= row.rank_low <= row.rank_high <= BOTS
        assert row.low is None or row.low < row.rating
        assert row.high is None or row.high > row.rating
        assert row.matches == sum(row.entrant in block.entrants for block in found)
    for i in range(BOTS):
        assert not any(ladder.clear[i, j] and ladder.clear[j, i] for j in range(BOTS))


def test_simple_shows_1500_where_it_takes_part() -> None:
    blocks = [pair(0, 1, 10, 20, 5), pair(1, 2, 10, 20, 5), pair(0, 2, 10, 20, 5)]
    for names, anchor, fixed in (
        (("a:1", "b:1", "simple:2"), "simple", "simple:2"),
        (("a:1", "b:1", "c:1"), "b:1", "b:1"),
    ):
        assert {row.name: row.rating for row in rate(names, blocks, anchor).rows}[fixed] == 1500
    mean = sum(row.rating for row in rate(("a:1", "b:1", "c:1"), blocks).rows) / 3
    assert mean == pytest.approx(1500, abs=1e-3)


def test_a_bot_with_few_matches_is_provisional_and_stands_below() -> None:
    ladder = rate(NAMES[:3], [pair(0, 1, 20, 20, 10), pair(0, 2, 1, 3, 8)])
    assert [(row.name, row.provisional) for row in ladder.rows][-1] == ("bot-2:1", True)
    assert ladder.rows[-1].rating > ladder.rows[0].rating


def test_an_undefeated_bot_is_shown_as_a_bound() -> None:
    first, last = rate(("a", "b"), [pair(0, 1, 30)]).rows
    assert (first.bound, first.high, last.bound, last.low) == (Bound.ABOVE, None, Bound.BELOW, None)
    assert first.low is not None
    assert (first.rank_low, first.rank_high, last.rank_low) == (1, 1, 2)


def test_a_few_clean_wins_prove_nothing() -> None:
    first, _ = rate(("a", "b"), [pair(0, 1, 5)]).rows
    assert first.bound is Bound.ABOVE
    assert (first.rank_low, first.rank_high) == (1, 2)


def test_an_undefeated_bot_ranks_clear_of_a_field_that_is_settled_among_itself() -> None:
    field = [pair(1, 2, 10, 20, 10), pair(1, 3, 10, 20, 10), pair(2, 3, 10, 20, 10)]
    ladder = rate(("top", "b", "c", "d"), [*field, *(pair(0, i, 15) for i in (1, 2, 3))])
    assert (ladder.rows[0].name, ladder.rows[0].rank_high) == ("top", 1)
    assert all((row.rank_low, row.rank_high) == (2, 4) for row in ladder.rows[1:])
    assert all(row.low is not None and row.high is not None for row in ladder.rows[1:])


def test_groups_that_never_met_are_not_compared() -> None:
    ladder = rate(("a", "b", "c", "d"), [pair(0, 1, 40, 10, 1), pair(2, 3, 10, 40, 10)])
    groups = {row.name: row.group for row in ladder.rows}
    assert groups["a"] == groups["b"] != groups["c"] == groups["d"]
    assert ladder.superiority()[0][2] is None
    assert {row.name: row.rank_high for row in ladder.rows}["a"] == 3
    assert ladder.verdict().endswith("2 groups never met and are not comparable.")


def test_the_verdict_names_the_leader_and_the_first_open_pair() -> None:
    names = ("searcher", "counter", "simple")
    blocks = [pair(0, 1, 60, 30, 10), pair(0, 2, 60, 30, 10), pair(1, 2, 11, 85, 4)]
    text = rate(names, blocks).verdict()
    start = "searcher leads; simple cannot be told apart from counter yet; about "
    assert text.replace(
        "counter cannot be told apart from simple", "simple cannot be told apart from counter"
    ).startswith(start)
    assert text.endswith(" more matches would settle it.")


def test_about_so_many_more_matches_do_settle_it() -> None:
    before = rate(("a", "b"), [pair(0, 1, 13, 80, 7)])
    assert not before.clear.any()
    more = before.matches_to_settle(0, 1)
    assert more is not None
    factor = (100 + more) / 100
    after = rate(("a", "b"), [pair(0, 1, *(round(n * factor) for n in (13, 80, 7)))])
    assert after.clear[0, 1]


def test_verdicts_of_thin_tables() -> None:
    assert rate(("a", "b"), []).verdict() == "No finished match yet."
    assert rate(("a", "b"), [pair(0, 1, 3, 3, 3)]).verdict().startswith("All ratings are provisional")
    assert rate(("a", "b"), [pair(0, 1, 60, 3, 3)]).verdict() == "a leads; every place is settled."


def test_rock_paper_scissors_is_pointed_out() -> None:
    found = rate(("rock", "paper", "scissors"), [pair(0, 1, 1, 24, 25), pair(1, 2, 1, 24, 25), pair(0, 2, 25, 24, 1)])
    fit = found.lack_of_fit()
    assert len(fit.pairs) == 3
    assert fit.p is not None
    assert fit.p < 1e-6
    even = rate(("a", "b", "c"), [pair(0, 1, 10, 24, 10), pair(1, 2, 10, 24, 10), pair(0, 2, 10, 24, 10)]).lack_of_fit()
    assert (even.pairs, even.p) == ((), 1.0)


def test_a_cell_holds_the_share_of_points_and_its_interval() -> None:
    (cell,) = rate(("a", "b"), [pair(0, 1, 30, 60, 10)]).cells()
    assert (cell.matches, cell.share) == (100, 0.6)
    assert cell.clear
    deviation = math.sqrt(0.3 * 0.4**2 + 0.6 * 0.1**2 + 0.1 * 0.6**2)
    assert cell.high - cell.share == pytest.approx(1.96 * deviation / 10, rel=0.1)
    assert cell.high - cell.share == pytest.approx(cell.share - cell.low, abs=1e-6)


def test_history_ends_with_the_ladder() -> None:
    buckets = [[pair(0, 1, 3, 9, 2)], [], [pair(0, 1, 5, 9, 1), pair(1, 2, 5, 9, 1)]]
    rows = history(NAMES[:3], buckets)
    assert len(rows) == 3
    assert rows[0] == rows[1]
    assert rows[2] == rate(NAMES[:3], [block for bucket in buckets for block in bucket]).rows


def test_three_at_a_table_are_rated_by_their_triples() -> None:
    blocks = [single((0, 1, 2), 6, 8, 9, 7) for _ in range(30)]
    ladder = rate(("a", "b", "c"), blocks)
    assert [row.name for row in ladder.rows] == ["a", "b", "c"]
    assert {row.comparisons for row in ladder.rows} == {360}
    assert {row.matches for row in ladder.rows} == {30}


def test_a_hundred_thousand_clean_wins_break_nothing() -> None:
    ladder = rate(NAMES[:4], [pair(i, j, 100_000) for i, j in ((0, 1), (1, 2), (2, 3), (0, 3))])
    assert shown(ladder)
    assert [row.entrant for row in ladder.rows] == [0, 1, 2, 3]
    one_upset = rate(NAMES[:3], [pair(0, 1, 100_000, 0, 1), pair(1, 2, 100_000, 1), pair(0, 2, 100_000)])
    assert shown(one_upset)
