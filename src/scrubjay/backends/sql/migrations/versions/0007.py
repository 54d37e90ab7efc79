"""Access: API keys, the audit log, and answers kept for requests that are sent again."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

SQLITE = (
    """\
CREATE TABLE api_keys (
    id VARCHAR(32) NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    digest BLOB NOT NULL,
    rights TEXT NOT NULL,
    users TEXT,
    projects TEXT,
    agents TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    used_at BIGINT,
    CONSTRAINT pk_api_keys PRIMARY KEY (id)
)""",
    "CREATE INDEX ix_api_keys_tenant ON api_keys (tenant, created_at)",
    """\
CREATE TABLE audit_log (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at BIGINT NOT NULL,
    tenant TEXT NOT NULL,
    "key" TEXT,
    action VARCHAR(64) NOT NULL,
    target TEXT NOT NULL,
    ids TEXT,
    request TEXT NOT NULL
)""",
    "CREATE INDEX ix_audit_log_tenant ON audit_log (tenant, number)",
    """\
CREATE TABLE kept_answers (
    tenant TEXT NOT NULL,
    name BLOB NOT NULL,
    request BLOB NOT NULL,
    done BOOLEAN NOT NULL,
    status INTEGER NOT NULL,
    headers TEXT,
    body BLOB,
    until BIGINT NOT NULL,
    CONSTRAINT pk_kept_answers PRIMARY KEY (tenant, name)
)""",
    "CREATE INDEX ix_kept_answers_until ON kept_answers (until)",
)

POSTGRESQL = (
    """\
CREATE TABLE api_keys (
    id VARCHAR(32) NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    digest BYTEA NOT NULL,
    rights TEXT NOT NULL,
    users JSON,
    projects JSON,
    agents JSON,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE,
    revoked_at TIMESTAMP WITH TIME ZONE,
    used_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_api_keys PRIMARY KEY (id)
)""",
    "CREATE INDEX ix_api_keys_tenant ON api_keys (tenant, created_at)",
    """\
CREATE TABLE audit_log (
    number BIGSERIAL NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    tenant TEXT NOT NULL,
    "key" TEXT,
    action VARCHAR(64) NOT NULL,
    target TEXT NOT NULL,
    ids JSON,
    request TEXT NOT NULL,
    CONSTRAINT pk_audit_log PRIMARY KEY (number)
)""",
    "CREATE INDEX ix_audit_log_tenant ON audit_log (tenant, number)",
    """\
CREATE TABLE kept_answers (
    tenant TEXT NOT NULL,
    name BYTEA NOT NULL,
    request BYTEA NOT NULL,
    done BOOLEAN NOT NULL,
    status INTEGER NOT NULL,
    headers JSON,
    body BYTEA,
    until TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_kept_answers PRIMARY KEY (tenant, name)
)""",
    "CREATE INDEX ix_kept_answers_until ON kept_answers (until)",
)


def upgrade() -> None:
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
