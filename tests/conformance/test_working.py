"""Working memory against its contract: the reference, SQLite, PostgreSQL, a real Redis, and Redis with its fallback."""

import asyncio
from contextlib import ExitStack
from dataclasses import replace

import pytest
from redis_servers import Cluster

from scrubjay.backends.memory.detours import MemoryDetours
from scrubjay.backends.memory.working import MemoryWorking
from scrubjay.backends.redis.connection import RedisConnection
from scrubjay.backends.redis.working import RedisWorking
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.detours import SqlDetours
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.working import SqlWorking
from scrubjay.backends.working.fallback import FallbackWorking
from scrubjay.errors import Conflict
from scrubjay.model import Scope
from scrubjay.ports import Detour, Operation, Outrun
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


class TestFallback(WorkingSuite):
    """With a Redis that is there, a fallback is not noticed."""

    @pytest.fixture
    async def store(self, redis, tmp_path):
        database = await opened(f"sqlite:///{tmp_path}/scrubjay.db")
        yield FallbackWorking(RedisWorking(redis, LIMITS), SqlDetours(database), LIMITS)
        await database.shut()


class Detouring:
    """What every keeper of detours has to do."""

    async def test_at_first_there_is_none(self, detours):
        assert await detours.detour(HERE) == Detour()
        assert await detours.detoured(limit=10) == []

    async def test_what_is_noted_comes_back_in_order(self, detours):
        told = [
            Operation(do="append", at=NOW, ttl=HOUR, messages=(a_message("naïve 🦉"), a_message(name="Anna"))),
            Operation(do="set", at=NOW, ttl=1.5 * HOUR, scratch=a_value({"a": [None]}), name="plan"),
            Operation(do="delete", at=NOW, name="plan"),
            Operation(do="extend", at=NOW, ttl=HOUR),
            Operation(do="end", at=NOW),
        ]
        noted = [await detours.note(HERE, lambda _, one=one: one) for one in told]
        numbers = [one.number for one in noted]
        assert numbers == sorted(set(numbers))
        assert [replace(one, number=0) for one in noted] == told
        assert await detours.detour(HERE) == Detour(number=numbers[-1], operations=tuple(noted))

    async def test_who_decides_sees_what_was_noted(self, detours):
        seen = []
        for _ in range(3):
            await detours.note(HERE, lambda detour: seen.append(len(detour.operations)) or Operation(do="end", at=NOW))
        assert seen == [0, 1, 2]

    async def test_a_refusal_notes_nothing(self, detours):
        def refuse(_):
            raise Conflict("no")

        with pytest.raises(Conflict):
            await detours.note(HERE, refuse)
        assert await detours.detoured(limit=10) == []

    async def test_what_is_settled_leaves_its_number(self, detours):
        noted = [await detours.note(HERE, lambda _: Operation(do="end", at=NOW)) for _ in range(3)]
        await detours.settled(HERE, noted[1].number)
        assert await detours.detour(HERE) == Detour(number=noted[2].number, operations=(noted[2],))
        for _ in range(2):
            await detours.settled(HERE, noted[2].number)
            assert await detours.detour(HERE) == Detour(number=noted[2].number)
        assert await detours.detoured(limit=10) == []
        assert (await detours.note(HERE, lambda _: Operation(do="end", at=NOW))).number > noted[2].number

    async def test_sessions_are_apart(self, detours):
        other = Scope(tenant="acme", user="anna", session="s-1")
        ours = await detours.note(HERE, lambda _: Operation(do="end", at=NOW))
        theirs = await detours.note(other, lambda _: Operation(do="end", at=NOW))
        assert await detours.detoured(limit=10) == [HERE, other]
        await detours.settled(HERE, theirs.number)
        assert await detours.detour(HERE) == Detour(number=ours.number)
        assert await detours.detour(other) == Detour(number=theirs.number, operations=(theirs,))

    async def test_concurrent_ones_see_each_other(self, detours):
        seen = []
        noting = [
            detours.note(HERE, lambda detour: seen.append(len(detour.operations)) or Operation(do="end", at=NOW))
            for _ in range(8)
        ]
        numbers = [one.number for one in await asyncio.gather(*noting)]
        assert len(set(numbers)) == 8
        assert set(seen) == set(range(8))


class TestMemoryDetours(Detouring):
    @pytest.fixture
    def detours(self):
        return MemoryDetours()


class TestSqliteDetours(Detouring):
    @pytest.fixture
    async def detours(self, tmp_path):
        database = await opened(f"sqlite:///{tmp_path}/scrubjay.db")
        yield SqlDetours(database)
        await database.shut()


class TestPostgresDetours(Detouring):
    @pytest.fixture
    async def detours(self, own_postgres):
        database = await opened(own_postgres)
        await database.write(lambda connection: connection.exec_driver_sql("TRUNCATE scopes CASCADE"))
        yield SqlDetours(database)
        await database.shut()


class TestFences:
    """Changes that were noted are made once, and calls that were given up change nothing."""

    @pytest.fixture(params=["memory", "redis"])
    def store(self, request):
        if request.param == "memory":
            return MemoryWorking(LIMITS)
        return RedisWorking(request.getfixturevalue("redis"), LIMITS)

    async def test_a_noted_change_is_made_once(self, store):
        first, second = some_messages(2)
        for _ in range(2):
            await said(store.fenced(5, replay=True), first)
            await noted(store.fenced(6, replay=True), a_value("noted"))
        await noted(store.fenced(6), a_value("newer"))
        await noted(store.fenced(6, replay=True), a_value("noted"))
        await said(store.fenced(5, replay=True), second)
        assert await contents(store) == [first.content]
        assert (await store.get(HERE, "plan", now=NOW)).value == "newer"
        assert await store.fenced(6, replay=True).extend(HERE, ttl=9 * HOUR, now=NOW) is None
        assert await store.fenced(6, replay=True).end(HERE, now=NOW) is None
        assert await store.fenced(6, replay=True).delete(HERE, "plan", now=NOW)
        assert await store.get(HERE, "plan", now=NOW) is not None

    async def test_a_call_that_was_given_up_changes_nothing(self, store):
        await said(store.fenced(7, replay=True), a_message())
        late = store.fenced(6)
        for call in (
            said(late, a_message("late")),
            noted(late, a_value("late")),
            late.delete(HERE, "plan", now=NOW),
            late.extend(HERE, ttl=9 * HOUR, now=NOW),
            late.end(HERE, now=NOW),
        ):
            with pytest.raises(Outrun):
                await call
        assert await contents(store) == ["Hello"]
        assert (await store.session(HERE, now=NOW)).expires_at == NOW + HOUR
        await said(store.fenced(7), a_message("in time"))
        await said(store, a_message("without a number"))
        assert len(await contents(store)) == 3

    async def test_a_noted_change_is_made_although_there_is_no_room(self, store):
        for number in range(8):
            await said(store.fenced(2 * number + 1, replay=True), a_message("x" * 900))
            await noted(store.fenced(2 * number + 2, replay=True), a_value(name=f"value {number}"))
        assert len(await contents(store)) == len(await store.scratch(HERE, now=NOW)) == 8
