"""Chroma, on a server and in this process: the contract, the reference's answers, and what happens when it is away."""

import asyncio
import signal
import subprocess
import sys
import threading
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import uuid4

import httpx
import numpy as np
import pytest

import scrubjay
from patience import answered, at_most
from scrubjay.backends.memory.vectors import MemoryVectors
from scrubjay.backends.vectors.chroma import ChromaVectors
from scrubjay.backends.vectors.chroma.place import Folder, Place, place_of
from scrubjay.errors import Closed, InvalidInput, Misconfigured, StoreDamaged, StoreUnavailable
from scrubjay.model import Filter, new_id
from scrubjay.settings import read_settings
from scrubjay.testing import NOW, ListedSuite, PortableVectorsSuite, VectorsSuite, a_scope, congruence_of_vectors
from scrubjay.testing.vectors import HERE, an_entry, assert_nearest, directions, entries_of, ids_of
from scrubjay.wiring import back_up, restore_from
from services import Chroma


class OwnChroma(Chroma):
    """A server of the test's own, whose port stays the same when it is started again."""

    def at(self, **options):
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return f"chroma://127.0.0.1:{self.port}?{query}"

    def send(self, what):
        self._process.send_signal(what)

    def kill(self):
        self._process.kill()
        self._process.wait()


@pytest.fixture
def mortal():
    """One that a test may stop."""
    own = OwnChroma()
    own.start()
    try:
        yield own
    finally:
        own.send(signal.SIGCONT)
        own.stop()


@asynccontextmanager
async def on_server(url, **options):
    """An engine under a prefix that nobody else uses, whose collections go after the test."""
    options.setdefault("prefix", f"test-{uuid4().hex}")
    address = url.replace("http://", "chroma://", 1)
    vectors = ChromaVectors(address, **options)
    yield vectors
    await vectors.shut()
    again = ChromaVectors(address, **options)
    connection = await again._reach()
    for name in await connection.names():
        if name.startswith(options["prefix"]):
            await connection.delete(name)
    await again.shut()


@asynccontextmanager
async def in_process(folder):
    vectors = ChromaVectors(f"chroma:{folder}")
    try:
        yield vectors
    finally:
        await vectors.shut()


@pytest.fixture(params=["server", "process"])
async def vectors(request, tmp_path):
    if request.param == "process":
        request.getfixturevalue("chroma_packages")
        opened = in_process(tmp_path / "chroma")
    else:
        opened = on_server(request.getfixturevalue("chroma_url"))
    async with opened as vectors:
        yield vectors


class TestOnAServer(VectorsSuite, PortableVectorsSuite, ListedSuite):
    @pytest.fixture
    async def vectors(self, chroma_url):
        async with on_server(chroma_url) as vectors:
            yield vectors

    @pytest.fixture
    async def other(self, chroma_url):
        async with on_server(chroma_url) as other:
            yield other


class TestInProcess(VectorsSuite, PortableVectorsSuite, ListedSuite):
    @pytest.fixture
    async def vectors(self, chroma_packages, tmp_path):
        async with in_process(tmp_path / "one") as vectors:
            yield vectors

    @pytest.fixture
    async def other(self, chroma_packages, tmp_path):
        async with in_process(tmp_path / "other") as other:
            yield other


async def found(vectors, question, asked=HERE, generation=1, **options):
    return ids_of(await vectors.search(generation, question, asked, now=NOW, limit=10, **options))


# The same answers as the reference


async def test_it_answers_like_the_reference(vectors):
    await congruence_of_vectors(MemoryVectors(), vectors, 1)


# Collections


async def collections_of(vectors):
    connection = await vectors._reach()
    return sorted(name for name in await connection.names() if name.startswith(vectors._place.prefix))


async def test_tenants_and_generations_have_collections_of_their_own(vectors):
    awkward = "O'Brien's 100% \\ \"tenant\" 🦉"
    for tenant in ("default", awkward):
        await vectors.upsert(1, entries_of(directions(3), scope=a_scope(tenant=tenant)))
    await vectors.upsert(2, entries_of(directions(1)))
    kinds = [name.removeprefix(f"{vectors._place.prefix}-").partition("-")[0] for name in await collections_of(vectors)]
    assert kinds == ["g1", "g1", "g2", "whereabouts"]
    assert len(await found(vectors, directions(1)[0], Filter(scope=a_scope(tenant=awkward)))) == 3
    await vectors.drop(1)
    assert len(await collections_of(vectors)) == 2


async def test_a_memory_that_changes_its_scope_or_tenant_leaves_the_old_one(vectors):
    [question] = directions(1)
    entry = an_entry(question)
    await vectors.upsert(1, [entry])
    for scope in (a_scope("bob"), a_scope(tenant="acme")):
        await vectors.upsert(1, [an_entry(question, id=entry.id, scope=scope)])
        assert await found(vectors, question) == []
        assert await found(vectors, question, Filter(scope=scope)) == [entry.id]
    assert await vectors.count(1) == 1


async def test_a_vector_is_never_moved_in_the_graph(vectors, monkeypatch):
    rows = directions(8)
    entries = [an_entry(*rows[:3]), an_entry(rows[3]), an_entry(*rows[4:6])]
    await vectors.upsert(1, entries)
    connection = await vectors._reach()
    written = []
    upsert = connection.upsert

    async def noted(name, records):
        written.extend(records.ids)
        await upsert(name, records)

    monkeypatch.setattr(connection, "upsert", noted)
    await vectors.upsert(1, [an_entry(*rows[:3], id=entries[0].id, kind="rule"), entries[1]])
    assert written == [], "the same vectors need no storing, only what is said of them"
    await vectors.upsert(1, [an_entry(rows[4], rows[7], id=entries[2].id)])
    assert len(written) == 1
    assert ids_of(await vectors.search(1, rows[0], Filter(scope=a_scope(), kinds=("rule",)), now=NOW, limit=9)) == [
        entries[0].id
    ]
    [match] = [match for match in await vectors.search(1, rows[5], HERE, now=NOW, limit=9) if match.id == entries[2].id]
    assert match.score < 0.99, "the part that was replaced is gone"


async def test_removed_while_it_is_being_stored_a_memory_can_still_be_found_and_removed(vectors, monkeypatch):
    [entry] = entries_of(directions(1))
    connection = await vectors._reach()
    upsert = connection.upsert

    async def slow(name, records):
        if "whereabouts" not in name:
            await vectors.remove([entry.id])
        await upsert(name, records)

    monkeypatch.setattr(connection, "upsert", slow)
    await vectors.upsert(1, [entry])
    assert await vectors.traces([entry.id]) == 1
    await vectors.remove([entry.id])
    assert await vectors.traces([entry.id]) == 0


async def test_many_who_make_the_collections_at_once_make_one_each(chroma_url):
    prefix = f"test-{uuid4().hex}"
    entries = entries_of(directions(40))
    async with on_server(chroma_url, prefix=prefix) as one:
        others = [ChromaVectors(chroma_url.replace("http", "chroma", 1), prefix=prefix) for _ in range(7)]
        shares = [entries[start : start + 5] for start in range(0, 40, 5)]
        await asyncio.gather(*(each.upsert(1, share) for each, share in zip([one, *others], shares, strict=True)))
        assert await one.count(1) == 40
        for each in others:
            assert await each.missing(1, ids_of(entries)) == []
            await each.shut()
        assert len(await collections_of(one)) == 2


async def test_a_generation_dropped_by_one_is_made_again_by_another(chroma_url):
    prefix = f"test-{uuid4().hex}"
    entries = entries_of(directions(3))
    async with on_server(chroma_url, prefix=prefix) as one, on_server(chroma_url, prefix=prefix) as two:
        await one.upsert(1, entries)
        await two.upsert(1, entries)
        await two.drop(1)
        assert await found(one, entries[0].vectors[0]) == []
        await one.upsert(1, entries[:1])
        assert await found(two, entries[0].vectors[0]) == [entries[0].id]


async def test_prefixes_do_not_meet(chroma_url):
    prefix = f"test-{uuid4().hex}"
    entries = entries_of(directions(2))
    async with on_server(chroma_url, prefix=f"{prefix}-g1") as two, on_server(chroma_url, prefix=prefix) as one:
        for generation in (1, 11):
            await one.upsert(generation, entries)
            await two.upsert(generation, entries)
        await one.remove(ids_of(entries[:1]))
        await one.drop(1)
        assert (await one.count(1), await one.count(11)) == (0, 1)
        assert (await two.count(1), await two.count(11)) == (2, 2)


# Searches


async def test_many_long_memories_leave_room_for_all(vectors):
    rows = directions(20 * 30)
    entries = [an_entry(*rows[start : start + 30]) for start in range(0, len(rows), 30)]
    await vectors.upsert(1, entries)
    [question] = directions(1, seed=9)
    assert_nearest(await vectors.search(1, question, HERE, now=NOW, limit=20), entries, question, 20)
    assert await vectors.count(1) == 20


async def test_a_broad_filter_costs_no_condition_and_a_narrow_one_keeps_its_recall(vectors, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.vectors.chroma.search.MOST", 100)
    mine, theirs = entries_of(directions(20)), entries_of(directions(480, seed=8), scope=a_scope("bob"))
    await vectors.upsert(1, mine + theirs)
    connection = await vectors._reach()
    nearest, conditions = connection.nearest, []

    async def noted(name, vector, *, limit, where=None):
        conditions.append(where)
        return await nearest(name, vector, limit=limit, where=where)

    monkeypatch.setattr(connection, "nearest", noted)
    [question] = directions(1, seed=9)
    broad = await vectors.search(1, question, Filter(scope=a_scope("bob")), now=NOW, limit=20)
    assert_nearest(broad, theirs, question, 20)
    assert conditions == [None]
    assert_nearest(await vectors.search(1, question, HERE, now=NOW, limit=20), mine, question, 20)
    assert conditions[1:] == [None, {"user": {"$in": ["anna", ""]}}]


async def test_among_may_name_more_than_one_request_holds(vectors, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.vectors.chroma.store.AMONG_PER_SEARCH", 100)
    entries = entries_of(directions(400))
    await vectors.upsert(1, entries)
    [question] = directions(1, seed=9)
    named = ids_of(entries[:350])
    matches = await vectors.search(1, question, HERE, now=NOW, limit=20, among=named + named[:5])
    assert_nearest(matches, entries[:350], question, 20)


async def test_among_may_name_tens_of_thousands(chroma_url):
    async with on_server(chroma_url) as vectors:
        entries = entries_of(directions(50))
        await vectors.upsert(1, entries)
        [question] = directions(1, seed=9)
        strangers = [new_id() for _ in range(30_000)]
        named = [*strangers[:15_000], *ids_of(entries[:30]), *strangers[15_000:]]
        with at_most(10):
            matches = await vectors.search(1, question, HERE, now=NOW, limit=10, among=named)
        assert_nearest(matches, entries[:30], question, 10)


async def test_vectors_come_back_as_they_were_given(vectors):
    rows = directions(30, dimensions=384)
    entries = entries_of(rows)
    await vectors.upsert(1, entries)
    back = await vectors.entries(1, ids_of(entries))
    assert (np.concatenate([entry.vectors for entry in back]) == rows).all()


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


# Connections

NO_WAIT = 10
"""Seconds: more than anybody may take to say that a server is away, and less than those take who wait in turn."""


async def test_it_says_what_it_is(vectors):
    await vectors.load()
    await vectors.ping()
    await vectors.upsert(1, entries_of(directions(1)))
    [finding] = await vectors.inspect()
    assert (finding.about, finding.remedy) == ("Chroma", "")
    assert "with 2 collections" in finding.said


async def test_a_killed_server_is_noticed_at_once_and_found_again(mortal):
    vectors = ChromaVectors(mortal.at(timeout=60))
    entries = entries_of(directions(20))
    question = entries[0].vectors[0]
    await vectors.upsert(1, entries)
    for _ in range(2):
        mortal.kill()
        for _ in range(3):
            with at_most(NO_WAIT), pytest.raises(StoreUnavailable, match=rf"chroma://127.0.0.1:{mortal.port} .*Check"):
                await vectors.search(1, question, HERE, now=NOW, limit=3)
        with at_most(NO_WAIT), pytest.raises(StoreUnavailable):
            await vectors.upsert(1, entries)
        mortal.start_again()
        assert len(await found(vectors, question)) == 10
        assert await vectors.count(1) == 20
    await vectors.shut()


async def test_a_frozen_server_is_waited_for_no_longer_than_said(mortal):
    vectors = ChromaVectors(mortal.at(timeout=1))
    entries = entries_of(directions(20))
    await answered(lambda: vectors.upsert(1, entries))
    mortal.send(signal.SIGSTOP)
    for verb in (vectors.count(1), vectors.upsert(1, entries), found(vectors, entries[0].vectors[0]), vectors.ping()):
        with at_most(NO_WAIT), pytest.raises(StoreUnavailable, match="within 1 seconds"):
            await verb
    mortal.send(signal.SIGCONT)
    assert await answered(lambda: vectors.count(1)) == 20
    await vectors.shut()


async def test_a_server_that_is_down_at_first_is_found_later(mortal):
    mortal.kill()
    vectors = ChromaVectors(mortal.at(timeout=60))
    with at_most(NO_WAIT), pytest.raises(StoreUnavailable, match="cannot be reached"):
        await vectors.count(1)
    mortal.start_again()
    await vectors.upsert(1, entries_of(directions(2)))
    assert await vectors.count(1) == 2
    await vectors.shut()


async def test_many_who_come_while_it_does_not_answer_wait_together(mortal):
    vectors = ChromaVectors(mortal.at(timeout=1))
    mortal.send(signal.SIGSTOP)
    with at_most(NO_WAIT):
        answers = await asyncio.gather(*(vectors.count(1) for _ in range(2 * NO_WAIT)), return_exceptions=True)
    assert {type(answer) for answer in answers} == {StoreUnavailable}
    mortal.send(signal.SIGCONT)
    assert await answered(lambda: vectors.count(1)) == 0
    await vectors.shut()


def test_recall_degrades_while_it_is_frozen_and_catches_up_after(mortal, tmp_path):
    url = mortal.at(timeout=60)
    with scrubjay.open(tmp_path, embedder="static", vectors=url, background=False) as jay:
        jay.remember("The shop runs on PostgreSQL", kind="fact")
        assert jay.recall("which database?", mode="meaning")[0].memory.content == "The shop runs on PostgreSQL"
    with scrubjay.open(tmp_path, embedder="static", vectors=mortal.at(timeout=1), background=False) as jay:
        mortal.send(signal.SIGSTOP)
        with at_most(30):
            jay.remember("The shop sells acorns", kind="fact")
            hits = jay.recall("shop PostgreSQL")
        assert hits[0].memory.content == "The shop runs on PostgreSQL"
        assert "vectors" in hits.degraded
        mortal.send(signal.SIGCONT)
    with scrubjay.open(tmp_path, embedder="static", vectors=url, background=False) as jay:
        jay.reindex()
        hits = jay.recall("what does the store offer?", mode="meaning")
        assert hits.degraded == ()
        assert "The shop sells acorns" in [hit.memory.content for hit in hits]


async def test_a_host_that_does_not_exist_is_unavailable():
    vectors = ChromaVectors("chroma://nowhere.invalid:8001")
    with pytest.raises(StoreUnavailable, match=r"nowhere\.invalid"):
        await vectors.count(1)
    await vectors.shut()


@contextmanager
def serving(handler):
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class Quiet(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Stranger(Quiet):
    """A server that is no Chroma."""

    def do_GET(self):
        self.send_error(404, "no such page")


class Website(Quiet):
    """A server that has a page for everything."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>Welcome</html>")


@pytest.mark.parametrize("handler", [Stranger, Website])
async def test_another_kind_of_server_is_named_as_such(handler):
    with serving(handler) as address:
        vectors = ChromaVectors(f"chroma://{address}")
        with pytest.raises(StoreUnavailable, match="is no Chroma"):
            await vectors.count(1)
        await vectors.shut()


async def test_keys_are_sent_and_never_shown(chroma_url):
    class Doorman(Quiet):
        """What stands before a Chroma that has no keys of its own: passes on what carries the right one."""

        def do_GET(self):
            if self.headers.get("X-Chroma-Token") != "right-secret":
                self.send_error(401, "who are you?")
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = httpx.request(
                self.command, chroma_url + self.path, content=body, headers={"Content-Type": "application/json"}
            )
            self.send_response(answer.status_code)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_POST = do_DELETE = do_GET  # noqa: N815 -- the names that http.server calls

    entries = entries_of(directions(2))
    with serving(Doorman) as address:
        prefix = f"test-{uuid4().hex}"
        async with on_server(f"chroma://:right-secret@{address}", prefix=prefix) as vectors:
            await vectors.upsert(1, entries)
            again = ChromaVectors(f"chroma://{address}", key="right-secret", prefix=prefix)
            assert await again.count(1) == 2
            assert "secret" not in f"{again.name} {again._place!r}"
            await again.shut()
        for key in ("", "wrong-secret"):
            vectors = ChromaVectors(f"chroma://{address}", key=key)
            with pytest.raises(StoreUnavailable, match="refuses the key") as caught:
                await vectors.upsert(1, entries)
            assert "secret" not in str(caught.value)
            await vectors.shut()


async def test_a_database_that_is_not_there_is_named(chroma_url):
    vectors = ChromaVectors(f"{chroma_url.replace('http', 'chroma', 1)}?database=nowhere")
    with pytest.raises(StoreUnavailable, match="'nowhere'"):
        await vectors.upsert(1, entries_of(directions(1)))
    await vectors.shut()


async def test_a_server_without_base64_gets_numbers(chroma_url):
    async with on_server(chroma_url) as vectors:
        connection = await vectors._reach()
        connection._takes_base64 = False
        entries = entries_of(directions(3))
        await vectors.upsert(1, entries)
        back = await vectors.entries(1, ids_of(entries))
        assert all((one.vectors == two.vectors).all() for one, two in zip(back, entries, strict=True))


async def test_after_shutting_it_is_closed(vectors):
    assert await vectors.count(1) == 0
    await vectors.shut()
    await vectors.shut()
    with pytest.raises(Closed):
        await vectors.count(1)


# In this process


async def test_a_folder_keeps_what_it_was_given(chroma_packages, tmp_path):
    entries = entries_of(directions(5))
    async with in_process(tmp_path / "here" / "chroma") as vectors:
        await vectors.upsert(1, entries)
    async with in_process(tmp_path / "here" / "chroma") as vectors:
        assert await vectors.count(1) == 5
        assert (await found(vectors, entries[0].vectors[0]))[0] == entries[0].id


async def test_two_in_one_process_share_a_folder(chroma_packages, tmp_path):
    entries = entries_of(directions(5))
    async with in_process(tmp_path) as one:
        async with in_process(tmp_path) as two:
            await asyncio.gather(one.upsert(1, entries[:3]), two.upsert(1, entries[3:]))
            assert await one.count(1) == 5
        assert (await found(one, entries[4].vectors[0]))[0] == entries[4].id


def test_a_folder_belongs_to_one_process_until_it_ends(chroma_packages, tmp_path):
    script = f"""
import asyncio, sys
sys.path.append({sys.path[-1]!r})
from scrubjay.backends.vectors.chroma import ChromaVectors
from scrubjay.testing.vectors import directions, entries_of
async def main():
    await ChromaVectors(sys.argv[1]).upsert(1, entries_of(directions(2)))
    print("stored", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""

    async def count():
        async with in_process(tmp_path) as vectors:
            return await vectors.count(1)

    command = [sys.executable, "-c", script, f"chroma:{tmp_path}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "stored\n"
        with pytest.raises(StoreUnavailable, match="open in another process"):
            asyncio.run(count())
        other.kill()
    assert asyncio.run(count()) == 2, "what the other one stored is there, though it was killed"


async def test_a_folder_that_cannot_be_made_is_named(chroma_packages, tmp_path):
    (tmp_path / "file").write_text("in the way")
    vectors = ChromaVectors(f"chroma:{tmp_path}/file/chroma")
    with pytest.raises(StoreUnavailable, match="file/chroma"):
        await vectors.count(1)
    await vectors.shut()


def test_a_backup_holds_what_is_beside_the_file(chroma_packages, tmp_path):
    here = {"embedder": "static", "vectors": "chroma:", "background": False}
    with scrubjay.open(tmp_path / "one", **here) as jay:
        jay.remember("The shop runs on PostgreSQL", kind="fact")
    back_up(read_settings(home=tmp_path / "one", **here), tmp_path / "backup")
    restored = restore_from(read_settings(home=tmp_path / "two", **here), tmp_path / "backup")
    assert restored.carried.vectors == {1: 1}
    assert sorted(path.name for path in (tmp_path / "two").iterdir() if path.is_dir()) == ["scrubjay.db.chroma"]
    with scrubjay.open(tmp_path / "two", **here) as jay:
        assert jay.recall("which database?", mode="meaning")[0].memory.content == "The shop runs on PostgreSQL"


# Configuration


def test_a_url_says_it_all():
    url = "chromas://:s%2Fcret@example.org?prefix=p&tenant=t&database=d%20e&timeout=4"
    place = place_of(url, prefix="scrubjay", key="other", beside=None)
    assert place == Place(
        host="example.org", port=8000, tls=True, key="s/cret", prefix="p", tenant="t", database="d e", timeout=4
    )
    assert place.collections == "https://example.org:8000/api/v2/tenants/t/databases/d%20e/collections"
    other = place_of("chroma://[::1]:99", prefix="q", key="k", beside=None)
    assert other == Place(host="[::1]", port=99, prefix="q", key="k")


def test_a_folder_is_named_or_lies_beside_the_records(tmp_path):
    def read(url, beside=tmp_path):
        return place_of(url, prefix="p", key="", beside=beside)

    assert read("chroma:") == Folder(path=tmp_path, prefix="p")
    assert read("chroma:/data/my%20chroma?prefix=q") == Folder(path=Path("/data/my chroma"), prefix="q")
    assert read("chroma:///data") == Folder(path=Path("/data"), prefix="p")
    assert read("chroma:~/data").path == Path.home() / "data"
    with pytest.raises(Misconfigured, match="chroma:/path"):
        read("chroma:", beside=None)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://:secret@localhost", "chroma://HOST:PORT"),
        ("chromas:", "chroma://HOST:PORT"),
        ("chroma://:secret@host:99999", "chroma://HOST:PORT"),
        ("chroma://:8000", "no host"),
        ("chroma://:secret@host/path", "path"),
        ("chroma://secret@host", "chroma://:KEY@HOST"),
        ("chroma://:secret@host?shards=2", "no option shards"),
        ("chroma:/folder?timeout=2", "no option timeout"),
        ("chroma:/folder#2", "%23"),
        ("chroma://:secret@host?timeout=1.5", "timeout"),
        ("chroma://:secret@host?prefix=a/b", "prefix"),
        ("chroma:/folder?prefix=-a", "prefix"),
    ],
)
def test_a_wrong_url_is_refused_without_its_key(url, said):
    with pytest.raises(Misconfigured, match=said) as caught:
        ChromaVectors(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "package", "extra"), [("chroma:/x", "chromadb", "chroma"), ("chroma://h", "httpx", "chroma-client")]
)
def test_without_the_driver_the_extra_is_named(url, package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(Misconfigured, match=rf"pip install 'scrubjay\[{extra}\]'"):
        ChromaVectors(url)


def test_drivers_are_imported_when_they_are_used():
    script = """
import sys
from scrubjay.backends.vectors.chroma import ChromaVectors
ChromaVectors("chroma://localhost")
assert not {"httpx", "chromadb"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=180)
