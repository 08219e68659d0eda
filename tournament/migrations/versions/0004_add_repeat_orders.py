"""Add the matches that are to be played again by another worker."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "repeatorder",
        sa.Column("match_id", BIG, sa.ForeignKey("match.id"), nullable=False),
        sa.Column("tournament_id", BIG, sa.ForeignKey("tournament.id"), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("given_to", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=True),
        sa.Column("tries", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("digests", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("match_id"),
    )


def downgrade() -> None:
    op.drop_table("repeatorder")
