"""What has ended, found by its words: so that telling it again is one memory."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE INDEX ix_memories_ended_words ON memories (scope_id, fingerprint, valid_to) "
        "WHERE superseded_at IS NULL AND key IS NULL AND valid_to IS NOT NULL"
    )
