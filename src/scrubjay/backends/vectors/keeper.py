"""Sees to it that the signs of large tenants are kept as files, for processes that have not loaded them yet."""

import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import numpy as np
from sqlalchemy import Connection

from scrubjay.backends.aside import Aside
from scrubjay.backends.sql.database import Database
from scrubjay.backends.vectors import rows
from scrubjay.backends.vectors.kept import Files, Kept, Origin
from scrubjay.backends.vectors.matrix import Matrix
from scrubjay.backends.vectors.partition import Partition
from scrubjay.backends.vectors.rows import State
from scrubjay.errors import Closed, Unavailable
from scrubjay.logs import logger

STALE: Final = 0.02
"""The share of rows that may have changed before they are kept again: all are written, 56 bytes each or more."""

SECONDS: Final = 60.0
"""How often it is looked whether a file is there and new enough. A removal deletes it, and others may remove often."""

log = logger("vectors")


class Keeper:
    """Keeps the signs of partitions in files."""

    def __init__(self, database: Database, files: Files, aside: Aside) -> None:
        self._database = database
        self._files = files
        self._aside = aside

    def find(self, partition: Partition, state: State, *, dimensions: int) -> Kept | None:
        """What is kept of this partition, as it is in this state or was before; None when nothing is that fits."""
        return self._files.find(_origin(partition, state, dimensions=dimensions))

    def forget(self, *, tenants: Iterable[str] = (), generation: int | None = None) -> None:
        """Delete what holds signs of these tenants, or of this generation."""
        self._files.forget(tenants=tenants, generation=generation)

    def look(self, connection: Connection, partition: Partition, matrix: Matrix) -> None:
        """Begin to keep the signs of this partition where they are not. The caller holds its lock and refreshed it."""
        now = time.monotonic()
        if now - partition.looked_at < SECONDS:
            return
        state, removals = rows.state(connection), _removals(connection)
        if state != (partition.change, partition.epoch, partition.history):
            return  # Another search has heard of more than this one may read: a later one will look.
        partition.looked_at = now
        origin = _origin(partition, state, dimensions=matrix.dimensions)
        header = self._files.header(origin)
        if header is not None and np.count_nonzero(matrix.changes.all > header.change) <= STALE * len(matrix):
            return
        # The rows themselves are not copied yet: they stay as they are for good.
        live = np.flatnonzero(matrix.live.all)
        numbers, signs = matrix.rows.all, matrix.signs.columns

        def keep() -> None:
            try:
                self._files.keep(origin, numbers[live], [column[live] for column in signs])
                # Whoever removed something meanwhile found no file to delete, or an older one.
                if self._database.transact(None, _removals, immediate=False) != removals:
                    self._files.forget(tenants=[origin.tenant])
            except (OSError, Unavailable) as error:
                self._files.forget(tenants=[origin.tenant])
                log.warning("signs not kept", tenant=origin.tenant, error=str(error))

        with suppress(Closed, RuntimeError):  # Shut just now, or no thread is to be had: the search is answered anyway.
            self._aside.begin(keep, name="scrubjay-keep")


def _origin(partition: Partition, state: State, *, dimensions: int) -> Origin:
    return Origin(
        generation=partition.generation,
        tenant=partition.tenant,
        dimensions=dimensions,
        history=state.history,
        epoch=state.epoch,
        change=state.change,
    )


def _removals(connection: Connection) -> tuple[int, int, int]:
    """What changes with every removal: how many tombstones there are, and since when, in which store."""
    state = rows.state(connection)
    return rows.buried(connection), state.epoch, state.history
