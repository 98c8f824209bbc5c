"""Shares that carry a run's results."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("shares", sa.Column("run", sa.String(11), nullable=True))
    op.create_index("ix_shares_run", "shares", ["run"])


def downgrade() -> None:
    op.drop_index("ix_shares_run", "shares")
    op.drop_column("shares", "run")
