"""The fit and its bars: against other programs, against first principles, and on every table that can be drawn.

The other programs take seconds to import, so only the process that runs a test against one imports it.
"""

import math
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ratings.fields import BOTS, added, matches, pair, single
from tournament.ratings import ELO_PER_LOGIT, TAIL, fit, group_blocks, one_sided_bounds, share_interval
from tournament.results import Block

FIELD = [
    pair(0, 1, 15, 33, 2),
    pair(0, 2, 15, 31, 4),
    pair(1, 2, 8, 36, 6),
    pair(0, 3, 20, 9, 1),
    pair(1, 3, 12, 8, 3),
    pair(2, 3, 9, 9, 9),
]


def games_of(blocks: list[Block]) -> list[tuple[int, int, int, float]]:
    """Unfolds blocks of two-game matches into rows: match, first, second, score of the first."""
    rows = []
    number = 0
    for block in blocks:
        i, j = block.entrants
        won = (block.products[0] // 4 - block.sums[0] // 2) // 2
        split = block.sums[0] // 2 - 2 * won
        for count, scores in ((won, (1, 1)), (split, (1, 0)), (block.matches - won - split, (0, 0))):
            for _ in range(count):
                rows.extend((number, i, j, float(score)) for score in scores)
                number += 1
    return rows


def test_choix_finds_the_same_maximum() -> None:
    import choix

    found = fit(4, group_blocks(FIELD), prior=0)
    np.testing.assert_allclose(found.strengths, choix.ilsr_pairwise_dense(found.points, tol=1e-12), atol=1e-8)


def test_evalica_finds_the_same_maximum() -> None:
    import evalica

    rows = games_of(FIELD)
    winners = [evalica.Winner.X if score else evalica.Winner.Y for *_, score in rows]
    theirs = evalica.newman([str(i) for _, i, _, _ in rows], [str(j) for _, _, j, _ in rows], winners, tolerance=1e-13)
    scores = np.log([theirs.scores[str(i)] for i in range(4)])
    np.testing.assert_allclose(fit(4, group_blocks(FIELD), prior=0).strengths, scores - scores.mean(), atol=1e-6)


def test_statsmodels_finds_the_same_clustered_covariance() -> None:
    import statsmodels.api as sm

    rows = games_of(FIELD)
    design = np.zeros((len(rows), 4))
    for row, (_, i, j, _) in enumerate(rows):
        design[row, i], design[row, j] = 1, -1
    clusters = np.array([number for number, *_ in rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = sm.GLM([score for *_, score in rows], design[:, 1:], family=sm.families.Binomial()).fit(
            cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}, tol=1e-14
        )
    found = fit(4, group_blocks(FIELD), prior=0)
    contrast = np.column_stack((-np.ones(3), np.eye(3)))
    np.testing.assert_allclose(contrast @ found.strengths, result.params, atol=1e-9)
    np.testing.assert_allclose(contrast @ found.robust @ contrast.T, result.cov_params(), rtol=1e-8)


def test_the_sums_of_triples_give_the_sandwich_of_their_rows() -> None:
    rng = np.random.default_rng(3)
    blocks = [
        single(tuple(sorted(rng.choice(5, 3, replace=False).tolist())), 6, *rng.integers(0, 13, 3).tolist())
        for _ in range(80)
    ]
    found = fit(5, group_blocks(blocks))
    meat = np.zeros((5, 5))
    for block in blocks:
        score = np.zeros(5)
        for (i, j), half in zip(combinations(block.entrants, 2), block.sums, strict=True):
            residual = half / 2 - 6 / (1 + math.exp(found.strengths[j] - found.strengths[i]))
            score[i] += residual
            score[j] -= residual
        meat += np.outer(score, score)
    np.testing.assert_allclose(found.robust, found.plain @ meat @ found.plain, atol=1e-12)


def test_the_leverage_of_two_bots_is_one_part_in_their_matches() -> None:
    found = fit(2, group_blocks([pair(0, 1, 8, 30, 2)]), prior=0)
    assert found.leverage[0, 0] / found.plain[0, 0] == pytest.approx(1 / 40)


@pytest.mark.parametrize("size", [3, 4])
def test_the_leverage_of_one_table_is_one_part_in_its_matches(size: int) -> None:
    pairs = size * (size - 1) // 2
    blocks = [single(range(size), 6, *[6] * pairs) for _ in range(25)]
    found = fit(size, group_blocks(blocks), prior=0)
    assert found.leverage[0, 0] / found.plain[0, 0] == pytest.approx(1 / 25)


def test_a_newcomer_hangs_on_its_own_matches() -> None:
    settled = [pair(i, j, 100, 800, 100) for i, j in combinations(range(5), 2)]
    found = fit(6, group_blocks([*settled, *(pair(i, 5, 0, 2) for i in range(5))]), prior=0)
    gap = np.zeros(6)
    gap[[0, 5]] = 1, -1
    assert (gap @ found.plain @ gap) / (gap @ found.leverage @ gap) == pytest.approx(10, rel=0.05)


def test_bots_that_split_every_match_still_have_a_bar() -> None:
    se, quantile = fit(2, group_blocks([pair(0, 1, 0, 10)])).gap_bars()
    assert se[0, 1] * quantile[0, 1] > 100
    assert share_interval(2, 10, 5.0, 2.5)[0] < 0.35


def test_a_clean_record_is_bounded_as_clopper_and_pearson_bound_it() -> None:
    for wins, elo in ((20, 277), (100, 570)):
        lows, highs = one_sided_bounds(fit(2, group_blocks([Block((0, 1), (1,), wins, (2 * wins,), (4 * wins,))])))
        found = fit(2, group_blocks([Block((0, 1), (1,), wins, (2 * wins,), (4 * wins,))]))
        assert highs[0] == math.inf
        assert lows[0] - ELO_PER_LOGIT * found.strengths[1] == pytest.approx(elo, abs=0.6)
        assert share_interval(1, wins, wins, wins) == (pytest.approx(TAIL ** (1 / wins)), 1.0)


def test_without_a_ghost_results_must_join_all_bots_in_both_directions() -> None:
    with pytest.raises(ValueError, match="prior of 0"):
        fit(2, group_blocks([pair(0, 1, 3)]), prior=0)
    with pytest.raises(ValueError, match="prior of 0"):
        fit(4, group_blocks([pair(0, 1, 3, 0, 3), pair(2, 3, 3, 0, 3)]), prior=0)


@pytest.mark.parametrize(
    "block", [Block((1, 0), (2,), 1, (2,), (4,)), Block((0, 1, 2), (2,), 1, (2,), (4,)), Block((0,), (), 1, (), ())]
)
def test_a_block_that_makes_no_sense_is_refused(block: Block) -> None:
    with pytest.raises(ValueError, match="entrants"):
        group_blocks([block])


@given(st.lists(matches(), max_size=40), st.randoms(use_true_random=False), st.integers(1, 5))
def test_any_order_and_any_chunks_give_the_same_bytes(found: list[Block], random: object, chunks: int) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    chunked = [block for start in range(chunks) for block in added(shuffled[start::chunks])]
    one, other = fit(BOTS, group_blocks(found)), fit(BOTS, group_blocks(chunked))
    for field in ("strengths", "plain", "robust", "leverage", "points", "meetings"):
        assert getattr(one, field).tobytes() == getattr(other, field).tobytes()


@given(st.lists(matches(), max_size=12))
def test_whatever_the_results_all_numbers_are_finite(found: list[Block]) -> None:
    ladder = fit(BOTS, group_blocks(found))
    for numbers in (ladder.strengths, *ladder.bars(), *ladder.gap_bars()):
        assert np.isfinite(numbers).all()
    off = ~np.eye(BOTS, dtype=bool)
    assert (ladder.gap_bars()[0][off] > 0).all()
    assert not np.isnan(one_sided_bounds(ladder)).any()


@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=8), min_size=1, max_size=1), st.permutations(range(4)))
def test_the_names_do_not_matter(scores: list[list[int]], order: list[int]) -> None:
    sides = list(combinations(range(4), 2))
    played = [(sides[k % 6], score) for k, score in enumerate(scores[0])]
    blocks = [single(entrants, 2, score) for entrants, score in played]
    renamed = []
    for (i, j), score in played:
        a, b = order[i], order[j]
        renamed.append(single((a, b), 2, score) if a < b else single((b, a), 2, 4 - score))
    one, other = fit(4, group_blocks(blocks)), fit(4, group_blocks(renamed))
    np.testing.assert_allclose(one.strengths, other.strengths[order], atol=1e-9)
    np.testing.assert_allclose(one.bars()[0], other.bars()[0][order], rtol=1e-7)
