"""Working memory: sessions, their messages and scratchpads, and changes that wait for a Redis that is away."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

SQLITE = (
    """\
CREATE TABLE working_detours (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL,
    body TEXT,
    CONSTRAINT fk_working_detours_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
    "CREATE INDEX ix_working_detours_scope_id ON working_detours (scope_id, number)",
    """\
CREATE TABLE working_messages (
    scope_id INTEGER NOT NULL,
    position BIGINT NOT NULL,
    id BLOB NOT NULL,
    bytes INTEGER NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_working_messages PRIMARY KEY (scope_id, position),
    CONSTRAINT uq_working_messages_id UNIQUE (scope_id, id),
    CONSTRAINT fk_working_messages_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
    """\
CREATE TABLE working_scratch (
    scope_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_working_scratch PRIMARY KEY (scope_id, name),
    CONSTRAINT fk_working_scratch_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
    """\
CREATE TABLE working_sessions (
    scope_id INTEGER NOT NULL,
    first BIGINT NOT NULL,
    following BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at BIGINT,
    CONSTRAINT pk_working_sessions PRIMARY KEY (scope_id),
    CONSTRAINT fk_working_sessions_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
    "CREATE INDEX ix_working_sessions_expires_at ON working_sessions (expires_at)",
)

POSTGRESQL = (
    """\
CREATE TABLE working_detours (
    number BIGSERIAL NOT NULL,
    scope_id BIGINT NOT NULL,
    body TEXT,
    CONSTRAINT pk_working_detours PRIMARY KEY (number),
    CONSTRAINT fk_working_detours_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
    "CREATE INDEX ix_working_detours_scope_id ON working_detours (scope_id, number)",
    """\
CREATE TABLE working_messages (
    scope_id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    id UUID NOT NULL,
    bytes INTEGER NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_working_messages PRIMARY KEY (scope_id, position),
    CONSTRAINT uq_working_messages_id UNIQUE (scope_id, id),
    CONSTRAINT fk_working_messages_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
    """\
CREATE TABLE working_scratch (
    scope_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    body TEXT NOT NULL,
    CONSTRAINT pk_working_scratch PRIMARY KEY (scope_id, name),
    CONSTRAINT fk_working_scratch_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
    """\
CREATE TABLE working_sessions (
    scope_id BIGINT NOT NULL,
    first BIGINT NOT NULL,
    following BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_working_sessions PRIMARY KEY (scope_id),
    CONSTRAINT fk_working_sessions_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
    "CREATE INDEX ix_working_sessions_expires_at ON working_sessions (expires_at)",
)


def upgrade() -> None:
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
