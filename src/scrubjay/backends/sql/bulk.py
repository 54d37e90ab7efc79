"""Rows into a table of a SQLite file, many at once and straight to its driver, in the form that it takes quickest."""

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import Any


def insert(file: sqlite3.Connection, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Insert these rows, which have a value for each of the columns.

    A column in which no row has anything is left out. The driver asks around before it binds a None, or bytes, whether
    anybody has taught it how, and that takes longer than to bind a number: so give blobs as `bytearray`.
    """
    if len(rows) == 1:
        [row] = rows
        kept = [at for at, value in enumerate(row) if value is not None]
        file.execute(_statement(table, tuple([columns[at] for at in kept])), [row[at] for at in kept])
        return
    values = list(zip(*rows, strict=True))
    kept = [at for at, those in enumerate(values) if those.count(None) < len(those)]
    few = zip(*(values[at] for at in kept), strict=True) if len(kept) < len(values) else rows
    file.executemany(_statement(table, tuple([columns[at] for at in kept])), few)


@lru_cache(maxsize=256)
def _statement(table: str, columns: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
