"""Searches in a tenant that is not in memory: the few rows that can answer each, read from the database.

A tenant that is quickly loaded is loaded by the search that needs it. A large one takes many seconds, so it is loaded
aside, while searches are answered by the rows of their scope or by those that a kept graph proposes.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, takewhile
from threading import Event, Thread, current_thread
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import numpy as np
from sqlalchemy import Connection

from scrubjay.backends.sql.database import Database
from scrubjay.backends.vectors import feeds, rows
from scrubjay.backends.vectors.coded import Question
from scrubjay.backends.vectors.graph import Graph
from scrubjay.backends.vectors.matrix import Matrix
from scrubjay.backends.vectors.partition import Partition
from scrubjay.errors import Unavailable
from scrubjay.logs import logger
from scrubjay.model import Filter, Scope

if TYPE_CHECKING:
    from usearch.index import Index

NARROW: Final = 5_000
"""So many rows are read for one search and forgotten, rather than loading a tenant that is larger."""

NARROW_MEANWHILE: Final = 50_000
"""The same while a large tenant is loaded aside: it takes longer than a search should, and far less than loading."""

WIDER: Final = 4
ATTEMPTS: Final = 3
"""How often a kept graph is asked for one search, and for how many times as many rows each time."""

Feed = Iterator[Sequence[Any]]
log = logger("vectors")


def taken_in(connection: Connection, matrix: Matrix, feed: Feed) -> Matrix:
    """The matrix after it has heard of these rows."""
    start = len(matrix)
    for chunk in feed:
        matrix.know_scopes(feeds.names_of(connection, matrix.unknown_scopes(row[5] for row in chunk)))
        matrix.absorb(chunk, since=start)
    return matrix


def loaded(connection: Connection, partition: Partition, dimensions: int, stop: Event | None = None) -> Matrix:
    """All rows of a partition; some of them when told to stop before the end."""
    whole = Filter(scope=Scope(tenant=partition.tenant))
    matrix = Matrix(dimensions, room=feeds.crowd(connection, partition.generation, whole))
    feed = feeds.all_of(connection, partition.generation, whole)
    return taken_in(connection, matrix, takewhile(lambda _: stop is None or not stop.is_set(), feed))


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


def of_graph(
    connection: Connection,
    partition: Partition,
    kept: "tuple[Index, int]",
    asked: Question,
    filter: Filter,
    *,
    now: int,
    limit: int,
) -> Matrix | None:
    """What a kept graph proposes and what changed since, read from the database; None when that is not enough."""
    index, change = kept
    generation, tenant = partition.generation, partition.tenant
    if feeds.changed(connection, generation, after=change, most=NARROW + 1) > NARROW:
        return None
    want = 4 * limit + 64
    for _ in range(ATTEMPTS):
        numbers = index.search(asked.coded.codes[0], want, threads=1).keys.tolist()
        proposed = feeds.numbered(connection, filter, numbers, until=change)
        newer = feeds.changes(connection, generation, tenant, after=change)
        matrix = taken_in(connection, Matrix(len(asked.exact)), chain(proposed, newer))
        if len(np.unique(matrix.owners.all[matrix.chosen(filter, now=now)])) >= limit:
            return matrix
        want *= WIDER
    return None


class Loader:
    """Loads large tenants on threads of its own."""

    def __init__(self, database: Database, make_room: Callable[[Partition], None]) -> None:
        self._database = database
        self._make_room = make_room
        self._stop = Event()
        self._threads: set[Thread] = set()

    def start(self, partition: Partition, dimensions: int) -> None:
        """Begin to load this partition, if nobody does. The caller holds its lock."""
        if partition.loading or self._stop.is_set():
            return
        thread = Thread(target=self._work, args=(partition, dimensions), name="scrubjay-load", daemon=True)
        thread.start()
        # Only now: had it not started, searches would wait for it for ever. It cannot end before the lock is free.
        partition.loading = True
        self._threads.add(thread)

    def shut(self) -> None:
        """Stop what is being loaded, and wait until it has stopped."""
        self._stop.set()
        for thread in list(self._threads):
            thread.join()

    def _work(self, partition: Partition, dimensions: int) -> None:
        try:
            change, epoch, matrix = self._database.transact(
                None,
                # The number comes first: what is committed after it may be heard of twice, and is not missed.
                lambda connection: (*rows.state(connection), loaded(connection, partition, dimensions, self._stop)),
                immediate=False,
            )
            if not self._stop.is_set():
                _hand_over(partition, matrix, change, epoch)
                self._make_room(partition)
        except Unavailable as error:
            log.warning("vectors not loaded", tenant=partition.tenant, error=str(error))
        finally:
            with partition.lock:
                partition.kept, partition.loading = None, False
                partition.arrival.notify_all()
            self._threads.discard(current_thread())


def _hand_over(partition: Partition, matrix: Matrix, change: int, epoch: int) -> None:
    kept = partition.kept
    graph = Graph(kept[0], matrix, kept[1]) if kept is not None else None
    if graph is not None:
        graph.try_out()
    with partition.lock:
        if partition.epoch < epoch:
            partition.matrix, partition.change, partition.epoch = matrix, change, epoch
            partition.graph = graph
