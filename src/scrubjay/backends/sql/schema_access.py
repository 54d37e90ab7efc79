"""The tables of access, on the same metadata as all others."""

from sqlalchemy import Boolean, Column, Index, Integer, LargeBinary, String, Table, Text

from scrubjay.backends.sql.schema import RowNumber, metadata
from scrubjay.backends.sql.types import Instant, JsonObject

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("name", Text, nullable=False),
    # Of the secret, which is 256 random bits, so nobody can guess it from its SHA-256.
    Column("digest", LargeBinary(32), nullable=False),
    Column("rights", Text, nullable=False),
    Column("users", JsonObject),
    Column("projects", JsonObject),
    Column("agents", JsonObject),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant),
    Column("revoked_at", Instant),
    Column("used_at", Instant),
    Index("ix_api_keys_tenant", "tenant", "created_at"),
)

audit_log = Table(
    "audit_log",
    metadata,
    Column("number", RowNumber, primary_key=True, autoincrement=True),
    Column("at", Instant, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("key", Text),
    Column("action", String(64), nullable=False),
    Column("target", Text, nullable=False),
    Column("ids", JsonObject),
    Column("request", Text, nullable=False),
    Index("ix_audit_log_tenant", "tenant", "number"),
    sqlite_autoincrement=True,
)

# A row without `done` is a claim: somebody is at it until then. A row that is done and has no body had an answer that
# was too large to keep, or that went with a memory that was purged.
kept_answers = Table(
    "kept_answers",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("name", LargeBinary(32), primary_key=True),
    Column("request", LargeBinary(32), nullable=False),
    Column("done", Boolean, nullable=False),
    Column("status", Integer, nullable=False),
    Column("headers", JsonObject),
    Column("body", LargeBinary),
    Column("until", Instant, nullable=False),
    Index("ix_kept_answers_until", "until"),
)
