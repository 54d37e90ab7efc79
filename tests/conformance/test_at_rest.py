"""What lies beside memories, stored anew in place: on SQLite, PostgreSQL, a real Redis and a Redis Cluster."""

from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace

import pytest
from redis_servers import Cluster

from scrubjay.backends.memory.data_keys import MemoryDataKeys
from scrubjay.backends.memory.elsewhere import MemoryElsewhere
from scrubjay.backends.redis import at_rest as redis_at_rest
from scrubjay.backends.redis.at_rest import RedisSessions
from scrubjay.backends.redis.connection import RedisConnection
from scrubjay.backends.redis.working import RedisWorking, session_key
from scrubjay.backends.sql import at_rest as sql_at_rest
from scrubjay.backends.sql.answers import SqlAnswers
from scrubjay.backends.sql.at_rest import SqlKeptAnswers, SqlSessions, SqlTroubles
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.elsewhere import SqlElsewhere
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.working import SqlWorking
from scrubjay.backends.sql.worklog import SqlWorklog
from scrubjay.model import Scope
from scrubjay.model.access import Answer
from scrubjay.ports.access import Claim
from scrubjay.ports.at_rest import KeptAnswer
from scrubjay.testing import ElsewhereSuite
from scrubjay.testing.values import HOUR, NOW
from scrubjay.testing.working import HERE, LIMITS, a_message, a_value

THERE = replace(HERE, tenant="other", session="theirs")


def changed(said):
    """The same, with something longer said in it."""
    return replace(
        said,
        messages=tuple(replace(one, content=f"{one.content}, sealed anew") for one in said.messages),
        scratch=tuple(replace(one, value="sealed anew") for one in said.scratch),
    )


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request, tmp_path):
    is_file = request.param == "sqlite"
    url = f"sqlite:///{tmp_path}/scrubjay.db" if is_file else request.getfixturevalue("postgres_database")()
    opened = Database(url)
    await migrate(opened)
    yield opened
    await opened.shut()


class TestElsewhereInMemory(ElsewhereSuite):
    @pytest.fixture
    def elsewhere(self):
        return MemoryElsewhere()


class TestElsewhereInSql(ElsewhereSuite):
    @pytest.fixture
    def elsewhere(self, database):
        return SqlElsewhere(database)


class SessionsContract:
    """What every store of sessions does for whoever changes keys. `stores` has `working` and `at_rest`."""

    async def test_everything_is_met_once_and_stored_anew_where_it_is(self, stores):
        messages = [a_message(f"message {place}") for place in range(7)]
        for scope in (HERE, THERE):
            await stores.working.append(scope, messages, ttl=HOUR, now=NOW)
            await stores.working.set(scope, a_value({"next": 1}), ttl=HOUR, now=NOW)
        await stores.working.end(THERE, now=NOW)
        before = await stores.working.session(HERE, now=NOW)
        met = [said async for said in stores.at_rest.all()]
        assert {said.scope for said in met} == {HERE, THERE}
        assert sum(len(said.messages) for said in met) == 14
        assert sum(len(said.scratch) for said in met) == 1, "the scratchpad of what is over is gone"
        assert [await stores.at_rest.replace(said, changed(said)) for said in met] == [
            len(said.messages) + len(said.scratch) for said in met
        ]
        recent = await stores.working.recent(HERE, limit=10, now=NOW)
        assert [one.content for one in recent] == [f"message {place}, sealed anew" for place in range(7)]
        assert [one.position for one in recent] == list(range(7))
        assert [one.id for one in recent] == [one.id for one in messages]
        assert (await stores.working.get(HERE, "plan", now=NOW)).value == "sealed anew"
        after = await stores.working.session(HERE, now=NOW)
        assert (after.expires_at, after.started_at, after.messages) == (before.expires_at, before.started_at, 7)
        assert after.bytes == sum(one.bytes for one in recent)
        assert await stores.working.drained(HERE, [one.id for one in messages], now=NOW) == 7

    async def test_what_changed_meanwhile_is_left_alone(self, stores):
        said = [a_message("first"), a_message("second")]
        await stores.working.append(HERE, said, ttl=HOUR, now=NOW)
        await stores.working.set(HERE, a_value(1), ttl=HOUR, now=NOW)
        messages, scratch = [one async for one in stores.at_rest.all()]
        await stores.working.drained(HERE, [said[0].id], now=NOW)
        await stores.working.set(HERE, a_value(2), ttl=HOUR, now=NOW)
        assert await stores.at_rest.replace(scratch, changed(scratch)) == 0
        assert await stores.at_rest.replace(messages, changed(messages)) == 1
        assert await stores.at_rest.replace(messages, changed(messages)) == 0, "it says something else by now"
        recent = await stores.working.recent(HERE, limit=10, now=NOW)
        assert [(one.content, one.position) for one in recent] == [("second, sealed anew", 1)]
        assert (await stores.working.get(HERE, "plan", now=NOW)).value == 2
        await stores.working.end(HERE, now=NOW)
        await stores.working.drained(HERE, [said[1].id], now=NOW)
        assert await stores.at_rest.replace(messages, changed(messages)) == 0
        assert [one async for one in stores.at_rest.all()] == []
        assert await stores.working.session(HERE, now=NOW) is None, "nothing is made of what is gone"


class TestSqlSessions(SessionsContract):
    @pytest.fixture
    async def stores(self, database, monkeypatch):
        monkeypatch.setattr(sql_at_rest, "PAGE", 3)
        return SimpleNamespace(working=SqlWorking(database, LIMITS), at_rest=SqlSessions(database))


class OnRedis(SessionsContract):
    @pytest.fixture
    async def stores(self, connection, monkeypatch):
        monkeypatch.setattr(redis_at_rest, "PAGE", 3)
        yield SimpleNamespace(
            working=RedisWorking(connection, LIMITS), at_rest=RedisSessions(connection, MemoryDataKeys())
        )
        await connection.shut()


class TestRedisSessions(OnRedis):
    @pytest.fixture
    async def connection(self, redis_url):
        connection = RedisConnection(redis_url)
        await connection.call(lambda client: client.flushdb())
        return connection

    async def test_how_long_a_session_lasts_does_not_change(self, stores, connection):
        await stores.working.append(HERE, [a_message("said")], ttl=HOUR, now=NOW)
        await stores.working.set(HERE, a_value(1), ttl=HOUR, now=NOW)
        keys = [session_key(HERE, part) for part in ("session", "messages", "ids", "scratch")]
        for key in keys:
            await connection.call(lambda client, key=key: client.pexpire(key, 50_000))
        for said in [one async for one in stores.at_rest.all()]:
            assert await stores.at_rest.replace(said, changed(said)) == 1
        for key in keys:
            assert 0 < await connection.call(lambda client, key=key: client.pttl(key)) <= 50_000

    async def test_tenants_that_redis_lost_are_met_all_the_same(self, stores, connection):
        await stores.working.append(HERE, [a_message("said")], ttl=HOUR, now=NOW)
        await connection.call(lambda client: client.delete("scrubjay:working:tenants"))
        keys = SimpleNamespace(tenants=lambda: answer([HERE.tenant]))
        assert [one.scope async for one in RedisSessions(connection, keys).all()] == [HERE]


@pytest.fixture(scope="module")
def cluster():
    with ExitStack() as running:
        yield Cluster(running)


class TestRedisCluster(OnRedis):
    @pytest.fixture
    async def connection(self, cluster):
        connection = RedisConnection(cluster.url)
        await connection.call(lambda client: client.flushdb(target_nodes="primaries"))
        return connection


async def answer(value):
    return value


async def test_an_answer_is_stored_anew_unless_it_was_emptied(database, monkeypatch):
    monkeypatch.setattr(sql_at_rest, "PAGE", 2)
    answers, at_rest = SqlAnswers(database), SqlKeptAnswers(database)
    claims = [Claim(tenant=tenant, name=bytes([name]), request=b"r") for tenant in ("a", "b") for name in range(3)]
    for claim in claims:
        await answers.begin(claim, now=NOW, until=NOW + HOUR)
        await answers.finish(claim, Answer(status=201, headers={"x": "y"}, body=b"told"), until=NOW + HOUR)
    waiting = Claim(tenant="a", name=b"under way", request=b"r")
    await answers.begin(waiting, now=NOW, until=NOW + HOUR)
    met = [one async for one in at_rest.all()]
    assert met == [KeptAnswer(claim=claim, body=b"told") for claim in claims]
    await answers.empty("b")
    assert [await at_rest.replace(one, replace(one, body=b"anew")) for one in met] == [1, 1, 1, 0, 0, 0]
    found = await answers.begin(claims[0], now=NOW, until=NOW + HOUR)
    assert (found.answer.status, found.answer.headers, found.answer.body) == (201, {"x": "y"}, b"anew")


async def test_what_failed_is_stored_anew_unless_it_was_settled(database, monkeypatch):
    monkeypatch.setattr(sql_at_rest, "PAGE", 2)
    log, at_rest = SqlWorklog(database), SqlTroubles(database)
    scope = Scope(tenant="a", session="s")
    for place in range(5):
        body = f"body {place}" if place else None
        await log.failed("drain", f"{place}", scope, error="no", at=NOW, tries=5, pause=HOUR, body=body)
    met = [one async for one in at_rest.all()]
    assert {one.body for one in met} == {f"body {place}" for place in range(1, 5)}
    assert {one.scope for one in met} == {scope}
    await log.settled("drain", "4")
    done = {one.item: await at_rest.replace(one, replace(one, body="anew")) for one in met}
    assert done == {"1": 1, "2": 1, "3": 1, "4": 0}
    assert {one.item: one.body for one in await log.troubles(limit=10)} == {"0": None} | dict.fromkeys("123", "anew")
