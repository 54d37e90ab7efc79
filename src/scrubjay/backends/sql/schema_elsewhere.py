"""What the record store remembers of others: where sessions are kept, and what is left to remove where models share."""

from sqlalchemy import Column, Index, String, Table, Text

from scrubjay.backends.sql.schema import metadata
from scrubjay.backends.sql.types import Instant

# Where something of this store is kept that is not in it, as those who kept it there were configured.
kept_elsewhere = Table(
    "kept_elsewhere",
    metadata,
    Column("what", String(32), primary_key=True),
    Column("place", Text, primary_key=True),
    Column("at", Instant, nullable=False),
)

# Names of vectors of what was purged, until they are gone from where processes share them. They are digests.
shared_leftovers = Table(
    "shared_leftovers",
    metadata,
    Column("name", Text, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("due", Instant, nullable=False),
    Index("ix_shared_leftovers_due", "due"),
)
