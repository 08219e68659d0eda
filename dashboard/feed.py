"""The events of tournaments as they are written, one poll a second for all listeners together.

The source is the event table of the store, so nothing is lost or doubled whatever restarts: a listener names the last
event it has seen and gets every later one, once and in order.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.sse import EventSourceResponse, ServerSentEvent
from sqlalchemy.exc import SQLAlchemyError

from dashboard.site import Site, StreamSiteDep
from tournament.store import Store
from tournament.store_values import EventInfo, Topic

router = APIRouter()
logger = logging.getLogger(__name__)
RETRY_MS = 2000
BATCH = 200


@dataclass(eq=False)
class _Listener:
    tournament_id: int
    queue: asyncio.Queue[list[EventInfo]]


class Feed:
    """Polls the store while anybody listens, and hands every listener the batches of its tournament."""

    def __init__(self, store: Store, *, poll_s: float = 1.0, stream_s: float = 60.0) -> None:
        """Prepare a feed; nothing runs before somebody listens.

        Args:
            store: where events are read.
            poll_s: seconds between two looks.
            stream_s: seconds after which a stream ends; browsers come back by themselves.
        """
        self._store = store
        self._poll_s = poll_s
        self.stream_s = stream_s
        self._listeners: set[_Listener] = set()
        self._marks: dict[int, int] = {}
        self._task: asyncio.Task[None] | None = None

    async def follow(self, tournament_id: int, after: int) -> AsyncIterator[list[EventInfo]]:
        """Yield batches of the events after one, until the stream's time is over."""
        listener = _Listener(tournament_id, asyncio.Queue())
        self._listeners.add(listener)
        known = tournament_id in self._marks
        self._marks.setdefault(tournament_id, after)
        if self._task is None:
            self._task = asyncio.create_task(self._poll())
        end = asyncio.get_running_loop().time() + self.stream_s
        try:
            # Others listen already and the poller is past our mark: read the gap; what comes twice is dropped below.
            behind = await asyncio.to_thread(self._store.events, tournament_id, after, BATCH) if known else []
            while behind:
                yield behind
                after = behind[-1].id
                behind = await asyncio.to_thread(self._store.events, tournament_id, after, BATCH)
            while (left := end - asyncio.get_running_loop().time()) > 0:
                try:
                    batch = await asyncio.wait_for(listener.queue.get(), left)
                except TimeoutError:
                    return
                fresh = [event for event in batch if event.id > after]
                if fresh:
                    after = fresh[-1].id
                    yield fresh
        finally:
            self._listeners.discard(listener)

    async def _poll(self) -> None:
        """Read what is new for every tournament with a listener, until there is none."""
        try:
            while self._listeners:
                wanted = {listener.tournament_id for listener in self._listeners}
                self._marks = {key: mark for key, mark in self._marks.items() if key in wanted}
                for tournament_id, mark in list(self._marks.items()):
                    try:
                        batch = await asyncio.to_thread(self._store.events, tournament_id, mark, BATCH)
                    except SQLAlchemyError:
                        logger.exception("events of tournament %d could not be read; read again", tournament_id)
                        continue
                    if batch:
                        self._marks[tournament_id] = batch[-1].id
                    for listener in self._listeners:
                        if batch and listener.tournament_id == tournament_id:
                            listener.queue.put_nowait(batch)
                await asyncio.sleep(self._poll_s)
        finally:
            self._task = None
            self._marks.clear()


@router.get(
    "/tournaments/{tournament_id}/events",
    response_class=EventSourceResponse,
    name="tournament_events",
    operation_id="tournament_events",
    summary="Follow a tournament",
)
async def stream_events(
    site: StreamSiteDep, tournament_id: int, last_event_id: Annotated[str, Header()] = "", after: int | None = None
) -> AsyncIterator[ServerSentEvent]:
    """Stream `result`, `void`, `failed`, `retried`, `state`, and after each batch of them `progress` and `standings`.

    Resumes after the event that `Last-Event-ID` (or `after`) names; without either it starts now. A stream ends after a
    minute; clients come back by themselves.
    """
    contest = await asyncio.to_thread(site.contest, tournament_id)
    mark = int(last_event_id) if last_event_id.isdecimal() and len(last_event_id) < 19 else after
    last = await asyncio.to_thread(site.store.last_event, contest.info.id)
    # A mark from the future, such as one of a database made anew, must not become that of all listeners.
    mark = last if mark is None else max(0, min(mark, last))
    yield await _progress(site, tournament_id, mark, retry=RETRY_MS)
    async for batch in site.feed.follow(tournament_id, mark):
        for event in batch:
            name = "result" if event.topic is Topic.MATCH else str(event.topic)
            yield ServerSentEvent(event=name, id=str(event.id), data=dict(event.payload))
        last = batch[-1].id
        yield await _progress(site, tournament_id, last)
        if any(event.topic in (Topic.MATCH, Topic.VOID) for event in batch):
            yield ServerSentEvent(event="standings", id=str(last), data={"tournament": tournament_id})


async def _progress(site: Site, tournament_id: int, event_id: int, retry: int | None = None) -> ServerSentEvent:
    data = asdict(await asyncio.to_thread(site.progress, tournament_id))
    return ServerSentEvent(event="progress", id=str(event_id), data=data, retry=retry)
