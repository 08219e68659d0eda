"""Sums over recorded matches: the same as adding up the games, in whatever order they were recorded."""

import random
from itertools import combinations, combinations_with_replacement

import pytest

from tests.store.play import PARTNERS, THREE, TWO, play, play_all, started
from tournament import seeds
from tournament.results import Tally, pair_scores
from tournament.rules import Rules
from tournament.store import NotFound, Store
from tournament.store_values import Figures


def added_up(store: Store, tournament: int) -> tuple[dict[tuple[int, ...], tuple[int, ...]], list[Tally]]:
    """Returns matches, sums and products of each set of entrants, and the entrants' tallies, from the games alone."""
    rules = store.tournament(tournament).rules
    scores: dict[int, dict[tuple[int, int], int]] = {}
    tallies = [Tally() for _ in store.entrants(tournament)]
    matches = {match.number: match for match in store.matches(tournament, limit=1000)}
    for number, record in store.game_records(tournament):
        game = record.play_again()
        assert game.outcome is not None
        match = matches[number]
        seats = seeds.seatings(rules, len(match.entrants))[record.seating - 1]
        for pair, score in pair_scores(rules, seats, game.outcome.places).items():
            of_match = scores.setdefault(number, {})
            of_match[pair] = of_match.get(pair, 0) + score
        for place, entrant in enumerate(match.entrants):
            sides = {rules.side_of(seat) for seat in range(rules.players) if seats[seat] == place}
            played = [dealt.deal for dealt in game.dealt if dealt.scores is not None]
            tally = Tally(sum(game.outcome.scores[side] for side in sides), len(played) * len(sides))
            for deal in played:
                if seats[deal.bidder] == place:
                    bids = tuple(int(deal.bid == level) for level in (2, 3, 4))
                    made = tuple(int(deal.bid == level and deal.made) for level in (2, 3, 4))
                    tally += Tally(0, 0, bids, made)  # type: ignore[arg-type]
            tallies[entrant] += tally
    sums: dict[tuple[int, ...], tuple[int, ...]] = {}
    for number, of_match in scores.items():
        values = [of_match[pair] for pair in sorted(of_match)]
        numbers = (1, *values, *(one * other for one, other in combinations_with_replacement(values, 2)))
        before = sums.get(matches[number].entrants, (0,) * len(numbers))
        sums[matches[number].entrants] = tuple(one + other for one, other in zip(before, numbers, strict=True))
    return sums, tallies


def as_sums(figures: Figures) -> dict[tuple[int, ...], tuple[int, ...]]:
    return {block.entrants: (block.matches, *block.sums, *block.products) for block in figures.blocks}


@pytest.mark.parametrize(
    ("rules", "count", "games"), [(TWO, 4, (2,)), (THREE, 4, (6, 6, 6)), (THREE, 2, (12,)), (PARTNERS, 3, (2,))]
)
def test_the_figures_are_what_the_games_add_up_to(
    store: Store, rules: Rules, count: int, games: tuple[int, ...]
) -> None:
    tournament = started(store, count, rules, rounds=3)
    play_all(store, tournament)
    figures = store.figures(tournament)
    sums, tallies = added_up(store, tournament)
    assert as_sums(figures) == sums
    assert [total.tally for total in figures.totals] == tallies
    assert {block.games for block in figures.blocks} == {games}
    assert [block.entrants for block in figures.blocks] == list(
        combinations(range(count), min(count, rules.side_count))
    )
    assert sum(total.faults for total in figures.totals) == len(store.faults(tournament))
    assert {total.matches for total in figures.totals} == {
        3 * len(figures.blocks) * len(figures.blocks[0].entrants) // count
    }


def test_what_is_kept_and_added_to_equals_what_is_summed_at_once(store: Store, store_url: str) -> None:
    tournament = started(store, 5, THREE)
    chance = random.Random(4)
    while leased := store.lease(3, 60):
        chance.shuffle(leased)
        store.record(play(store, match) for match in leased)
        with Store(store_url) as fresh:
            assert store.figures(tournament) == fresh.figures(tournament)
    store.void(tournament, 2, "trial")
    with Store(store_url) as fresh:
        assert store.figures(tournament) == fresh.figures(tournament)
    assert sum(block.matches for block in store.figures(tournament).blocks) == 9


def test_the_order_of_recording_changes_nothing_but_the_order(store: Store) -> None:
    results = {}
    seen = []
    for seed in range(2):
        tournament = started(store, 5)
        leased = store.lease(10, 60, tournaments=[tournament])
        random.Random(seed).shuffle(leased)
        for match in leased:
            store.record([play(store, match)])
        figures = store.figures(tournament)
        results[seed] = figures.blocks, figures.totals
        seen.append([match.number for match in store.latest_matches(tournament)])
    assert results[0] == results[1]
    assert seen[0] != seen[1]


def test_before_the_first_result_there_are_entrants_and_no_blocks(store: Store) -> None:
    figures = store.figures(started(store, 3))
    assert (figures.order, figures.blocks) == (0, ())
    assert [total.matches for total in figures.totals] == [0, 0, 0]
    with pytest.raises(NotFound):
        store.figures(99)
