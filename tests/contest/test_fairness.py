"""Fairness figures, and which pairs stand out at tables of three."""

import hashlib
import random

from tournament.fairness import FairMatch, odd_pairs, pair_counts, results_digest, seating_counts, worker_shares


def test_the_digest_of_all_results_is_the_hash_of_their_digests_and_line_feeds() -> None:
    assert results_digest(["sha256:aa", "sha256:bb"]) == hashlib.sha256(b"sha256:aa\nsha256:bb\n").hexdigest()
    assert results_digest(["sha256:bb", "sha256:aa"]) != results_digest(["sha256:aa", "sha256:bb"])


def test_pairs_seats_and_workers_are_counted() -> None:
    matches = [
        FairMatch(1, (0, 1, 2), "a", 6, 1, (6, 6, 6)),
        FairMatch(1, (0, 1, 3), "b", 6, 0, (6, 6, 6)),
        FairMatch(1, (0, 1, 3), "b", 6, 2, (6, 6, 6)),
    ]
    assert pair_counts(matches) == {(0, 1): 3, (0, 2): 1, (0, 3): 2, (1, 2): 1, (1, 3): 2}
    assert set(seating_counts(matches, [(0, 1, 2)] * 5 + [(2, 1, 0)]).values()) == {3}
    shares = worker_shares(matches, ["a", "c", "a"])
    assert [(each.worker, each.matches, each.games, each.faults, each.voids) for each in shares] == [
        ("a", 1, 6, 1, 2), ("b", 2, 12, 2, 0), ("c", 0, 0, 0, 1),
    ]  # fmt: skip


def matches_of(chance: random.Random, count: int, helped: tuple[int, int] | None) -> list[FairMatch]:
    """Equal bots at tables of three; with two who help each other the third loses some points."""
    found = []
    for _ in range(count):
        sitting = tuple(sorted(chance.sample(range(6), 3)))
        scores = [sum(chance.randint(0, 2) for _ in range(6)) for _ in range(3)]
        if helped is not None and set(helped) <= set(sitting):
            third = next(place for place in range(3) if sitting[place] not in helped)
            for pair, (one, other) in enumerate(((0, 1), (0, 2), (1, 2))):
                scores[pair] += {one: -2, other: 2}.get(third, 0)
        found.append(FairMatch(1, sitting, "w", 6, 0, tuple(scores), (6.0, 6.0, 6.0)))
    return found


def test_a_pair_that_plays_together_stands_out_first() -> None:
    found = odd_pairs(matches_of(random.Random(1), 400, (2, 4)))
    assert (found[0].first, found[0].second) == (2, 4)
    assert found[0].z > 4
    assert found[0].lost > 1


def test_among_fair_bots_a_pair_stands_out_in_one_tournament_of_twenty_at_most() -> None:
    seen = [bool(odd_pairs(matches_of(random.Random(seed), 200, None))) for seed in range(60)]
    assert sum(seen) <= 6


def test_few_matches_and_tables_of_two_are_not_judged() -> None:
    assert odd_pairs(matches_of(random.Random(1), 12, (2, 4))) == ()
    assert odd_pairs([FairMatch(1, (0, 1), "w", 2, 0, (0,), (2.0,))] * 50) == ()
