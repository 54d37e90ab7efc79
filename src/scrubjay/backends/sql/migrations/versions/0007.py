"""Agents: what their files, cycles and mirrored embeddings need beside memories."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

SQLITE: tuple[str, ...] = ()

POSTGRESQL: tuple[str, ...] = ()


def upgrade() -> None:
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
