"""The events of tournaments as they are written, one look a second for all listeners together.

The source is the event table of the store, so nothing is lost or doubled whatever restarts: a listener names the last
event it has seen and gets every later one, once and in order.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header
from fastapi.sse import EventSourceResponse, ServerSentEvent
from sqlalchemy.exc import SQLAlchemyError

from dashboard.site import Contest, Site, StreamSiteDep, numbers
from tournament.store import Store
from tournament.store_values import EventInfo, Topic

router = APIRouter()
logger = logging.getLogger(__name__)
RETRY_MS = 2000
BATCH = 200


class Feed:
    """Looks for events while anybody listens; all who wait behind the same event share one look."""

    def __init__(self, store: Store, *, poll_s: float = 1.0, stream_s: float = 60.0) -> None:
        """Prepare a feed; nothing runs before somebody listens.

        Args:
            store: where events are read.
            poll_s: seconds between two looks.
            stream_s: seconds after which a stream ends; browsers come back by themselves.
        """
        self._store = store
        self._poll_s = poll_s
        self._stream_s = stream_s
        self._looks: dict[tuple[int, int], asyncio.Task[list[EventInfo]]] = {}

    async def follow(self, tournament_id: int, after: int) -> AsyncIterator[list[EventInfo]]:
        """Yield batches of the events after one, until the stream's time is over."""
        end = asyncio.get_running_loop().time() + self._stream_s
        while asyncio.get_running_loop().time() < end:
            batch = await asyncio.shield(self._shared_look((tournament_id, after)))  # others may wait for it, too
            if batch:
                after = batch[-1].id
                yield batch

    def _shared_look(self, key: tuple[int, int]) -> asyncio.Task[list[EventInfo]]:
        if key not in self._looks:
            self._looks[key] = asyncio.create_task(self._look(*key))
            self._looks[key].add_done_callback(lambda _: self._looks.pop(key))
        return self._looks[key]

    async def _look(self, tournament_id: int, after: int) -> list[EventInfo]:
        """Read what has come after an event; if that is nothing, take the time between two looks for it."""
        batch: list[EventInfo] = []
        try:
            batch = await asyncio.to_thread(self._store.events, tournament_id, after, BATCH)
        except SQLAlchemyError:
            logger.exception("events of tournament %d could not be read; read again", tournament_id)
        if not batch:
            await asyncio.sleep(self._poll_s)
        return batch


def followed_contest(site: StreamSiteDep, tournament_id: int) -> Contest:
    """Read the tournament before the stream begins: after that, nothing can be answered but events."""
    return site.contest(tournament_id)


@router.get(
    "/tournaments/{tournament_id}/events",
    response_class=EventSourceResponse,
    name="tournament_events",
    operation_id="tournament_events",
    summary="Follow a tournament",
)
async def stream_events(
    site: StreamSiteDep,
    contest: Annotated[Contest, Depends(followed_contest)],
    last_event_id: Annotated[str, Header()] = "",
    after: int | None = None,
) -> AsyncIterator[ServerSentEvent]:
    """Stream `result`, `void`, `failed`, `retried`, `state`, and after each batch of them `progress` and `standings`.

    Resumes after the event that `Last-Event-ID` (or `after`) names; without either it starts now. A stream ends after a
    minute; clients come back by themselves.
    """
    tournament_id = contest.info.id
    mark = int(last_event_id) if last_event_id.isdecimal() and len(last_event_id) < 19 else after
    last = await asyncio.to_thread(site.store.last_event, tournament_id)
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
    data = numbers(await asyncio.to_thread(site.store.counts, tournament_id))
    return ServerSentEvent(event="progress", id=str(event_id), data=data, retry=retry)
