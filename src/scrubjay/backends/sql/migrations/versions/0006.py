"""Consolidation: leases of workers, how steps went, what failed, and how far each step has come."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

EXPIRING = (
    "CREATE INDEX ix_memories_expires_at ON memories (expires_at) "
    "WHERE expires_at IS NOT NULL AND superseded_at IS NULL"
)

SQLITE = (
    EXPIRING,
    """\
CREATE TABLE work_leases (
    name TEXT NOT NULL,
    worker TEXT NOT NULL,
    token TEXT NOT NULL,
    until BIGINT NOT NULL,
    CONSTRAINT pk_work_leases PRIMARY KEY (name)
)""",
    """\
CREATE TABLE work_runs (
    step VARCHAR(16) NOT NULL,
    finished_at BIGINT NOT NULL,
    succeeded_at BIGINT,
    worker TEXT NOT NULL,
    seconds FLOAT NOT NULL,
    done BIGINT NOT NULL,
    total BIGINT NOT NULL,
    runs BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    error TEXT NOT NULL,
    CONSTRAINT pk_work_runs PRIMARY KEY (step)
)""",
    """\
CREATE TABLE work_marks (
    step VARCHAR(16) NOT NULL,
    scope_id INTEGER NOT NULL,
    place BIGINT NOT NULL,
    at BIGINT,
    CONSTRAINT pk_work_marks PRIMARY KEY (step, scope_id),
    CONSTRAINT fk_work_marks_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
    """\
CREATE TABLE work_troubles (
    id BLOB NOT NULL,
    step VARCHAR(16) NOT NULL,
    item TEXT NOT NULL,
    scope_id INTEGER NOT NULL,
    error TEXT NOT NULL,
    tries INTEGER NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    retry_at BIGINT NOT NULL,
    parked_at BIGINT,
    body TEXT,
    CONSTRAINT pk_work_troubles PRIMARY KEY (id),
    CONSTRAINT fk_work_troubles_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
)

POSTGRESQL = (
    EXPIRING,
    """\
CREATE TABLE work_leases (
    name TEXT NOT NULL,
    worker TEXT NOT NULL,
    token TEXT NOT NULL,
    until TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_work_leases PRIMARY KEY (name)
)""",
    """\
CREATE TABLE work_runs (
    step VARCHAR(16) NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE NOT NULL,
    succeeded_at TIMESTAMP WITH TIME ZONE,
    worker TEXT NOT NULL,
    seconds FLOAT NOT NULL,
    done BIGINT NOT NULL,
    total BIGINT NOT NULL,
    runs BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    error TEXT NOT NULL,
    CONSTRAINT pk_work_runs PRIMARY KEY (step)
)""",
    """\
CREATE TABLE work_marks (
    step VARCHAR(16) NOT NULL,
    scope_id BIGINT NOT NULL,
    place BIGINT NOT NULL,
    at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_work_marks PRIMARY KEY (step, scope_id),
    CONSTRAINT fk_work_marks_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
    """\
CREATE TABLE work_troubles (
    id UUID NOT NULL,
    step VARCHAR(16) NOT NULL,
    item TEXT NOT NULL,
    scope_id BIGINT NOT NULL,
    error TEXT NOT NULL,
    tries INTEGER NOT NULL,
    first_at TIMESTAMP WITH TIME ZONE NOT NULL,
    last_at TIMESTAMP WITH TIME ZONE NOT NULL,
    retry_at TIMESTAMP WITH TIME ZONE NOT NULL,
    parked_at TIMESTAMP WITH TIME ZONE,
    body TEXT,
    CONSTRAINT pk_work_troubles PRIMARY KEY (id),
    CONSTRAINT fk_work_troubles_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
)


def upgrade() -> None:
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
