"""Two real processes on one Redis: what one does, the other hears, and what it knew is looked up again."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis_servers import Mortal

import scrubjay
from patience import LONG, at_most
from scrubjay.backends.events import LocalEvents
from scrubjay.backends.redis.connection import RedisConnection
from scrubjay.backends.redis.events import RedisEvents
from scrubjay.settings import read_settings
from scrubjay.sync import SyncScrubjay
from scrubjay.testing import ToyEmbedder
from scrubjay.testing.events import Heard, eventually
from scrubjay.wiring import wire

LISTENER = Path(__file__).with_name("redis_listener.py")


@pytest.fixture
def records(tmp_path, redis_url):
    import redis

    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
    return f"sqlite:///{tmp_path}/scrubjay.db"


@pytest.fixture
def started(records, redis_url):
    with ExitStack() as running:

        def start(what, *, tenant="default"):
            command = [sys.executable, str(LISTENER), what, records, redis_url, tenant]
            program = running.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            running.callback(program.kill)
            assert said(program) == ["ready"]
            return program

        yield start


def said(program):
    return json.loads(program.stdout.readline())


def ask(program):
    program.stdin.write("ask\n")
    program.stdin.flush()
    return said(program)


def opened(records, redis_url, *, version="1", tenant="default"):
    settings = read_settings(records=records, working=redis_url, background=False, tenant=tenant)
    return SyncScrubjay(wire(settings, embedder=ToyEmbedder(version=version))).start()


def test_another_process_hears_what_its_scope_sees(records, redis_url, started):
    with opened(records, redis_url) as jay:
        program = started("listen")
        told = jay.remember("Prefers tabs", user="anna", key="indent")
        jay.remember("Prefers spaces", user="bob", key="indent")
        jay.for_tenant("other").remember("Prefers nothing", user="anna")
        changed = jay.remember("Prefers spaces after all", user="anna", key="indent")
        jay.remember("Prefers spaces after all", user="anna", key="indent")  # which changes nothing
        other = jay.remember_many(["one", "two"], project="shop")
        jay.forget(changed.id, user="anna")
        jay.forget(told.id, user="anna", purge=True)
    stored = {"kinds": ["note"], "outcome": "stored"}
    assert said(program) == ["memory.stored", "user=anna", {"ids": [str(told.id)], **stored}]
    superseded = {"ids": [str(changed.id)], "kinds": ["note"], "outcome": "superseded"}
    assert said(program) == ["memory.stored", "user=anna", superseded]
    both = {"ids": [str(one.id) for one in other], "kinds": ["note", "note"], "outcome": "stored"}
    assert said(program) == ["memory.stored", "project=shop", both]
    assert said(program) == ["memory.forgotten", "user=anna", {"ids": [str(changed.id)], "kinds": ["note"]}]
    name, scope, data = said(program)
    assert (name, scope) == ("memory.purged", "user=anna")
    assert {str(told.id), str(changed.id)} <= set(data["ids"])


def test_another_tenant_hears_nothing_of_it(records, redis_url, started):
    with opened(records, redis_url) as jay:
        program = started("listen", tenant="other")
        jay.remember("Prefers tabs", user="anna")
        told = jay.for_tenant("other").remember("Prefers nothing", user="anna")
    name, scope, data = said(program)
    assert (name, scope, data["ids"]) == ("memory.stored", "user=anna", [str(told.id)])


def test_a_switch_of_generations_is_known_at_once_everywhere(records, redis_url, started):
    with opened(records, redis_url, version="1") as jay:
        jay.remember("Prefers tabs")
        program = started("ask")
        assert ask(program)[0] is None  # The model of generation 1 cannot be opened there.
    with opened(records, redis_url, version="2") as jay:
        jay.reindex()
        assert [one.state for one in jay.stats().generations] == ["retired", "active"]
        deadline = time.monotonic() + LONG
        while ask(program)[0] != 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_after_a_purge_no_process_remembers_texts(records, redis_url, started):
    with opened(records, redis_url) as jay:
        told = jay.remember("Prefers tabs")
        program = started("ask")
        assert ask(program)[2] == 1
        jay.forget(told.id, purge=True)
        deadline = time.monotonic() + LONG
        while ask(program)[2]:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_what_is_published_holds_no_content(records, redis_url):
    import redis

    with opened(records, redis_url) as jay:
        told = jay.remember("the secret recipe", user="anna", key="recipe", data={"a": "secret"}, kind="fact")
        jay.update(told.id, content="another secret recipe", user="anna")
        jay.forget(key="recipe", user="anna", reason="the secret is out")
    with redis.Redis.from_url(redis_url) as client:
        stream = client.xrange("scrubjay:events")
        assert len(stream) == 3
        assert b"secret" not in repr(stream).encode()
        assert b"recipe" not in repr(stream).encode()


def test_a_bulk_write_makes_events_of_a_hundred(records, redis_url):
    import redis

    with opened(records, redis_url) as jay:
        jay.remember_many([f"fact {number}" for number in range(1_050)])
        lines = list(jay.export())
        jay.forget(everything=True, purge=True)
        jay.import_lines(lines)
        jay.import_lines(lines)
    with redis.Redis.from_url(redis_url) as client:
        events = [json.loads(fields[b"event"]) for _, fields in client.xrange("scrubjay:events")]
    sizes = {}
    for event in events:
        sizes.setdefault((event["name"], event["data"].get("outcome")), []).append(len(event["data"]["ids"]))
    assert {name: sum(many) for name, many in sizes.items()} == {
        ("memory.stored", "stored"): 1_050,
        ("memory.purged", None): 1_050,
        ("memory.stored", "imported"): 1_050,
    }
    assert max(max(many) for many in sizes.values()) == 100


async def test_a_write_does_not_wait_for_a_redis_that_is_frozen(records):
    server, heard = Mortal(), Heard()
    try:
        server.start()
        settings = read_settings(records=records, working=f"{server.url}?timeout=60", background=False)
        async with wire(settings, embedder=ToyEmbedder()) as jay:
            jay.subscribe("memory.*", heard)
            await jay.remember("fact 0")
            await heard.until(1)
            server.send(signal.SIGSTOP)
            with at_most(20):
                for number in range(1, 6):
                    await jay.remember(f"fact {number}")
            server.kill()
            await heard.until(6)
    finally:
        server.stop()


async def test_without_redis_a_memory_hears_itself(records):
    settings = read_settings(records=records, working="redis://127.0.0.1:1", background=False)
    heard = Heard()
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        jay.subscribe("memory.*", heard)
        await jay.remember("fact")
        await heard.until(1)


def test_without_await_a_handler_may_use_the_memory(tmp_path):
    found = []
    with scrubjay.open(tmp_path, embedder="none", background=False) as jay:

        def handler(event):
            found.append(jay.get(event.data["ids"][0]).content)

        stop = jay.subscribe("memory.stored", handler, user="anna")
        jay.remember("Prefers tabs", user="anna")
        jay.remember("Prefers spaces", user="bob")
        deadline = time.monotonic() + LONG
        while not found:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        stop()
        jay.remember("Prefers nothing", user="anna")
    assert found == ["Prefers tabs"]


def test_a_handler_is_heard_out_before_the_memory_closes(tmp_path):
    found = []
    with scrubjay.open(tmp_path, embedder="none", background=False) as jay:
        jay.subscribe("*", lambda event: found.append((event.name, jay.count())))
        jay.remember("Prefers tabs")
    assert found == [("memory.stored", 1)]
    with pytest.raises(scrubjay.Closed):
        jay.subscribe("*", print)


async def test_a_wrong_name_or_scope_is_refused(tmp_path):
    async with scrubjay.open_async(tmp_path, embedder="none") as jay:
        with pytest.raises(scrubjay.InvalidInput, match="event name"):
            jay.subscribe("stored!", print)
        with pytest.raises(scrubjay.InvalidInput, match="planet"):
            jay.subscribe("*", print, planet="mars")


async def test_events_of_generations_reach_every_tenant(tmp_path):
    settings = read_settings(home=tmp_path, background=False)
    heard = Heard()
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        await jay.remember("Prefers tabs")
    async with wire(settings, embedder=ToyEmbedder(version="2")) as jay:
        jay.for_tenant("acme").subscribe("generation.switched", heard)
        await jay.reindex()
        [event] = await heard.until(1)
        assert event.data == {"generation": 2, "model": "toy:words@2/64"}
        assert (await jay.rollback()).number == 1
        await heard.until(2)


def test_the_settings_choose_the_bus_and_the_shared_vectors(tmp_path, redis_url):
    local = wire(read_settings(home=tmp_path))
    assert isinstance(local.parts.events, LocalEvents)
    assert local.parts.index.embedder._shared is None
    assert "working" not in local.parts.probes
    with_redis = wire(read_settings(home=tmp_path, working=redis_url))
    assert isinstance(with_redis.parts.events, RedisEvents)
    assert with_redis.parts.index.embedder._shared is not None
    assert isinstance(with_redis.parts.probes["working"], RedisConnection)
    assert wire(read_settings(home=tmp_path, working=redis_url, embedder="static")).parts.index.embedder._shared is None


def test_a_wrong_url_is_said_when_it_is_opened(tmp_path):
    with pytest.raises(scrubjay.Misconfigured, match="SCRUBJAY_WORKING is 'memcached://h'"):
        scrubjay.open(tmp_path, working="memcached://h")


async def test_a_process_that_was_away_catches_up(records, redis_url):
    settings = read_settings(records=records, working=redis_url, background=False)
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        heard = Heard()
        jay.subscribe("*", heard)
        first = await jay.remember("Prefers tabs", user="anna")
        [event] = await heard.until(1)
    assert event.data["ids"] == [str(first.id)]
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        later = await jay.remember("Prefers spaces", user="anna")
        bus = jay.parts.events
        found = []

        async def caught_up():
            found[:] = await bus.since(jay.scoped({"user": "anna"}), event.id)
            return bool(found)

        await eventually(caught_up)
        assert [one.data["ids"] for one in found] == [[str(later.id)]]
    await asyncio.sleep(0)
