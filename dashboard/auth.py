"""Who asks: sessions and tokens, the door of a private site, forms of our own only, sign-in and joining.

Every address passes `gate`: it finds out who asks, keeps strangers out of a site that is not public, and refuses a
change that a session asks for without the key of its own forms. What an address may be used for beyond that, its
handler says with `signed_in` or `organiser`.
"""

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, cast
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Form, HTTPException, Request, Response
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse

from dashboard.headers import SAFE_METHODS
from dashboard.site import Site, SiteDep, whole_site
from tournament import tokens
from tournament.people import Identity
from tournament.store import NotFound, StoreError
from tournament.tokens import Scope

router = APIRouter()

WINDOW_S = 600.0
MISSES_PER_TOKEN = 10
MISSES_PER_ADDRESS = 300
"""Wrong tokens and codes within ten minutes; a class of 200 behind one address mistypes less than that."""

MOST_KEYS = 20_000
OPEN_NAMES = frozenset({"sign_in", "join", "take_invite", "api_join", "static", "set_theme", "healthz", "readyz"})
"""Addresses that a stranger needs to get in, and those that say nothing."""

USELESS_TOKEN = "This token is not good for anything: it is mistyped, revoked or has ended."  # noqa: S105  # a sentence
USELESS_CODE = "This code is not good for anything: it is mistyped, used up or has ended."
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Door:
    """How the site is reached from outside: by a public address behind TLS, through proxies that are named."""

    public_url: str = ""
    proxies: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """The host of the public address, empty without one."""
        return urlsplit(self.public_url).netloc

    def is_secure(self, request: Request) -> bool:
        """Tell whether the browser speaks TLS, to us or to the proxy."""
        return self.public_url.startswith("https://") or request.url.scheme == "https"

    def is_bare(self, request: Request) -> bool:
        """Tell whether others in the network can read along."""
        return not self.is_secure(request) and (request.url.hostname or "") not in LOOPBACK

    def base(self, request: Request) -> str:
        """Give the address of the site, for links that are passed on."""
        return (self.public_url or str(request.base_url)).rstrip("/")


class Misses:
    """Counts what was tried in vain, by key, within a sliding window; bounded, and shared by all threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, key: str) -> None:
        """Count one more."""
        with self._lock:
            self._times[key] = [*self._recent(key), self._clock()][-MISSES_PER_ADDRESS:]
            self._times.move_to_end(key)
            while len(self._times) > MOST_KEYS:
                self._times.popitem(last=False)

    def too_many(self, key: str, most: int) -> bool:
        """Tell whether there were so many already."""
        with self._lock:
            return len(self._recent(key)) >= most

    def _recent(self, key: str) -> list[float]:
        since = self._clock() - WINDOW_S
        return [at for at in self._times.get(key, ()) if at > since]


def visitor_of(request: Request) -> Identity | None:
    """Find out who asks, once for each request: by bearer token, else by session cookie; None is nobody."""
    if not hasattr(request.state, "visitor"):
        request.state.visitor = None  # and stays so if the token is refused
        request.state.visitor = _identified(request)
    return cast("Identity | None", request.state.visitor)


def _identified(request: Request) -> Identity | None:
    store = whole_site(request).store
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        found = checked(request, token, lambda: store.identify_token(token))
        if found is None:
            raise HTTPException(401, USELESS_TOKEN)
        return found
    key = request.cookies.get(cookie_name(request))
    return store.identify_session(key) if key else None


def checked(request: Request, secret: str, look: Callable[[], Identity | None]) -> Identity | None:
    """Look a secret up, unless the address or the token was tried in vain too often; a miss is counted.

    A token that exists is held up by its own misses only, and a code that is good by none: one who guesses locks out
    nobody else behind his address. Codes have 80 random bits, so that no number of guesses finds one.

    Raises:
        HTTPException: 429, too many misses.
    """
    misses = cast("Misses", request.app.state.misses)
    address = f"address {request.client.host if request.client else ''}"
    token_id = tokens.token_id(secret)
    token = f"token {token_id}"
    refused = token_id is not None and misses.too_many(token, MISSES_PER_TOKEN)
    if not refused and misses.too_many(address, MISSES_PER_ADDRESS):
        store = whole_site(request).store
        refused = store.find_invite(secret) is None if token_id is None else not store.has_token(token_id)
    if refused:
        raise HTTPException(429, "Too many wrong tokens or codes: try again in ten minutes.", {"retry-after": "600"})
    found = look()
    if found is None:
        for key in [address] if token_id is None else [address, token]:
            misses.add(key)
    return found


def cookie_name(request: Request) -> str:
    """Name the session cookie: browsers keep ``__Host-`` for TLS, where nobody else can have set it."""
    return "__Host-session" if whole_site(request).door.is_secure(request) else "session"


def sees_private(request: Request, owner: int) -> bool:
    """Tell whether a request may read tracebacks and logs of an owner's bots: the owner and the organiser may."""
    visitor = visitor_of(request)
    return visitor is not None and (visitor.organises or visitor.account_id == owner)


def gate(request: Request) -> None:
    """Find out who asks, and keep strangers out of a site that is not public.

    Numbers in addresses are written in the digits 0 to 9: `int` takes others too, and one thing has one
    address.
    """
    if any(letter.isdecimal() and not letter.isascii() for letter in request.url.path):
        raise HTTPException(404, "No page has this address: numbers are written in the digits 0 to 9.")
    visitor = visitor_of(request)
    name = getattr(request.scope.get("route"), "name", "")
    if visitor is None and name not in OPEN_NAMES and not whole_site(request).store.options().public:
        raise _sign_in_first(request)


async def own_form(request: Request, _: Annotated[None, Depends(gate)]) -> None:
    """Refuse a change asked for with a session cookie and without the key that only our own pages hold."""
    visitor = cast("Identity | None", request.state.visitor)
    if request.method in SAFE_METHODS or visitor is None or visitor.csrf is None:
        return
    form = await request.form() if "form" in request.headers.get("content-type", "") else FormData()
    if not tokens.same(str(form.get("csrf", "")), visitor.csrf):
        raise HTTPException(
            403, "This form is too old or not ours: open the page again. (Programs send a bearer token.)"
        )


def signed_in(request: Request) -> Identity:
    """Give who asks; whoever is nobody signs in first."""
    visitor = visitor_of(request)
    if visitor is None:
        raise _sign_in_first(request)
    return visitor


def may_submit(visitor: Annotated[Identity, Depends(signed_in)]) -> Identity:
    """Give who asks, if the token may be used to submit."""
    if Scope.SUBMIT not in visitor.scopes:
        raise HTTPException(403, "This token is for reading only.")
    return visitor


def organiser(visitor: Annotated[Identity, Depends(signed_in)]) -> Identity:
    """Give who asks, if an organiser may act here."""
    if not visitor.organises:
        raise HTTPException(403, "This is for organisers.")
    return visitor


VisitorDep = Annotated[Identity, Depends(signed_in)]
SubmitterDep = Annotated[Identity, Depends(may_submit)]
OrganiserDep = Annotated[Identity, Depends(organiser)]


def _sign_in_first(request: Request) -> HTTPException:
    """Lead to the sign-in page and, after a GET, back from there; tell programs what is missing."""
    if request.url.path.startswith("/api/"):
        headers = {"www-authenticate": "Bearer"}
        return HTTPException(401, "Sign in: send `Authorization: Bearer` and a token.", headers)
    back = request.url.path if request.method == "GET" else ""
    address = whole_site(request).renderer.url_for("sign_in", {"next": back})
    return HTTPException(303, "Sign in first.", {"location": address})


def own_path(text: str) -> str:
    """Give a path of this site; anything else, like ``//host``, becomes the start.

    >>> own_path("/account"), own_path("//evil"), own_path("https://evil")
    ('/account', '/', '/')
    """
    plain = text.startswith("/") and text[1:2] not in ("/", "\\") and text.isprintable()
    return text if plain else "/"


def open_session(request: Request, answer: Response, identity: Identity) -> None:
    """Sign an account in on this browser; the session that it had before is over."""
    store, old = whole_site(request).store, request.cookies.get(cookie_name(request))
    if old:
        store.close_session(old)
    key = tokens.new_key(os.urandom)
    store.open_session(identity.token_id, key, tokens.new_key(os.urandom))
    secure = whole_site(request).door.is_secure(request)
    answer.set_cookie(cookie_name(request), key, httponly=True, secure=secure, samesite="lax")


def _sign_in_page(request: Request, site: Site, back: str, problem: str = "") -> Response:
    values = {"back": own_path(back), "problem": problem, "claimed": site.store.has_organiser()}
    return site.renderer.html(request, "sign_in.html", 422 if problem else 200, **values)


@router.get("/sign-in", name="sign_in")
def show_sign_in(request: Request, site: SiteDep, next: str = "/") -> Response:  # noqa: A002  # the address has it
    """Show the form for a token."""
    return _sign_in_page(request, site, next)


@router.post("/sign-in", name="sign_in")
def sign_in(
    request: Request,
    site: SiteDep,
    token: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "/",  # noqa: A002
) -> Response:
    """Exchange a token for a session."""
    identity = checked(request, token, lambda: site.store.identify_token(token))
    if identity is None:
        return _sign_in_page(request, site, next, USELESS_TOKEN)
    answer = RedirectResponse(own_path(next), 303)
    open_session(request, answer, identity)
    return answer


@router.post("/sign-out", name="sign_out")
def sign_out(request: Request, site: SiteDep, everywhere: Annotated[str, Form()] = "") -> Response:
    """End this session, or all of the account."""
    visitor = visitor_of(request)
    key = request.cookies.get(cookie_name(request))
    if visitor is not None and everywhere:
        site.store.close_sessions(visitor.account_id)
    elif key:
        site.store.close_session(key)
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(cookie_name(request), secure=whole_site(request).door.is_secure(request), httponly=True)
    return answer


def _join_page(request: Request, site: Site, code: str, name: str = "", problem: str = "") -> Response:
    found = site.store.find_invite(code) if code else None
    if code and found is None:
        problem = problem or USELESS_CODE
    if found is not None and found.account_id is not None:
        name = site.store.account(found.account_id).name
    values = {"code": code, "kind": found.kind if found is not None else "", "name": name, "problem": problem}
    status = 200 if not problem else 404 if found is None else 422
    return site.renderer.html(request, "join.html", status, **values)


@router.get("/join", name="join")
@router.get("/join/{code}", name="join")
def show_join(request: Request, site: SiteDep, code: str = "") -> Response:
    """Show the form for a code and a name."""
    return _join_page(request, site, code)


@router.post("/join", name="take_invite")
def take_invite(
    request: Request, site: SiteDep, code: Annotated[str, Form()] = "", name: Annotated[str, Form()] = ""
) -> Response:
    """Use a code: make or take over an account, show its token once, and sign in."""
    token = tokens.new_token(os.urandom)
    try:
        identity = use_code(request, site, code, name, token)
    except (StoreError, ValueError) as error:
        return _join_page(request, site, code, name, str(error))
    answer = token_page(request, site, identity.name, token)
    open_session(request, answer, identity)
    return answer


def token_page(request: Request, site: Site, name: str, token: tokens.NewToken) -> Response:
    """Show a new token, this once."""
    base = whole_site(request).door.base(request)
    return site.renderer.html(request, "token.html", name=name, token=token.text, base=base)


def use_code(request: Request, site: Site, code: str, name: str, token: tokens.NewToken) -> Identity:
    """Use a code, or refuse it and count the miss.

    Raises:
        StoreError: the code or the name cannot be used.
        ValueError: the name cannot be shown.
    """

    def look() -> Identity | None:
        try:
            return site.store.take_invite(code, name, token)
        except NotFound:
            return None

    identity = checked(request, code, look)
    if identity is None:
        raise NotFound(USELESS_CODE)
    return identity
