"""An engine with a mirror keeps every promise of the engine, and the mirror keeps those of an exact one."""

import numpy as np
import pytest

from scrubjay.backends.memory import MemoryVectors
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.backends.vectors.mirrored import MirroredVectors
from scrubjay.errors import StoreUnavailable
from scrubjay.model import Filter, new_id
from scrubjay.ports import Listed, PortableVectors
from scrubjay.ports.mirror import Mirrored
from scrubjay.testing import NOW, ListedSuite, PortableVectorsSuite, VectorsSuite, a_scope
from scrubjay.testing.vectors import HERE, an_entry, directions, entries_of, ids_of


class Away(MemoryVectors):
    """An engine that can be away."""

    down = False

    def __getattribute__(self, name):
        if name in ("upsert", "remove", "retire", "search", "entries", "count") and object.__getattribute__(
            self, "down"
        ):
            raise StoreUnavailable("the engine is away")
        return super().__getattribute__(name)


class TestMirrored(VectorsSuite, PortableVectorsSuite, ListedSuite):
    @pytest.fixture
    async def vectors(self):
        return MirroredVectors(MemoryVectors(), MemoryVectors())

    @pytest.fixture
    async def other(self):
        return MirroredVectors(MemoryVectors(), MemoryVectors())


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def mirror(request, tmp_path):
    """Each kind of mirror, empty."""
    if request.param == "memory":
        yield MemoryVectors()
        return
    url = (
        request.getfixturevalue("postgres_database")()
        if request.param == "postgresql"
        else f"sqlite:///{tmp_path}/m.db"
    )
    database = Database(url)
    await migrate(database)
    vectors = EmbeddedVectors(database)
    yield vectors
    await vectors.shut()
    await database.shut()


def nearest(entries, question, limit):
    """By comparing everything: what is nearest by its angle, best first."""
    rows = {entry.id: entry.vectors.astype(np.float64) for entry in entries}
    scored = {one: float(np.max(row @ question / np.linalg.norm(row, axis=1))) for one, row in rows.items()}
    return sorted(scored, key=lambda one: -scored[one])[:limit]


async def test_a_search_in_the_mirror_is_exact(mirror):
    engine = Away()
    vectors = MirroredVectors(engine, mirror)
    rows = directions(9_300, seed=3)
    entries = [an_entry(*rows[at : at + 1 + at // 3 % 3]) for at in range(0, 9_000, 3)]
    elsewhere = entries_of(rows[9_000:], scope=a_scope(tenant="other"))
    await vectors.upsert(1, [*entries, *elsewhere])
    gone, retired = entries[:200], entries[200:400]
    await vectors.remove(ids_of(gone))
    await vectors.retire(ids_of(retired))
    engine.down = True
    # As they are kept, which may be as half floats: among those, nothing is overlooked and nothing out of order.
    kept = await vectors.mirror.entries(1, ids_of(entries[400:]))
    for question in directions(5, seed=11):
        with pytest.raises(StoreUnavailable):
            await vectors.search(1, question, HERE, now=NOW, limit=50)
        found = await vectors.mirror.search(1, question, HERE, now=NOW, limit=50)
        assert ids_of(found) == nearest(kept, question, 50)
        among = ids_of(entries[150:460])
        named = await vectors.mirror.search(1, question, HERE, now=NOW, limit=400, among=among)
        assert set(ids_of(named)) == set(among[50:])


async def test_what_is_told_while_the_engine_is_away_is_in_the_mirror(mirror):
    engine = Away()
    vectors = MirroredVectors(engine, mirror)
    first, second = entries_of(directions(2))
    await vectors.upsert(1, [first])
    engine.down = True
    with pytest.raises(StoreUnavailable):
        await vectors.upsert(1, [second])
    with pytest.raises(StoreUnavailable):
        await vectors.retire([first.id])
    found = await vectors.mirror.search(1, second.vectors[0], HERE, now=NOW, limit=10)
    assert ids_of(found) == [second.id]
    with pytest.raises(StoreUnavailable):
        await vectors.remove([second.id])
    assert await vectors.mirror.traces([second.id]) == 1, "whoever asked was told that it is not gone"
    assert ids_of(await vectors.entries(1, [second.id, new_id(), first.id])) == [second.id, first.id]
    with pytest.raises(StoreUnavailable):
        await vectors.entries(2, [first.id])
    engine.down = False
    await vectors.remove([second.id])
    assert (await vectors.traces([first.id, second.id]), await vectors.traces([second.id])) == (1, 0)
    assert ids_of(await vectors.entries(1, [first.id])) == [first.id]


async def test_a_trace_in_either_is_a_trace(mirror):
    engine = MemoryVectors()
    vectors = MirroredVectors(engine, mirror)
    [entry] = entries_of(directions(1))
    await vectors.mirror.upsert(1, [entry])
    assert await vectors.traces([entry.id]) == 1
    assert (await vectors.count(1), await vectors.missing(1, [entry.id])) == (0, [entry.id])
    await vectors.drop(1)
    assert await vectors.traces([entry.id]) == 0


def test_it_can_what_its_engine_can():
    class Plain:
        pass

    assert isinstance(MirroredVectors(MemoryVectors(), MemoryVectors()), Mirrored)
    assert isinstance(MirroredVectors(MemoryVectors(), MemoryVectors()), Listed)
    assert not isinstance(MirroredVectors(Plain(), MemoryVectors()), Listed)
    assert isinstance(MirroredVectors(Plain(), MemoryVectors()), PortableVectors)
    assert not isinstance(MemoryVectors(), Mirrored)


async def test_tenants_are_apart_in_the_mirror(mirror):
    vectors = MirroredVectors(MemoryVectors(), mirror)
    [mine, theirs] = directions(2)
    await vectors.upsert(1, [an_entry(mine), an_entry(theirs, scope=a_scope(tenant="other"))])
    found = await vectors.mirror.search(1, theirs, Filter(scope=a_scope()), now=NOW, limit=10)
    assert len(found) == 1
