"""Whatever is asked for, in whatever order: a model of a few lines knows what the store must answer."""

import random
from collections import Counter
from dataclasses import dataclass, replace

import pytest

from tests.store.play import play, started
from tournament.models import TournamentState
from tournament.results import MatchResult
from tournament.store import Store, WrongState
from tournament.store_values import LeasedMatch, Recorded

MAX_LOSSES = 3


@dataclass
class Model:
    """One match as the texts say it must be."""

    state: str = "queued"
    attempt: int = 0
    losses: int = 0
    voided: int = 0
    until: float = 0.0

    def lose(self) -> None:
        self.losses += 1
        self.state = "failed" if self.losses >= MAX_LOSSES else "queued"


class World:
    """A store, its model, and everything that was ever handed out and may be delivered at any later time."""

    def __init__(self, store: Store, chance: random.Random) -> None:
        self.store = store
        self.fresh = Store(store.url)
        self.chance = chance
        self.now = 1000.0
        self.tournament = started(store, 4, now=self.now)
        self.models = {number: Model() for number in range(1, 7)}
        self.handed: list[LeasedMatch] = []
        self.played: dict[int, MatchResult] = {}

    def result(self, leased: LeasedMatch) -> MatchResult:
        if leased.id not in self.played:
            self.played[leased.id] = play(self.store, leased)
        return replace(self.played[leased.id], attempt=leased.attempt)

    def lease(self) -> None:
        want = self.chance.randint(1, 3)
        running = self.store.tournament(self.tournament).state is TournamentState.RUNNING
        expected = [number for number, model in self.models.items() if model.state == "queued" and running][:want]
        leased = self.store.lease(want, 50, now=self.now)
        assert [match.number for match in leased] == expected
        for match in leased:
            model = self.models[match.number]
            model.state, model.attempt, model.until = "leased", model.attempt + 1, self.now + 50
            assert match.attempt == model.attempt
        self.handed += leased

    def deliver(self) -> None:
        for leased in self.chance.sample(self.handed, min(len(self.handed), 2)):
            model = self.models[leased.number]
            (answer,) = self.store.record([self.result(leased)], now=self.now)
            if model.state in ("queued", "leased") and leased.attempt > model.voided:
                assert answer is Recorded.RECORDED
                model.state = "done"
            else:
                assert answer is not Recorded.RECORDED

    def take_back(self) -> None:
        self.now += self.chance.choice([10, 30, 60])
        over = [model for model in self.models.values() if model.state == "leased" and model.until < self.now]
        assert self.store.take_back(max_losses=MAX_LOSSES, now=self.now) == len(over)
        for model in over:
            model.lose()

    def fail(self) -> None:
        if self.handed:
            leased = self.chance.choice(self.handed)
            model = self.models[leased.number]
            self.store.fail(leased.id, leased.attempt, "ours", max_losses=MAX_LOSSES, now=self.now)
            if model.state == "leased" and model.attempt == leased.attempt:
                model.lose()

    def release(self) -> None:
        if self.handed:
            leased = self.chance.choice(self.handed)
            model = self.models[leased.number]
            held = model.state == "leased" and model.attempt == leased.attempt
            assert self.store.release([(leased.id, leased.attempt)]) == held
            if held:
                model.state = "queued"

    def void(self) -> None:
        number = self.chance.randint(1, 6)
        model = self.models[number]
        if model.state == "done":
            self.store.void(self.tournament, number, "trial", now=self.now)
            model.state, model.voided, model.losses = "queued", model.attempt, 0
        else:
            with pytest.raises(WrongState):
                self.store.void(self.tournament, number, "trial", now=self.now)

    def retry(self) -> None:
        failed = [model for model in self.models.values() if model.state == "failed"]
        assert self.store.retry(self.tournament, now=self.now) == len(failed)
        for model in failed:
            model.state, model.losses = "queued", 0

    def check(self) -> None:
        counts, states = self.store.counts(self.tournament), Counter(model.state for model in self.models.values())
        assert counts.planned == 6
        assert (counts.finished, counts.running, counts.queued, counts.failed) == tuple(
            states[state] for state in ("done", "leased", "queued", "failed")
        )
        finished = self.store.tournament(self.tournament).state is TournamentState.FINISHED
        assert finished == (counts.open == 0)
        figures = self.store.figures(self.tournament)
        assert sum(block.matches for block in figures.blocks) == counts.finished
        self.fresh._kept.clear()
        assert self.fresh.figures(self.tournament) == figures


@pytest.mark.parametrize("seed", range(8))
def test_the_store_agrees_with_the_model(store: Store, seed: int) -> None:
    world = World(store, random.Random(seed))
    steps = [world.lease, world.deliver, world.take_back, world.fail, world.release, world.void, world.retry]
    for _ in range(30):
        world.chance.choices(steps, weights=[5, 4, 2, 1, 1, 1, 1])[0]()
        world.check()
    world.fresh.close()
