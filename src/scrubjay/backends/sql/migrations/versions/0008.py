"""Access: API keys, the audit log, and answers kept for requests that are sent again."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

SQLITE: tuple[str, ...] = ()

POSTGRESQL: tuple[str, ...] = ()


def upgrade() -> None:
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
