"""On PostgreSQL, an index of what data says; and keys by code points, so that an index finds those that begin alike."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

POSTGRESQL: tuple[str, ...] = (
    'ALTER TABLE memories ALTER COLUMN key TYPE TEXT COLLATE "C"',
    "CREATE INDEX ix_memories_data ON memories USING gin ((data::jsonb) jsonb_path_ops)",
)


def upgrade() -> None:
    for statement in POSTGRESQL if op.get_bind().dialect.name == "postgresql" else ():
        op.execute(statement)
