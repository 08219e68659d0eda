"""Many submit at once: every one gets its verdict, none comes twice."""

import threading

from dashboard.app import create_app
from tests.browser.driver import Server
from tests.people.flood import flood
from tests.people.people import contestant
from tests.people.test_checker import FakeJudge, done, opponent
from tournament.store import Store
from workers.checker import Checker


class QuickJudge(FakeJudge):
    """Accepts everything at once."""

    def ask(self, *_: object) -> dict[str, object]:
        return done()


def test_twenty_who_submit_at_once_get_twenty_verdicts_and_none_comes_twice(store: Store) -> None:
    tokens = [contestant(store, f"c{number}")[1] for number in range(20)]
    server, stop = Server(create_app(store)), threading.Event()
    checks = threading.Thread(target=Checker(store, opponent(), QuickJudge()).run, args=(stop,))
    server.start()
    checks.start()
    try:
        result = flood(server.address, tokens, within_s=0.0)
    finally:
        stop.set()
        checks.join()
        server.stop()
    assert result.answers == {202: 20}
    assert len(set(result.numbers)) == 20
    assert result.states == {"accepted": 20}
    assert len(store.submissions(limit=100)) == 20
