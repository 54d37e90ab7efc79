"""Columns: what is asked of `data` again and again on a SQLite file, held in memory.

To read the JSON of every memory takes 50 to 80 ms among 100,000. So a path that is asked for more than once is read
into a column, aside, and every question after it first lets the column hear what is new. The file is what counts, and
answers until there is a column. What is encrypted is no data in the file, and in no column.
"""

import json
import re
import sqlite3
import time
import weakref
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from threading import Lock
from typing import Final, NamedTuple, TypeVar

from sqlalchemy import Connection

from scrubjay.backends.aside import Aside
from scrubjay.backends.sql.column import Column, Gathering, Meeting
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.driver import MAY_UNDO, driver_of
from scrubjay.backends.sql.onefile import history_of
from scrubjay.errors import Closed, StoreUnavailable, Unavailable
from scrubjay.logs import logger
from scrubjay.model import Filter, Json
from scrubjay.model.query import value_at

SMALL: Final = 5_000
"""Rows of a file up to which it answers in a few milliseconds anyway."""

PATIENCE: Final = 1
"""Questions after one path that the file answers before its column is read: most commands ask once."""

WALKED: Final = 2_000
"""New rows, of all tenants, that are taken in by the question that meets them: a few milliseconds."""

HEARD: Final = 500
"""Rows that changed, of which a question hears at once. Where there were more, all is read again."""

LIKE: Final = 4
"""A condition that so many times as many rows meet as another is asked of the rows of that one."""

EACH: Final = 8
"""Conditions of one question that are looked for in columns, its first ones. The rest is asked of the rows they name.

A filter may have more conditions than there is room for columns: they would push each other out with every question.
"""

READ_AT_ONCE: Final = 2
"""Columns that are read at the same time. Others wait for their turn, and the file answers."""

STRETCH: Final = 250
PAUSE: Final = 0.002
"""Rows that are read at a time, a millisecond, and seconds between, in which others get their turn."""

MOST: Final = 64
MEMORY: Final = 128 << 20
"""Columns that are held, and bytes that they may take together: those that were asked for last."""

LARGEST: Final = MEMORY // 2
"""Bytes up to which a column is worth its room. One that is larger is not tried again for `REFUSED` seconds."""

REFUSED: Final = 3_600.0

_PLAIN: Final = re.compile(r"[\w $%+,:;/@-]+", re.ASCII)
"""A name that JSON writes in one way only."""

_STATE: Final = (
    "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'memories'), 0), "
    "coalesce((SELECT min(number) FROM text_changes), 0), coalesce((SELECT max(number) FROM text_changes), 0)"
)
_OF_TENANT: Final = "EXISTS (SELECT 1 FROM scopes WHERE scopes.id = memories.scope_id AND scopes.tenant = ?)"
_NEWER: Final = f"SELECT seq, data FROM memories WHERE seq > ? AND seq <= ? AND instr(data, ?) > 0 AND {_OF_TENANT}"
_NUMBERS: Final = (
    "SELECT memories.seq FROM scopes CROSS JOIN memories ON memories.scope_id = scopes.id "
    "WHERE scopes.tenant = ? AND memories.data IS NOT NULL"
)
_CHANGED: Final = "SELECT DISTINCT seq FROM text_changes WHERE number > ? AND seq <= ? LIMIT ?"
_NAMED: Final = (
    "SELECT memories.seq, memories.data FROM (SELECT value AS seq FROM json_each(?)) AS named "
    f"CROSS JOIN memories ON memories.seq = named.seq WHERE instr(memories.data, ?) > 0 AND {_OF_TENANT}"
)

T = TypeVar("T")

_MADE: "Final[weakref.WeakKeyDictionary[Database, Columns]]" = weakref.WeakKeyDictionary()
log = logger("data")


def columns_of(database: Database) -> "Columns":
    """The columns of a database, which all who read it share."""
    # Without a lock: of a process that forks, the new one may find it taken by a thread that it does not have.
    return _MADE.get(database) or _MADE.setdefault(database, Columns(database))


class Narrowed(NamedTuple):
    """What columns say of a filter: which rows meet its conditions on `data`, in any state and any place."""

    among: Sequence[int] | None
    """Only these, in order; None when it is all, but for those outside."""
    outside: Sequence[int]
    """None of these."""
    rest: Filter
    """What is left to be asked of them."""


class Columns:
    """The columns of one file. Any number of processes may write to it."""

    def __init__(self, database: Database) -> None:
        self._database = weakref.ref(database)
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._lock = Lock()
        self._aside = Aside()
        database.at_close(self._shut)

    @property
    def is_reading(self) -> bool:
        """Whether a column is being read."""
        return self._aside.busy > 0

    def holds(self, filter: Filter) -> bool:
        """Whether there is a column for all that is looked for in columns of a filter, and none is being read."""
        with self._lock:
            asked = [self._kept.get((filter.scope.tenant, path)) for path in islice(filter.data, EACH)]
        return all(kept is not None and kept.column is not None and not kept.reading for kept in asked)

    def narrowed(self, connection: Connection, filter: Filter, *, most: int | None = None) -> Narrowed | None:
        """What is known of the conditions of a filter; None when the file has to be asked all of it.

        With `most`, only where it is no more rows than these: who wants a few of many finds them sooner in the file.
        """
        if not filter.data or connection.dialect.name != "sqlite" or MAY_UNDO in connection.info:
            return None
        state = _state(connection)
        if state.newest <= SMALL:
            return None
        meetings = {
            path: meeting
            for path, wanted in islice(filter.data.items(), EACH)
            if (meeting := self._asked(connection, state, filter.scope.tenant, path, wanted)) is not None
        }
        worth = _worth_naming(meetings, most)
        if not worth:
            return None
        rest = {path: wanted for path, wanted in filter.data.items() if path not in worth}
        return _joined(worth.values(), replace(filter, data=rest))

    def _asked(self, connection: Connection, state: "_State", tenant: str, path: str, wanted: Json) -> Meeting | None:
        kept = self._keep(tenant, path)
        with kept.lock:
            self._follow(connection, kept, state)
            return kept.column.meeting(wanted) if kept.column is not None and not kept.reading else None

    def _keep(self, tenant: str, path: str) -> "_Kept":
        """The place of a column, which was asked for last now."""
        with self._lock:
            kept = self._kept.pop((tenant, path), None) or _Kept(tenant, path)
            self._kept[tenant, path] = kept
            while len(self._kept) > MOST:
                self._kept.pop(next(iter(self._kept)))
            return kept

    def _follow(self, connection: Connection, kept: "_Kept", state: "_State") -> None:
        """Let a column hear of all that was committed when the question began, or have it read. Who calls has its lock.

        What has been read of another store, or further than this question sees, is of no use to it.
        """
        if kept.reading:
            return
        if kept.column is not None and not (kept.is_of(state) and _has_heard(driver_of(connection), kept, state)):
            kept.column = None
        if kept.column is not None and state.newest - kept.newest <= WALKED:
            _take_in(driver_of(connection), kept, state.newest)
            return
        if kept.column is None and kept.patience:
            kept.patience -= 1
            return
        self._begin(kept)

    def _begin(self, kept: "_Kept") -> None:
        """Have a column read, or the rest of it. Until then the file answers."""
        if time.monotonic() < kept.refused_until:
            return
        # Several may ask at the same time: who counts those that read begins before another counts.
        with self._lock, suppress(Closed, RuntimeError):  # Shut just now, or no thread is to be had.
            if self._aside.busy < READ_AT_ONCE:
                self._aside.begin(lambda: self._work(kept), name="scrubjay-data")
                kept.reading = True

    def _work(self, kept: "_Kept") -> None:
        try:
            if kept.column is None:
                self._read(kept)
            while kept.column is not None and self._is_wanted(kept) and not self._seen(kept.is_whole):
                time.sleep(PAUSE)
            self._make_room(kept)
        except Unavailable as error:
            log.warning("data not read", tenant=kept.tenant, path=kept.path, error=str(error))
            with kept.lock:
                kept.column = None
        finally:
            with kept.lock:
                kept.reading = False

    def _read(self, kept: "_Kept") -> None:
        """Read all that a tenant has, a little at a time: in one transaction, others might have to wait for it."""
        state, numbers = self._seen(lambda connection: (_state(connection), _numbers(connection, kept.tenant)))
        gathering = Gathering(most=LARGEST)
        for start in range(0, len(numbers), STRETCH):
            some = json.dumps(numbers[start : start + STRETCH].tolist())
            gathering.add(kept.read(self._seen(partial(_named, kept=kept, state=state, numbers=some))))
            if not self._is_wanted(kept):
                return
            if gathering.is_too_large:
                kept.refused_until = time.monotonic() + REFUSED
                return
            time.sleep(PAUSE)
        column = gathering.whole()
        with kept.lock:
            kept.column, kept.history, kept.newest, kept.change = column, state.history, state.newest, state.change

    def _is_wanted(self, kept: "_Kept") -> bool:
        """Whether it is worth to read on: it is open, and no others have been asked for so that this one had to go."""
        return not self._aside.stop.is_set() and self._kept.get((kept.tenant, kept.path)) is kept

    def _seen(self, look: Callable[[Connection], T]) -> T:
        database = self._database()
        if database is None:
            raise Closed
        return database.transact(None, look, immediate=False)

    def _make_room(self, newest: "_Kept") -> None:
        """Let go of the columns that were asked for longest ago, until the rest fits, or of one that is too large."""
        with self._lock:
            if newest.size > LARGEST:
                newest.column, newest.refused_until = None, time.monotonic() + REFUSED
            while sum(kept.size for kept in self._kept.values()) > MEMORY:
                self._kept.pop(next(iter(self._kept)))

    def _shut(self) -> None:
        self._aside.shut()
        with self._lock:
            self._kept.clear()


class _State(NamedTuple):
    """How far the store has come."""

    newest: int
    """The number that was given to a memory last, which may be gone."""
    oldest_change: int
    """The number of the oldest change that is still written down."""
    change: int
    """That of the newest."""
    history: int
    """Which store it is."""


class _Kept:
    """The place of one column, and how much of which store it has heard of. Its lock guards all of it."""

    def __init__(self, tenant: str, path: str) -> None:
        self.tenant = tenant
        self.path = path
        self.lock = Lock()
        self.column: Column | None = None
        self.history = self.newest = self.change = 0
        self.patience = PATIENCE
        self.reading = False
        """Whether a thread is reading it, or the rest of it."""
        self.refused_until = 0.0
        name = path.partition(".")[0]
        self.hint = f'"{name}"' if _PLAIN.fullmatch(name) else ""
        """What the text of all data that says something there contains."""

    @property
    def size(self) -> int:
        """The bytes it takes, about."""
        column = self.column
        return 0 if column is None else column.size

    def is_of(self, state: _State) -> bool:
        """Whether it is of this store, and has heard of nothing that this question does not see."""
        return self.history == state.history and self.newest <= state.newest and self.change <= state.change

    def read(self, rows: Iterable[tuple[int, str]]) -> dict[int, Json]:
        """What these rows say at its path."""
        return {row: value_at(json.loads(data), self.path) for row, data in rows}

    def is_whole(self, connection: Connection) -> bool:
        """Take in some more of what is new; whether that was all. False once it is of no use any more, too."""
        state = _state(connection)
        # The lock comes second, as in a question: a fork waits for those who hold it, and lets nobody begin.
        with self.lock:
            if not self.is_of(state) or not _has_heard(driver_of(connection), self, state):
                self.column = None
                return True
            _take_in(driver_of(connection), self, min(state.newest, self.newest + STRETCH))
            return self.newest >= state.newest


def _state(connection: Connection) -> _State:
    newest, oldest, change = driver_of(connection).execute(_STATE).fetchone()
    return _State(newest, oldest, change, history_of(connection))


def _numbers(connection: Connection, tenant: str) -> "array[int]":
    """The rows of a tenant that have data."""
    return array("q", (row for (row,) in driver_of(connection).execute(_NUMBERS, (tenant,))))


def _named(connection: Connection, kept: _Kept, state: _State, numbers: str) -> list[tuple[int, str]]:
    """Rows of the store that was there when reading began. Raises StoreUnavailable when it is another one by now."""
    if history_of(connection) != state.history:
        raise StoreUnavailable("another store was put in its place meanwhile. It is read when it is asked for next")
    return driver_of(connection).execute(_NAMED, (numbers, kept.hint, kept.tenant)).fetchall()


def _has_heard(file: sqlite3.Connection, kept: _Kept, state: _State) -> bool:
    """Let a column hear which of its rows have changed; False when it has to be read again."""
    if kept.column is None or state.oldest_change > kept.change + 1:
        return False
    if state.change > kept.change:
        changed = [row for (row,) in file.execute(_CHANGED, (kept.change, kept.newest, HEARD + 1))]
        if len(changed) > HEARD:
            return False
        said = kept.read(file.execute(_NAMED, (json.dumps(changed), kept.hint, kept.tenant)))
        kept.column.tell(said, gone=set(changed) - said.keys())
        kept.change = state.change
    return True


def _take_in(file: sqlite3.Connection, kept: _Kept, newest: int) -> None:
    """Let a column take in the rows up to this one."""
    if kept.column is not None and newest > kept.newest:
        rows = file.execute(_NEWER, (kept.newest, newest, kept.hint, kept.tenant))
        kept.column.append(kept.read(rows).items())
        kept.newest = newest


def _worth_naming(meetings: Mapping[str, Meeting], most: int | None) -> dict[str, Meeting]:
    """Those whose rows are worth to be named: the fewest, and what is not many times as many."""
    inside = [meeting.most for meeting in meetings.values() if not meeting.is_outside]
    if most is not None and (not inside or min(inside) > most):
        return {}
    if not inside:
        return dict(meetings)
    return {path: meeting for path, meeting in meetings.items() if meeting.most <= LIKE * min(inside) + LIKE}


def _joined(meetings: Collection[Meeting], rest: Filter) -> Narrowed:
    """What all of these say together."""
    outside = {row for meeting in meetings if meeting.is_outside for row in meeting.numbers}
    inside = [meeting.numbers for meeting in meetings if not meeting.is_outside]
    if not inside:
        return Narrowed(None, sorted(outside), rest)
    if len(inside) == 1 and not outside:
        return Narrowed(inside[0], (), rest)
    return Narrowed(sorted(set(inside[0]).intersection(*inside[1:]) - outside), (), rest)
