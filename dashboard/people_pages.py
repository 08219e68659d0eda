"""The organiser's page about people: join links, accounts, settings of the site, the queue of checks, the audit log."""

import os
from dataclasses import asdict
from typing import Annotated

import segno
from fastapi import APIRouter, Form, HTTPException, Request, Response
from markupsafe import Markup
from pydantic import BaseModel

from dashboard.auth import OrganiserDep
from dashboard.problems import typed
from dashboard.site import Site, SiteDep
from dashboard.web import csv_file
from tournament import tokens
from tournament.models_people import InviteKind
from tournament.people import AccountInfo, SiteOptions, names_of
from tournament.store import WrongState

router = APIRouter()
HOUR_S = 3600.0
MAX_CAP = 1000


@router.get("/admin/people", name="people")
def show_people(request: Request, site: SiteDep, _: OrganiserDep) -> Response:
    """Show accounts, codes, settings, checks and the audit log."""
    store = site.store
    waiting, wait_s = store.waiting()
    return site.renderer.html(
        request,
        "people.html",
        accounts=store.accounts(),
        invites=store.invites(),
        bots=store.bots(),
        submissions=store.submissions(limit=20),
        waiting=waiting,
        wait_s=wait_s,
        options=asdict(store.options()),
        audit=store.audit_log(),
    )


@router.post("/admin/join-links", name="add_join_link")
def add_join_link(
    request: Request,
    site: SiteDep,
    visitor: OrganiserDep,
    cap: Annotated[int, Form(ge=1, le=MAX_CAP)] = 60,
    hours: Annotated[float, Form(gt=0, le=10_000)] = 24.0,
) -> Response:
    """Make a link with which so many may join for so long."""
    code = tokens.new_code(os.urandom)
    ends = site.store.now() + hours * HOUR_S
    site.store.invite(code, InviteKind.JOIN, by=visitor.account_id, cap=cap, ends_at=ends)
    return _link_page(request, site, code, f"{cap} people can join with this link within {hours:g} hours.")


@router.post("/admin/join-links/{code_hash}/end", name="end_join_link")
def end_join_link(site: SiteDep, visitor: OrganiserDep, code_hash: str) -> Response:
    """End a link early."""
    site.store.end_invite(code_hash, by=visitor.account_id)
    return site.renderer.lead_to("people")


@router.post("/admin/accounts", name="add_accounts")
def add_accounts(
    request: Request, site: SiteDep, visitor: OrganiserDep, names: Annotated[str, Form()] = ""
) -> Response:
    """Make accounts, a name a line or the first column of CSV, and give back a file with a link for each."""
    listed = names_of(names.splitlines())
    if len(listed) > MAX_CAP:
        raise HTTPException(422, f"{len(listed)} names: expected at most {MAX_CAP} at a time.")
    with typed():
        made = site.store.add_accounts(listed, by=visitor.account_id)
    base = site.door.base(request)
    codes = (site.store.hand_over(account, by=visitor.account_id) for account in made)
    rows = [(name, f"{base}/join/{code}") for name, code in zip(listed, codes, strict=True)]
    return csv_file("claim-links.csv", ("name", "link"), rows)


@router.post("/admin/accounts/{account_id}/replace", name="replace_tokens")
def replace_tokens(request: Request, site: SiteDep, visitor: OrganiserDep, account_id: int) -> Response:
    """End all tokens of an account and make a link with which its owner gets a new one."""
    account = _account(site, account_id)
    if account_id == visitor.account_id:
        raise HTTPException(409, "Your own tokens you change on your account's page.")
    site.store.revoke_all(account_id, by=visitor.account_id)
    code = site.store.hand_over(account_id, by=visitor.account_id)
    return _link_page(request, site, code, f"{account.name} gets a new token with this link; the old ones have ended.")


@router.post("/admin/accounts/{account_id}/rename", name="rename_account")
def rename_account(
    site: SiteDep, visitor: OrganiserDep, account_id: int, name: Annotated[str, Form()] = ""
) -> Response:
    """Change a display name."""
    _account(site, account_id)
    with typed():
        site.store.rename(account_id, name, by=visitor.account_id)
    return site.renderer.lead_to("people")


@router.get("/admin/accounts/{account_id}/erase", name="erase_account")
def show_erase(request: Request, site: SiteDep, _: OrganiserDep, account_id: int) -> Response:
    """Say what erasing does, and ask."""
    return site.renderer.html(request, "erase.html", account=_account(site, account_id), problem="")


@router.post("/admin/accounts/{account_id}/erase", name="erase_account")
def erase_account(request: Request, site: SiteDep, visitor: OrganiserDep, account_id: int) -> Response:
    """Erase an account."""
    account = _account(site, account_id)
    try:
        site.store.erase(account_id, by=visitor.account_id)
    except WrongState as error:
        return site.renderer.html(request, "erase.html", 409, account=account, problem=str(error))
    return site.renderer.lead_to("people")


@router.post("/admin/bots/{name}/disable", name="disable_bot")
def disable_bot(site: SiteDep, visitor: OrganiserDep, name: str, reason: Annotated[str, Form()] = "") -> Response:
    """Keep a bot out for a reason; without one, let it in again."""
    found = site.store.bots(name=name)
    if not found:
        raise HTTPException(404, "There is no such bot.")
    site.store.disable(found[0].id, reason.strip()[:400] or None, by=visitor.account_id)
    return site.renderer.lead_to("people")


class OptionsForm(BaseModel):
    """The settings of the site; a box that is not ticked is not sent."""

    public: bool = False
    frozen: bool = False
    uploads_per_hour: int
    bots: int
    source_bytes: int
    check_cpu_s_per_day: int
    waiting: int


@router.post("/admin/options", name="set_options")
def set_options(site: SiteDep, visitor: OrganiserDep, form: Annotated[OptionsForm, Form()]) -> Response:
    """Change the settings of the site."""
    with typed():
        options = SiteOptions(**form.model_dump())
    site.store.set_options(options, by=visitor.account_id)
    return site.renderer.lead_to("people")


def _account(site: Site, account_id: int) -> AccountInfo:
    found = site.store.account(account_id)
    if found.erased_at is not None:
        raise HTTPException(404, "This account was erased.")
    return found


def _link_page(request: Request, site: Site, code: str, words: str) -> Response:
    link = f"{site.door.base(request)}/join/{code}"
    picture = segno.make(link, error="m").svg_inline(scale=6, light="#fff", svgclass=None, lineclass=None)
    return site.renderer.html(
        request,
        "link.html",
        link=link,
        text=words,
        picture=Markup(picture),  # noqa: S704  # drawn here, and the link is in it as squares only
    )
