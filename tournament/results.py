"""What a played match hands to the store: its games, their figures and the bots' faults, as values.

A referee builds these from finished games; a recorder builds them again from acts that came from elsewhere. The
figures (pair scores, points, contracts) follow from the games alone, so that whoever plays a game again gets the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from operator import add
from typing import Final

from tournament.game import Fault, Game, Outcome
from tournament.rules import Rules

BID_LEVELS: Final = (2, 3, 4)


@dataclass(frozen=True, slots=True)
class FaultReport:
    """A fault with what its bot's owner needs to see; none of this enters the replay document.

    Attributes:
        fault: who, what and where in the game.
        message: one line, cut and escaped by who made it.
        traceback: the trimmed traceback, or nothing.
        log_tail: the last lines that the bot printed.
        measured: the measured value where a limit was broken (seconds or bytes).
        limit: that limit.
        question: the question that was not answered, for `reproduce`.
    """

    fault: Fault
    message: str
    traceback: str = ""
    log_tail: str = ""
    measured: float | None = None
    limit: float | None = None
    question: bytes = b""


@dataclass(frozen=True, slots=True)
class Tally:
    """What one entrant did in a game or in a match.

    Attributes:
        points: the final scores of its sides, summed.
        deals: deals played to the end, counted once for each of its sides.
        bids: how often it held a contract of 2, 3 and 4.
        made: how often it made one.
    """

    points: int = 0
    deals: int = 0
    bids: tuple[int, ...] = (0, 0, 0)
    made: tuple[int, ...] = (0, 0, 0)

    def __add__(self, other: Tally) -> Tally:
        """Returns the sum, field by field."""
        bids, made = (tuple(map(add, *pair)) for pair in ((self.bids, other.bids), (self.made, other.made)))
        return Tally(self.points + other.points, self.deals + other.deals, bids, made)


@dataclass(frozen=True, slots=True)
class GameResult:
    """One finished game of a match.

    Attributes:
        seating: its number, from 1 (replay format, Seeds).
        acts: all acts of the game, as `Game.acts` writes them.
        outcome: how it ended.
        deals: deals played to the end; thrown-in and cut-off deals are not counted.
        digest: the digest of its replay document, ``sha256:`` and 64 digits.
        tallies: one per entrant, in the order of the match key.
        reports: one per fault of the outcome, in their order.
        timings: CPU time of each answered question, as `workers.referee` writes it; it never enters a document.
    """

    seating: int
    acts: bytes
    outcome: Outcome
    deals: int
    digest: str
    tallies: tuple[Tally, ...]
    reports: tuple[FaultReport, ...] = ()
    timings: bytes = b""

    @classmethod
    def of(
        cls,
        game: Game,
        seating: int,
        seats: Sequence[int],
        digest: str,
        reports: Sequence[FaultReport] = (),
        timings: bytes = b"",
    ) -> GameResult:
        """Sums up a finished game.

        Args:
            game: the game, over.
            seating: the number of its seating.
            seats: that seating, the position in the match key of each seat's entrant.
            digest: the digest of its document.
            reports: one for each fault, in order.
            timings: as the referee writes them.

        Raises:
            ValueError: the game is not over, or reports and faults do not match.
        """
        if game.outcome is None:
            raise ValueError("the game is not over: expected one with an outcome")
        if tuple(report.fault for report in reports) != game.faults:
            raise ValueError(f"{len(reports)} fault reports for {len(game.faults)} faults: expected one for each")
        return cls(
            seating,
            bytes(game.acts),
            game.outcome,
            sum(dealt.scores is not None for dealt in game.dealt),
            digest,
            tallies(game, seats),
            tuple(reports),
            timings,
        )


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A match with all its games.

    Attributes:
        match_id: the store's number of the match.
        attempt: the number of the lease that it was played under.
        games: every seating once, in order.
        worker: who played it, for the organiser.
        play_s: wall time that it took.
    """

    match_id: int
    attempt: int
    games: tuple[GameResult, ...]
    worker: str = ""
    play_s: float = 0.0


def tallies(game: Game, seats: Sequence[int]) -> tuple[Tally, ...]:
    """Returns what each entrant of a finished game did, in the order of the match key."""
    rules, outcome = game.rules, game.outcome
    assert outcome is not None
    owners = side_entrants(rules, seats)
    count = len(set(owners))
    played = [dealt.deal for dealt in game.dealt if dealt.scores is not None]
    bids = [[0, 0, 0] for _ in range(count)]
    made = [[0, 0, 0] for _ in range(count)]
    for deal in played:
        entrant, level = seats[deal.bidder], BID_LEVELS.index(deal.bid)
        bids[entrant][level] += 1
        made[entrant][level] += bool(deal.made)
    return tuple(
        Tally(
            sum(score for owner, score in zip(owners, outcome.scores, strict=True) if owner == entrant),
            len(played) * owners.count(entrant),
            tuple(bids[entrant]),
            tuple(made[entrant]),
        )
        for entrant in range(count)
    )


def side_entrants(rules: Rules, seats: Sequence[int]) -> list[int]:
    """Returns the entrant's position in the key for each side of a seating."""
    return [next(seats[seat] for seat in range(rules.players) if rules.side_of(seat) == side)
            for side in range(rules.side_count)]  # fmt: skip


def pair_scores(rules: Rules, seats: Sequence[int], places: Sequence[int]) -> dict[tuple[int, int], int]:
    """Returns what the first of each pair of entrants took from the second in one game, in half points.

    Every two sides of different entrants are compared by their places: 2 for the better, 1 each when level.

    >>> pair_scores(Rules.make("cutthroat"), (0, 1, 1), (2, 1, 2))
    {(0, 1): 1}
    """
    owners = side_entrants(rules, seats)
    scores = dict.fromkeys(combinations(sorted(set(owners)), 2), 0)
    for one, other in combinations(range(rules.side_count), 2):
        low, high = (one, other) if owners[one] < owners[other] else (other, one)
        if owners[low] != owners[high]:
            scores[owners[low], owners[high]] += 1 + (places[low] < places[high]) - (places[low] > places[high])
    return scores


def comparisons(rules: Rules, seatings: Sequence[Sequence[int]]) -> dict[tuple[int, int], int]:
    """Returns how many games' comparisons of each pair of entrants all seatings of a match hold.

    >>> comparisons(Rules.make("cutthroat", players=2), ((0, 1), (1, 0)))
    {(0, 1): 2}
    """
    counts: dict[tuple[int, int], int] = {}
    for seats in seatings:
        # Where all are level every comparison gives one half point.
        for pair, score in pair_scores(rules, seats, (1,) * rules.side_count).items():
            counts[pair] = counts.get(pair, 0) + score
    return counts


@dataclass(frozen=True, slots=True)
class Block:
    """The sums over all counted matches of one set of entrants.

    Attributes:
        entrants: Positions of the entrants, rising; two or more.
        games: Comparisons that each pair has in one match, one per pair in the order (0,1), (0,2), (1,2): 2 for two
            at a table and for partnerships, 6 for three at a table, 12 for the three-handed duel (one bot meets two
            copies of the other in each of 6 games).
        matches: Number of matches.
        sums: Sum over the matches of the half points that the first of each pair took from the second, one per pair.
        products: Sums over the matches of the products of those pair scores: the upper triangle by rows, 1 number for
            one pair, 6 for three.
    """

    entrants: tuple[int, ...]
    games: tuple[int, ...]
    matches: int
    sums: tuple[int, ...]
    products: tuple[int, ...]

    @classmethod
    def of_match(cls, entrants: Sequence[int], games: Sequence[int], scores: Sequence[int]) -> Block:
        """Makes the block of a single match from its pair scores in half points."""
        products = tuple(one * other for one, other in combinations_with_replacement(scores, 2))
        return cls(tuple(entrants), tuple(games), 1, tuple(scores), products)

    def __add__(self, other: Block) -> Block:
        """Returns the sums over both blocks' matches, of the same entrants."""
        sums = tuple(map(add, self.sums, other.sums))
        products = tuple(map(add, self.products, other.products))
        return Block(self.entrants, self.games, self.matches + other.matches, sums, products)
