"""Find rows by the values of several columns at once, through the index over those columns."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, Select, and_, bindparam, column, values

Statement = tuple[Select[Any], dict[str, Any]]


class Lookup:
    """A statement over one table, to be narrowed to the rows whose columns have one of several combinations of values.

    A join with the values: `(a, b) IN (…)` would make SQLite read the whole table. One combination, which is what a
    single write asks for, is a statement made once.
    """

    def __init__(self, statement: Select[Any], *columns: Column[Any]) -> None:
        self._statement = statement
        self._columns = columns
        self._one = statement.where(*(one == bindparam(f"wanted_{one.name}", type_=one.type) for one in columns))

    def of(self, wanted: Sequence[tuple[Any, ...]]) -> Statement:
        """The statement for these combinations, each in the order of the columns, and its parameters."""
        if len(wanted) == 1:
            names = [f"wanted_{one.name}" for one in self._columns]
            return self._one, dict(zip(names, wanted[0], strict=True))
        given = values(*(column(one.name, one.type) for one in self._columns), name="wanted").data(wanted).cte("wanted")
        same = and_(*(one == given.c[one.name] for one in self._columns))
        return self._statement.select_from(given.join(self._columns[0].table, same)), {}
