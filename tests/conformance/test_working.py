"""Working memory against its contract: the reference, SQLite, PostgreSQL, a real Redis and a Cluster."""

from contextlib import ExitStack

import pytest
from redis_servers import Cluster

from scrubjay.backends.memory.working import MemoryWorking
from scrubjay.backends.redis.connection import RedisConnection
from scrubjay.backends.redis.working import RedisWorking
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.working import SqlWorking
from scrubjay.model import Scope
from scrubjay.testing import WorkingSuite
from scrubjay.testing.values import HOUR, NOW
from scrubjay.testing.working import HERE, LIMITS, a_message, a_value, contents, due, noted, said, some_messages


async def opened(url):
    database = Database(url)
    await migrate(database)
    return database


@pytest.fixture
async def redis(redis_url):
    """A Redis that is empty."""
    connection = RedisConnection(redis_url)
    await connection.call(lambda client: client.flushdb())
    yield connection
    await connection.shut()


@pytest.fixture(scope="module")
def own_postgres(fresh_postgres):
    with fresh_postgres() as url:
        yield url


@pytest.fixture(scope="module")
def cluster():
    with ExitStack() as running:
        yield Cluster(running)


class TestMemory(WorkingSuite):
    @pytest.fixture
    def store(self):
        return MemoryWorking(LIMITS)


class TestSqlite(WorkingSuite):
    @pytest.fixture
    async def store(self, tmp_path):
        database = await opened(f"sqlite:///{tmp_path}/scrubjay.db")
        yield SqlWorking(database, LIMITS)
        await database.shut()


class TestPostgres(WorkingSuite):
    @pytest.fixture
    async def store(self, own_postgres):
        database = await opened(own_postgres)
        # Making a database takes longer than most of these tests.
        await database.write(lambda connection: connection.exec_driver_sql("TRUNCATE scopes CASCADE"))
        yield SqlWorking(database, LIMITS)
        await database.shut()


class TestRedis(WorkingSuite):
    @pytest.fixture
    async def store(self, redis):
        return RedisWorking(redis, LIMITS)

    async def test_keys_are_named_as_documented(self, store, redis):
        scope = Scope(tenant="ac:me", user="anna", session="s/1")
        await said(store, a_message(), scope=scope)
        await noted(store, a_value(), scope=scope)
        place = "anna:::s/1:"
        lasting = {f"scrubjay:{{ac%3Ame}}:working:{part}:{place}" for part in ("session", "messages", "ids", "scratch")}
        found = {key.decode() for key in await redis.client.keys("*")}
        assert found == lasting | {"scrubjay:{ac%3Ame}:working:sessions", "scrubjay:working:tenants"}
        # An hour to live and a day of grace: what was not drained is still there when the session has expired.
        for key in lasting:
            assert 24 * 3600 < await redis.client.ttl(key) <= 25 * 3600

    @pytest.mark.parametrize("part", ["session", "messages", "ids", "scratch"])
    async def test_a_session_goes_on_when_a_key_of_it_was_evicted(self, store, redis, part):
        await said(store, *some_messages(3))
        await noted(store, a_value())
        assert await redis.client.delete(f"scrubjay:{{default}}:working:{part}:anna:::s-1:") == 1
        [new] = await said(store, a_message("after"))
        assert (await contents(store))[-1] == "after"
        assert (await store.take(HERE, limit=10))[-1] == new
        session = await store.session(HERE, now=NOW)
        assert session.messages == len(await contents(store))
        ids = [one.id for one in await store.take(HERE, limit=10)]
        assert await store.drained(HERE, ids, now=NOW) == session.messages == len(ids)

    async def test_what_was_removed_by_its_time_is_taken_off_the_list(self, store, redis):
        await said(store, a_message())
        await redis.client.delete(*[key for key in await redis.client.keys("*") if b"s-1" in key])
        assert await store.sessions(Scope(), now=NOW, limit=10) == []
        assert await due(store, now=NOW + HOUR) == {}
        assert await redis.client.zcard("scrubjay:{default}:working:sessions") == 0


class TestCluster(WorkingSuite):
    @pytest.fixture
    async def store(self, cluster):
        connection = RedisConnection(cluster.url)
        for node in cluster.nodes:
            node.client.flushall()
        yield RedisWorking(connection, LIMITS)
        await connection.shut()

    async def test_all_keys_of_a_session_are_in_one_slot(self, store, cluster):
        await said(store, a_message(), scope=Scope(tenant="a{b}c", user="anna", session="s-1"))
        await noted(store, a_value(), scope=Scope(tenant="a{b}c", user="anna", session="s-1"))
        keys = {key for node in cluster.nodes for key in node.client.keys("*")} - {b"scrubjay:working:tenants"}
        assert len(keys) == 5
        assert len({cluster.nodes[0].client.execute_command("CLUSTER", "KEYSLOT", key) for key in keys}) == 1
