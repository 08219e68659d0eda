"""Results for the tests of ratings: by hand, and drawn by Hypothesis."""

from collections.abc import Sequence
from itertools import combinations

from hypothesis import strategies as st

from tournament.results import Block

BOTS = 6


def pair(first: int, second: int, won: int, split: int = 0, lost: int = 0) -> Block:
    """Matches of two games that the first won 2-0, split 1-1 and lost 0-2."""
    return Block((first, second), (2,), won + split + lost, (4 * won + 2 * split,), (16 * won + 4 * split,))


def single(entrants: Sequence[int], games: int, *scores: int) -> Block:
    """One match."""
    return Block.of_match(entrants, [games] * len(scores), scores)


@st.composite
def matches(draw: st.DrawFn, bots: int = BOTS) -> Block:
    """One match of two or three bots."""
    entrants = tuple(sorted(draw(st.sets(st.integers(0, bots - 1), min_size=2, max_size=3))))
    games = 2 if len(entrants) == 2 else 6
    pairs = len(list(combinations(entrants, 2)))
    return single(entrants, games, *draw(st.lists(st.integers(0, 2 * games), min_size=pairs, max_size=pairs)))


def added(blocks: Sequence[Block]) -> list[Block]:
    """The grouped query: one block per set of entrants."""
    groups: dict[tuple[tuple[int, ...], tuple[int, ...]], Block] = {}
    for block in blocks:
        key = block.entrants, block.games
        groups[key] = groups[key] + block if key in groups else block
    return list(groups.values())
