"""Plain ASGI middleware: HEAD, the safety headers of every answer and the same-origin rule for changes.

``BaseHTTPMiddleware`` is avoided because it wraps the body stream, which gets in the way of
server-sent events.
"""

import asyncio
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = "; ".join(  # noqa: FLY002  # one directive a line
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
SAFETY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LAST = {"connection": "close"}
"""Sent where the rest of a body is not read."""


class SafetyHeaders:
    """Adds the safety headers to every answer, errors and streams included."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add the headers to the start of the answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SAFETY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, send_with_headers)


class HeadAsGet:
    """Answers HEAD like GET, without the body; of a stream it does not wait for the end."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask for the whole answer and pass on its head."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                return
            await send({"type": "http.response.body", "body": b""})
            if message.get("more_body"):
                raise ClientDisconnect  # the way to end a stream: nobody listens any more

        with suppress(ClientDisconnect):
            await self.app({**scope, "method": "GET"}, receive, send_head)


class SameOrigin:
    """Refuses state changes that another site sent.

    ``Sec-Fetch-Site`` decides where the browser sends it; without it an ``Origin`` must name
    this host, or the public one. A client that sends neither is no browser, so no cookie of a visitor rides along.
    """

    def __init__(self, app: ASGIApp, public_host: str = "") -> None:
        self.app = app
        self.public_host = public_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403 to a change from elsewhere, pass everything else on."""
        if scope["type"] == "http" and scope["method"] not in SAFE_METHODS:
            headers = Headers(scope=scope)
            site = headers.get("sec-fetch-site")
            origin = headers.get("origin")
            foreign = (
                site not in ("same-origin", "none")
                if site is not None
                else origin is not None and origin.split("://")[-1] not in {headers.get("host"), self.public_host}
            )
            if foreign:
                refusal = PlainTextResponse("Refused: this form was sent from another site.\n", 403)
                await refusal(scope, receive, send)
                return
        await self.app(scope, receive, send)


class BodyLimit:
    """Refuses bodies that are larger or slower than what the site takes, and more of them at a time than it can hold.

    They are read before it is known who sent them, so all of this holds for strangers.
    """

    def __init__(self, app: ASGIApp, most_bytes: int, most_held: int = 256 << 20, most_s: float = 120.0) -> None:
        self.app = app
        self.most_bytes = most_bytes
        self.most_held = most_held
        self.most_s = most_s
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 413 to a body that says it is too large; cut off one that only turns out to be, or to be too slow."""
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS:
            await self.app(scope, receive, send)
            return
        large = PlainTextResponse(f"Refused: expected at most {self.most_bytes:,} bytes.\n", 413, LAST)
        stated = Headers(scope=scope).get("content-length", "0")
        if not stated.isdecimal() or len(stated) > 15 or int(stated) > self.most_bytes:
            await large(scope, receive, send)
        else:
            await self._pass(scope, receive, send, large)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, large: PlainTextResponse) -> None:
        slow = PlainTextResponse(f"Refused: expected the whole body within {self.most_s:g} s.\n", 408, LAST)
        busy = PlainTextResponse("Busy: too much is being sent, try again.\n", 503, {**LAST, "retry-after": "10"})
        size, complete, answered = 0, False, False
        refusal: PlainTextResponse | None = None
        end = asyncio.get_running_loop().time() + self.most_s

        async def limited() -> Message:
            nonlocal size, complete, refusal
            if complete:  # what comes now is that the asker has gone: that may take its time
                return await receive()
            try:
                async with asyncio.timeout_at(end):
                    message = await receive()
            except TimeoutError:
                refusal = slow
                return {"type": "http.disconnect"}
            length = len(message.get("body", b""))
            size, self._held = size + length, self._held + length
            complete = not message.get("more_body", False)
            if size > self.most_bytes:
                refusal = large
            elif self._held > self.most_held:
                refusal = busy
            return message if refusal is None else {"type": "http.disconnect"}

        async def send_unless_refused(message: Message) -> None:
            nonlocal answered
            if refusal is None or answered:
                answered = True
                await send(message)

        try:
            await self.app(scope, limited, send_unless_refused)
        except ClientDisconnect:
            if refusal is None:
                raise
        finally:
            self._held -= size
        if refusal is not None and not answered:
            await refusal(scope, receive, send)
