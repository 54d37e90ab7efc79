"""Searches in a tenant that is not in memory: the few rows that can answer each, read from the database.

A tenant is loaded aside. While a large one is, which takes many seconds, searches are answered by the rows of their
scope, or by those that kept signs say are likely to be near.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from itertools import chain, takewhile
from threading import Lock
from typing import Any, Final, TypeAlias, TypeVar
from uuid import UUID

import numpy as np
from sqlalchemy import Connection

from scrubjay.backends.aside import Aside
from scrubjay.backends.freed import give_back
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.forks import FORKS
from scrubjay.backends.sql.waiting import Attempt
from scrubjay.backends.vectors import feeds, rows
from scrubjay.backends.vectors.coded import Question
from scrubjay.backends.vectors.kept import Kept
from scrubjay.backends.vectors.matrix import Matrix
from scrubjay.backends.vectors.partition import Partition
from scrubjay.errors import Closed, StoreUnavailable
from scrubjay.logs import logger
from scrubjay.model import Filter, Scope

NARROW: Final = 5_000
"""So many rows are read for one search and forgotten, rather than loading a tenant that is larger."""

NARROW_MEANWHILE: Final = 50_000
"""The same while a large tenant is loaded: it takes longer than a search should, and far less than loading."""

READ: Final = 10
READ_AT_LEAST: Final = 500
"""How many times as many rows as are wanted are read where signs are kept.

Of the hundred nearest among 1,000,000, 98 % are among them where each row has a hundred near copies, and 99.5 % where
none has: docs/decisions/0051-no-graph.md.
"""

WIDER: Final = 4
ATTEMPTS: Final = 3
"""How often kept signs are asked for one search, and for how many times as many rows each time."""

LOADED_AT_ONCE: Final = 2
"""Tenants that are loaded at a time. Each takes a processor, and the others are loaded none the sooner for company.

One of them may be large: those that take a moment do not wait for several that take many seconds.
"""

GIVES_WAY: Final = 3
"""How often a tenant is loaded from its beginning again, to let a fork through that waits. After that, forks wait."""

Feed = Iterator[Sequence[Any]]
Task: TypeAlias = tuple[Partition, int, "Future[None]"]
"""A partition to load, for so many dimensions, and what is done when it is."""

T = TypeVar("T")
log = logger("vectors")


class _GaveWay(Exception):
    """Loading has stopped, for a fork waits until nobody is inside a transaction."""


def taken_in(connection: Connection, matrix: Matrix, feed: Feed) -> Matrix:
    """The matrix after it has heard of these rows."""
    start = len(matrix)
    for chunk in feed:
        matrix.know_scopes(feeds.names_of(connection, matrix.unknown_scopes(row[5] for row in chunk)))
        matrix.absorb(chunk, since=start)
    return matrix


def loaded(
    connection: Connection, partition: Partition, dimensions: int, goes_on: Callable[[], bool] = lambda: True
) -> Matrix:
    """All rows of a partition, as long as it is to go on. Of none, one for so many dimensions."""
    whole = Filter(scope=Scope(tenant=partition.tenant))
    room = feeds.crowd(connection, partition.generation, whole)
    # Closed before the transaction ends: a fork that this gives way to may not find the file being read.
    with closing(feeds.all_of(connection, partition.generation, whole)) as feed:
        first = next(feed, None)
        if first is None:
            return Matrix(dimensions)
        # Not what the question has: one of another size is refused, and those who wait for the same rows are not.
        matrix = Matrix(len(first[0][-1]) // 2, room=room)
        return taken_in(connection, matrix, takewhile(lambda _: goes_on(), chain([first], feed)))


def of_scope(
    connection: Connection, partition: Partition, filter: Filter, among: Sequence[UUID] | None, *, most: int
) -> Feed | None:
    """The rows that are named or that the scope admits; None when there are more."""
    generation = partition.generation
    if among is not None and len(among) <= most:
        return feeds.these_of(connection, generation, filter, list(dict.fromkeys(among)))
    if feeds.crowd(connection, generation, filter, most=most + 1) <= most:
        return feeds.all_of(connection, generation, filter)
    return None


def of_signs(
    connection: Connection,
    partition: Partition,
    kept: Kept,
    asked: Question,
    filter: Filter,
    *,
    now: int,
    limit: int,
) -> Matrix | None:
    """What is likely to be near and what changed since, read from the database; None when that is not enough."""
    generation, tenant = partition.generation, partition.tenant
    if feeds.changed(connection, generation, after=kept.change, most=NARROW_MEANWHILE + 1) > NARROW_MEANWHILE:
        return None
    many = max(READ * limit, READ_AT_LEAST)
    for _ in range(ATTEMPTS):
        likely = feeds.numbered(connection, filter, kept.likely(asked, many), until=kept.change)
        newer = feeds.changes(connection, generation, tenant, after=kept.change)
        matrix = taken_in(connection, Matrix(len(asked.exact)), chain(likely, newer))
        if len(np.unique(matrix.owners.all[matrix.chosen(filter, now=now)])) >= limit:
            return matrix
        many *= WIDER
    return None


class Loader:
    """Loads tenants on threads of its own, a few at a time."""

    def __init__(self, database: Database, aside: Aside, make_room: Callable[[Partition], None]) -> None:
        self._database = database
        self._aside = aside
        self._make_room = make_room
        self._lock = Lock()
        self._waiting: deque[Task] = deque()
        self._threads = 0
        self._large: Task | None = None

    def start(self, partition: Partition, dimensions: int) -> "Future[None]":
        """Begin to load this partition, if nobody does; returns what is done when it is. The caller holds its lock.

        Raises StoreUnavailable when no thread is to be had.
        """
        if partition.arrival is None:
            arrival: Future[None] = Future()
            arrival.set_running_or_notify_cancel()  # Who waits may give up, but not in the name of others.
            self._hand_over((partition, dimensions, arrival))
            # Only now: had it not begun, others would wait for ever. It cannot end before the lock is free.
            partition.arrival = arrival
        return partition.arrival

    def _hand_over(self, task: Task) -> None:
        """Let a thread do this: a new one, or one that is at work already and goes on with what waits."""
        with self._lock:
            if self._threads < LOADED_AT_ONCE:
                try:
                    self._aside.begin(self._work, name="scrubjay-load")
                    self._threads += 1
                except RuntimeError as error:
                    if not self._threads:
                        raise StoreUnavailable(
                            f"the vectors of tenant {task[0].tenant!r} are not loaded: no thread can be started "
                            f"({error}). Let the process have more threads, or stop what uses them up, and try again"
                        ) from error
            self._waiting.append(task)

    def _work(self) -> None:
        task = self._next(None)
        while task is not None:
            self._load(*task)
            task = self._next(task)
        give_back()

    def _next(self, done: Task | None) -> Task | None:
        """What to load now that this is done: the first that waits, and of large ones one at a time."""
        with self._lock:
            if done is self._large:
                self._large = None
            for task in self._waiting:
                is_large = bool(task[0].is_large)
                if not is_large or self._large is None:
                    self._waiting.remove(task)
                    self._large = task if is_large else self._large
                    return task
            # What still waits is large, and left to the thread that loads a large one.
            self._threads -= 1
            return None

    def _load(self, partition: Partition, dimensions: int, arrival: "Future[None]") -> None:
        ways = iter(range(GIVES_WAY))

        def goes_on() -> bool:
            if FORKS.is_wanted and next(ways, None) is not None:
                raise _GaveWay
            return not self._aside.stop.is_set()

        # The number comes first: what is committed after it may be heard of twice, and is not missed.
        attempt = Attempt(lambda read: (rows.state(read), loaded(read, partition, dimensions, goes_on)))
        with attempt:
            (change, epoch, history), matrix = self._transacted(attempt.work)
            if self._aside.stop.is_set():
                raise Closed
            with partition.lock:
                if partition.history != history:  # And should a search see yet another one, it begins anew itself.
                    partition.begin_anew(history)
                if partition.epoch < epoch or not partition.matrix:
                    partition.matrix, partition.change, partition.epoch = matrix, change, epoch
            self._make_room(partition)
        with partition.lock:
            partition.kept = partition.arrival = None
        if attempt.error is None:
            arrival.set_result(None)
        else:
            log.warning("vectors not loaded", tenant=partition.tenant, error=str(attempt.error))
            arrival.set_exception(attempt.error)

    def _transacted(self, work: Callable[[Connection], T]) -> T:
        """What this reads, from its beginning again after a fork that it gave way to."""
        while True:
            with suppress(_GaveWay):
                return self._database.transact(None, work, immediate=False)
