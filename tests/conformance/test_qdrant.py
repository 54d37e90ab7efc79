"""Qdrant, over REST and over gRPC: the contract, the reference's answers, and what happens when the server is away."""

import asyncio
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest

from patience import answered, at_most
from scrubjay.backends.memory.vectors import MemoryVectors
from scrubjay.backends.vectors.qdrant import QdrantVectors, server
from scrubjay.backends.vectors.qdrant.place import Place
from scrubjay.errors import Closed, Conflict, InvalidInput, Misconfigured, StoreDamaged, StoreUnavailable
from scrubjay.model import Filter
from scrubjay.testing import NOW, ListedSuite, PortableVectorsSuite, VectorsSuite, a_scope, congruence_of_vectors
from scrubjay.testing.vectors import HERE, ROUNDING, an_entry, assert_nearest, directions, entries_of, ids_of
from server import free_port
from services import Qdrant


class OwnQdrant(Qdrant):
    """A server of the test's own: its ports are known and stay the same when it is started again."""

    def __init__(self, storage, key=""):
        super().__init__()
        self._storage, self._key = storage, key

    def command(self):
        self.grpc_port = self._grpc_port or free_port()
        command = super().command()
        self._grpc_port = self.grpc_port
        return command

    def environment(self):
        given = {"QDRANT__STORAGE__STORAGE_PATH": f"{self._storage}/storage"}
        return super().environment() | given | ({"QDRANT__SERVICE__API_KEY": self._key} if self._key else {})

    def at(self, protocol, **options):
        options |= {"grpc_port": self.grpc_port} if protocol == "grpc" else {}
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return f"qdrant://127.0.0.1:{self.port}?{query}"

    def send(self, what):
        self._process.send_signal(what)

    def kill(self):
        self._process.kill()
        self._process.wait()


@contextmanager
def running(**options):
    # A collection is made of many files, each of which waits for the disk. In memory it is made 30 times as fast.
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > 2**30
    with TemporaryDirectory(prefix="scrubjay-qdrant-", dir=memory if roomy else None) as storage:
        Path(storage).chmod(0o777)
        own = OwnQdrant(storage, **options)
        own.start()
        try:
            yield own
        finally:
            own.send(signal.SIGCONT)
            own.stop()


@pytest.fixture(scope="module")
def own():
    """One that no test stops."""
    with running() as own:
        yield own


@pytest.fixture
def mortal():
    """One that a test may stop."""
    with running() as own:
        yield own


@pytest.fixture(params=["rest", pytest.param("grpc", marks=pytest.mark.long)])
def protocol(request):
    return request.param


@asynccontextmanager
async def opened(url, **options):
    """An engine under a prefix that nobody else uses, whose collections go after the test."""
    options.setdefault("prefix", f"test-{uuid4().hex}")
    vectors = QdrantVectors(url, **options)
    yield vectors
    if not vectors._shut:
        await clear(vectors)
    else:
        again = QdrantVectors(url, **options)
        await clear(again)


async def clear(vectors):
    reached = await vectors._reach()
    for name in await vectors._builds(reached):
        await reached.delete(name)
    await vectors.shut()


@pytest.fixture
async def vectors(own, protocol):
    async with opened(own.at(protocol)) as vectors:
        yield vectors


class TestOverRest(VectorsSuite, PortableVectorsSuite, ListedSuite):
    @pytest.fixture
    async def vectors(self, own):
        async with opened(own.at("rest")) as vectors:
            yield vectors
            assert vectors._shut or not vectors._server.speaks_grpc

    @pytest.fixture
    async def other(self, own):
        async with opened(own.at("rest")) as other:
            yield other


class TestOverGrpc(VectorsSuite, PortableVectorsSuite, ListedSuite):
    @pytest.fixture
    async def vectors(self, own):
        async with opened(own.at("grpc")) as vectors:
            yield vectors
            assert vectors._shut or vectors._server.speaks_grpc

    @pytest.fixture
    async def other(self, own):
        async with opened(own.at("grpc")) as other:
            yield other


class TestQuantized(VectorsSuite):
    @pytest.fixture
    async def vectors(self, own):
        async with opened(own.at("grpc", quantization="int8", shards=2)) as vectors:
            yield vectors


async def found(vectors, question, asked=HERE, generation=1, **options):
    return ids_of(await vectors.search(generation, question, asked, now=NOW, limit=10, **options))


async def test_a_server_that_others_use_too(qdrant_url):
    async with opened(qdrant_url.replace("http", "qdrant", 1)) as vectors:
        entries = entries_of(directions(20))
        await vectors.upsert(1, entries)
        assert_nearest(
            await vectors.search(1, entries[3].vectors[0], HERE, now=NOW, limit=5), entries, entries[3].vectors[0], 5
        )
        await vectors.drop(1)
        assert await vectors.count(1) == 0


# The same answers as the reference


async def test_it_answers_like_the_reference(vectors):
    await congruence_of_vectors(MemoryVectors(), vectors, 1)


# Collections


@pytest.mark.parametrize("round", range(3))
async def test_many_who_make_the_collection_at_once_make_one(own, protocol, round):
    prefix = f"test-{uuid4().hex}"
    entries = entries_of(directions(40))
    async with opened(own.at(protocol), prefix=prefix) as one:
        others = [QdrantVectors(own.at(protocol), prefix=prefix) for _ in range(7)]
        shares = [entries[start : start + 5] for start in range(0, 40, 5)]
        await asyncio.gather(*(each.upsert(1, share) for each, share in zip([one, *others], shares, strict=True)))
        assert await one.count(1) == 40
        for each in others:
            assert await each.missing(1, ids_of(entries)) == []
            await each.shut()
        assert await one._builds(one._server) == [f"{prefix}-g1-1"]


async def test_a_generation_that_was_dropped_is_made_whole_by_whoever_writes_next(vectors):
    entries = entries_of(directions(10))
    await vectors.upsert(1, entries)
    await vectors.drop(1)
    # As another writer leaves it who has only begun to make it again.
    await vectors._server.create(vectors._build(1, 1), dimensions=64)
    await vectors.upsert(1, entries)
    assert await vectors.count(1) == 10
    assert (await found(vectors, entries[0].vectors[0]))[0] == entries[0].id


async def test_two_processes_make_one_collection(own, protocol):
    script = """
import asyncio, sys
from scrubjay.backends.vectors.qdrant import QdrantVectors
from scrubjay.testing.vectors import directions, entries_of
async def main():
    vectors = QdrantVectors(sys.argv[1], prefix=sys.argv[2])
    await vectors.upsert(1, entries_of(directions(10)))
    await vectors.shut()
asyncio.run(main())
"""
    async with opened(own.at(protocol)) as vectors:
        command = [sys.executable, "-c", script, own.at(protocol), vectors._place.prefix]
        processes = [await asyncio.create_subprocess_exec(*command) for _ in range(2)]
        assert [await process.wait() for process in processes] == [0, 0]
        assert await vectors.count(1) == 20
        assert len(await vectors._builds(vectors._server)) == 1


async def test_collections_are_made_as_the_url_says(own, protocol):
    async with opened(own.at(protocol, shards=3, quantization="int8")) as vectors:
        await vectors.upsert(1, entries_of(directions(2)))
        made = await vectors._server._client.get_collection(f"{vectors._place.prefix}-g1")
    assert made.config.params.vectors.size == 64
    assert made.config.params.vectors.distance == "Cosine"
    assert made.config.params.shard_number == 3
    assert made.config.quantization_config.scalar.type == "int8"
    types = {name: index.data_type.value for name, index in made.payload_schema.items()}
    words = ("tenant", "user", "project", "agent", "session", "workflow", "kind")
    assert types == {
        **dict.fromkeys(words, "keyword"),
        "live": "bool",
        "since": "datetime",
        "until": "datetime",
        "memory": "uuid",
        "part": "integer",
    }
    assert made.payload_schema["tenant"].params.is_tenant


async def test_indexes_that_a_crash_left_out_are_made_on_first_use(own, protocol):
    async with opened(own.at(protocol)) as vectors:
        reached = await vectors._reach()
        await reached.create(f"{vectors._place.prefix}-g1-1", dimensions=64)
        [entry] = entries_of(directions(1))
        await vectors.upsert(1, [entry])
        assert await found(vectors, entry.vectors[0]) == [entry.id]
        made = await reached._client.get_collection(f"{vectors._place.prefix}-g1")
        assert len(made.payload_schema) == 12


async def test_prefixes_and_generations_do_not_meet(own, protocol):
    prefix = f"test-{uuid4().hex}"
    entries = entries_of(directions(2))
    async with opened(own.at(protocol), prefix=prefix) as one, opened(own.at(protocol), prefix=f"{prefix}-g1") as two:
        for generation in (1, 11):
            await one.upsert(generation, entries)
            await two.upsert(generation, entries)
        await one.remove(ids_of(entries[:1]))
        await one.drop(1)
        assert (await one.count(1), await one.count(11)) == (0, 1)
        assert (await two.count(1), await two.count(11)) == (2, 2)
        assert await one.traces(ids_of(entries)) == 1


async def test_a_generation_dropped_by_one_is_made_again_by_another(own, protocol):
    prefix = f"test-{uuid4().hex}"
    entries = entries_of(directions(3))
    async with opened(own.at(protocol), prefix=prefix) as one, opened(own.at(protocol), prefix=prefix) as two:
        await one.upsert(1, entries)
        await two.upsert(1, entries)
        await two.drop(1)
        assert await found(one, entries[0].vectors[0]) == []
        await one.upsert(1, entries[:1])
        assert await found(two, entries[0].vectors[0]) == [entries[0].id]


async def test_what_another_dropped_and_was_killed_making_again_is_made_whole_by_the_next_write(own, protocol):
    prefix = f"test-{uuid4().hex}"
    entries = entries_of(directions(3))
    async with opened(own.at(protocol), prefix=prefix) as one, opened(own.at(protocol), prefix=prefix) as two:
        await one.upsert(1, entries)
        await two.drop(1)
        await two._server.create(two._build(1, 1), dimensions=64)
        await one.upsert(1, entries[:1])
        assert await found(two, entries[0].vectors[0]) == [entries[0].id]
        assert len((await two._server._client.get_collection(f"{prefix}-g1")).payload_schema) == 12


# Points


async def test_parts_that_an_entry_no_longer_has_are_gone(vectors):
    rows = directions(6)
    long, other = an_entry(*rows[:4]), an_entry(*rows[4:])
    await vectors.upsert(1, [long, other])
    await vectors.upsert(1, [an_entry(rows[0], id=long.id), other])
    matches = await vectors.search(1, rows[3], HERE, now=NOW, limit=10)
    [match] = [match for match in matches if match.id == long.id]
    assert match.score == pytest.approx(float(rows[3] @ rows[0]), abs=ROUNDING)
    assert (await vectors._server._client.count(f"{vectors._place.prefix}-g1", exact=True)).count == 3


async def test_many_long_memories_leave_room_for_all(vectors):
    rows = directions(30 * 60)
    entries = [an_entry(*rows[start : start + 60]) for start in range(0, len(rows), 60)]
    await vectors.upsert(1, entries)
    [question] = directions(1, seed=9)
    assert_nearest(await vectors.search(1, question, HERE, now=NOW, limit=30), entries, question, 30)


async def test_of_an_entry_named_twice_the_last_counts(vectors):
    one, two = directions(2)
    entry = an_entry(one, two)
    await vectors.upsert(1, [entry, an_entry(two, id=entry.id, kind="rule")])
    [match] = await vectors.search(1, one, Filter(scope=a_scope(), kinds=("rule",)), now=NOW, limit=9)
    assert match.score == pytest.approx(float(one @ two), abs=ROUNDING)


async def test_among_may_name_more_than_one_request_holds(vectors, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.vectors.qdrant.store.AMONG_PER_SEARCH", 100)
    entries = entries_of(directions(500))
    await vectors.upsert(1, entries)
    [question] = directions(1, seed=9)
    named = ids_of(entries[:350])
    matches = await vectors.search(1, question, HERE, now=NOW, limit=20, among=named + named[:5])
    assert_nearest(matches, entries[:350], question, 20)


async def test_vectors_that_do_not_fit_are_refused(vectors):
    await vectors.upsert(1, entries_of(directions(5)))
    [small] = directions(1, dimensions=32)
    good, broken = directions(2)
    broken[3] = float("nan")
    with pytest.raises(StoreDamaged, match=r"64 dimensions.* 32: run `scrubjay reindex`"):
        await vectors.search(1, small, HERE, now=NOW, limit=3)
    with pytest.raises(StoreDamaged, match=r"64 dimensions.* 32: run `scrubjay reindex`"):
        await vectors.upsert(1, [an_entry(small)])
    assert set((await vectors.sizes(1)).values()) == {64}
    assert await vectors.sizes(2) == {}
    with pytest.raises(InvalidInput, match="32 and 64"):
        await vectors.upsert(1, [an_entry(small), an_entry(good)])
    with pytest.raises(InvalidInput, match="finite"):
        await vectors.upsert(1, [an_entry(good), an_entry(broken)])
    with pytest.raises(InvalidInput, match="finite"):
        await vectors.search(1, broken, HERE, now=NOW, limit=3)
    with pytest.raises(InvalidInput, match="spans"):
        await vectors.upsert(1, [an_entry(good, spans=())])
    assert await vectors.count(1) == 5


# Building anew


async def test_a_rebuild_switches_when_it_is_complete(own, protocol):
    prefix = f"test-{uuid4().hex}"
    entries = entries_of(directions(30))
    question = entries[0].vectors[0]
    async with opened(own.at(protocol), prefix=prefix) as old:
        await old.upsert(1, entries)
        new = QdrantVectors(own.at(protocol, shards=2), prefix=prefix)
        late, gone = an_entry(question), entries[1].id

        async def batches():
            yield entries[:10]
            assert len(await found(old, question)) == 10
            await old.upsert(1, [late])
            await old.remove([gone])
            await old.retire([entries[2].id])
            assert len(await old._builds(old._server)) == 2
            yield entries[10:]

        assert await new.rebuild(1, batches()) == 30
        [build] = await old._builds(old._server)
        assert build == f"{prefix}-g1-2"
        made = await new._server._client.get_collection(build)
        assert made.config.params.shard_number == 2
        matches = await old.search(1, question, HERE, now=NOW, limit=50)
        assert set(ids_of(matches)) == {late.id, *ids_of(entries)} - {gone, entries[2].id}
        await old.upsert(1, entries[:3])
        assert await new.count(1) == 31
        await new.shut()


async def test_a_rebuild_that_fails_changes_nothing(vectors):
    entries = entries_of(directions(5))
    await vectors.upsert(1, entries)

    async def broken():
        yield entries[:2]
        raise StoreUnavailable

    async def empty():
        for nothing in ():
            yield nothing

    with pytest.raises(StoreUnavailable):
        await vectors.rebuild(1, broken())
    with pytest.raises(InvalidInput, match="no entries"):
        await vectors.rebuild(1, empty())
    assert await vectors.count(1) == 5
    assert len(await vectors._builds(vectors._server)) == 1


async def test_of_two_rebuilds_the_later_one_wins(vectors):
    entries = entries_of(directions(6))
    await vectors.upsert(1, entries)

    async def whole():
        yield entries

    async def overtaken():
        yield entries[:2]
        await vectors.rebuild(1, whole())
        yield entries[2:4]

    with pytest.raises(Conflict, match="took over"):
        await vectors.rebuild(1, overtaken())
    assert await vectors.count(1) == 6
    assert len(await vectors._builds(vectors._server)) == 1


# Connections

NO_WAIT = 10
"""Seconds: more than anybody may take to say that a server is away, and less than those take who wait in turn."""


async def test_a_killed_server_is_noticed_at_once_and_found_again(mortal, protocol):
    vectors = QdrantVectors(mortal.at(protocol, timeout=60))
    entries = entries_of(directions(20))
    question = entries[0].vectors[0]
    await vectors.upsert(1, entries)
    for _ in range(2):
        mortal.kill()
        for _ in range(3):
            with at_most(NO_WAIT), pytest.raises(StoreUnavailable, match=rf"qdrant://127.0.0.1:{mortal.port} .*Check"):
                await vectors.search(1, question, HERE, now=NOW, limit=3)
        with at_most(NO_WAIT), pytest.raises(StoreUnavailable):
            await vectors.upsert(1, entries)
        mortal.start_again()
        # A channel of gRPC tries again after at most a second.
        assert len(await answered(lambda: found(vectors, question))) == 10
        assert await vectors.count(1) == 20
    await vectors.shut()


async def test_a_frozen_server_is_waited_for_no_longer_than_said(mortal, protocol):
    vectors = QdrantVectors(mortal.at(protocol, timeout=1))
    entries = entries_of(directions(20))
    await answered(lambda: vectors.upsert(1, entries))
    mortal.send(signal.SIGSTOP)
    for verb in (vectors.count(1), vectors.upsert(1, entries), found(vectors, entries[0].vectors[0])):
        with at_most(NO_WAIT), pytest.raises(StoreUnavailable, match="within 1 seconds"):
            await verb
    mortal.send(signal.SIGCONT)
    assert await answered(lambda: vectors.count(1)) == 20
    await vectors.shut()


async def test_a_server_that_is_down_at_first_is_found_later(mortal, protocol):
    vectors = QdrantVectors(mortal.at(protocol, timeout=60))
    mortal.kill()
    with at_most(NO_WAIT), pytest.raises(StoreUnavailable, match="cannot be reached"):
        await vectors.count(1)
    mortal.start_again()
    two = entries_of(directions(2))
    await answered(lambda: vectors.upsert(1, two))
    assert await vectors.count(1) == 2
    await vectors.shut()


async def test_a_host_that_does_not_exist_is_unavailable(protocol):
    vectors = QdrantVectors(f"qdrant://nowhere.invalid{'?grpc_port=6334' if protocol == 'grpc' else ':6335'}")
    with pytest.raises(StoreUnavailable, match=r"nowhere\.invalid"):
        await vectors.count(1)
    await vectors.shut()


async def test_many_who_come_while_it_does_not_answer_wait_together(mortal, protocol):
    vectors = QdrantVectors(mortal.at(protocol, timeout=1))
    mortal.send(signal.SIGSTOP)
    with at_most(NO_WAIT):
        answers = await asyncio.gather(*(vectors.count(1) for _ in range(2 * NO_WAIT)), return_exceptions=True)
    assert {type(answer) for answer in answers} == {StoreUnavailable}
    mortal.send(signal.SIGCONT)
    assert await answered(lambda: vectors.count(1)) == 0
    await vectors.shut()


class Stranger(BaseHTTPRequestHandler):
    """A server that is no Qdrant."""

    def do_GET(self):
        self.send_error(404, "no such page")

    def log_message(self, *_):
        pass


async def test_another_kind_of_server_is_named_as_such():
    with ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as stranger:
        threading.Thread(target=stranger.serve_forever, daemon=True).start()
        vectors = QdrantVectors(f"qdrant://127.0.0.1:{stranger.server_port}")
        with pytest.raises(StoreUnavailable, match="is no Qdrant"):
            await vectors.count(1)
        await vectors.shut()
        stranger.shutdown()


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
async def test_keys_are_sent_and_never_shown(protocol):
    with running(key="right-secret") as own:
        entries = entries_of(directions(2))
        with_key = own.at(protocol).replace("qdrant://", "qdrant://:right-secret@")
        for vectors in (QdrantVectors(own.at(protocol), key="right-secret"), QdrantVectors(with_key)):
            await vectors.upsert(1, entries)
            assert await vectors.count(1) == 2
            assert "secret" not in f"{vectors.name} {vectors._place!r}"
            await vectors.shut()
        for key in ("", "wrong-secret"):
            vectors = QdrantVectors(own.at(protocol), key=key)
            with pytest.raises(StoreUnavailable, match="key") as caught:
                await vectors.upsert(1, entries)
            assert "secret" not in str(caught.value)
            await vectors.shut()


@pytest.mark.parametrize("answers", [True, False])
async def test_grpc_is_found_where_it_usually_is(own, monkeypatch, answers):
    monkeypatch.setattr(server, "PORT", own.port)
    monkeypatch.setattr(server, "GRPC_PORT", own.grpc_port if answers else free_port())
    async with opened(own.at("rest")) as vectors:
        with at_most(4):
            assert await vectors.count(1) == 0
        assert vectors._server.speaks_grpc == answers


async def test_after_shutting_it_is_closed(own, protocol):
    vectors = QdrantVectors(own.at(protocol))
    assert await vectors.count(1) == 0
    await vectors.shut()
    await vectors.shut()
    with pytest.raises(Closed):
        await vectors.count(1)


# Configuration


def test_a_url_says_it_all():
    place = Place.of(
        "qdrants://:s%2Fcret@example.org?prefix=p&grpc_port=7&shards=2&replicas=3&quantization=int8&timeout=4",
        prefix="scrubjay",
        key="other",
    )
    assert place == Place(
        host="example.org",
        port=6333,
        tls=True,
        key="s/cret",
        prefix="p",
        grpc_port=7,
        shards=2,
        replicas=3,
        quantized=True,
        timeout=4,
    )
    assert place.rest_url == "https://example.org:6333"
    assert Place.of("qdrant://[::1]:99", prefix="q", key="k") == Place(host="[::1]", port=99, prefix="q", key="k")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://:secret@localhost", "qdrant://HOST:PORT"),
        ("qdrant:", "qdrant://HOST:PORT"),
        ("qdrant://:secret@host:99999", "qdrant://HOST:PORT"),
        ("qdrant://:secret@host/path", "path"),
        ("qdrant://secret@host", "qdrant://:KEY@HOST"),
        ("qdrant://:secret@host?shard=2", "no option shard"),
        ("qdrant://:secret@host?shards=0", "shards of Qdrant is '0'"),
        ("qdrant://:secret@host?replicas=", "replicas"),
        ("qdrant://:secret@host?timeout=1.5", "timeout"),
        ("qdrant://:secret@host?quantization=int4", "int8"),
        ("qdrant://:secret@host?prefix=a/b", "prefix"),
    ],
)
def test_a_wrong_url_is_refused_without_its_key(url, said):
    with pytest.raises(Misconfigured, match=said) as caught:
        QdrantVectors(url)
    assert "secret" not in str(caught.value)


def test_without_the_driver_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with pytest.raises(Misconfigured, match=r"pip install 'scrubjay\[qdrant\]'"):
        QdrantVectors("qdrant://localhost")


def test_the_driver_is_imported_when_it_is_used():
    script = """
import sys
from scrubjay.backends.vectors.qdrant import QdrantVectors
QdrantVectors("qdrant://localhost")
assert "qdrant_client" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=180)
