"""Columns of data held in memory: processes that hold them hear of every change of it, whoever makes it."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

SQLITE: tuple[str, ...] = (
    "DROP TRIGGER memories_changed",
    """\
CREATE TRIGGER memories_changed
AFTER UPDATE OF scope_id, kind, data, created_at, valid_from, valid_to, expires_at, superseded_at ON memories
BEGIN
    INSERT INTO text_changes (seq, reworded) VALUES (new.seq, 0);
END""",
)


def upgrade() -> None:
    # PostgreSQL has nobody who holds columns in memory.
    if op.get_bind().dialect.name == "sqlite":
        for statement in SQLITE:
            op.execute(statement)
