"""Values about people and what they hand in, as the store returns them; and the settings of a site."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from tournament.models_people import InviteKind, Role, SubmissionState
from tournament.results import comparisons
from tournament.rules import Rules
from tournament.seeds import entrant_text, seatings
from tournament.tokens import Scope

SCOPES: Final = {
    Role.CONTESTANT: frozenset({Scope.READ, Scope.SUBMIT}),
    Role.ORGANISER: frozenset({Scope.READ, Scope.SUBMIT, Scope.ORGANISE}),
}
"""The most that a token of an account of each role may be used for."""


def names_of(lines: Iterable[str]) -> list[str]:
    """Returns the names in the first column of CSV; a line above them that says so is no name.

    >>> names_of(["Ada", "", '"Cy, Team",x@example'])
    ['Ada', 'Cy, Team']
    >>> names_of(["Name,mail", "Ada,a@example"])
    ['Ada']
    """
    names = [row[0].strip() for row in csv.reader(lines) if row and row[0].strip()]
    heading = len(names) > 1 and names[0].casefold() in ("name", "names", "display name", "team")
    return names[1:] if heading else names


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks: an account by one of its tokens, or by a session opened with it, which then has a `csrf` key."""

    account_id: int
    name: str
    role: Role
    scopes: frozenset[Scope]
    token_id: str
    csrf: str | None = field(default=None, repr=False)

    @property
    def organises(self) -> bool:
        """Whether this is an organiser who may act as one."""
        return self.role is Role.ORGANISER and Scope.ORGANISE in self.scopes


@dataclass(frozen=True, slots=True)
class SiteOptions:
    """What the organiser sets for the whole site.

    Attributes:
        public: whether everybody may look, or only who is signed in.
        frozen: whether submissions are closed.
        uploads_per_hour: of one account.
        bots: of one account.
        source_bytes: of one upload, unpacked.
        check_cpu_s_per_day: CPU seconds that the bots of one account may use in checks within 24 hours.
        waiting: submissions that may wait altogether before the site says that it is busy.
    """

    public: bool = True
    frozen: bool = False
    uploads_per_hour: int = 20
    bots: int = 3
    source_bytes: int = 4 << 20
    check_cpu_s_per_day: int = 1800
    waiting: int = 1000

    def __post_init__(self) -> None:
        """Refuses numbers below 1, and what is no number.

        Raises:
            ValueError: one of them is.
        """
        for each in fields(self):
            value, flag = getattr(self, each.name), isinstance(each.default, bool)
            if isinstance(value, bool) != flag or (not flag and not (isinstance(value, int) and 1 <= value <= 1 << 30)):
                raise ValueError(f"{each.name} is {value!r}: expected {'true or false' if flag else '1 or more'}")


@dataclass(frozen=True, slots=True)
class AccountInfo:
    """An account with how much there is of it."""

    id: int
    name: str
    role: Role
    entry_bot: int | None
    created_at: float
    erased_at: float | None
    tokens: int
    bots: int
    submissions: int


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """A token without its secret."""

    id: str
    label: str
    scopes: frozenset[Scope]
    created_at: float
    expires_at: float | None
    used_at: float | None
    sessions: int


@dataclass(frozen=True, slots=True)
class InviteInfo:
    """A code that was given out, without the code."""

    hash: str
    kind: InviteKind
    account_id: int | None
    cap: int
    used: int
    created_at: float
    ends_at: float | None


@dataclass(frozen=True, slots=True)
class BotInfo:
    """A contestant's bot; `version` is its newest accepted one, 0 without any."""

    id: int
    name: str
    account_id: int
    owner: str
    created_at: float
    withdrawn_at: float | None
    disabled: str | None
    version: int
    enters: bool


@dataclass(frozen=True, slots=True)
class SubmissionInfo:
    """A submission as it stands.

    Attributes:
        stage: the last stage it passed, or where it stopped, in words.
        verdict: what came of the check: reason, fault, line, log, figures (`workers.checker`).
        ahead: submissions that are checked before this one.
        probe_count: how many probes can be looked at.
    """

    id: int
    bot_id: int
    bot: str
    account_id: int
    owner: str
    sha256: str | None
    file_name: str
    note: str
    state: SubmissionState
    stage: str
    version: int | None
    received_at: float
    started_at: float | None
    ended_at: float | None
    attempt: int
    check_s: float | None
    verdict: Mapping[str, Any]
    probe_count: int


@dataclass(frozen=True, slots=True)
class LeasedCheck:
    """A submission to be checked; a verdict names its `id` and `attempt`."""

    id: int
    attempt: int
    bot: str
    version: int
    sha256: str


@dataclass(frozen=True, slots=True)
class TrialInfo:
    """The matches of a new version against an old one: what the new one took of each, in half points."""

    submission_id: int
    name: str
    new: tuple[int, str]
    old: tuple[int, str]
    rules: Rules
    secret: str = field(repr=False)
    scores: tuple[int, ...]
    verdict: str | None

    @property
    def texts(self) -> tuple[str, str]:
        """How match keys write the new and the old version."""
        return entrant_text(self.name, self.new[0]), entrant_text(self.name, self.old[0])


def top_score(rules: Rules) -> int:
    """Returns the half points of all comparisons in one match of two versions."""
    return 2 * comparisons(rules, seatings(rules, 2))[0, 1]


@dataclass(frozen=True, slots=True)
class AuditLine:
    """An act in the audit log."""

    id: int
    at: float
    account_id: int | None
    act: str
    subject: str
    reason: str
