"""The live stream: nothing lost, nothing doubled, numbers that add up, an end by itself and at a signal."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from dashboard.app import create_app
from dashboard.feed import Feed
from tests.dashboard.sample import Sample, add_tournament, play_match
from tournament.rules import Rules
from tournament.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

RULES = Rules.make("cutthroat", players=2, target=1, deal_limit=1)
SAMPLE = Sample(RULES, [("ada", 1), ("bob", 1)], 40, leave=30)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Store]:
    """Give a store with a tournament of which thirty matches are left."""
    with Store(str(tmp_path / "live.db")) as store:
        store.migrate()
        add_tournament(store, SAMPLE)
        yield store


def record_some(store: Store, count: int) -> None:
    """Play and record some of the matches that are left."""
    for leased in store.lease(count, 60.0):
        store.record([play_match(SAMPLE, store, 1, leased, random.Random(leased.id))])


def events_of(text: str) -> list[tuple[str, int, dict[str, Any]]]:
    """Read a stream: name, id, data of every event."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":"))
        if "event" in lines:
            found.append((lines["event"], int(lines["id"]), json.loads(lines["data"])))
    return found


def read_stream(store: Store, after: int | None, *, header: bool = False) -> list[tuple[str, int, dict[str, Any]]]:
    """Open a stream of a fresh web process until it ends by itself, which is soon."""
    with TestClient(create_app(store, feed=Feed(store, poll_s=0.01, stream_s=0.1))) as client:
        headers = {"last-event-id": str(after)} if header else {}
        query = "" if header or after is None else f"?after={after}"
        return events_of(client.get(f"/api/v1/tournaments/1/events{query}", headers=headers).text)


def test_a_stream_that_is_cut_and_resumed_has_every_result_once_and_in_order(running: Store) -> None:
    seen: list[int] = []
    last = 0
    for _ in range(5):
        record_some(running, 6)
        for name, number, data in read_stream(running, last, header=True):
            assert number >= last
            last = number
            if name == "result":
                seen.append(data["number"])
    assert seen == list(range(1, 41))


def test_the_numbers_of_every_progress_add_up_and_the_last_is_the_truth(running: Store) -> None:
    record_some(running, 7)
    progress = [data for name, _, data in read_stream(running, 0) if name == "progress"]
    for data in progress:
        assert data["planned"] == sum(value for key, value in data.items() if key != "planned")
    assert progress[-1]["finished"] == 17


def test_a_stream_without_a_mark_starts_now_and_says_how_things_stand(running: Store) -> None:
    events = read_stream(running, None)
    assert [name for name, _, _ in events] == ["progress"]
    assert events[0][1] == running.last_event(1)


def test_who_asks_only_for_the_head_of_a_stream_does_not_wait_for_its_end(running: Store) -> None:
    begun = time.monotonic()
    with TestClient(create_app(running, feed=Feed(running, poll_s=0.01, stream_s=20.0))) as client:
        head = client.head("/api/v1/tournaments/1/events")
        assert time.monotonic() - begun < 10
    assert (head.status_code, head.headers["content-type"].split(";")[0], head.content) == (
        200,
        "text/event-stream",
        b"",
    )


def test_a_stream_of_a_tournament_that_there_is_not_is_refused(running: Store) -> None:
    with TestClient(create_app(running, feed=Feed(running, poll_s=0.01, stream_s=0.1))) as client:
        for ask in (client.get, client.head):
            assert ask("/api/v1/tournaments/99/events").status_code == 404


@pytest.mark.parametrize("mark", [10**15, 10**20])
def test_a_mark_from_the_future_counts_as_now(running: Store, mark: int) -> None:
    events = read_stream(running, mark)
    assert [name for name, _, _ in events] == ["progress"]
    assert events[0][1] == running.last_event(1)


def test_listeners_that_come_late_or_are_behind_get_all_of_it_from_one_poller(running: Store) -> None:
    feed = Feed(running, poll_s=0.01, stream_s=5.0)

    async def listen(after: int, want: int) -> list[int]:
        got: list[int] = []
        stream = feed.follow(1, after)
        async for batch in stream:
            got += [event.id for event in batch]
            if len(got) >= want:
                break
        await stream.aclose()  # type: ignore[attr-defined]
        return got

    async def scene() -> tuple[list[int], list[int], list[int]]:
        first = asyncio.create_task(listen(0, 41))
        await asyncio.sleep(0)  # lets the first begin, which starts the poller
        second = asyncio.create_task(listen(5, 36))
        await asyncio.to_thread(record_some, running, 30)
        third = await listen(0, 41)
        return await first, await second, third

    one, two, three = asyncio.run(scene())
    everything = [event.id for event in running.events(1)]
    assert one == everything[: len(one)]
    assert three == everything[: len(three)]
    assert two == everything[everything.index(6) :][: len(two)]


def test_the_live_page_says_stalled_when_nothing_comes(running: Store) -> None:
    with TestClient(create_app(running)) as client:
        page = client.get("/tournaments/1").text
        assert "Stalled:" in page
        assert '<noscript><meta http-equiv="refresh"' in page
        assert client.get("/tournaments/1?part=1").text in page


def test_the_page_tells_which_layers_of_the_sandbox_are_demanded_and_which_are_missing(running: Store) -> None:
    with running.write() as connection:
        held = json.dumps({"demands": ["landlock"], "layers": ["landlock"]})
        connection.exec_driver_sql("UPDATE tournament SET environment = ? WHERE id = 1", (held,))
    with TestClient(create_app(running)) as client:
        page = client.get("/tournaments/1").text
        assert "<dt>Sandbox</dt><dd>demanded: landlock</dd><dd>missing where it is played: own-uid</dd>" in page


def test_standings_move_when_a_match_completes(running: Store) -> None:
    with TestClient(create_app(running)) as client:
        before = client.get("/api/v1/standings").json()
        record_some(running, 30)
        after = client.get("/api/v1/standings").json()
        matches = [row["matches"] for row in before["ranked"] + before["provisional"]]
        assert matches == [10, 10]
        assert [row["matches"] for row in after["ranked"]] == [40, 40]


SERVER = """
import sys
from dashboard.app import create_app, serve
from tournament.store import Store
serve(create_app(Store(sys.argv[1])), "127.0.0.1", int(sys.argv[2]))
"""


def test_a_signal_ends_the_server_within_five_seconds_under_twenty_open_streams(running: Store) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-c", SERVER, str(running.path), str(port)]
    with ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(Path.cwd())}))
        stack.callback(process.kill)
        streams = []
        for _ in range(20):
            stream = stack.enter_context(connect(port, process))
            stream.sendall(b"GET /api/v1/tournaments/1/events HTTP/1.1\r\nHost: x\r\n\r\n")
            streams.append(stream)
        for stream in streams:
            assert stream.recv(12) == b"HTTP/1.1 200"
        process.send_signal(signal.SIGTERM)
        process.wait(5)


def connect(port: int, process: subprocess.Popen[bytes]) -> socket.socket:
    """Connect to a server that may still be starting."""
    while True:
        assert process.poll() is None, "the server ended early"
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=30)
        except ConnectionRefusedError:
            time.sleep(0.02)
