"""Make the tables as the models declare them; docs/decisions/0032 says what becomes of this before a second migration."""

from alembic import op
from sqlmodel import SQLModel

revision = "first"
down_revision = None


def upgrade() -> None:
    SQLModel.metadata.create_all(op.get_bind())
