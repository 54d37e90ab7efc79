"""Memories, the scopes they belong to, what they were made from, and their words."""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SQLITE = (
    """\
CREATE TABLE lineage (
    source_id BLOB NOT NULL,
    derived_id BLOB NOT NULL,
    CONSTRAINT pk_lineage PRIMARY KEY (source_id, derived_id)
)""",
    "CREATE INDEX ix_lineage_derived_id ON lineage (derived_id)",
    """\
CREATE TABLE scopes (
    id INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    workflow TEXT NOT NULL,
    CONSTRAINT pk_scopes PRIMARY KEY (id),
    CONSTRAINT uq_scopes_place UNIQUE (tenant, user, project, agent, session, workflow)
)""",
    "CREATE INDEX ix_scopes_project ON scopes (tenant, project)",
    "CREATE INDEX ix_scopes_session ON scopes (tenant, session)",
    """\
CREATE TABLE memories (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL,
    scope_id INTEGER NOT NULL,
    kind VARCHAR(64) NOT NULL,
    "key" TEXT,
    content TEXT NOT NULL,
    data TEXT,
    importance FLOAT NOT NULL,
    trust VARCHAR(16) NOT NULL,
    source TEXT,
    author TEXT,
    reason TEXT,
    derived_from TEXT,
    redacted TEXT,
    fingerprint BLOB NOT NULL,
    position BIGINT,
    created_at BIGINT NOT NULL,
    valid_from BIGINT NOT NULL,
    valid_to BIGINT,
    expires_at BIGINT,
    superseded_at BIGINT,
    superseded_by BLOB,
    closed_because TEXT,
    uses INTEGER NOT NULL,
    used_at BIGINT,
    generation INTEGER,
    CONSTRAINT uq_memories_id UNIQUE (id),
    CONSTRAINT ck_memories_importance CHECK (importance >= 0 AND importance <= 1),
    CONSTRAINT fk_memories_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
    "CREATE INDEX ix_memories_generation ON memories (generation, seq)",
    'CREATE INDEX ix_memories_key ON memories (scope_id, "key", seq) WHERE key IS NOT NULL',
    "CREATE INDEX ix_memories_position ON memories (scope_id, position) WHERE position IS NOT NULL",
    "CREATE INDEX ix_memories_scope ON memories (scope_id, seq)",
    "CREATE INDEX ix_memories_superseded_by ON memories (superseded_by) WHERE superseded_by IS NOT NULL",
    'CREATE UNIQUE INDEX uq_memories_open_key ON memories (scope_id, "key") WHERE key IS NOT NULL AND superseded_at IS NULL AND valid_to IS NULL',
    "CREATE UNIQUE INDEX uq_memories_open_words ON memories (scope_id, fingerprint) WHERE superseded_at IS NULL AND valid_to IS NULL",
    'CREATE VIRTUAL TABLE texts USING fts5(body, marks, tokenize = "porter unicode61 remove_diacritics 2")',
)

POSTGRESQL = (
    """\
CREATE TABLE lineage (
    source_id UUID NOT NULL,
    derived_id UUID NOT NULL,
    CONSTRAINT pk_lineage PRIMARY KEY (source_id, derived_id)
)""",
    "CREATE INDEX ix_lineage_derived_id ON lineage (derived_id)",
    """\
CREATE TABLE scopes (
    id BIGSERIAL NOT NULL,
    tenant TEXT NOT NULL,
    "user" TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    workflow TEXT NOT NULL,
    CONSTRAINT pk_scopes PRIMARY KEY (id),
    CONSTRAINT uq_scopes_place UNIQUE (tenant, "user", project, agent, session, workflow)
)""",
    "CREATE INDEX ix_scopes_project ON scopes (tenant, project)",
    "CREATE INDEX ix_scopes_session ON scopes (tenant, session)",
    """\
CREATE TABLE memories (
    seq BIGSERIAL NOT NULL,
    id UUID NOT NULL,
    scope_id BIGINT NOT NULL,
    kind VARCHAR(64) NOT NULL,
    key TEXT,
    content TEXT NOT NULL,
    data JSON,
    importance FLOAT NOT NULL,
    trust VARCHAR(16) NOT NULL,
    source TEXT,
    author TEXT,
    reason TEXT,
    derived_from JSON,
    redacted JSON,
    fingerprint BYTEA NOT NULL,
    position BIGINT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    valid_from TIMESTAMP WITH TIME ZONE NOT NULL,
    valid_to TIMESTAMP WITH TIME ZONE,
    expires_at TIMESTAMP WITH TIME ZONE,
    superseded_at TIMESTAMP WITH TIME ZONE,
    superseded_by UUID,
    closed_because TEXT,
    uses INTEGER NOT NULL,
    used_at TIMESTAMP WITH TIME ZONE,
    generation INTEGER,
    CONSTRAINT pk_memories PRIMARY KEY (seq),
    CONSTRAINT uq_memories_id UNIQUE (id),
    CONSTRAINT ck_memories_importance CHECK (importance >= 0 AND importance <= 1),
    CONSTRAINT fk_memories_scope_id FOREIGN KEY(scope_id) REFERENCES scopes (id)
)""",
    "CREATE INDEX ix_memories_generation ON memories (generation, seq)",
    "CREATE INDEX ix_memories_key ON memories (scope_id, key, seq) WHERE key IS NOT NULL",
    "CREATE INDEX ix_memories_position ON memories (scope_id, position) WHERE position IS NOT NULL",
    "CREATE INDEX ix_memories_scope ON memories (scope_id, seq)",
    "CREATE INDEX ix_memories_superseded_by ON memories (superseded_by) WHERE superseded_by IS NOT NULL",
    "CREATE UNIQUE INDEX uq_memories_open_key ON memories (scope_id, key) WHERE key IS NOT NULL AND superseded_at IS NULL AND valid_to IS NULL",
    "CREATE UNIQUE INDEX uq_memories_open_words ON memories (scope_id, fingerprint) WHERE superseded_at IS NULL AND valid_to IS NULL",
    "CREATE TEXT SEARCH DICTIONARY scrubjay_words (TEMPLATE = snowball, LANGUAGE = english)",
    "CREATE TEXT SEARCH CONFIGURATION scrubjay_words (COPY = simple)",
    "ALTER TEXT SEARCH CONFIGURATION scrubjay_words ALTER MAPPING FOR asciiword, word WITH scrubjay_words",
    "CREATE TABLE texts (seq BIGINT NOT NULL, body TEXT NOT NULL, words TSVECTOR GENERATED ALWAYS AS (to_tsvector('scrubjay_words', body)) STORED NOT NULL, CONSTRAINT pk_texts PRIMARY KEY (seq), CONSTRAINT fk_texts_seq FOREIGN KEY (seq) REFERENCES memories (seq) ON DELETE CASCADE)",
    "CREATE INDEX ix_texts_words ON texts USING gin (words)",
)


def upgrade() -> None:
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
