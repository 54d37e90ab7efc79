"""Rows into a table of a SQLite file, many at once and straight to its driver, in the form that it takes quickest."""

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final

AT_ONCE: Final = 250
"""Rows of one statement. Even of the widest table their values are a fifth of what SQLite takes."""


def insert(file: sqlite3.Connection, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Insert these rows, which have a value for each of the columns.

    A column in which no row has anything is left out. The driver asks around before it binds a None, or bytes, whether
    anybody has taught it how, and that takes longer than to bind a number: so give blobs as `bytearray`. And what it
    does around each statement takes as long as to insert a row of it, so many rows go with one.
    """
    if len(rows) == 1:
        [row] = rows
        kept = [at for at, value in enumerate(row) if value is not None]
        file.execute(_statement(table, tuple([columns[at] for at in kept])), [row[at] for at in kept])
        return
    values = list(zip(*rows, strict=True))
    kept = [at for at, those in enumerate(values) if those.count(None) < len(those)]
    few = list(zip(*[values[at] for at in kept], strict=True)) if len(kept) < len(values) else rows
    names = tuple([columns[at] for at in kept])
    whole = len(few) - len(few) % AT_ONCE
    for start in range(0, whole, AT_ONCE):
        together = list(chain.from_iterable(few[start : start + AT_ONCE]))
        file.execute(_statement(table, names, AT_ONCE), together)
    if whole < len(few):
        file.executemany(_statement(table, names), few[whole:])


@lru_cache(maxsize=256)
def _statement(table: str, columns: tuple[str, ...], rows: int = 1) -> str:
    values = f"({', '.join('?' * len(columns))})"
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([values] * rows)}"
