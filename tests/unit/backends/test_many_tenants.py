"""A service with very many tenants: what it holds of each is bounded, and takes no longer for there being others."""

import time
import tracemalloc
from uuid import uuid4

import pytest

from scrubjay.backends.sql import readership
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.readership import Tenants
from scrubjay.backends.sql.shelf import Shelf
from scrubjay.backends.telemetry import prometheus
from scrubjay.backends.telemetry.prometheus import Prometheus
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.model import Filter, Scope
from scrubjay.ports import stage, watch
from scrubjay.testing import NOW, Ticking
from scrubjay.write import uses
from scrubjay.write.uses import Uses

MANY = 20_000


@pytest.fixture
async def database(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/scrubjay.db")
    await migrate(database)
    yield database
    await database.shut()


def grown(work):
    """The bytes that are held after this and were not before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


async def test_a_shelf_forgets_tenants_that_nobody_asks_for(database):
    shelf = Shelf(database)

    def search(connection):
        for number in range(MANY):
            assert shelf.look_up(connection, ["canary"], Filter(scope=Scope(tenant=f"tenant {number}"))) is None

    taken = grown(lambda: database.transact(None, search, immediate=False))
    assert len(shelf._tenants) == readership.KNOWN
    assert taken < 20_000_000


def test_a_tenant_with_a_book_stays_as_long_as_others_may_go():
    tenants = Tenants()
    tenants.asked("read", 0.0).book = object()
    for number in range(MANY):
        tenants.asked(f"tenant {number}", float(number))
    assert "read" in tenants
    assert f"tenant {MANY - readership.KNOWN}" not in tenants
    assert f"tenant {MANY - 1}" in tenants


async def test_vectors_of_many_tenants_take_no_more_than_they_may(database):
    most = 10_000_000
    engine = EmbeddedVectors(database, memory=most)

    def search():
        for number in range(MANY):
            engine._partition(1, f"tenant {number}")

    began = time.process_time()
    assert grown(search) < most
    assert time.process_time() - began < 20, "each asks no other how large it is"
    assert 100 < len(engine._partitions) < 1_000
    assert engine._size == sum(one.counted for one in engine._partitions.values())
    await engine.shut()


def test_uses_that_nobody_writes_are_few():
    noted = Uses(None, Ticking())
    for number in range(MANY):
        noted.count(Scope(tenant=f"tenant {number}"), [uuid4() for _ in range(10)])
    assert sum(map(len, noted._seen.values())) == uses.MOST
    assert Scope(tenant=f"tenant {MANY - 1}") in noted._seen


def test_tenants_that_come_late_share_a_label():
    counted = Prometheus(of_tenants=True)
    stop = watch(counted)
    try:
        for number in range(MANY):
            with stage("recall", tenant=f"tenant {number}") as recalling:
                recalling.note(kinds=["fact"], degraded=())
    finally:
        stop()
    written = counted.written([]).decode()
    others = f'scrubjay_recall_hits_total{{kind="fact",tenant="(others)"}} {float(MANY - prometheus.MOST_TENANTS)}'
    assert others in written
    assert 'tenant="tenant 0"' in written
    assert len(counted._labels) < 10 * prometheus.MOST_TENANTS


async def test_nothing_is_held_of_tenants_that_were_searched_once(database):
    """By every way of a search: nothing else grows with them."""
    engine, now = EmbeddedVectors(database, memory=1_000_000), NOW
    for number in range(200):
        await engine.search(1, [1.0] * 8, Filter(scope=Scope(tenant=f"tenant {number}")), now=now, limit=5)
    assert len(engine._partitions) < 100
    await engine.shut()
