"""The shelf: the books that this process holds, one for each tenant that is searched often, and how they keep up.

The index of words on disk is what counts, and answers until a book has been read. Every search first asks how far the
store has come, which takes microseconds, and its book takes in what is new: what another process has told is found, and
what it has forgotten is not.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from threading import Lock
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Integer, LargeBinary, column, select, text, type_coerce

from scrubjay.backends.aside import Aside
from scrubjay.backends.freed import give_back
from scrubjay.backends.roll import ALWAYS
from scrubjay.backends.sql.asking_sqlite import ALONE, IS_ALONE
from scrubjay.backends.sql.book import Asked, Book, Row
from scrubjay.backends.sql.columns import columns_of
from scrubjay.backends.sql.conditions import conditions
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.onefile import history_of
from scrubjay.backends.sql.postings import Part, Postings, Words, gathered, part_of
from scrubjay.backends.sql.readership import REFUSED, Tenant, Tenants, leaving
from scrubjay.backends.sql.schema import memories
from scrubjay.backends.sql.texts_sqlite import EVERYTHING
from scrubjay.backends.sql.types import id_from, microseconds
from scrubjay.backends.sql.weighing import LOOKED_AT
from scrubjay.errors import Closed, StoreUnavailable, Unavailable
from scrubjay.logs import logger
from scrubjay.model import PLACE_NAMES, Filter
from scrubjay.model.words import words_of
from scrubjay.ports import Match

AT_ONCE: Final = 500
WALKED: Final = 5_000
"""New rows that are taken in by the search that meets them, 5 ms, and rows of all tenants that it walks through for it.

Where there are more, they are read aside, and the index on disk answers meanwhile.
"""

LARGEST: Final = 3_000_000
"""Rows of a tenant up to which it gets a book. One of a million takes about 200 MB."""

MEMORY: Final = 1 << 30
"""Bytes that all books may take. Who stays is said in `readership`."""

ROOMY: Final = 0.75
"""The part of that up to which it is not looked how large they are by now: a service may have many thousands."""

READ_AT_ONCE: Final = 2
"""Books that are read at the same time. Other tenants wait for their turn, and the index on disk answers."""

AHEAD: Final = 5.0
"""Seconds for which a book may have heard of more than searches see."""

NAMED: Final = 5_000
"""Rows up to which those that have the values of a filter are named: of more, enough are among the best anyway."""

FURTHER: Final = 4
"""How many times as many rows are looked at, when a filter leaves too few of the best."""

WORDS: Final = 200_000
"""Words whose numbers are remembered while a book is read."""

CHUNK: Final = 64
PAUSE: Final = 0.002
"""Rows that are read at a time, half a millisecond, and seconds between, in which others get their turn.

A recall among 100,000 with the bundled model takes 13 ms meanwhile and 20 for one in twenty; with 200 rows and half a
millisecond between, 20 and 37.
"""

FEW: Final = 20_000
SHORT_PAUSE: Final = 0.0005
"""Rows up to which pauses are short: of the first 200 recalls among 10,000 half take 1.8 ms, with long ones 3.4."""

_STATE: Final = (
    "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'memories'), 0), "
    "coalesce((SELECT min(number) FROM text_changes), 0), coalesce((SELECT max(number) FROM text_changes), 0)"
)
_UNTIL: Final = f"min(ifnull(memories.valid_to, {ALWAYS}), ifnull(memories.expires_at, {ALWAYS}))"
_ROW: Final = (
    "SELECT memories.seq, memories.id, memories.scope_id, memories.kind, "
    f"memories.superseded_at IS NULL AND {_UNTIL} > memories.created_at, "
    "CASE WHEN memories.valid_from > memories.created_at THEN memories.valid_from ELSE 0 END, "
    f"{_UNTIL}, {ALONE}, texts_content.c0"
)
_OF_TENANT: Final = "EXISTS (SELECT 1 FROM scopes WHERE scopes.id = memories.scope_id AND scopes.tenant = ?)"
# A cross join keeps the order of its parts.
_NAMED: Final = (
    f"{_ROW} FROM (SELECT value AS seq FROM json_each(?)) AS named CROSS JOIN memories ON memories.seq = named.seq "
    "CROSS JOIN texts_content ON texts_content.id = memories.seq "
    f"WHERE {_OF_TENANT}"
)
_NEWER: Final = (
    f"{_ROW} FROM memories CROSS JOIN texts_content ON texts_content.id = memories.seq "
    f"WHERE memories.seq > ? AND {_OF_TENANT} ORDER BY memories.seq LIMIT ?"
)
_CHANGED: Final = "SELECT seq, max(reworded) FROM text_changes WHERE number > ? GROUP BY seq"
_NUMBERS: Final = (
    "SELECT memories.seq FROM scopes CROSS JOIN memories ON memories.scope_id = scopes.id WHERE scopes.tenant = ? "
    "LIMIT ?"
)
_SCOPES: Final = f"SELECT id, {', '.join(PLACE_NAMES)} FROM scopes WHERE id IN (SELECT value FROM json_each(?))"

T = TypeVar("T")
log = logger("words")


class Shelf:
    """Searches by words in memory, as far as there are books. Any number of processes may write to the store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._columns = columns_of(database)
        self._tenants = Tenants()
        self._lock = Lock()
        self._aside = Aside()
        database.at_close(self._shut)

    def match(
        self, connection: Connection, terms: Sequence[str], filter: Filter, now: datetime, limit: int
    ) -> list[Match] | None:
        """The memories with any of the terms, best first; None when the index on disk has to be asked."""
        found = self.look_up(connection, terms, filter)
        if found is None:
            return None
        book, asked = found
        if filter.is_plain:
            return book.best(asked, filter, now=microseconds(now), limit=limit)
        narrowed = self._columns.narrowed(connection, filter, most=NAMED)
        among = narrowed.among if narrowed is not None else None
        rest = filter if narrowed is None or among is None else narrowed.rest
        matches: list[Match] = []
        # Of those that have the values nearly all pass.
        looked_at, most = 0, LOOKED_AT if among is None else limit + limit // 4 + 20
        while len(matches) < limit and looked_at < most:
            weighed = book.weighed(asked, filter, most=most, among=among)
            passing = _passing(connection, [seq for seq, _ in weighed[looked_at:]], rest, now)
            matches += [passing[seq]._replace(score=score) for seq, score in weighed[looked_at:] if seq in passing]
            # The filter leaves few of them, so that it is held against many more.
            looked_at, most = most, FURTHER * most if len(weighed) == most else most
        return matches[:limit]

    def look_up(self, connection: Connection, terms: Sequence[str], filter: Filter) -> tuple[Book, Asked] | None:
        """The book that can answer, and what it has of these words; None when the index on disk should be asked."""
        if not all(map(_is_word, terms)):
            return None
        tenant = self._tenant(filter.scope.tenant)
        with tenant.lock:
            book = self._current(connection, tenant)
            return None if book is None else (book, book.look_up(terms, filter))

    def _tenant(self, name: str) -> Tenant:
        with self._lock:
            return self._tenants.asked(name, time.monotonic())

    def _current(self, connection: Connection, tenant: Tenant) -> Book | None:
        """The book of a tenant with everything that was committed when the search began, if there is one."""
        if tenant.is_too_large(time.monotonic()):
            return None
        file, state = driver_of(connection), _state(connection)
        if tenant.book is not None and self._is_stray(tenant, tenant.book, state):
            tenant.book = None
        if tenant.book is not None and not _has_heard(file, tenant.book, tenant.name, state):
            tenant.book = None
        is_whole = tenant.book is not None and _has_taken_in(file, tenant.book, tenant.name, state)
        if tenant.book is None and tenant.patience:
            tenant.patience -= 1
        elif (not is_whole or tenant.book is None or tenant.book.is_worn) and not tenant.reading:
            self._start(tenant)
        return tenant.book if is_whole else None

    def _is_stray(self, tenant: Tenant, book: Book, state: "_State") -> bool:
        """Whether it is of another store, or the store has gone back behind it, as when an older one took its place."""
        if book.history != state.history:
            return True
        if state.newest >= book.newest and state.change >= book.change:
            tenant.ahead_since = None
            return False
        # For a moment, it is a search that began earlier.
        tenant.ahead_since = tenant.ahead_since or time.monotonic()
        return time.monotonic() - tenant.ahead_since > AHEAD

    def _start(self, tenant: Tenant) -> None:
        """Have the book of this tenant read, or the rest of it. The caller holds its lock."""
        if self._aside.busy >= READ_AT_ONCE or (tenant.book is None and not self._has_room(tenant)):
            return
        with suppress(Closed, RuntimeError):  # Shut just now, or no thread is to be had: the index on disk answers.
            self._aside.begin(lambda: self._work(tenant), name="scrubjay-words")
            # Only now: had it not begun, nobody would try again. It cannot come to its end before the lock is free.
            tenant.reading = True

    def _work(self, tenant: Tenant) -> None:
        try:
            self._read(tenant)
            self._make_room(tenant)
        except Unavailable as error:
            log.warning("words not read", tenant=tenant.name, error=str(error))
        finally:
            with tenant.lock:
                tenant.reading = False
                if tenant.book is None:
                    tenant.be_patient()

    def _read(self, tenant: Tenant) -> None:
        """Read on from where the book ends, or all of it anew, a little at a time."""
        with tenant.lock:
            book = tenant.book
        if book is None or book.is_worn:
            book = self._whole(tenant)
            with tenant.lock:
                tenant.book = None if self._aside.stop.is_set() else book
            give_back()
            return

        def is_whole(connection: Connection) -> bool:
            file, state = driver_of(connection), _state(connection)
            # The lock comes second, as in a search: a fork waits for those who hold it, and lets nobody begin.
            with tenant.lock:
                if tenant.book is not book or book.history != state.history:
                    return True
                return _has_taken_in(file, book, tenant.name, state, aside=True)

        while not self._aside.stop.is_set() and not self._seen(is_whole):
            time.sleep(PAUSE)

    def _seen(self, look: Callable[[Connection], T]) -> T:
        return self._database.transact(None, look, immediate=False)

    def _whole(self, tenant: Tenant) -> Book | None:
        """All that a tenant has; None when that is too much.

        Not in one transaction, which others might have to wait for. What changes meanwhile is heard of afterwards, by
        the number that was the newest before; here already, for it may be more than a search can hear of.
        """
        state, numbers = self._seen(lambda read: (_state(read), _numbers(driver_of(read), tenant.name)))
        if len(numbers) > LARGEST:
            tenant.be_too_large(time.monotonic())
            return None
        book = Book(history=state.history, newest=state.newest, change=state.change, room=len(numbers))
        words = Words(WORDS)

        def rows_of(some: Sequence[int]) -> list[Sequence[Any]]:
            return self._seen(lambda read: _rows(_same(read, book), book, _NAMED, json.dumps(some), tenant.name))

        def parts() -> Iterator[Part]:
            for start in range(0, len(numbers), CHUNK):
                if self._aside.stop.is_set():
                    return
                rows = rows_of(numbers[start : start + CHUNK].tolist())
                if rows:
                    yield part_of(len(book), book.entered(rows), words)
                time.sleep(SHORT_PAUSE if len(numbers) <= FEW else PAUSE)

        book.postings = Postings(list(gathered(parts())))
        self._seen(lambda read: _has_heard(_same(read, book), book, tenant.name, _state(read), aside=True))
        return book

    def _has_room(self, tenant: Tenant) -> bool:
        """Whether there is a place for the book of this tenant, as large as it was when it was last here."""
        now = time.monotonic()
        if not tenant.is_weighed(now):
            return True
        if now < tenant.refused_until:
            return False
        with self._lock:
            if leaving(tenant, self._others(tenant), room=MEMORY, now=now) is not None:
                return True
        tenant.refused_until = now + REFUSED
        return False

    def _make_room(self, newest: Tenant) -> None:
        """Let go of books until the rest fits: of those that are asked for least, or of the newest."""
        now = time.monotonic()
        if newest.book is None:
            return
        with self._lock:
            if self._tenants.get(newest.name) is not newest:  # It had to go while it was read, and takes no room.
                return
            others = self._others(newest)
            newest.weigh(now)
            # They have grown since they were weighed, which matters where there is little room left.
            if sum(tenant.size for tenant in others) + newest.size > MEMORY * ROOMY:
                for tenant in others:
                    tenant.weigh(now)
            gone = leaving(newest, others, room=MEMORY, now=now)
            if gone is None:
                newest.refused_until = now + REFUSED
            for tenant in [newest] if gone is None else gone:
                if self._tenants.get(tenant.name) is tenant:
                    self._tenants[tenant.name] = tenant.without_book()

    def _others(self, one: Tenant) -> list[Tenant]:
        """The other tenants that have books. The caller holds the lock."""
        return [tenant for tenant in self._tenants.values() if tenant.book is not None and tenant.name != one.name]

    def _shut(self) -> None:
        self._aside.shut()
        with self._lock:
            self._tenants.clear()


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


def _state(connection: Connection) -> _State:
    newest, oldest_change, change = driver_of(connection).execute(_STATE).fetchone()
    return _State(newest, oldest_change, change, history_of(connection))


def _same(connection: Connection, book: Book) -> sqlite3.Connection:
    """The file, as long as it holds the store that the book is read from. Raises StoreUnavailable when it does not."""
    if history_of(connection) != book.history:
        raise StoreUnavailable("another store was put in its place meanwhile. It is read when it is searched next")
    return driver_of(connection)


def _numbers(file: sqlite3.Connection, tenant: str) -> NDArray[np.int64]:
    """Those of the memories of a tenant, in order; one more than `LARGEST` when there are more."""
    found = file.execute(_NUMBERS, (tenant, LARGEST + 1))
    return np.sort(np.fromiter((seq for (seq,) in found), np.int64))


def _is_word(term: str) -> bool:
    """Whether a term is one word as the index has it; anything else is taken apart by FTS5."""
    if term.isascii():
        return term.isalnum() and term == term.lower()
    return words_of(term) == [term]


def _has_heard(file: sqlite3.Connection, book: Book, tenant: str, state: _State, *, aside: bool = False) -> bool:
    """Let the book hear what became of its memories; False when it has to be read again.

    It may have heard more than a search sees that began earlier. What that one cannot see is not found by it.
    """
    if state.change > book.change:
        if state.oldest_change > book.change + 1:
            return False
        reworded = dict(file.execute(_CHANGED, (book.change,)).fetchall())
        # Most may be of other tenants: they do not count. What is newer than the book is taken in as it is by then.
        changed = book.slots_of(reworded)
        if EVERYTHING in reworded or (len(changed) > AT_ONCE and not aside):
            return False
        if changed:
            rows = _rows(file, book, _NAMED, json.dumps(sorted(changed)), tenant)
            book.hear(changed, {seq for seq in changed if reworded[seq]}, map(Row._make, rows))
        book.change = state.change
    return True


def _has_taken_in(file: sqlite3.Connection, book: Book, tenant: str, state: _State, *, aside: bool = False) -> bool:
    """Let the book take in what is newer, if that is not too much at once; whether it has it all."""
    most = CHUNK if aside else AT_ONCE
    # Whoever sees less than the book has heard of would tell it of memories as they were before.
    is_up_to_date = state.change >= book.change
    if state.newest > book.newest and is_up_to_date and (aside or state.newest - book.newest <= WALKED):
        rows = _rows(file, book, _NEWER, book.newest, tenant, most + 1)
        if aside or len(rows) <= most:
            book.take_in(rows[:most])
            book.newest = state.newest if len(rows) <= most else rows[most - 1][0]
    return book.newest >= state.newest


def _passing(connection: Connection, numbers: Sequence[int], filter: Filter, now: datetime) -> dict[int, Match]:
    """Those of these memories that a filter admits, by their numbers, without a score."""
    named = text("SELECT value AS seq FROM json_each(:numbers)").columns(column("seq", Integer)).subquery("named")
    known, alone = type_coerce(memories.c.id, LargeBinary), IS_ALONE
    statement = select(memories.c.seq, known, alone).select_from(named.join(memories, memories.c.seq == named.c.seq))
    found = connection.execute(statement.where(conditions(filter, now, "sqlite")), {"numbers": json.dumps(numbers)})
    return {seq: Match(id_from(memory), 0.0, alone=bool(alone)) for seq, memory, alone in found}


def _rows(file: sqlite3.Connection, book: Book, statement: str, *values: str | int) -> list[Sequence[Any]]:
    """Rows shaped like `Row`, in scopes that the book knows by now."""
    rows = file.execute(statement, values).fetchall()
    unknown = book.unknown_scopes(row[2] for row in rows)
    if unknown:
        names = file.execute(_SCOPES, (json.dumps(unknown),)).fetchall()
        book.know_scopes([(number, tuple(place)) for number, *place in names])
    return rows
