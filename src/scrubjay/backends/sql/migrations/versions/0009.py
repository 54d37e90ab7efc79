"""Words held in memory: what processes that hold them have to hear of."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

SQLITE: tuple[str, ...] = (
    """\
CREATE TABLE text_changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    seq INTEGER NOT NULL,
    reworded BOOLEAN NOT NULL
)""",
    """\
CREATE TRIGGER memories_changed
AFTER UPDATE OF scope_id, kind, created_at, valid_from, valid_to, expires_at, superseded_at ON memories
BEGIN
    INSERT INTO text_changes (seq, reworded) VALUES (new.seq, 0);
END""",
    """\
CREATE TRIGGER text_changes_forgotten AFTER INSERT ON text_changes
BEGIN
    DELETE FROM text_changes WHERE number <= new.number - 10000;
END""",
)


def upgrade() -> None:
    # PostgreSQL has nobody who holds words in memory.
    if op.get_bind().dialect.name == "sqlite":
        for statement in SQLITE:
            op.execute(statement)
