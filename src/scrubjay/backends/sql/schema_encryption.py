"""The table of encryption: the data keys of tenants, wrapped with a master key that no store knows."""

from sqlalchemy import Column, Index, Integer, LargeBinary, String, Table, Text

from scrubjay.backends.sql.schema import metadata
from scrubjay.backends.sql.types import Instant

data_keys = Table(
    "data_keys",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("master", String(32), nullable=False),
    Column("wrapped", LargeBinary, nullable=False),
    Column("created_at", Instant, nullable=False),
    Index("ix_data_keys_master", "master"),
)
