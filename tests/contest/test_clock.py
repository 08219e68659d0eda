"""Deadlines, extensions, practice rounds and starts: the clock is passed in."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.people.people import accept, contestant, submit
from tests.store.play import TWO, play, started
from tournament import contest
from tournament.contest import NotReady
from tournament.models import TRANSITIONS, TournamentState
from tournament.planning import Plan
from tournament.source import BotSource
from tournament.store import NotFound, Store, WrongState
from tournament.store_values import NewEntrant, NewTournament

State = TournamentState


def house(names: Sequence[str]) -> list[NewEntrant]:
    return [NewEntrant(name, 1, BotSource.of_file(name.encode()), 0, house=True) for name in names]


def make(store: Store, *, closes: float | None = 1000.0, rounds: int = 1, **plan: object) -> int:
    settings = Plan(**plan)  # type: ignore[arg-type]  # by name
    return store.create(
        NewTournament("cup", TWO, rounds, contest.new_secret(), opens_at=100.0, closes_at=closes, plan=settings),
        now=0.0,
    )


def test_entries_open_and_close_at_their_times_and_once_each(store: Store) -> None:
    tournament = make(store)
    assert contest.tick(store, 99.0, house) == []
    assert contest.tick(store, 100.0, house) == [f"tournament {tournament} is open"]
    assert contest.tick(store, 999.0, house) == []
    assert contest.tick(store, 1000.0, house) == [f"tournament {tournament} is closed"]
    assert contest.tick(store, 2000.0, house) == []
    late = make(store)
    assert contest.tick(store, 5000.0, house) == [f"tournament {late} is open", f"tournament {late} is closed"]


def test_what_was_received_in_time_counts_also_when_it_is_checked_later(store: Store) -> None:
    tournament = make(store)
    ada, bob = (contestant(store, name)[0] for name in ("Ada", "Bob"))
    for account, name, moment in ((ada, "ada", 200.0), (bob, "bob", 300.0)):
        submit(store, account, name, now=moment)
        accept(store, now=moment + 1)
    submit(store, ada, "ada", "better", now=999.0)
    submit(store, bob, "bob", "too late", now=1001.0)
    contest.tick(store, 150.0, house)
    contest.tick(store, 1002.0, house)
    with pytest.raises(NotReady, match="1 submission received in time waits for its verdict"):
        contest.start(store, tournament, house, now=1003.0)
    accept(store, now=1004.0)
    accept(store, now=1005.0)
    contest.start(store, tournament, house, now=1006.0)
    assert [entrant.text for entrant in store.entrants(tournament)] == ["ada:2", "bob:1"]


def test_a_version_that_fails_its_check_leaves_the_accepted_one_before_in(store: Store) -> None:
    tournament = make(store)
    for name in ("Ada", "Bob"):
        submit(store, contestant(store, name)[0], name.lower(), now=200.0)
        accept(store, now=201.0)
    ada = store.find_account("Ada").id
    submit(store, ada, "ada", "broken", now=500.0)
    check = store.lease_check(60, now=501.0)
    assert check is not None
    store.decide(check, "loads", {"reasons": ["no"]}, [], 1.0, accepted=False, now=502.0)
    contest.start(store, tournament, house, now=1001.0)
    assert [entrant.text for entrant in store.entrants(tournament)] == ["ada:1", "bob:1"]


def test_an_extension_for_all_is_one_act_and_opens_again(store: Store) -> None:
    tournament = make(store)
    contest.tick(store, 1500.0, house)
    store.set_times(tournament, 100.0, 3000.0, by=10_000, why="the network was down")
    assert contest.tick(store, 1501.0, house) == [f"tournament {tournament} is open again"]
    (act,) = [line for line in store.audit_log() if line.act == "extend for all"]
    why = "opens 1970-01-01 00:01 UTC, closes 1970-01-01 00:50 UTC: the network was down"
    assert (act.account_id, act.reason, act.subject) == (10_000, why, f"tournament {tournament}")
    assert contest.tick(store, 3000.0, house) == [f"tournament {tournament} is closed"]


def test_an_extension_for_one_counts_for_that_one_only_and_holds_the_start_back(store: Store) -> None:
    tournament = make(store, auto_start=True)
    ada, bob = (contestant(store, name)[0] for name in ("Ada", "Bob"))
    store.extend(tournament, ada, 2000.0, by=None, why="ill")
    contest.tick(store, 100.0, house)
    contest.tick(store, 1000.0, house)
    for account, name, text in ((ada, "ada", "1"), (bob, "bob", "1")):
        submit(store, account, name, text, now=300.0 if name == "bob" else 1999.0)
        accept(store, now=2001.0)
    submit(store, bob, "bob", "late", now=1500.0)
    accept(store, now=2001.0)
    assert contest.tick(store, 1999.0, house) == []
    with pytest.raises(NotReady, match="entries are open until 1970-01-01 00:33 UTC"):
        contest.start(store, tournament, house, now=1999.0)
    assert contest.tick(store, 2000.0, house) == [f"tournament {tournament} has started"]
    assert [entrant.text for entrant in store.entrants(tournament)] == ["ada:1", "bob:1"]
    assert [line.reason for line in store.audit_log() if line.act == "extend"] == ["until 1970-01-01 00:33 UTC: ill"]
    with pytest.raises(WrongState, match="its entries are settled"):
        store.extend(tournament, ada, 9000.0)


def test_extensions_are_for_accounts_and_tournaments_that_there_are(store: Store) -> None:
    with pytest.raises(NotFound, match="no account 77"):
        store.extend(make(store), 77, 2000.0)
    with pytest.raises(NotFound, match="no tournament 77"):
        store.extend(77, contestant(store)[0], 2000.0)


def test_an_extension_ends_after_the_close_for_all_and_entries_close_after_they_open(store: Store) -> None:
    tournament, ada = make(store), contestant(store)[0]
    with pytest.raises(ValueError, match="entries close 1970-01-01 00:16 UTC: expected a time after the close"):
        store.extend(tournament, ada, 1000.0)
    store.extend(tournament, ada, 1001.0)
    store.extend(tournament, ada, None, why="well again")
    assert store.extensions(tournament) == {}
    with pytest.raises(ValueError, match="before it opens"):
        store.set_times(tournament, 100.0, 100.0)
    store.set_times(tournament, None, None)
    with pytest.raises(ValueError, match="close by hand"):
        store.extend(tournament, ada, 2000.0)
    reasons = [line.reason for line in reversed(store.audit_log()) if line.subject.startswith("tournament")]
    assert reasons[-3:] == ["until 1970-01-01 00:16 UTC", "taken back: well again", ""]


def test_a_close_by_hand_is_a_deadline_like_any_other(store: Store) -> None:
    tournament = make(store)
    ada, bob = (contestant(store, name)[0] for name in ("Ada", "Bob"))
    contest.tick(store, 100.0, house)

    def hand_in(account: int, name: str, now: float) -> list[str]:
        submit(store, account, name, f"{name} {now}", now=now)
        accept(store, now=now)
        return [each.text for each in contest.entrants_of(store, store.tournament(tournament), house)]

    store.set_state(tournament, State.CLOSED, now=300.0)  # long before its time
    assert contest.tick(store, 301.0, house) == []
    assert hand_in(ada, "ada", 299.0) == ["ada:1"]
    assert hand_in(bob, "bob", 302.0) == ["ada:1"]
    store.set_state(tournament, State.OPEN, now=400.0)  # and closed by hand from now on
    assert contest.tick(store, 2000.0, house) == []
    assert hand_in(bob, "bob", 2001.0) == ["ada:1", "bob:2"]
    store.set_state(tournament, State.CLOSED, now=2002.0)
    assert hand_in(ada, "ada", 2003.0) == ["ada:1", "bob:2"]
    assert store.tournament(tournament).closes_at == 2002.0


def test_what_came_late_does_not_count_where_nobody_has_noticed_the_close_yet(store: Store) -> None:
    tournament, ada = make(store), contestant(store)[0]
    contest.tick(store, 100.0, house)
    submit(store, ada, "ada", "late", now=1001.0)
    accept(store, now=1002.0)
    info = store.tournament(tournament)
    assert (info.state, contest.entrants_of(store, info, house)) == (State.OPEN, [])


def test_with_too_few_bots_nothing_starts_and_the_rest_goes_on(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    make(store, auto_start=True)
    other = make(store, closes=500.0)
    contest.tick(store, 100.0, house)
    contest.tick(store, 1000.0, house)
    assert contest.tick(store, 1001.0, house) == []
    assert caplog.records == []  # somebody asks once a second
    assert store.tournament(other).state is State.CLOSED


def test_house_bots_play_along_with_owners_of_their_own(store: Store) -> None:
    tournament = make(store, closes=None, house=("random", "simple", "counter"))
    contest.start(store, tournament, house, now=store.now())
    found = store.entrants(tournament)
    assert [(entrant.name, entrant.house) for entrant in found] == [
        ("counter", True),
        ("random", True),
        ("simple", True),
    ]
    assert len({entrant.owner for entrant in found}) == 3


def test_a_time_budget_sets_the_rounds_at_the_start(store: Store) -> None:
    tournament = make(store, closes=None, house=("random", "simple"), budget_s=60.0)
    found = contest.start(store, tournament, house, now=store.now())
    assert found.rounds == store.tournament(tournament).rounds > 1
    assert store.counts(tournament).planned == found.matches
    assert found.expected_s <= 60.0


def test_practice_rounds_are_played_every_day_each_with_its_own_secret(store: Store) -> None:
    plan = Plan(house=("random", "simple"))
    settings = NewTournament("night", TWO, 1, "unused", final_order="elo", plan=plan)
    first = contest.next_time(0.0, "02:00", "UTC")
    practice = store.add_practice(settings, "02:00", first)
    assert first == 7200.0
    assert contest.tick(store, 7199.0, house) == []
    assert contest.tick(store, 7200.0, house) == ["tournament 1 has started"]
    assert contest.tick(store, 7201.0, house) == []
    # Three nights without a server are made up for once.
    assert contest.tick(store, 7200.0 + 3 * 86_400 + 60, house) == ["tournament 2 has started"]
    one, two = (store.tournament(number) for number in (1, 2))
    assert (one.name, two.name, one.final_order) == ("night 1", "night 2", "elo")
    assert len({one.secret, two.secret, "unused"}) == 3
    assert all(len(each.secret) == 64 and each.plan.practice for each in (one, two))
    (info,) = store.practices()
    assert (info.runs, info.last_tournament, info.next_at) == (2, 2, 7200.0 + 4 * 86_400)
    store.stop_practice(practice)
    assert contest.tick(store, 1e9, house) == []


def test_of_two_who_see_a_practice_round_due_one_plays_it(store: Store) -> None:
    practice = store.add_practice(NewTournament("night", TWO, 1, ""), "02:00", 7200.0)
    assert store.take_practice(practice, 7200.0, 93_600.0)
    assert not store.take_practice(practice, 7200.0, 93_600.0)


def test_a_practice_round_with_too_few_bots_is_cancelled_with_a_reason(store: Store) -> None:
    store.add_practice(NewTournament("night", TWO, 1, "unused"), "02:00", 7200.0)
    assert contest.tick(store, 7200.0, house) == ["tournament 1 is cancelled: 0 entrants: expected at least two"]
    assert store.tournament(1).state is State.CANCELLED


@pytest.mark.parametrize("before", list(State))
def test_a_tournament_becomes_what_may_follow_and_nothing_else(store: Store, before: State) -> None:
    for after in State:
        tournament = bring_to(store, before)
        if after in TRANSITIONS[before]:
            move(store, tournament, before, after)
            assert store.tournament(tournament).state is after
        else:
            with pytest.raises(WrongState):
                move(store, tournament, before, after)
            assert store.tournament(tournament).state is before


def move(store: Store, tournament: int, before: State, after: State) -> None:
    if after is State.CANCELLED:
        store.cancel(tournament)
    elif after is State.RUNNING and before in (State.DRAFT, State.OPEN, State.CLOSED):
        contest.start(store, tournament, house, now=store.now())
    elif (before, after) == (State.FINISHED, State.RUNNING):
        with pytest.raises(WrongState, match="a void or a retry makes it run again"):
            store.set_state(tournament, after)
        store.void(tournament, 1, "overloaded machine")
    else:
        store.set_state(tournament, after)


def bring_to(store: Store, state: State) -> int:
    if state in (State.DRAFT, State.OPEN, State.CLOSED):
        tournament = make(store, closes=None, house=("random", "simple"))
        for step in (State.OPEN, State.CLOSED)[: (State.DRAFT, State.OPEN, State.CLOSED).index(state)]:
            store.set_state(tournament, step)
        return tournament
    tournament = started(store, 2, TWO)
    if state is State.CANCELLED:
        store.cancel(tournament)
    elif state is State.PAUSED:
        store.set_state(tournament, State.PAUSED)
    elif state is State.FINISHED:
        store.record([play(store, store.lease(1, 60, tournaments=[tournament])[0])])
    return tournament


@given(
    st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001  # times of a zone
    st.sampled_from(["02:00", "02:30", "00:00", "23:59"]),
    st.sampled_from(["UTC", "Europe/Zurich", "America/New_York", "Asia/Kathmandu"]),
)
def test_the_next_time_of_day_is_within_a_day_and_clocks_show_it(after: datetime, at: str, zone: str) -> None:
    moment = after.replace(tzinfo=UTC).timestamp()
    following = contest.next_time(moment, at, zone)
    assert moment < following <= moment + 25 * 3600
    # Where clocks go forward over it, they show that much later.
    assert contest.moment_text(following, zone)[11:16] in (at, f"{int(at[:2]) + 1:02}{at[2:]}")


def test_times_are_read_in_their_zone_and_refused_where_its_clocks_leave_them_out() -> None:
    assert contest.moment_text(contest.moment_of("2026-07-01 18:00", "Europe/Zurich"), "UTC") == "2026-07-01 16:00 UTC"
    assert contest.moment_of("2026-07-01T18:00+09:00", "UTC") == contest.moment_of("2026-07-01 18:00", "Asia/Tokyo")
    with pytest.raises(ValueError, match="left out by the clocks of Europe/Zurich"):
        contest.moment_of("2026-03-29 02:30", "Europe/Zurich")
    for text, zone in (("soon", "UTC"), ("2026-01-01", "Nowhere"), ("2026-01-01 00:00", "../etc/passwd")):
        with pytest.raises(ValueError, match=r"is no time|is no time zone"):
            contest.moment_of(text, zone)
