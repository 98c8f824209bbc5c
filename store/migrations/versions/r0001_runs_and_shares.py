"""Runs and shares."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.String(11), primary_key=True),
        sa.Column("device", sa.String(64), nullable=False),
        sa.Column("verdict", sa.String(64), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("events", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_runs_verdict", "runs", ["verdict"])
    op.create_index("ix_runs_finished_at", "runs", ["finished_at"])
    op.create_table(
        "shares",
        sa.Column("id", sa.String(11), primary_key=True),
        sa.Column("parent", sa.String(11), sa.ForeignKey("shares.id"), nullable=True),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_shares_parent", "shares", ["parent"])
    op.create_index("ix_shares_content_hash", "shares", ["content_hash"])


def downgrade() -> None:
    op.drop_table("shares")
    op.drop_table("runs")
