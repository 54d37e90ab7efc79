"""In PostgreSQL, memories by their kind: rules and preferences are asked for in tenants where they are few."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE INDEX ix_memories_kind ON memories (scope_id, kind, seq)")
