"""Encryption: the data keys of tenants, wrapped."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

SQLITE: tuple[str, ...] = ()

POSTGRESQL: tuple[str, ...] = ()


def upgrade() -> None:
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
