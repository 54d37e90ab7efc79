"""Redis that is there, gone, frozen, restarted, full, locked, behind Sentinels or in a Cluster: all of them real."""

import asyncio
import signal
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
from redis_servers import Cluster, Group, Mortal

from patience import LONG, answered, at_most, at_once
from scrubjay.backends.breaker import Breaker
from scrubjay.backends.redis import RedisConnection, key_of
from scrubjay.backends.redis.cache import RedisVectorCache
from scrubjay.backends.redis.events import RedisEvents
from scrubjay.errors import StoreUnavailable
from scrubjay.ports import Probe
from scrubjay.testing import ToyEmbedder
from scrubjay.testing.events import Heard, an_event, eventually


@pytest.fixture
def running():
    with ExitStack() as servers:
        yield servers


@pytest.fixture
def mortal(running):
    server = Mortal()
    running.callback(server.stop)
    server.start()
    return server


@pytest.fixture
async def opened():
    """Makes connections that are closed after the test. Their breaker lets one through soon after it opened."""
    made = []

    def make(url, *, timeout=5, **options):
        options.setdefault("breaker", Breaker("redis", pause=0.05))
        made.append(RedisConnection(url, timeout=timeout, **options))
        return made[-1]

    yield make
    for connection in made:
        await connection.shut()


@pytest.fixture
def pauses(monkeypatch):
    """Makes the pauses between attempts longer: long enough for a server to start, or for nobody to wait for."""
    return lambda seconds: monkeypatch.setattr("scrubjay.backends.redis.connection.PAUSE", seconds)


async def test_nothing_is_opened_before_it_is_needed(opened):
    connection = opened("redis://127.0.0.1:1")
    assert connection.health.state == "unknown"
    assert isinstance(connection, Probe)


async def test_it_answers_bytes_and_says_that_it_is_up(opened, redis_url):
    connection = opened(redis_url)
    key = key_of("acme", "test")
    await connection.call(lambda client: client.set(key, "value", ex=60))
    assert await connection.call(lambda client: client.get(key)) == b"value"
    await connection.ping()
    assert connection.health.state == "up"


async def test_it_can_be_used_again_after_it_was_shut(opened, redis_url):
    connection = opened(redis_url)
    await connection.ping()
    await connection.shut()
    await connection.shut()
    await connection.ping()


async def test_many_calls_at_once_share_the_connections(opened, redis_url):
    connection = opened(f"{redis_url}?max_connections=4")
    await asyncio.gather(*(connection.ping() for _ in range(200)))
    clients = await connection.call(lambda client: client.client_list())
    # Those of other workers of this run are in another database.
    mine = urlsplit(redis_url).path.removeprefix("/")
    ours = [one for one in clients if one["name"] == "scrubjay" and one["db"] == mine]
    assert len(ours) <= 4


async def test_a_server_that_is_not_there_is_named_with_the_remedy(opened):
    connection = opened("redis://anna:opensesame@127.0.0.1:1/3")
    with pytest.raises(StoreUnavailable) as raised:
        await connection.ping()
    assert "redis://127.0.0.1:1/3 cannot be reached" in str(raised.value)
    assert "SCRUBJAY_WORKING" in str(raised.value)
    assert "opensesame" not in str(raised.value)


async def test_after_a_few_failures_a_dead_server_costs_nothing(opened):
    connection = opened("redis://127.0.0.1:1", breaker=Breaker("redis", clock=lambda: 0.0))
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await connection.ping()
    assert connection.health.state == "down"
    for _ in range(10):
        with pytest.raises(StoreUnavailable, match="is down since"):
            await at_once(connection.ping())


async def test_a_server_that_restarts_is_found_again(opened, mortal):
    connection = opened(mortal.url)
    await connection.ping()
    mortal.kill()
    with pytest.raises(StoreUnavailable):
        await connection.ping()
    mortal.start_again()
    await connection.ping()


async def test_a_short_restart_is_not_noticed(opened, mortal, pauses):
    pauses(0.6)
    connection = opened(mortal.url, timeout=LONG)
    await connection.ping()
    mortal.kill()
    asked = asyncio.create_task(connection.ping())
    await asyncio.sleep(0.05)
    await asyncio.to_thread(mortal.start_again)
    await asked


async def test_a_frozen_server_is_waited_for_no_longer_than_said(opened, mortal):
    connection = opened(mortal.url, timeout=0.5)
    await answered(connection.ping)
    mortal.send(signal.SIGSTOP)
    for seconds in 0.5, 0.1:
        with at_most(20), pytest.raises(StoreUnavailable, match=f"within {seconds} seconds"):
            await connection.call(lambda client: client.ping(), within=seconds)
    mortal.send(signal.SIGCONT)
    await answered(connection.ping)


async def test_what_must_not_be_done_twice_is_not(opened, mortal):
    """The connection breaks after the server has done the work: repeated or not, as the caller says."""
    connection = opened(mortal.url)

    async def add(client):
        await client.incr("done")
        raise ConnectionResetError("lost on the way back")

    with pytest.raises(StoreUnavailable):
        await connection.call(add, repeat=False)
    assert mortal.client.get("done") == b"1"
    with pytest.raises(StoreUnavailable):
        await connection.call(add)
    assert int(mortal.client.get("done")) > 2


async def test_what_was_not_done_is_tried_again_whatever_it_is(opened, mortal, pauses):
    pauses(0.6)
    connection = opened(mortal.url, timeout=LONG)
    mortal.kill()
    asked = asyncio.create_task(connection.call(lambda client: client.incr("done"), repeat=False))
    await asyncio.sleep(0.05)
    await asyncio.to_thread(mortal.start_again)
    assert await asked == 1


async def test_a_replica_that_becomes_master_is_waited_for(opened, mortal, pauses):
    pauses(0.6)
    connection = opened(mortal.url, timeout=LONG)
    mortal.client.replicaof("127.0.0.1", "1")
    asked = asyncio.create_task(connection.call(lambda client: client.set("a", "b"), repeat=False))
    await asyncio.sleep(0.1)
    mortal.client.replicaof("NO", "ONE")
    assert await asked


async def test_a_refusal_is_no_outage(opened, mortal):
    connection = opened(mortal.url, breaker=None)
    await connection.call(lambda client: client.set("text", "x"))
    for _ in range(5):
        with pytest.raises(StoreUnavailable, match="refuses a command: WRONGTYPE"):
            await connection.call(lambda client: client.lpush("text", "y"))
    await connection.ping()
    mortal.client.config_set("maxmemory", "1mb")
    with pytest.raises(StoreUnavailable, match="is full"):
        await connection.call(lambda client: client.mset({f"k{number}": b"x" * 100_000 for number in range(100)}))


async def test_a_wrong_password_is_said_at_once(opened, mortal, pauses):
    pauses(60)
    mortal.client.config_set("requirepass", "opensesame")
    for login in "", ":wrong@":
        connection = opened(mortal.url.replace("//", f"//{login}"), timeout=60)
        with at_most(20), pytest.raises(StoreUnavailable, match="refuses the login"):
            await connection.ping()
    await opened(mortal.url.replace("//", "//:opensesame@")).ping()


async def test_a_race_that_was_watched_for_is_the_callers(opened, mortal):
    from redis.exceptions import WatchError

    connection = opened(mortal.url)

    async def raced(client):
        async with client.pipeline() as pipeline:
            await pipeline.watch("a")
            await asyncio.to_thread(mortal.client.set, "a", "other")
            pipeline.multi()
            pipeline.set("a", "mine")
            await pipeline.execute()

    with pytest.raises(WatchError):
        await connection.call(raced)
    await connection.ping()


async def test_events_go_on_after_a_freeze_and_a_restart(opened, mortal, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.redis.events.READY_SECONDS", LONG)
    buses, heard = [RedisEvents(opened(mortal.url, timeout=1)) for _ in range(2)], [Heard(), Heard()]
    for bus, handler in zip(buses, heard, strict=True):
        bus.subscribe("*", handler)
    for bus in buses:
        await bus.ready()
    await buses[0].publish([an_event(number=1)])
    await heard[1].until(1)

    mortal.send(signal.SIGSTOP)
    await at_once(buses[0].publish([an_event(number=2)]))
    await eventually(lambda: 2 in heard[0].numbers)
    assert heard[1].numbers == [1]
    mortal.send(signal.SIGCONT)
    await buses[1].publish([an_event(number=3)])
    await eventually(lambda: 3 in heard[0].numbers and 3 in heard[1].numbers)

    mortal.kill()
    await buses[0].publish([an_event(number=4)])
    await eventually(lambda: 4 in heard[0].numbers)
    mortal.start_again()

    async def both_hear():
        await buses[0].publish([an_event(number=5)])
        await asyncio.sleep(0.05)
        return 5 in heard[0].numbers and 5 in heard[1].numbers

    await eventually(both_hear)
    assert heard[0].numbers.count(1) == heard[0].numbers.count(2) == heard[0].numbers.count(4) == 1
    ids = [event.id for event in heard[0].events]
    assert ids == sorted(ids)
    for bus in buses:
        await bus.shut()


async def test_a_socket(opened, running):
    class OnSocket(Mortal):
        def command(self):
            return [*super().command(), "--unixsocket", f"{self.data}/socket"]

    server = OnSocket()
    running.callback(server.stop)
    server.start()
    connection = opened(f"unix://{server.data}/socket?db=3")
    await connection.call(lambda client: client.set("a", "b"))
    assert server.client.execute_command("SELECT", 3)
    assert "db3" in server.client.info("keyspace")


# Sentinels replace a master that is silent for 0.4 seconds: a machine that stands still for longer looks like that.
@pytest.mark.flaky(reruns=2)
async def test_through_sentinels_it_follows_the_master(opened, running):
    group = Group(running)
    connection = opened(group.url, timeout=2)
    bus, heard = RedisEvents(opened(group.url, timeout=2)), Heard()
    bus.subscribe("*", heard)
    await connection.call(lambda client: client.set("before", "x"))
    assert group.master.client.wait(1, 5_000) == 1
    await bus.publish([an_event(number=1)])
    await heard.until(1)
    group.sentinels[0].kill()
    group.master.kill()

    async def written():
        try:
            return bool(await connection.call(lambda client: client.set("after", "y")))
        except StoreUnavailable:
            return False

    await eventually(written)
    assert group.replica.client.get("before") == b"x"
    assert group.replica.client.get("after") == b"y"
    assert "No master" not in str(await connection.call(lambda client: client.info("replication")))

    async def is_back():
        await bus.publish([an_event(number=2)])
        await asyncio.sleep(0.1)
        return group.replica.client.xlen("scrubjay:events") > 1 and 2 in heard.numbers

    await eventually(is_back)
    await bus.shut()


# Nodes of a Cluster give each other up after two silent seconds, which a machine that stands still may be.
@pytest.mark.flaky(reruns=2)
async def test_a_cluster_serves_cache_events_and_the_keys_of_a_tenant(opened, running):
    cluster = Cluster(running)
    connection = opened(cluster.url, timeout=2, breaker=None)
    assert connection.is_cluster
    await connection.ping()
    keys = [key_of("acmé {x}", "working", str(number)) for number in range(20)]
    await connection.call(lambda client: client.mset(dict.fromkeys(keys, "x")))
    assert await connection.call(lambda client: client.mget(keys)) == [b"x"] * 20
    add = "return redis.call('incr', KEYS[1]) + redis.call('incr', KEYS[2])"
    counters = [key_of("acme", "a"), key_of("acme", "b")]
    assert await connection.call(lambda client: client.eval(add, 2, *counters)) == 2

    model, cache = ToyEmbedder(), RedisVectorCache(connection, within=2)
    texts = [f"text number {number}" for number in range(100)]
    rows = await model.embed(texts)
    await cache.put(model.identity, texts, rows, question=False)
    await cache._finish_writes()
    found = await cache.get(model.identity, texts, question=False)
    assert all((found[text] == row).all() for text, row in zip(texts, rows, strict=True))
    assert all(node.client.dbsize() > 10 for node in cluster.nodes)
    await cache.remove(cache.names(model.identity, texts))
    assert await cache.get(model.identity, texts, question=False) == {}

    buses, heard = [RedisEvents(opened(cluster.url, timeout=2)) for _ in range(2)], [Heard(), Heard()]
    for bus, handler in zip(buses, heard, strict=True):
        bus.subscribe("*", handler)
    for bus in buses:
        await bus.ready()
    await buses[0].publish([an_event(number=number) for number in range(20)])
    assert await heard[0].until(20) == await heard[1].until(20)
    for bus in buses:
        await bus.shut()


async def test_a_connection_that_is_gone_before_anything_was_sent_is_made_again(redis_url):
    connection, attempts = RedisConnection(redis_url), []

    async def work(client):
        attempts.append(client)
        if len(attempts) == 1:
            writer = None
            writer.writelines([b"PING"])  # as the driver does when another task has closed the connection
        return await client.ping()

    assert await connection.call(work, repeat=False)
    assert len(attempts) == 2
    with pytest.raises(AttributeError, match="nonsense"):
        await connection.call(lambda client: client.nonsense())
    await connection.shut()
