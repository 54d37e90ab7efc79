"""Vectors, the embedding generations they belong to, and the counters that number their changes."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

SQLITE = (
    """\
CREATE TABLE counters (
    name VARCHAR(32) NOT NULL,
    value BIGINT NOT NULL,
    CONSTRAINT pk_counters PRIMARY KEY (name)
)""",
    """\
CREATE TABLE generations (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    version TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    state VARCHAR(16) NOT NULL,
    created_at BIGINT NOT NULL,
    switched_at BIGINT,
    CONSTRAINT uq_generations_identity UNIQUE (provider, model, version, dimensions)
)""",
    "CREATE UNIQUE INDEX uq_generations_active ON generations (state) WHERE state = 'active'",
    """\
CREATE TABLE vectors (
    "row" INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    memory_id BLOB NOT NULL,
    part INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    scope_id INTEGER NOT NULL,
    kind VARCHAR(64) NOT NULL,
    live BOOLEAN NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT,
    change BIGINT NOT NULL,
    vector BLOB,
    CONSTRAINT pk_vectors PRIMARY KEY ("row"),
    CONSTRAINT uq_vectors_part UNIQUE (memory_id, generation, part),
    CONSTRAINT fk_vectors_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
    "CREATE INDEX ix_vectors_change ON vectors (generation, change)",
    "CREATE INDEX ix_vectors_scope ON vectors (generation, scope_id)",
    "INSERT INTO counters (name, value) VALUES ('vector_change', 0)",
    "INSERT INTO counters (name, value) VALUES ('vector_epoch', 0)",
)

POSTGRESQL = (
    """\
CREATE TABLE counters (
    name VARCHAR(32) NOT NULL,
    value BIGINT NOT NULL,
    CONSTRAINT pk_counters PRIMARY KEY (name)
)""",
    """\
CREATE TABLE generations (
    number SERIAL NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    version TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    state VARCHAR(16) NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    switched_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_generations PRIMARY KEY (number),
    CONSTRAINT uq_generations_identity UNIQUE (provider, model, version, dimensions)
)""",
    "CREATE UNIQUE INDEX uq_generations_active ON generations (state) WHERE state = 'active'",
    """\
CREATE TABLE vectors (
    row BIGSERIAL NOT NULL,
    generation INTEGER NOT NULL,
    memory_id UUID NOT NULL,
    part INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    scope_id BIGINT NOT NULL,
    kind VARCHAR(64) NOT NULL,
    live BOOLEAN NOT NULL,
    since TIMESTAMP WITH TIME ZONE NOT NULL,
    until TIMESTAMP WITH TIME ZONE,
    change BIGINT NOT NULL,
    vector BYTEA,
    CONSTRAINT pk_vectors PRIMARY KEY (row),
    CONSTRAINT uq_vectors_part UNIQUE (memory_id, generation, part),
    CONSTRAINT fk_vectors_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
    "CREATE INDEX ix_vectors_change ON vectors (generation, change)",
    "CREATE INDEX ix_vectors_scope ON vectors (generation, scope_id)",
    "INSERT INTO counters (name, value) VALUES ('vector_change', 0)",
    "INSERT INTO counters (name, value) VALUES ('vector_epoch', 0)",
)


def upgrade() -> None:
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
