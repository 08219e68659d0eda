"""The API does what its OpenAPI document says, whatever is sent: property-based tests made from the document."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case
from schemathesis.checks import CHECKS

from tests.people.people import RANDOM, accept, contestant, organiser, submit
from tests.people.site import bearer
from tests.store.play import migrated, new, play_all
from tournament.cli_servers import make_site
from tournament.people import SiteOptions
from tournament.tokens import new_token

EXAMPLES = {"contestant": 6, "a wrong token": 2}
"""For each operation; many more were tried once: 200 take two minutes and find nothing."""

CHECKED = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
]
"""No failure of ours and nothing outside the document; that every valid name is taken is not promised."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    """A site with a contestant who has bots, submissions and a finished tournament, and the contestant's token."""
    with migrated(tmp_path_factory.mktemp("document") / "site.db") as store:
        ada, token = contestant(store)
        bob, _ = contestant(store, "Bob")
        organiser(store)
        store.set_options(SiteOptions(uploads_per_hour=10**6, bots=10**6, waiting=10**6), by=None)
        for account, bot in ((ada, "fox"), (bob, "owl")):
            submit(store, account, bot)
            accept(store)
        play_all(store, store.create_running(new(), store.entries()))
        yield make_site(store), token


@pytest.mark.parametrize("who", EXAMPLES)
def test_every_answer_is_in_the_document_and_none_is_a_failure_of_ours(made: tuple[Any, str], who: str) -> None:
    site, token = made
    headers = bearer(token if who == "contestant" else new_token(RANDOM).text)
    schema = schemathesis.openapi.from_asgi("/openapi.json", site)
    seen = []
    for result in schema.exclude(operation_id="tournament_events").get_all_operations():
        operation = result.ok()
        seen.append(operation.label)

        @settings(max_examples=EXAMPLES[who], deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def ask(case: Case) -> None:
            case.call_and_validate(headers=headers, checks=CHECKS.get_by_names(CHECKED))

        ask()
    assert len(seen) > 15
