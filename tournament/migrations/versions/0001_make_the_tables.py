"""Make the tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


# SQLite counts only a column that is literally INTEGER.
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "source",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("files", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.CheckConstraint("length(sha256) = 64", name="sha256_has_64_digits"),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_table(
        "tournament",
        sa.Column("id", BIG, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.Column("limits", sa.Text(), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("commitment", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("final_order", sa.Text(), server_default=sa.text("'shared'"), nullable=False),
        sa.Column("anchor", sa.Text(), nullable=True),
        sa.Column("environment", sa.Text(), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("last_order", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_void_order", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.Column("held_at", sa.Double(), nullable=True),
        sa.CheckConstraint(
            "state IN ('draft', 'open', 'closed', 'running', 'paused', 'finished', 'cancelled')", name="state_is_known"
        ),
        sa.CheckConstraint("length(secret) > 0", name="secret_is_not_empty"),
        sa.CheckConstraint("rounds >= 1", name="rounds_are_positive"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("tournament_state", "tournament", ["state"], unique=False)

    op.create_table(
        "worker",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("environment", sa.Text(), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("refused", sa.Text(), nullable=True),
        sa.Column("task", sa.Text(), nullable=True),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.CheckConstraint("slots >= 0", name="slots_are_not_negative"),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "entrant",
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=True),
        sa.Column("owner", sa.Integer(), nullable=False),
        sa.Column("upload_order", sa.Integer(), nullable=False),
        sa.Column("house", sa.Boolean(), nullable=False),
        sa.Column("disqualified", sa.Text(), nullable=True),
        sa.CheckConstraint("position >= 0 AND version >= 1 AND owner >= 0", name="numbers_are_not_negative"),
        sa.ForeignKeyConstraint(
            ["sha256"],
            ["source.sha256"],
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id"],
            ["tournament.id"],
        ),
        sa.PrimaryKeyConstraint("tournament_id", "position"),
        sa.UniqueConstraint("tournament_id", "name", "version"),
    )
    op.create_index("entrant_name", "entrant", ["name", "version"], unique=False)

    op.create_table(
        "event",
        sa.Column("id", BIG, nullable=False),
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tournament_id"],
            ["tournament.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("event_tournament", "event", ["tournament_id", "id"], unique=False)

    op.create_table(
        "match",
        sa.Column("id", BIG, nullable=False),
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("e0", sa.Integer(), nullable=False),
        sa.Column("e1", sa.Integer(), nullable=False),
        sa.Column("e2", sa.Integer(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("attempt", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("losses", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("void_attempt", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=True),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("record_order", sa.Integer(), nullable=True),
        sa.Column("recorded_at", sa.Double(), nullable=True),
        sa.Column("play_s", sa.Double(), nullable=True),
        sa.Column("games", sa.Integer(), nullable=True),
        sa.Column("s01", sa.Integer(), nullable=True),
        sa.Column("s02", sa.Integer(), nullable=True),
        sa.Column("s12", sa.Integer(), nullable=True),
        sa.Column("faults", sa.Integer(), nullable=True),
        sa.CheckConstraint("(state = 'done') = (record_order IS NOT NULL)", name="done_is_recorded"),
        sa.CheckConstraint("(state = 'done') = (s01 IS NOT NULL)", name="done_has_scores"),
        sa.CheckConstraint("(state = 'leased') = (lease_until IS NOT NULL)", name="a_lease_has_an_end"),
        sa.CheckConstraint("state IN ('queued', 'leased', 'done', 'failed', 'cancelled')", name="state_is_known"),
        sa.CheckConstraint("e0 < e1 AND (e2 IS NULL OR e1 < e2)", name="entrants_ascend"),
        sa.ForeignKeyConstraint(
            ["tournament_id", "e0"],
            ["entrant.tournament_id", "entrant.position"],
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id", "e1"],
            ["entrant.tournament_id", "entrant.position"],
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id", "e2"],
            ["entrant.tournament_id", "entrant.position"],
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id"],
            ["tournament.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tournament_id", "key"),
        sa.UniqueConstraint("tournament_id", "number"),
    )
    op.create_index("match_entrants", "match", ["tournament_id", "e0", "e1", "e2"], unique=False)
    op.create_index(
        "match_lease",
        "match",
        ["lease_until"],
        unique=False,
        sqlite_where=sa.text("lease_until IS NOT NULL"),
        postgresql_where=sa.text("lease_until IS NOT NULL"),
    )
    op.create_index("match_order", "match", ["tournament_id", "record_order"], unique=False)
    op.create_index("match_queue", "match", ["state", "priority", "id"], unique=False)
    op.create_index("match_state", "match", ["tournament_id", "state"], unique=False)

    op.create_table(
        "game",
        sa.Column("match_id", BIG, nullable=False),
        sa.Column("seating", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("end_kind", sa.Text(), nullable=False),
        sa.Column("winner", sa.Integer(), nullable=True),
        sa.Column("scores", sa.Text(), nullable=False),
        sa.Column("places", sa.Text(), nullable=False),
        sa.Column("deals", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("acts", sa.LargeBinary(), nullable=True),
        sa.Column("timings", sa.LargeBinary(), nullable=True),
        sa.CheckConstraint(
            "end_kind IN ('target', 'bid_of_four', 'deal_limit', 'redeal_limit', 'forfeit')", name="end_kind_is_known"
        ),
        sa.CheckConstraint("seating >= 1", name="seatings_count_from_one"),
        sa.ForeignKeyConstraint(
            ["match_id"],
            ["match.id"],
        ),
        sa.PrimaryKeyConstraint("match_id", "seating"),
    )
    op.create_table(
        "tally",
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("entrant", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("match_id", BIG, nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("deals", sa.Integer(), nullable=False),
        sa.Column("faults", sa.Integer(), nullable=False),
        sa.Column("bids2", sa.Integer(), nullable=False),
        sa.Column("bids3", sa.Integer(), nullable=False),
        sa.Column("bids4", sa.Integer(), nullable=False),
        sa.Column("made2", sa.Integer(), nullable=False),
        sa.Column("made3", sa.Integer(), nullable=False),
        sa.Column("made4", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["match_id"],
            ["match.id"],
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id", "entrant"],
            ["entrant.tournament_id", "entrant.position"],
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id"],
            ["tournament.id"],
        ),
        sa.PrimaryKeyConstraint("tournament_id", "entrant", "match_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "void",
        sa.Column("id", BIG, nullable=False),
        sa.Column("match_id", BIG, nullable=False),
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("voided_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["match_id"],
            ["match.id"],
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id"],
            ["tournament.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_void_match_id", "void", ["match_id"], unique=False)
    op.create_index("void_tournament", "void", ["tournament_id", "id"], unique=False)

    op.create_table(
        "fault",
        sa.Column("match_id", BIG, nullable=False),
        sa.Column("seating", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("tournament_id", BIG, nullable=False),
        sa.Column("entrant", sa.Integer(), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("deal", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("act", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("traceback", sa.Text(), nullable=False),
        sa.Column("log_tail", sa.Text(), nullable=False),
        sa.Column("measured", sa.Double(), nullable=True),
        sa.Column("limit_value", sa.Double(), nullable=True),
        sa.Column("question", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('load', 'exception', 'exited', 'killed', 'memory', 'forbidden-call', 'timeout-cpu', 'timeout-wall', 'off-turn', 'protocol', 'invalid', 'illegal')",
            name="kind_is_known",
        ),
        sa.CheckConstraint("ordinal IN (1, 2)", name="two_faults_at_most"),
        sa.ForeignKeyConstraint(
            ["match_id", "seating"],
            ["game.match_id", "game.seating"],
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id", "entrant"],
            ["entrant.tournament_id", "entrant.position"],
        ),
        sa.ForeignKeyConstraint(
            ["tournament_id"],
            ["tournament.id"],
        ),
        sa.PrimaryKeyConstraint("match_id", "seating", "ordinal"),
    )
    op.create_index("fault_entrant", "fault", ["tournament_id", "entrant", "match_id"], unique=False)


def downgrade() -> None:
    for table in (
        "fault",
        "void",
        "tally",
        "game",
        "match",
        "event",
        "entrant",
        "worker",
        "tournament",
        "source",
    ):
        op.drop_table(table)
