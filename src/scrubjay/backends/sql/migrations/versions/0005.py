"""Blobs: the files that memories speak of, each stored once for a tenant."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

SQLITE = (
    """\
CREATE TABLE blobs (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    hash TEXT NOT NULL,
    size BIGINT NOT NULL,
    way TEXT NOT NULL,
    base BIGINT,
    depth INTEGER NOT NULL,
    body BLOB NOT NULL,
    CONSTRAINT uq_blobs_tenant_hash UNIQUE (tenant, hash)
)""",
    "CREATE INDEX ix_blobs_base ON blobs (base)",
    """\
CREATE TABLE blob_holders (
    blob BIGINT NOT NULL,
    owner BLOB NOT NULL,
    CONSTRAINT pk_blob_holders PRIMARY KEY (blob, owner),
    CONSTRAINT fk_blob_holders_blob FOREIGN KEY(blob) REFERENCES blobs (number)
)""",
    "CREATE INDEX ix_blob_holders_owner ON blob_holders (owner)",
)

POSTGRESQL = (
    """\
CREATE TABLE blobs (
    number BIGSERIAL NOT NULL,
    tenant TEXT NOT NULL,
    hash TEXT NOT NULL,
    size BIGINT NOT NULL,
    way TEXT NOT NULL,
    base BIGINT,
    depth INTEGER NOT NULL,
    body BYTEA NOT NULL,
    CONSTRAINT pk_blobs PRIMARY KEY (number),
    CONSTRAINT uq_blobs_tenant_hash UNIQUE (tenant, hash)
)""",
    "CREATE INDEX ix_blobs_base ON blobs (base)",
    """\
CREATE TABLE blob_holders (
    blob BIGINT NOT NULL,
    owner UUID NOT NULL,
    CONSTRAINT pk_blob_holders PRIMARY KEY (blob, owner),
    CONSTRAINT fk_blob_holders_blob FOREIGN KEY(blob) REFERENCES blobs (number)
)""",
    "CREATE INDEX ix_blob_holders_owner ON blob_holders (owner)",
)


def upgrade() -> None:
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
