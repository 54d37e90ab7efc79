"""The tables, once for both dialects. `migrations/` is how an existing database gets here; a test keeps them equal."""

from typing import Any, Final

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
    text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateIndex
from sqlalchemy.sql.compiler import DDLCompiler

from scrubjay.backends.sql.types import Id, Instant, JsonObject, Words

HEAD: Final = "0016"
"""The newest migration. A test checks that Alembic agrees."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

# SQLite counts rows only in an INTEGER primary key; PostgreSQL wants the room of a BIGINT.
RowNumber = BigInteger().with_variant(Integer(), "sqlite")

_WHERE: Final = "where"


def _partial(name: str, *columns: Column[Any], where: str, unique: bool = False) -> None:
    """Make an index of some rows only. To name PostgreSQL's option for it would load that dialect for everybody."""
    Index(name, *columns, unique=unique, sqlite_where=text(where), info={_WHERE: where})


@compiles(CreateIndex, "postgresql")
def _create_index(create: CreateIndex, compiler: DDLCompiler, **more: Any) -> str:  # noqa: ANN401 -- SQLAlchemy's shape
    where = create.element.info.get(_WHERE)
    made: str = compiler.visit_create_index(create, **more)  # type: ignore[no-untyped-call]  # SQLAlchemy's own
    return f"{made} WHERE {where}" if where else made


scopes = Table(
    "scopes",
    metadata,
    Column("id", RowNumber, primary_key=True, autoincrement=True),
    Column("tenant", Text, nullable=False),
    # An empty text stands for a name left open, so that one unique constraint covers all six.
    Column("user", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("workflow", Text, nullable=False),
    UniqueConstraint("tenant", "user", "project", "agent", "session", "workflow", name="uq_scopes_place"),
    Index("ix_scopes_project", "tenant", "project"),
    Index("ix_scopes_session", "tenant", "session"),
)

memories = Table(
    "memories",
    metadata,
    Column("seq", RowNumber, primary_key=True, autoincrement=True),
    Column("id", Id, nullable=False),
    Column("scope_id", RowNumber, ForeignKey("scopes.id"), nullable=False),
    Column("kind", String(64), nullable=False),
    Column("key", Text),
    Column("content", Text, nullable=False),
    Column("data", JsonObject),
    Column("importance", Float, nullable=False),
    Column("trust", String(16), nullable=False),
    Column("source", Text),
    Column("author", Text),
    Column("reason", Text),
    Column("derived_from", JsonObject),
    Column("redacted", JsonObject),
    Column("fingerprint", LargeBinary(16), nullable=False),
    Column("position", BigInteger),
    Column("created_at", Instant, nullable=False),
    Column("valid_from", Instant, nullable=False),
    Column("valid_to", Instant),
    Column("expires_at", Instant),
    Column("superseded_at", Instant),
    Column("superseded_by", Id),
    Column("closed_because", Text),
    Column("uses", Integer, nullable=False, default=0),
    Column("used_at", Instant),
    Column("generation", Integer),
    # Of what a write fixes: `rows.checksum_of`. NULL for what an older version stored.
    Column("checksum", BigInteger),
    UniqueConstraint("id", name="uq_memories_id"),
    CheckConstraint("importance >= 0 AND importance <= 1", name="importance"),
    sqlite_autoincrement=True,
)

_OPEN: Final = "superseded_at IS NULL AND valid_to IS NULL"
# One current value per key, and one memory for a thing said twice: the database keeps these, not the code.
_partial("uq_memories_open_key", memories.c.scope_id, memories.c.key, where=f"key IS NOT NULL AND {_OPEN}", unique=True)
_partial("uq_memories_open_words", memories.c.scope_id, memories.c.fingerprint, where=_OPEN, unique=True)
_partial(
    "ix_memories_ended_words",
    memories.c.scope_id,
    memories.c.fingerprint,
    memories.c.valid_to,
    where="superseded_at IS NULL AND key IS NULL AND valid_to IS NOT NULL",
)
Index("ix_memories_scope", memories.c.scope_id, memories.c.seq)
_partial("ix_memories_key", memories.c.scope_id, memories.c.key, memories.c.seq, where="key IS NOT NULL")
_partial("ix_memories_position", memories.c.scope_id, memories.c.position, where="position IS NOT NULL")
Index("ix_memories_generation", memories.c.generation, memories.c.seq)
_partial("ix_memories_expires_at", memories.c.expires_at, where="expires_at IS NOT NULL AND superseded_at IS NULL")
_partial("ix_memories_superseded_by", memories.c.superseded_by, where="superseded_by IS NOT NULL")

lineage = Table(
    "lineage",
    metadata,
    Column("source_id", Id, primary_key=True),
    Column("derived_id", Id, primary_key=True),
    Index("ix_lineage_derived_id", "derived_id"),
)

generations = Table(
    "generations",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("dimensions", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("switched_at", Instant),
    UniqueConstraint("provider", "model", "version", "dimensions", name="uq_generations_identity"),
    sqlite_autoincrement=True,
)
_partial("uq_generations_active", generations.c.state, where="state = 'active'", unique=True)

vectors = Table(
    "vectors",
    metadata,
    Column("row", RowNumber, primary_key=True, autoincrement=True),
    Column("generation", Integer, nullable=False),
    Column("memory_id", Id, nullable=False),
    Column("part", Integer, nullable=False),
    Column("start", Integer, nullable=False),
    Column("stop", Integer, nullable=False),
    Column("scope_id", RowNumber, ForeignKey("scopes.id"), nullable=False),
    Column("kind", String(64), nullable=False),
    Column("live", Boolean, nullable=False),
    Column("since", Instant, nullable=False),
    Column("until", Instant),
    # Every change of a row takes the next number of the counter, so that a process can ask for what is new to it.
    Column("change", BigInteger, nullable=False),
    # Half floats, little-endian. NULL is a tombstone: the memory is gone, and processes that hold it must hear of it.
    Column("vector", LargeBinary),
    UniqueConstraint("memory_id", "generation", "part", name="uq_vectors_part"),
    Index("ix_vectors_change", "generation", "change"),
    Index("ix_vectors_scope", "generation", "scope_id"),
)

# What was purged, until nothing can be left of it where vectors lie: an engine may be away, or be written to just then.
leftovers = Table(
    "leftovers",
    metadata,
    Column("id", Id, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("due", Instant, nullable=False),
    Index("ix_leftovers_due", "due"),
    Index("ix_leftovers_at", "at"),
)

counters = Table(
    "counters",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", BigInteger, nullable=False),
)

# Working memory. The messages of a session are those from `first` up to `following`, without gaps.
working_sessions = Table(
    "working_sessions",
    metadata,
    Column("scope_id", RowNumber, ForeignKey("scopes.id"), primary_key=True, autoincrement=False),
    Column("first", BigInteger, nullable=False),
    Column("following", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("started_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("ended_at", Instant),
    Index("ix_working_sessions_expires_at", "expires_at"),
)

working_messages = Table(
    "working_messages",
    metadata,
    Column("scope_id", RowNumber, ForeignKey("scopes.id"), primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("id", Id, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("scope_id", "id", name="uq_working_messages_id"),
)

working_scratch = Table(
    "working_scratch",
    metadata,
    Column("scope_id", RowNumber, ForeignKey("scopes.id"), primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("version", Text, nullable=False),
    Column("body", Text, nullable=False),
)

# Files that memories speak of. A blob is stored once for a tenant, and lives as long as a memory holds it.
blobs = Table(
    "blobs",
    metadata,
    Column("number", RowNumber, primary_key=True, autoincrement=True),
    Column("tenant", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("way", Text, nullable=False),
    # The number of the blob that this one is a difference from, and how many lie below it in that way.
    Column("base", BigInteger),
    Column("depth", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    UniqueConstraint("tenant", "hash", name="uq_blobs_tenant_hash"),
    Index("ix_blobs_base", "base"),
    sqlite_autoincrement=True,
)

blob_holders = Table(
    "blob_holders",
    metadata,
    Column("blob", BigInteger, ForeignKey("blobs.number"), primary_key=True),
    Column("owner", Id, primary_key=True),
    Index("ix_blob_holders_owner", "owner"),
)

# Consolidation: who does what, how it went, what failed, and how far each step has come in each place.
work_leases = Table(
    "work_leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("worker", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("until", Instant, nullable=False),
)

work_runs = Table(
    "work_runs",
    metadata,
    Column("step", String(16), primary_key=True),
    Column("finished_at", Instant, nullable=False),
    Column("succeeded_at", Instant),
    Column("worker", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("done", BigInteger, nullable=False),
    Column("total", BigInteger, nullable=False),
    Column("runs", BigInteger, nullable=False),
    Column("failures", BigInteger, nullable=False),
    Column("error", Text, nullable=False),
)

work_troubles = Table(
    "work_troubles",
    metadata,
    Column("id", Id, primary_key=True),
    Column("step", String(16), nullable=False),
    Column("item", Text, nullable=False),
    Column("scope_id", RowNumber, ForeignKey("scopes.id"), nullable=False),
    Column("error", Text, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("first_at", Instant, nullable=False),
    Column("last_at", Instant, nullable=False),
    Column("retry_at", Instant, nullable=False),
    Column("parked_at", Instant),
    Column("body", Text),
)

work_marks = Table(
    "work_marks",
    metadata,
    Column("step", String(16), primary_key=True),
    Column("scope_id", RowNumber, ForeignKey("scopes.id"), primary_key=True, autoincrement=False),
    Column("place", BigInteger, nullable=False),
    # Of decay alone: up to when importance has been brought. Of purges, `place` is how many there were.
    Column("at", Instant),
)

COUNTERS: Final = ("vector_change", "vector_epoch", "commits")
"""`vector_change` numbers changes; `vector_epoch` moves on when tombstones are swept and everybody must load afresh;
`commits` counts what was committed to a SQLite file: `mark.py`.
"""

# Search by words. SQLite: an FTS5 table whose `marks` carry what a search filters by, as terms of the index.
# PostgreSQL: a table whose tsvector the database derives by itself.
texts_sqlite: Final = (
    'CREATE VIRTUAL TABLE texts USING fts5(body, marks, tokenize = "porter unicode61 remove_diacritics 2")'
)

# What processes that hold words or columns in memory have to hear of: rows that hold at other times, or have other
# words, other data or none. Only the last are kept: who has not heard for longer reads everything again.
text_changes_sqlite: Final = """\
CREATE TABLE text_changes (number INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER NOT NULL, reworded BOOLEAN NOT NULL)"""
text_changes_sqlite_told: Final = """\
CREATE TRIGGER memories_changed
AFTER UPDATE OF scope_id, kind, data, created_at, valid_from, valid_to, expires_at, superseded_at ON memories
BEGIN INSERT INTO text_changes (seq, reworded) VALUES (new.seq, 0); END"""
text_changes_sqlite_kept: Final = """\
CREATE TRIGGER text_changes_forgotten AFTER INSERT ON text_changes
BEGIN DELETE FROM text_changes WHERE number <= new.number - 10000; END"""
text_changes_sqlite_all: Final = (text_changes_sqlite, text_changes_sqlite_told, text_changes_sqlite_kept)
LANGUAGE: Final = "english"
"""The language that words are stemmed for, unless `migrate` is told another."""

TEXT_CONFIGURATION: Final = "scrubjay_words"
"""PostgreSQL's stemmer without its stop words: which words of a question to drop is decided before."""

texts_postgresql_configuration: Final = (
    f"CREATE TEXT SEARCH DICTIONARY {TEXT_CONFIGURATION} (TEMPLATE = snowball, LANGUAGE = {LANGUAGE})",
    f"CREATE TEXT SEARCH CONFIGURATION {TEXT_CONFIGURATION} (COPY = simple)",
    f"ALTER TEXT SEARCH CONFIGURATION {TEXT_CONFIGURATION} ALTER MAPPING FOR asciiword, word WITH {TEXT_CONFIGURATION}",
)

texts = Table(
    "texts",
    MetaData(),
    Column("seq", BigInteger, ForeignKey(memories.c.seq, ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    Column("words", Words, Computed(f"to_tsvector('{TEXT_CONFIGURATION}', body)", persisted=True), nullable=False),
)

texts_postgresql: Final = (
    "CREATE TABLE texts ("
    "seq BIGINT NOT NULL, body TEXT NOT NULL, "
    f"words TSVECTOR GENERATED ALWAYS AS (to_tsvector('{TEXT_CONFIGURATION}', body)) STORED NOT NULL, "
    "CONSTRAINT pk_texts PRIMARY KEY (seq), "
    "CONSTRAINT fk_texts_seq FOREIGN KEY (seq) REFERENCES memories (seq) ON DELETE CASCADE)"
)
texts_postgresql_index: Final = "CREATE INDEX ix_texts_words ON texts USING gin (words)"

# For PostgreSQL alone, which chooses by its statistics when this one pays: docs/decisions/0008-postgres-indexes.md.
memories_postgresql_kind: Final = "CREATE INDEX ix_memories_kind ON memories (scope_id, kind, seq)"

# Not of some rows only: the planner knows how many have a value from the statistics that come with the whole.
memories_postgresql_data: Final = "CREATE INDEX ix_memories_data ON memories USING gin ((data::jsonb) jsonb_path_ops)"

# In the order of code points, as on SQLite, whatever the language of the server: keys that begin alike stand together.
# Not in the column's type, with which SQLAlchemy would cast every value that it compares a key with.
memories_postgresql_key: Final = 'ALTER TABLE memories ALTER COLUMN key TYPE TEXT COLLATE "C"'


def _on_create(statement: str, dialect: str | None = None) -> None:
    ddl = DDL(statement)  # type: ignore[no-untyped-call]  # SQLAlchemy has not typed its constructor
    event.listen(metadata, "after_create", ddl.execute_if(dialect=dialect) if dialect else ddl)


_on_create(texts_sqlite, "sqlite")
for _statement in text_changes_sqlite_all:
    _on_create(_statement, "sqlite")
for _statement in texts_postgresql_configuration:
    _on_create(_statement, "postgresql")
_on_create(texts_postgresql, "postgresql")
_on_create(texts_postgresql_index, "postgresql")
_on_create(memories_postgresql_kind, "postgresql")
_on_create(memories_postgresql_data, "postgresql")
_on_create(memories_postgresql_key, "postgresql")
for _name in COUNTERS:
    _on_create(f"INSERT INTO counters (name, value) VALUES ('{_name}', 0)")
