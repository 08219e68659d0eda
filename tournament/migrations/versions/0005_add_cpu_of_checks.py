"""Add the CPU time of checks, which a day's quota counts."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

RENAME = "UPDATE site_option SET name = '{}' WHERE name = '{}'"


def upgrade() -> None:
    op.add_column("submission", sa.Column("cpu_s", sa.Double(), nullable=True))
    op.execute("UPDATE submission SET cpu_s = check_s")  # what the quota counted before
    op.execute(RENAME.format("check_cpu_s_per_day", "check_s_per_day"))


def downgrade() -> None:
    op.execute(RENAME.format("check_s_per_day", "check_cpu_s_per_day"))
    op.drop_column("submission", "cpu_s")
