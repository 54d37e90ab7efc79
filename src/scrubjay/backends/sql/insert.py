"""An INSERT that can say what becomes of a row that is there already: each dialect has its own."""

from typing import TYPE_CHECKING

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import sqlite

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql


def insert_into(connection: Connection, table: Table) -> "sqlite.Insert | postgresql.Insert":
    """Both know `on_conflict_do_nothing` and `on_conflict_do_update`."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 -- brings all of its drivers, and has its users only here

    return postgresql.insert(table)
