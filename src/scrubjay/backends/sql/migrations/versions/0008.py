"""Encryption: the data keys of tenants, wrapped."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

INDEX = "CREATE INDEX ix_data_keys_master ON data_keys (master)"

SQLITE: tuple[str, ...] = (
    """\
CREATE TABLE data_keys (
    tenant TEXT NOT NULL,
    number INTEGER NOT NULL,
    master VARCHAR(32) NOT NULL,
    wrapped BLOB NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT pk_data_keys PRIMARY KEY (tenant, number)
)""",
    INDEX,
)

POSTGRESQL: tuple[str, ...] = (
    """\
CREATE TABLE data_keys (
    tenant TEXT NOT NULL,
    number INTEGER NOT NULL,
    master VARCHAR(32) NOT NULL,
    wrapped BYTEA NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_data_keys PRIMARY KEY (tenant, number)
)""",
    INDEX,
)


def upgrade() -> None:
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
