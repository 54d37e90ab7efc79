"""A column: what the memories of one tenant say at one path of `data`, sorted, so that a condition is a stretch of it.

It says what `meets` says, which is the definition. Whatever is not a text, a number or a truth value only exists.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from scrubjay.model import Json
from scrubjay.model.query import meets

RECENT: Final = 2_000
"""Rows that are held against a condition one by one before they are sorted in, or a twentieth of all: a millisecond."""

GATHERED: Final = 10_000
"""Rows that are read, at least, before they are sorted in."""

_ROW: Final = 8
_VALUE: Final = 80
"""Bytes that a row takes, and a value of its own beside its letters, about."""

_SOMETHING: Final[Json] = []
"""Stands for every list and every object: no condition looks further."""


class Meeting(NamedTuple):
    """The rows that meet a condition, as stretches of a column that nobody changes any more."""

    stretches: Sequence[Sequence[int]]
    recent: Sequence[int]
    left_out: Sequence[Collection[int]]
    """Rows of the stretches that do not count."""
    is_outside: bool
    """Whether it is all the others that meet it, those that say nothing there among them."""

    @property
    def most(self) -> int:
        """How many rows it names at most, which is known before they are."""
        return sum(map(len, self.stretches)) + len(self.recent)

    @property
    def numbers(self) -> list[int]:
        """The rows by their numbers, in order, each once."""
        left_out = set().union(*self.left_out) if any(self.left_out) else ()
        return sorted(chain(_without(chain.from_iterable(self.stretches), left_out), self.recent))


class Column:
    """Rows by what they say. Not safe for threads; what it returns is the caller's."""

    def __init__(self) -> None:
        self._numbers = _Sorted()
        self._texts = _Sorted()
        self._truths: dict[bool, list[int]] = {False: [], True: []}
        self._others: list[int] = []
        self._recent: dict[int, Json] = {}
        self._outdated: set[int] = set()
        self._letters = 0

    @property
    def size(self) -> int:
        """The bytes it takes, about."""
        values = len(self._numbers.values) + len(self._texts.values) + len(self._recent)
        return _VALUE * values + _ROW * self.rows + self._letters

    @property
    def rows(self) -> int:
        """How many rows are sorted in."""
        return sum(map(len, (self._numbers.rows, self._texts.rows, self._others, *self._truths.values())))

    def tell(self, said: Mapping[int, Json], *, gone: Iterable[int] = ()) -> None:
        """Take in what rows say, instead of what they may have said before, and that some say nothing any more."""
        for row in gone:
            self._recent.pop(row, None)
            self._outdated.add(row)
        for row, value in said.items():
            self._recent.pop(row, None)
            self._outdated.add(row)
            self._enter(row, value)
        self._settle_many()

    def append(self, said: Iterable[tuple[int, Json]]) -> None:
        """Take in what rows say of which it has not heard."""
        for row, value in said:
            self._enter(row, value)
        self._settle_many()

    def _enter(self, row: int, value: Json) -> None:
        if value is not None:
            self._recent[row] = _SOMETHING if isinstance(value, list | dict) else value

    def _settle_many(self) -> None:
        if max(len(self._recent), len(self._outdated)) > max(RECENT, self.rows // 20):
            self.settle()

    def settle(self) -> None:
        """Sort in what is recent, and let go of what is outdated."""
        said, gone = self._recent, self._outdated
        self._numbers = self._numbers.with_these({row: value for row, value in said.items() if _is_number(value)}, gone)
        self._texts = self._texts.with_these(
            {row: value for row, value in said.items() if isinstance(value, str)}, gone
        )
        for truth, rows in self._truths.items():
            self._truths[truth] = [*_without(rows, gone), *(row for row, value in said.items() if value is truth)]
        self._others = [*_without(self._others, gone), *(row for row, value in said.items() if isinstance(value, list))]
        self._recent, self._outdated = {}, set()
        self._letters = sum(map(len, self._texts.values))

    def meeting(self, wanted: Json) -> Meeting:
        """The rows that meet this condition of a filter."""
        # Who says nothing there meets it or does not, and is not here: so those are named who differ from that.
        is_outside = meets(None, wanted)
        recent = [row for row, value in self._recent.items() if meets(value, wanted) is not is_outside]
        left_out: list[Collection[int]] = [frozenset(self._outdated)]
        if not is_outside and isinstance(wanted, dict) and "ne" in wanted:
            left_out += self._equal([wanted["ne"]])
        return Meeting(self._refusing(wanted) if is_outside else self._stretches(wanted), recent, left_out, is_outside)

    def _refusing(self, wanted: Json) -> Sequence[Sequence[int]]:
        """Those that say something and do not meet a condition that is met by saying nothing."""
        # Which is None, or not to exist, or not to be something: nothing else is met so.
        if isinstance(wanted, dict) and "exists" not in wanted:
            return self._equal([wanted["ne"]])
        return self._saying()

    def _stretches(self, wanted: Json) -> Sequence[Sequence[int]]:
        match wanted:
            case list():
                return self._equal(wanted)
            case {"in": list(members)}:
                return self._equal([one for one in members if meets(one, wanted)])
            case {"exists": False}:
                return []
            case dict():
                bounds = {name: bound for name, bound in wanted.items() if name not in ("exists", "ne")}
                return self._between(bounds) if bounds else self._saying()
        return self._equal([wanted])

    def _between(self, bounds: Mapping[str, Json]) -> Sequence[Sequence[int]]:
        """Those within bounds, which are all of one type, or nobody is."""
        if all(isinstance(bound, str) for bound in bounds.values()):
            return [self._texts.between(bounds)]
        return [self._numbers.between(bounds)] if all(map(_is_number, bounds.values())) else []

    def _equal(self, members: Sequence[Json]) -> Sequence[Sequence[int]]:
        """Those that equal one of these, each once."""
        stretches: list[Sequence[int]] = []
        for is_truth, one in dict.fromkeys((isinstance(one, bool), one) for one in members):
            if is_truth:
                stretches.append(self._truths[bool(one)])
            else:
                same = self._texts if isinstance(one, str) else self._numbers
                stretches.append(same.between({"gte": one, "lte": one}))
        return stretches

    def _saying(self) -> Sequence[Sequence[int]]:
        return [self._numbers.rows, self._texts.rows, self._others, *self._truths.values()]


class Gathering:
    """A column while it is read. It takes hardly more room than the column will, and says early if that is too much."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._column = Column()
        self._said: dict[int, Json] = {}
        self._texts: dict[str, str] = {}
        self._letters = 0

    @property
    def is_too_large(self) -> bool:
        """Whether what has been read takes more room than it may."""
        return self._letters > self._most or self._column.size > self._most

    def add(self, said: Mapping[int, Json]) -> None:
        """Take in what some rows say."""
        for row, value in said.items():
            self._said[row] = self._shared(value) if isinstance(value, str) else value
        # As many as there are each time: to sort in few takes as long as to sort in many.
        if len(self._said) > max(GATHERED, self._column.rows):
            self._sort_in()

    def _shared(self, text: str) -> str:
        """The same text, which is one for all rows that say it."""
        if (known := self._texts.get(text)) is not None:
            return known
        self._letters += len(text)
        return self._texts.setdefault(text, text)

    def whole(self) -> Column:
        """The column of all rows."""
        self._sort_in()
        return self._column

    def _sort_in(self) -> None:
        self._column.append(self._said.items())
        self._column.settle()
        self._said = {}


class _Sorted:
    """Rows by values of one type, in the order of these."""

    def __init__(self, groups: Mapping[Any, Sequence[int]] | None = None) -> None:
        groups = groups or {}
        self.values = sorted(value for value, rows in groups.items() if rows)
        self.rows = array("q", chain.from_iterable(groups[value] for value in self.values))
        self._starts = array("q", [0])
        for value in self.values:
            self._starts.append(self._starts[-1] + len(groups[value]))

    def with_these(self, said: Mapping[int, Any], gone: Collection[int]) -> "_Sorted":
        """The same with more rows, and without some."""
        if not said and not gone:
            return self
        groups: dict[Any, list[int]] = {}
        for at, value in enumerate(self.values):
            groups[value] = list(_without(self.rows[self._starts[at] : self._starts[at + 1]], gone))
        for row, value in said.items():
            groups.setdefault(value, []).append(row)
        return _Sorted(groups)

    def between(self, bounds: Mapping[str, Any]) -> Sequence[int]:
        """The rows whose values lie within these bounds."""
        first, last = 0, len(self.values)
        for name, bound in bounds.items():
            if name in ("gt", "gte"):
                at = bisect_right(self.values, bound) if name == "gt" else bisect_left(self.values, bound)
                first = max(first, at)
            else:
                at = bisect_left(self.values, bound) if name == "lt" else bisect_right(self.values, bound)
                last = min(last, at)
        return self.rows[self._starts[first] : self._starts[last]] if first < last else ()


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _without(rows: Iterable[int], some: Collection[int]) -> Iterable[int]:
    return (row for row in rows if row not in some) if some else rows
