"""Checksums of rows, and a count of what was committed, by which damage is noticed."""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rows get theirs from `doctor --fix`: to go through all of them would take minutes, for which nobody waits.
    op.execute("ALTER TABLE memories ADD COLUMN checksum BIGINT")
    op.execute("INSERT INTO counters (name, value) VALUES ('commits', 0)")
