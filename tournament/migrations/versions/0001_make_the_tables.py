"""Make the tables as the models declare them; docs/decisions/0032 says what becomes of this before a second migration."""

from alembic import op
from sqlmodel import SQLModel

import tournament.models_contest  # fills the metadata
import tournament.models_people  # noqa: F401

revision = "first"
down_revision = None


def upgrade() -> None:
    SQLModel.metadata.create_all(op.get_bind())
