"""The tables that statements are made of."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Table
from sqlmodel import SQLModel

from tournament import models, models_contest, models_people


def _table(model: type[SQLModel]) -> Table:
    return SQLModel.metadata.tables[str(model.__tablename__)]


SOURCE: Final = _table(models.Source)
TOURNAMENT: Final = _table(models.Tournament)
ENTRANT: Final = _table(models.Entrant)
MATCH: Final = _table(models.Match)
GAME: Final = _table(models.GameRow)
TALLY: Final = _table(models.TallyRow)
FAULT: Final = _table(models.FaultRow)
VOID: Final = _table(models.Void)
EVENT: Final = _table(models.Event)
WORKER: Final = _table(models.Worker)

ACCOUNT: Final = _table(models_people.Account)
TOKEN: Final = _table(models_people.Token)
SESSION: Final = _table(models_people.Session)
INVITE: Final = _table(models_people.Invite)
BOT: Final = _table(models_people.Bot)
SUBMISSION: Final = _table(models_people.Submission)
TRIAL: Final = _table(models_people.Trial)
OPTION: Final = _table(models_people.Option)
AUDIT: Final = _table(models_people.Audit)

EXTENSION: Final = _table(models_contest.Extension)
PRACTICE: Final = _table(models_contest.Practice)
ANNOUNCEMENT: Final = _table(models_contest.Announcement)
REPEAT: Final = _table(models_contest.Repeat)
ORDER: Final = _table(models_contest.RepeatOrder)
