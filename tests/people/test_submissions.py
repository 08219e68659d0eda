"""Submissions, versions, quotas, the queue of checks, trials and entries in the store."""

import pytest

from tests.people.people import HOUSE, accept, contestant, files, organiser, submit
from tests.store.play import new, play_all, started
from tournament.models import TournamentState
from tournament.models_people import SubmissionState
from tournament.people import LeasedCheck, SiteOptions
from tournament.rules import Rules
from tournament.store import NotFound, Store, WrongState
from tournament.store_checks import HOUR_S, LOST, MAX_ATTEMPTS, STALLED, STALLED_S
from tournament.store_submissions import NewSubmission, QuotaReached

RULES = Rules.make("cutthroat", players=2)


def reject(store: Store) -> LeasedCheck:
    check = store.lease_check(60)
    assert check is not None
    assert store.decide(check, "loads", {"reasons": ["no"]}, [], 0.5, accepted=False)
    return check


def test_a_submission_waits_is_checked_and_becomes_a_version(store: Store) -> None:
    ada, _ = contestant(store)
    number = submit(store, ada, "fox")
    assert (store.submission(number).state, store.submission(number).stage) == (SubmissionState.WAITING, "received")
    check = store.lease_check(60)
    assert check is not None
    assert (check.id, check.bot, check.version, check.sha256) == (number, "fox", 1, files("1").sha256)
    assert store.submission(number).state is SubmissionState.CHECKING
    store.check_passed(check, "loads")
    assert store.submission(number).stage == "loads"
    assert store.decide(check, "accepted", {"probes": 1}, [{"a": "document"}], 2.5, accepted=True)
    done = store.submission(number)
    assert (done.state, done.version, done.check_s, done.probe_count) == (SubmissionState.ACCEPTED, 1, 2.5, 1)
    assert store.probe(number, 1) == {"a": "document"}
    for wrong in (0, 2):
        with pytest.raises(NotFound):
            store.probe(number, wrong)


def test_versions_count_what_was_accepted_only(store: Store) -> None:
    ada, _ = contestant(store)
    submit(store, ada, "fox", "1")
    accept(store)
    submit(store, ada, "fox", "2")
    reject(store)
    submit(store, ada, "fox", "3")
    assert accept(store).version == 2
    assert [each.version for each in store.submissions(account_id=ada)] == [2, None, 1]


def test_an_upload_that_is_refused_is_kept_with_its_reasons_and_never_checked(store: Store) -> None:
    ada, _ = contestant(store)
    number = store.submit(NewSubmission(ada, "fox", "x.zip", None, ("bot.py: is not UTF-8 in line 3",)), HOUSE)
    found = store.submission(number)
    assert (found.state, found.stage) == (SubmissionState.REJECTED, "upload checks")
    assert found.verdict == {"reasons": ["bot.py: is not UTF-8 in line 3"]}
    assert store.lease_check(60) is None


def test_the_same_files_sent_twice_are_one_submission(store: Store) -> None:
    ada, _ = contestant(store)
    first = submit(store, ada, "fox")
    assert submit(store, ada, "fox") == first
    accept(store)
    with pytest.raises(WrongState, match="version 1 has these very files"):
        submit(store, ada, "fox")
    submit(store, ada, "fox", "2")
    accept(store)
    submit(store, ada, "fox", "1")
    assert accept(store).version == 3, "to go back to older files is a new version"


@pytest.mark.parametrize("name", ["", "Fox", "fox!", "-fox", "f" * 40, "../x", "fox\n", "ﬁx"])
def test_a_bot_name_outside_the_format_is_refused(store: Store, name: str) -> None:
    ada, _ = contestant(store)
    with pytest.raises(ValueError, match="no bot name"):
        submit(store, ada, name)
    assert store.bots() == []


def test_a_bot_name_belongs_to_who_took_it_first_and_never_to_a_house_bot(store: Store) -> None:
    ada, _ = contestant(store)
    bob, _ = contestant(store, "Bob")
    submit(store, ada, "fox")
    with pytest.raises(WrongState, match="another contestant"):
        submit(store, bob, "fox")
    with pytest.raises(WrongState, match="house bot"):
        submit(store, bob, "counter")


def test_quotas_count_uploads_an_hour_bots_bytes_and_processor_time_of_checks(store: Store) -> None:
    ada, _ = contestant(store)
    store.set_options(SiteOptions(uploads_per_hour=3, bots=2, source_bytes=200, check_cpu_s_per_day=10), by=None)
    submit(store, ada, "one", "1", now=1000.0)
    submit(store, ada, "two", "1", now=1001.0)
    with pytest.raises(QuotaReached, match="2 bots"):
        submit(store, ada, "three", now=1002.0)
    with pytest.raises(ValueError, match="bytes"):
        submit(store, ada, "one", "x" * 200, now=1003.0)
    submit(store, ada, "two", "2", now=1004.0)
    with pytest.raises(QuotaReached, match="3 uploads in the last hour") as reached:
        submit(store, ada, "one", "2", now=1010.0)
    assert reached.value.retry_s == HOUR_S - 10
    with pytest.raises(QuotaReached, match="the next one in 1 min"):  # never in 0
        submit(store, ada, "one", "2", now=1000.0 + HOUR_S - 5)
    later = 1001.0 + HOUR_S
    submit(store, ada, "one", "2", now=later)
    for _ in range(4):
        check = store.lease_check(60, now=later)
        assert check is not None
        store.decide(check, "loads", {}, [], 99.0, cpu_s=3.0, accepted=False, now=later)
    with pytest.raises(QuotaReached, match="12 s of processor time in checks within a day"):
        submit(store, ada, "one", "3", now=later + HOUR_S)
    assert submit(store, ada, "one", "3", now=later + 25 * HOUR_S)


def test_a_name_under_which_nothing_was_accepted_is_no_bot_yet(store: Store) -> None:
    ada, _ = contestant(store)
    store.set_options(SiteOptions(bots=1), by=None)
    for name in ("fxo", "foxx"):
        store.submit(NewSubmission(ada, name, "x.zip", None, ("not a bot",)), HOUSE)
    submit(store, ada, "fox")
    with pytest.raises(QuotaReached, match="1 bot,"):  # it may still be accepted
        submit(store, ada, "fxo")
    reject(store)
    submit(store, ada, "foxx")
    accept(store)
    for name in ("fxo", "fox", "new"):
        with pytest.raises(QuotaReached, match="1 bot,"):
            submit(store, ada, name)
    assert submit(store, ada, "foxx", "2")


def test_a_name_under_which_all_was_refused_is_free_for_another(store: Store) -> None:
    ada, _ = contestant(store)
    bob, _ = contestant(store, "Bob")
    store.submit(NewSubmission(ada, "fox", "x.zip", None, ("not a bot",)), HOUSE)
    submit(store, ada, "owl")
    with pytest.raises(WrongState, match="belongs to another"):  # it may still be accepted
        submit(store, bob, "owl")
    assert store.submission(submit(store, bob, "fox")).account_id == bob
    assert {(bot.name, bot.account_id) for bot in store.bots()} == {("fox (1)", ada), ("fox", bob), ("owl", ada)}
    assert [each.bot for each in store.submissions(account_id=ada)] == ["owl", "fox (1)"]
    with pytest.raises(WrongState, match="belongs to another"):
        submit(store, ada, "fox")
    for uploaded in (files("1"), None):
        with pytest.raises(ValueError, match="no bot name"):  # nobody can ask for it, its owner neither
            store.submit(NewSubmission(ada, "fox (1)", "x.zip", uploaded, () if uploaded else ("not a bot",)), HOUSE)
    assert len(store.submissions(account_id=ada)) == 2


def test_quotas_count_one_account_and_not_another(store: Store) -> None:
    store.set_options(SiteOptions(uploads_per_hour=1), by=None)
    for name in ("Ada", "Bob"):
        account, _ = contestant(store, name)
        submit(store, account, name.lower())
        with pytest.raises(QuotaReached):
            submit(store, account, name.lower(), "2")


def test_a_withdrawn_bot_makes_room_for_another_and_keeps_its_matches(store: Store) -> None:
    ada, _ = contestant(store)
    store.set_options(SiteOptions(bots=1), by=None)
    submit(store, ada, "fox")
    accept(store)
    bob, _ = contestant(store, "Bob")
    submit(store, bob, "owl")
    accept(store)
    tournament = store.create_running(new(), store.entries())
    play_all(store, tournament)
    (fox,) = store.bots(account_id=ada)
    store.withdraw(fox.id, True, by=ada)
    assert [entry.name for entry in store.entries()] == ["owl"]
    submit(store, ada, "wolf")
    assert store.counts(tournament).finished == 1
    assert "fox" in {entrant.name for entrant in store.entrants(tournament)}


def test_a_withdrawn_bot_comes_back_only_where_there_is_room(store: Store) -> None:
    ada, _ = contestant(store)
    store.set_options(SiteOptions(bots=1), by=None)
    submit(store, ada, "fox")
    accept(store)
    (fox,) = store.bots(account_id=ada)
    store.withdraw(fox.id, True, by=ada)
    submit(store, ada, "wolf")
    accept(store)
    with pytest.raises(WrongState, match="you have 1 bot, which is the most"):
        store.withdraw(fox.id, False, by=ada)
    with pytest.raises(QuotaReached, match="you have 1 bot, which is the most"):
        submit(store, ada, "fox")


def test_a_withdrawn_bot_takes_part_again_once_a_new_version_is_accepted_and_not_before(store: Store) -> None:
    ada, _ = contestant(store)
    submit(store, ada, "fox")
    accept(store)
    (fox,) = store.bots()
    store.withdraw(fox.id, True, by=ada)
    store.submit(NewSubmission(ada, "fox", "x.zip", None, ("not a bot",)), HOUSE)
    submit(store, ada, "fox", "worse")
    reject(store)
    assert store.entries() == []
    submit(store, ada, "fox", "better")
    assert store.entries() == []
    accept(store)
    assert [(entry.name, entry.version) for entry in store.entries()] == [("fox", 2)]
    submit(store, ada, "fox", "best")
    store.withdraw(fox.id, True, by=ada)  # later than what is being checked: that does not bring it back
    accept(store)
    assert store.entries() == []


def test_withdrawn_bots_that_may_come_back_count_as_bots(store: Store) -> None:
    ada, _ = contestant(store)
    store.set_options(SiteOptions(bots=1), by=None)
    for name in ("fox", "owl"):
        submit(store, ada, name)
        accept(store)
        store.withdraw(store.bots(name=name)[0].id, True, by=ada)
    submit(store, ada, "fox", "2")
    with pytest.raises(QuotaReached, match="1 bot,"):
        submit(store, ada, "owl", "2")
    reject(store)
    submit(store, ada, "owl", "2")


def test_when_too_many_wait_the_site_says_busy(store: Store) -> None:
    store.set_options(SiteOptions(waiting=2), by=None)
    for name in ("a", "b"):
        submit(store, contestant(store, name)[0], name)
    late, _ = contestant(store, "c")
    with pytest.raises(QuotaReached, match="busy") as reached:
        submit(store, late, "c")
    assert reached.value.busy
    accept(store)
    submit(store, late, "c")


def test_submissions_can_be_closed(store: Store) -> None:
    ada, _ = contestant(store)
    store.set_options(SiteOptions(frozen=True), by=None)
    with pytest.raises(WrongState, match="closed"):
        submit(store, ada, "fox")


def test_one_who_uploads_many_delays_nobody(store: Store) -> None:
    store.set_options(SiteOptions(uploads_per_hour=100), by=None)
    ada, _ = contestant(store)
    for number in range(30):
        submit(store, ada, "fox", str(number), now=1000.0)
    others = [contestant(store, f"c{number}")[0] for number in range(3)]
    for number, account in enumerate(others):
        submit(store, account, f"bot{number}", now=1001.0)
    ahead, wait_s = store.waiting(store.submissions(account_id=others[0])[0].id)
    assert ahead == 3
    assert 0 < wait_s < 30
    order = []
    for _ in range(33):
        check = store.lease_check(60, now=1002.0)
        assert check is not None
        order.append(check.bot)
        store.decide(check, "loads", {}, [], 1.0, accepted=False, now=1002.0)
    assert sorted(order[1:4]) == ["bot0", "bot1", "bot2"]
    assert store.lease_check(60) is None


def test_no_two_checks_of_one_account_run_at_a_time(store: Store) -> None:
    ada, _ = contestant(store)
    bob, _ = contestant(store, "Bob")
    for number in range(3):
        submit(store, ada, "fox", str(number))
    submit(store, bob, "owl")
    leased = [store.lease_check(60) for _ in range(4)]
    assert [check.bot for check in leased if check is not None] == ["fox", "owl"]


def test_a_check_that_is_lost_is_done_once_more_and_then_failed_with_a_reason(store: Store) -> None:
    ada, _ = contestant(store)
    number = submit(store, ada, "fox")
    for attempt in range(1, MAX_ATTEMPTS + 1):
        check = store.lease_check(60, now=1000.0 * attempt)
        assert check is not None
        assert check.attempt == attempt
        store.take_back_checks(now=1000.0 * attempt + 59)
        assert store.submission(number).state is SubmissionState.CHECKING
        store.take_back_checks(now=1000.0 * attempt + 61)
    failed = store.submission(number)
    assert (failed.state, failed.verdict) == (SubmissionState.FAILED, {"reasons": [LOST]})
    store.retry_check(number, by=ada)
    assert accept(store).attempt == 1
    with pytest.raises(WrongState, match="accepted"):
        store.retry_check(number, by=ada)


def test_a_check_that_is_put_back_does_not_count(store: Store) -> None:
    ada, _ = contestant(store)
    number = submit(store, ada, "fox")
    for _ in range(MAX_ATTEMPTS + 1):
        check = store.lease_check(60)
        assert check is not None
        assert check.attempt == 1
        store.put_back(check)
        waiting = store.submission(number)
        assert (waiting.state, waiting.stage) == (SubmissionState.WAITING, "received")
    late = store.lease_check(60, now=1000.0)
    assert late is not None
    store.take_back_checks(now=2000.0)
    again = store.lease_check(60)
    assert again is not None
    store.put_back(late)
    assert store.submission(number).state is SubmissionState.CHECKING, "of another lease"
    assert again.attempt == 2


def test_a_verdict_after_its_lease_changes_nothing(store: Store) -> None:
    ada, _ = contestant(store)
    number = submit(store, ada, "fox")
    late = store.lease_check(60, now=1000.0)
    assert late is not None
    store.take_back_checks(now=2000.0)
    assert not store.decide(late, "accepted", {}, [], 1.0, accepted=True)
    again = accept(store)
    assert again.attempt == 2
    assert not store.decide(again, "accepted", {}, [], 1.0, accepted=True)
    assert store.submission(number).version == 1


def test_the_only_checker_takes_back_what_its_forerunner_left(store: Store) -> None:
    ada, _ = contestant(store)
    submit(store, ada, "fox")
    assert store.lease_check(600) is not None
    store.take_back_checks(all_of_them=True)
    assert store.lease_check(600) is not None


def test_where_nobody_checks_what_waits_is_failed_after_ten_minutes_and_not_before(store: Store) -> None:
    ada, _ = contestant(store)
    bob, _ = contestant(store, "Bob")
    first = submit(store, ada, "fox", now=1000.0)
    late = submit(store, bob, "owl", now=1000.0 + STALLED_S)
    assert store.fail_stalled(now=1000.0 + STALLED_S) == 0
    assert store.fail_stalled(now=1001.0 + STALLED_S) == 1
    failed = store.submission(first)
    assert (failed.state, failed.verdict) == (SubmissionState.FAILED, {"reasons": [STALLED]})
    assert store.submission(late).state is SubmissionState.WAITING
    store.retry_check(first, by=ada)
    assert store.fail_stalled() == 1, "the other one; who tries again has ten minutes more"
    assert store.submission(first).state is SubmissionState.WAITING


def test_a_long_queue_is_not_taken_for_a_checker_that_is_gone(store: Store) -> None:
    for name in ("a", "b", "c"):
        submit(store, contestant(store, name)[0], name, now=1000.0)
    accept(store, now=3000.0)
    assert store.fail_stalled(now=3000.0 + STALLED_S) == 0
    assert store.lease_check(60, now=4000.0) is not None
    assert store.fail_stalled(now=4000.0 + STALLED_S) == 0
    assert store.fail_stalled(now=4001.0 + STALLED_S) == 1


def test_a_new_version_is_tried_against_the_one_before(store: Store) -> None:
    ada, _ = contestant(store)
    submit(store, ada, "fox", "1")
    accept(store, trial_rules=RULES, secret="s")
    assert store.trial() is None, "the first version has no other"
    number = submit(store, ada, "fox", "2")
    accept(store, trial_rules=RULES, secret="s")
    trial = store.trial()
    assert trial is not None
    assert (trial.submission_id, trial.texts, trial.scores) == (number, ("fox:2", "fox:1"), ())
    assert trial.new[1] == files("2").sha256
    store.add_score(trial, 3, None)
    store.add_score(trial, 4, None)
    again = store.trial()
    assert again is not None
    assert again.scores == (3,), "the same match counts once"
    store.add_score(again, 1, "no evidence")
    assert store.trial() is None
    decided = store.trial(number)
    assert decided is not None
    assert (decided.scores, decided.verdict) == ((3, 1), "no evidence")


def test_a_version_enters_the_next_tournament_and_never_one_that_runs(store: Store) -> None:
    ada, _ = contestant(store)
    bob, _ = contestant(store, "Bob")
    for account, bot in ((ada, "fox"), (bob, "owl")):
        submit(store, account, bot)
        accept(store)
    first = store.create_running(new(), store.entries())
    submit(store, ada, "fox", "better")
    accept(store)
    second = store.create_running(new(), store.entries())
    assert [each.text for each in store.entrants(first)] == ["fox:1", "owl:1"]
    assert [each.text for each in store.entrants(second)] == ["fox:2", "owl:1"]
    assert [each.owner for each in store.entrants(second)] == [ada, bob]


def test_one_bot_of_a_contestant_enters_the_last_submitted_or_the_chosen_one(store: Store) -> None:
    ada, _ = contestant(store)
    for bot in ("fox", "owl", "elk"):
        submit(store, ada, bot)
        accept(store)
    assert [entry.name for entry in store.entries()] == ["elk"]
    fox = store.bots(name="fox")[0]
    store.choose_entry(ada, fox.id)
    assert [entry.name for entry in store.entries()] == ["fox"]
    assert [bot.name for bot in store.bots() if bot.enters] == ["fox"]
    assert len(store.entries(all_bots=True)) == 3
    store.withdraw(fox.id, True, by=ada)
    assert [entry.name for entry in store.entries()] == ["elk"]
    bob, _ = contestant(store, "Bob")
    with pytest.raises(NotFound):
        store.choose_entry(bob, fox.id)


def test_what_was_received_before_the_close_counts_though_it_was_checked_after_it(store: Store) -> None:
    ada, _ = contestant(store)
    submit(store, ada, "fox", "1", now=1000.0)
    submit(store, ada, "fox", "2", now=1100.0)
    submit(store, ada, "fox", "3", now=1201.0)
    for moment in (1300.0, 1301.0, 1302.0):
        accept(store, now=moment)
    assert [entry.version for entry in store.entries(received_by=1200.0)] == [2]


def test_bots_of_one_contestant_never_share_a_table_of_three(store: Store) -> None:
    accounts = [contestant(store, name)[0] for name in ("a", "b", "c")]
    for account in accounts:
        for which in (1, 2):
            submit(store, account, f"bot{account}-{which}")
            accept(store)
    entries = store.entries(all_bots=True)
    tournament = store.create_running(new(Rules.make("cutthroat", players=3)), entries)
    owners = [entry.owner for entry in store.entrants(tournament)]
    tables = [match.entrants for match in store.matches(tournament)]
    assert tables
    assert all(len({owners[place] for place in table}) == 3 for table in tables)


def test_a_disabled_bot_enters_nothing_and_takes_no_version(store: Store) -> None:
    org, _ = organiser(store)
    ada, _ = contestant(store)
    submit(store, ada, "fox")
    accept(store)
    (fox,) = store.bots()
    store.disable(fox.id, "12 timeouts", by=org)
    assert store.entries() == []
    with pytest.raises(WrongState, match="12 timeouts"):
        submit(store, ada, "fox", "2")
    store.disable(fox.id, None, by=org)
    assert len(store.entries()) == 1


def test_bots_are_checked_in_the_modes_that_are_open_and_else_in_all(store: Store) -> None:
    assert [rules.mode for rules, _ in store.open_modes()] == ["cutthroat/2", "cutthroat/3", "wisconsin/4"]
    tournament = started(store, 2, rules=RULES)
    assert [rules.mode for rules, _ in store.open_modes()] == ["cutthroat/2"]
    store.cancel(tournament)
    assert store.tournament(tournament).state is TournamentState.CANCELLED
    assert len(store.open_modes()) == 3
