"""Makes graphs in the background, one at a time. Searches go on meanwhile, exactly."""

from collections.abc import Collection
from threading import Event, Lock, Thread, current_thread
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from scrubjay.backends.sql.database import Database
from scrubjay.backends.vectors import rows
from scrubjay.backends.vectors.graph import Graph, Source, build, source_of
from scrubjay.backends.vectors.partition import Partition
from scrubjay.backends.vectors.snapshots import Snapshots
from scrubjay.errors import Unavailable
from scrubjay.logs import logger

if TYPE_CHECKING:
    from usearch.index import Index

log = logger("vectors")


class Builder:
    """Gives partitions their graphs: from a snapshot that fits, or else built and then kept as one."""

    def __init__(self, database: Database, snapshots: Snapshots | None) -> None:
        self._database = database
        self._snapshots = snapshots
        self._stop = Event()
        self._turn = Lock()
        self._threads: set[Thread] = set()

    def start(self, connection: Connection, partition: Partition) -> None:
        """Begin with the graph of this partition. The caller holds its lock, and has just refreshed it."""
        matrix = partition.matrix
        buried = rows.buried(connection)
        if matrix is None or self._stop.is_set() or rows.state(connection) != (partition.change, partition.epoch):
            return  # Somebody wrote just now: a later search will ask again.
        partition.building = True
        source = source_of(matrix, partition.change, partition.epoch)
        # A daemon, so that a program that ends without shutting the memory does not wait for a graph.
        thread = Thread(target=self._work, args=(partition, source, buried), name="scrubjay-graph", daemon=True)
        self._threads.add(thread)
        thread.start()

    def kept(self, partition: Partition, *, dimensions: int, epoch: int) -> "tuple[Index, int] | None":
        """The graph that was kept for this partition, with its change number; None when none fits."""
        if self._snapshots is None:
            return None
        return self._snapshots.find(partition.generation, partition.tenant, dimensions=dimensions, epoch=epoch)

    def forget(self, *, tenants: Collection[str] = (), generation: int | None = None) -> None:
        """Delete the snapshots that hold vectors of these tenants, or of this generation."""
        if self._snapshots is None:
            return
        for tenant in tenants:
            self._snapshots.forget_tenant(tenant)
        if generation is not None:
            self._snapshots.forget_generation(generation)

    def shut(self) -> None:
        """Stop what is being built, and wait until it has stopped."""
        self._stop.set()
        for thread in list(self._threads):
            thread.join()

    def _work(self, partition: Partition, source: Source, buried: int) -> None:
        try:
            with self._turn:
                self._give(partition, source, buried)
        finally:
            partition.building = False
            self._threads.discard(current_thread())

    def _give(self, partition: Partition, source: Source, buried: int) -> None:
        generation, tenant, epoch = partition.generation, partition.tenant, source.epoch
        if partition.graph is None:
            found = self.kept(partition, dimensions=source.codes.shape[1], epoch=epoch)
            if found is not None and found[1] <= source.change:
                _hand_over(partition, *found, epoch=epoch)
                return
        index = build(source, self._stop)
        if index is None:
            return
        _hand_over(partition, index, source.change, epoch=epoch)
        if self._snapshots is None:
            return
        try:
            self._snapshots.keep(index, generation, tenant, epoch=epoch, change=source.change)
            # What was removed while we built is in the graph, and whoever removed it found no snapshot to delete.
            if self._database.transact(None, _removals, immediate=False) != (buried, epoch):
                self._snapshots.forget_tenant(tenant)
        except (OSError, RuntimeError, Unavailable) as error:
            # RuntimeError is how usearch reports a full disk. The graph works without a snapshot.
            self._snapshots.forget_tenant(tenant)
            log.warning("graph snapshot not kept", tenant=tenant, error=str(error))


def _removals(connection: Connection) -> tuple[int, int]:
    return rows.buried(connection), rows.state(connection)[1]


def _hand_over(partition: Partition, index: "Index", change: int, *, epoch: int) -> None:
    matrix = partition.matrix
    if matrix is None:
        return
    graph = Graph(index, matrix, change)
    share = graph.try_out()
    if not graph.is_reliable:
        log.info("searches stay exact, for the graph finds too little", tenant=partition.tenant, found=round(share, 2))
    with partition.lock:
        if partition.epoch == epoch:
            partition.graph = graph
