"""Add what organised contests need: deadlines, plans, practice rounds, announcements, repeated matches."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    # Columns only: SQLite would make a table with other changes anew, which its foreign keys do not allow.
    op.add_column("tournament", sa.Column("held_order", sa.Integer(), nullable=True))
    op.add_column("tournament", sa.Column("opens_at", sa.Double(), nullable=True))
    op.add_column("tournament", sa.Column("closes_at", sa.Double(), nullable=True))
    op.add_column("tournament", sa.Column("plan", sa.Text(), server_default=sa.text("'{}'"), nullable=False))
    op.execute("UPDATE tournament SET held_order = 0 WHERE held_at IS NOT NULL")
    op.add_column("void", sa.Column("record_order", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.create_table(
        "extension",
        sa.Column("tournament_id", BIG, sa.ForeignKey("tournament.id"), nullable=False),
        sa.Column("account_id", BIG, sa.ForeignKey("account.id"), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tournament_id", "account_id"),
    )
    op.create_table(
        "practice",
        sa.Column("id", BIG, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("next_at", sa.Double(), nullable=True),
        sa.Column("runs", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_tournament", BIG, sa.ForeignKey("tournament.id"), nullable=True),
        sa.CheckConstraint("length(at) = 5", name="at_is_hh_mm"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "announcement",
        sa.Column("id", BIG, nullable=False),
        sa.Column("tournament_id", BIG, sa.ForeignKey("tournament.id"), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "repeat",
        sa.Column("id", BIG, nullable=False),
        sa.Column("tournament_id", BIG, sa.ForeignKey("tournament.id"), nullable=False),
        sa.Column("match_id", BIG, sa.ForeignKey("match.id"), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("repeated_by", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("entrant", sa.Integer(), nullable=True),
        sa.Column("detail", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("repeated_at", sa.Double(), nullable=False),
        sa.CheckConstraint("verdict IN ('same', 'not repeatable', 'worker suspected')", name="verdict_is_known"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("repeat_tournament", "repeat", ["tournament_id", "match_id"], unique=False)


def downgrade() -> None:
    for name in ("repeat", "announcement", "practice", "extension"):
        op.drop_table(name)
    op.drop_column("void", "record_order")
    for name in ("plan", "closes_at", "opens_at", "held_order"):
        op.drop_column("tournament", name)
