"""Plain ASGI middleware: HEAD, the safety headers of every answer and the same-origin rule for changes.

``BaseHTTPMiddleware`` is avoided because it wraps the body stream, which gets in the way of
server-sent events.
"""

import asyncio

from anyio import CancelScope, sleep_forever
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
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
    """Answers HEAD like GET; the server itself leaves out the body, since the browser's method is still known to it.

    A body that comes in parts, such as a stream of events, is not made further than its first part.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask for the whole answer, and of a stream for its beginning."""
        if scope.get("method") != "HEAD":
            await self.app(scope, receive, send)
            return
        with CancelScope() as making:

            async def send_start(message: Message) -> None:
                await send({**message, "more_body": False} if "more_body" in message else message)
                if message.get("more_body"):
                    making.cancel()
                    await sleep_forever()  # this is where it ends: nothing may be sent after the last part

            await self.app({**scope, "method": "GET"}, receive, send_start)


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

    They are read before it is known who sent them, so all of this holds for strangers. The refusal is raised where the
    body is read, and answered like any other.
    """

    def __init__(self, app: ASGIApp, most_bytes: int, most_held: int = 256 << 20, most_s: float = 120.0) -> None:
        self.app = app
        self.most_bytes = most_bytes
        self.most_held = most_held
        self.most_s = most_s
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the body be read as far as it is taken."""
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS:
            await self.app(scope, receive, send)
            return
        stated = Headers(scope=scope).get("content-length", "0")
        size = int(stated) if stated.isdecimal() and len(stated) < 16 else self.most_bytes + 1
        large = HTTPException(413, f"Expected a body of at most {self.most_bytes:,} bytes.", LAST)
        come, complete = 0, False
        end = asyncio.get_running_loop().time() + self.most_s

        async def limited() -> Message:
            nonlocal come, complete
            if complete:  # what comes now is that the asker has gone: that may take its time
                return await receive()
            if size > self.most_bytes:
                raise large
            try:
                async with asyncio.timeout_at(end):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, f"Expected the whole body within {self.most_s:g} s.", LAST) from None
            length = len(message.get("body", b""))
            come, self._held = come + length, self._held + length
            complete = not message.get("more_body", False)
            if come > self.most_bytes:
                raise large
            if self._held > self.most_held:
                raise HTTPException(503, "Too much is being sent: try again.", {**LAST, "retry-after": "10"})
            return message

        try:
            await self.app(scope, limited, send)
        finally:
            self._held -= come
