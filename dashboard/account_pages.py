"""The page of an account: its bots and submissions, its tokens, and how to sign out everywhere."""

import os
from typing import Annotated, Literal

from fastapi import APIRouter, Form, HTTPException, Request, Response

from dashboard.auth import SubmitterDep, VisitorDep, token_page
from dashboard.site import SiteDep
from tournament import tokens
from tournament.people import SCOPES
from tournament.tokens import Scope

router = APIRouter()
DAY_S = 86_400.0
MAX_TOKENS = 20


@router.get("/account", name="account")
def show_account(request: Request, site: SiteDep, visitor: VisitorDep, before: int | None = None) -> Response:
    """Show one's own bots, submissions and tokens."""
    store, mine = site.store, visitor.account_id
    submissions = store.submissions(account_id=mine, before=before, limit=21)
    return site.renderer.html(
        request,
        "account.html",
        me=visitor,
        bots=store.bots(account_id=mine),
        submissions=submissions[:20],
        older=submissions[19].id if len(submissions) > 20 else None,
        tokens=store.tokens(mine),
        scopes=sorted(SCOPES[visitor.role]),
    )


@router.post("/account/tokens", name="add_token")
def add_token(
    request: Request,
    site: SiteDep,
    visitor: SubmitterDep,
    label: Annotated[str, Form()] = "",
    days: Annotated[int, Form(ge=0, le=3650)] = 0,
    scope: Annotated[list[str] | None, Form()] = None,
) -> Response:
    """Give the account one more token, shown this once, for no more and no longer than the one it is made with."""
    wanted = frozenset(each for each in Scope if each in (scope or ())) | {Scope.READ}
    if not wanted <= visitor.scopes:
        raise HTTPException(403, "Your own token allows less than that.")
    listed = site.store.tokens(visitor.account_id)
    if len(listed) >= MAX_TOKENS:
        raise HTTPException(409, f"There are {MAX_TOKENS} tokens already: revoke one first.")
    token = tokens.new_token(os.urandom)
    own_end = next((each.expires_at for each in listed if each.id == visitor.token_id), None)
    wanted_end = site.store.now() + days * DAY_S if days else None
    ends = min((end for end in (own_end, wanted_end) if end is not None), default=None)
    site.store.add_token(
        visitor.account_id, token, label.strip()[:60] or "token", by=visitor.account_id, scopes=wanted, expires_at=ends
    )
    return token_page(request, site, visitor.name, token)


@router.post("/account/tokens/{token_id}/revoke", name="revoke_token")
def revoke_token(site: SiteDep, visitor: SubmitterDep, token_id: str) -> Response:
    """End one of one's own tokens, with the sessions opened with it."""
    site.store.revoke_token(visitor.account_id, token_id, by=visitor.account_id)
    return site.renderer.lead_to("account")


@router.post("/account/bots/{name}/{act}", name="change_bot")
def change_bot(
    site: SiteDep, visitor: SubmitterDep, name: str, act: Literal["withdraw", "return", "enter"]
) -> Response:
    """Withdraw one of one's own bots, let it take part again, or say that it is the one that enters."""
    mine = [bot for bot in site.store.bots(name=name) if bot.account_id == visitor.account_id]
    if not mine:
        raise HTTPException(404, "There is no such bot of yours.")
    if act == "enter":
        site.store.choose_entry(visitor.account_id, mine[0].id)
    else:
        site.store.withdraw(mine[0].id, act == "withdraw", by=visitor.account_id)
    return site.renderer.lead_to("account")
