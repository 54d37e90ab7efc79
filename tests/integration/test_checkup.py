"""Faults are planted behind the back of a memory on real stores: each is found with its remedy, and put right once."""

from contextlib import asynccontextmanager
from uuid import uuid4

import pytest
import redis
from sqlalchemy import text

from scrubjay.backends.redis.inspection import RedisInspection
from scrubjay.backends.sql.blob_inspection import BlobInspection
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.inspection import SqlInspection
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.vectors.chroma import ChromaVectors
from scrubjay.backends.vectors.pgvector_inspection import PgInspection
from scrubjay.backends.vectors.qdrant import QdrantVectors
from scrubjay.errors import StoreUnavailable
from scrubjay.jobs.checkup import PAGE
from scrubjay.model import Scope, new_id
from scrubjay.ports import Blob, Room
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.testing.vectors import an_entry, directions
from scrubjay.wiring import wire

DIMENSIONS = ToyEmbedder().identity.dimensions


@pytest.fixture(params=["embedded on SQLite", "embedded on PostgreSQL", "pgvector", "qdrant", "chroma"])
async def place(request, tmp_path):
    """Where records and vectors are, on every engine in turn."""
    file = f"sqlite:///{tmp_path}/scrubjay.db"
    match request.param:
        case "embedded on SQLite":
            yield {"records": file, "vectors": "embedded"}
        case "embedded on PostgreSQL":
            yield {"records": request.getfixturevalue("postgres_database")(), "vectors": "embedded"}
        case "pgvector":
            yield {"records": request.getfixturevalue("postgres_database")(), "vectors": "pgvector:"}
        case kind:
            address = request.getfixturevalue(f"{kind}_url").replace("http", kind, 1)
            url = f"{address}?prefix=test{uuid4().hex}"
            yield {"records": file, "vectors": url}
            engine = ChromaVectors(url) if kind == "chroma" else QdrantVectors(url)
            await engine.drop(1)
            await engine.shut()


@asynccontextmanager
async def opened(place):
    async with wire(read_settings(**place, background=False), embedder=ToyEmbedder()) as jay:
        yield jay


def faults(found):
    return [(one.about, one.said) for one in found if one.remedy]


def fixed(found):
    return [(one.about, one.said) for one in found if one.fixed]


async def test_a_sound_memory_has_no_faults(place):
    async with opened(place) as jay:
        await jay.remember_many([f"The moon and the tide, {number}" for number in range(20)])
        await jay.reindex()
        seen = []
        found = await jay.examine(lambda done, total: seen.append((done, total)))
        assert faults(found) == []
        assert ("generation 1", "vectors of 20 memories, active") in [(one.about, one.said) for one in found]
        # From the records' side and from the vectors'; those of a mirror are looked at, too.
        assert seen[-1] == ((60, 60) if "://" in place["vectors"] else (40, 40))
        assert fixed(await jay.examine(fix=True)) == []


async def test_what_is_missing_and_what_is_orphaned_is_found_and_put_right(place):
    async with opened(place) as jay:
        told = await jay.remember_many([f"The moon and the tide, {number}" for number in range(PAGE + 20)])
        ids = [one.memory.id for one in told]
        await jay.reindex()
        vectors = jay.parts.stores.vectors
        lost = [ids[0], ids[7], ids[PAGE + 3]]
        await vectors.remove(lost)
        orphans = [an_entry(row) for row in directions(3, dimensions=DIMENSIONS)]
        await vectors.upsert(1, orphans)
        expected = [
            ("generation 1", "3 memories marked as indexed, without vectors"),
            ("generation 1", "vectors of 3 memories without a record"),
        ]
        found = await jay.examine()
        assert [one for one in faults(found) if one[0] != "index"] == expected
        assert all("--fix" in one.remedy for one in found if one.about == "generation 1")
        # Looking changes nothing.
        assert await vectors.traces([one.id for one in orphans]) == 3
        assert await jay.parts.index.backlog() == 0
        assert fixed(await jay.examine(fix=True)) == expected
        assert await vectors.traces([one.id for one in orphans]) == 0
        assert await jay.parts.index.backlog() == 3
        assert await vectors.missing(1, [one for one in ids if one not in lost]) == []
        assert fixed(await jay.examine(fix=True)) == []
        assert await jay.reindex() == 3
        assert faults(await jay.examine()) == []


async def test_vectors_that_cannot_be_asked_are_a_finding_and_no_failure(tmp_path):
    place = {"records": f"sqlite:///{tmp_path}/scrubjay.db", "vectors": "qdrant://127.0.0.1:9?timeout=1"}
    async with opened(place) as jay:
        await jay.remember("Kept all the same")
        found = {one.about: one for one in await jay.examine()}
        assert found["integrity"].remedy == ""
        assert "127.0.0.1:9" in found["vectors"].remedy


@pytest.fixture(params=["sqlite", "postgresql"])
def records(request, tmp_path):
    """Where records are, on both dialects in turn."""
    sqlite = request.param == "sqlite"
    return f"sqlite:///{tmp_path}/scrubjay.db" if sqlite else request.getfixturevalue("postgres_database")()


@asynccontextmanager
async def files_of(records):
    """A memory of the tenant with one memory, its blobs, and who looks them over without waiting long."""
    async with opened({"records": records}) as jay:
        told = await jay.remember("Finished the parser")
        database = Database(records)
        yield jay.parts.stores.blobs, told.id, BlobInspection(database, patience=0.1)
        await database.shut()


SCOPE = Scope(tenant="default")


async def test_sound_files_are_counted(records):
    async with files_of(records) as (blobs, owner, inspection):
        await blobs.keep(SCOPE, owner, [Blob(b"one"), Blob(b"three")])
        [found] = await inspection.inspect(fix=True)
        assert (found.said, found.remedy) == ("2 files of 8 bytes, every one as it was stored", "")
    async with opened({"records": records}) as jay:
        assert "2 files of 8 bytes, every one as it was stored" in [one.said for one in await jay.examine()]


async def test_files_of_a_memory_that_is_gone_are_deleted_unless_another_holds_them(records):
    async with files_of(records) as (blobs, owner, inspection):
        await blobs.keep(SCOPE, owner, [Blob(b"shared")])
        await blobs.keep(SCOPE, new_id(), [Blob(b"shared"), Blob(b"alone")])
        said = "files are held by 1 memory that is not there"
        assert faults(await inspection.inspect()) == [("kept files", said)]
        assert await blobs.room(SCOPE) == Room(blobs=2, bytes=11, stored=11)
        [found] = await inspection.inspect(fix=True)
        assert (found.said, found.fixed) == (said, "1 file deleted")
        assert await blobs.held(SCOPE, [owner]) == {owner: (Blob(b"shared").hash,)}
        assert await blobs.get(SCOPE, [Blob(b"shared").hash, Blob(b"alone").hash]) == {Blob(b"shared").hash: b"shared"}
        assert fixed(await inspection.inspect(fix=True)) == []


async def test_files_that_are_stored_before_their_memory_are_left_alone(records):
    async with opened({"records": records}) as jay:
        owner = new_id()
        await jay.parts.stores.blobs.keep(SCOPE, owner, [Blob(b"on its way")])
        told = []

        class Watched(Database):
            """Between the first look and the second, the memory comes."""

            async def read(self, work):
                found = await super().read(work)
                if not told:
                    told.append(await jay.remember("And here is the memory", id=owner))
                return found

        database = Watched(records)
        assert fixed(await BlobInspection(database, patience=0).inspect(fix=True)) == []
        assert told
        assert await jay.parts.stores.blobs.held(SCOPE, [owner]) == {owner: (Blob(b"on its way").hash,)}
        await database.shut()


async def test_what_another_file_lists_is_held(records):
    async with files_of(records) as (blobs, owner, inspection):
        part, gone = Blob(b"part"), new_id()
        await blobs.keep(SCOPE, owner, [part, Blob(b"list", parts=(part.hash,))])
        await blobs.keep(SCOPE, gone, [Blob(b"other part"), Blob(b"other list", parts=(Blob(b"other part").hash,))])
        assert fixed(await inspection.inspect(fix=True)) == [
            ("kept files", "files are held by 1 memory that is not there")
        ]
        assert (await blobs.room(SCOPE)).blobs == 2
        assert faults(await inspection.inspect()) == []


async def test_of_a_damaged_file_that_others_list_the_memory_is_named(records):
    async with files_of(records) as (blobs, owner, inspection):
        part, meanwhile = Blob(b"part"), new_id()
        inner = Blob(b"inner", parts=(part.hash,))
        await blobs.keep(SCOPE, meanwhile, [part, inner])
        await blobs.keep(SCOPE, owner, [Blob(b"outer", parts=(inner.hash,))])
        await blobs.release(SCOPE, [meanwhile])
        changed = "x'0102'" if records.startswith("sqlite") else "'\\x0102'"
        await run_on(records, f"UPDATE blobs SET body = {changed} WHERE hash = '{part.hash}'")
        [found] = await inspection.inspect()
        assert found.said == f"file {part.hash[:12]}… of tenant default is damaged, held by {owner}"


async def test_files_that_nobody_holds_are_deleted_and_what_builds_on_them_stays(records):
    lines = [f"line {place}\n" for place in range(300)]
    first = Blob("".join(lines).encode())
    second = Blob("".join([*lines, "more\n"]).encode(), base=first.hash)
    async with files_of(records) as (blobs, owner, inspection):
        await blobs.keep(SCOPE, owner, [first])
        await blobs.keep(SCOPE, owner, [second])
        await run_on(
            records, f"DELETE FROM blob_holders WHERE blob = (SELECT number FROM blobs WHERE hash = '{first.hash}')"
        )
        assert faults(await inspection.inspect()) == [("kept files", "1 file that no memory holds")]
        assert fixed(await inspection.inspect(fix=True)) == [("kept files", "1 file that no memory holds")]
        assert await blobs.get(SCOPE, [first.hash, second.hash]) == {second.hash: second.content}
        assert faults(await inspection.inspect()) == []


async def test_damaged_files_are_named_with_what_holds_them(records):
    lines = [f"line {place}\n" for place in range(300)]
    first = Blob("".join(lines).encode())
    second = Blob("".join([*lines, "more\n"]).encode(), base=first.hash)
    sound = Blob(b"sound")
    async with files_of(records) as (blobs, owner, inspection):
        await blobs.keep(SCOPE, owner, [sound, first])
        await blobs.keep(SCOPE, owner, [second])
        changed = "x'0102'" if records.startswith("sqlite") else "'\\x0102'"
        await run_on(records, f"UPDATE blobs SET body = {changed} WHERE hash = '{first.hash}'")
        found = await inspection.inspect(fix=True)
        # What builds on a damaged one is damaged too.
        assert [one.said for one in found] == [
            f"file {blob.hash[:12]}… of tenant default is damaged, held by {owner}" for blob in (first, second)
        ]
        assert all("restore a backup" in one.remedy for one in found)
        assert await blobs.get(SCOPE, [sound.hash]) == {sound.hash: b"sound"}


async def run_on(url, *statements):
    database = Database(url)
    for statement in statements:
        await database.write(lambda connection, statement=statement: connection.execute(text(statement)))
    await database.shut()


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
@pytest.mark.parametrize("name", ["uq_memories_open_key", "ix_memories_scope"])
async def test_an_index_that_was_dropped_is_made_again(dialect, name, tmp_path, postgres_database):
    url = f"sqlite:///{tmp_path}/scrubjay.db" if dialect == "sqlite" else postgres_database()
    async with opened({"records": url}) as jay:
        await jay.remember("One", key="k")
    await run_on(url, f"DROP INDEX {name}")
    database = Database(url)
    inspection = SqlInspection(database)
    [fault] = [one for one in await inspection.inspect() if one.about == "indexes"]
    assert name in fault.said
    assert "CREATE" in fault.remedy
    assert [one.fixed for one in await inspection.inspect(fix=True) if one.fixed] == ["it was made"]
    assert [one for one in await inspection.inspect(fix=True) if one.about == "indexes"] == []
    await database.shut()
    async with opened({"records": url}) as jay:
        assert await jay.check() == []
        assert (await jay.remember("Two", key="k")).outcome == "superseded"


@pytest.mark.parametrize("name", ["ix_texts_words", "ix_memories_kind"])
async def test_an_index_of_postgresql_alone_is_missed_too(name, postgres_database):
    url = postgres_database()
    async with opened({"records": url}) as jay:
        await jay.remember("One")
        await run_on(url, f"DROP INDEX {name}")
        assert any(name in said for _, said in faults(await jay.examine()))
        assert any(name in said for _, said in fixed(await jay.examine(fix=True)))
        assert faults(await jay.examine()) == []


async def test_words_that_are_not_in_the_index_are_put_there(postgres_database):
    url = postgres_database()
    async with opened({"records": url}) as jay:
        await jay.remember_many(["The moon", "The tide"])
        await run_on(url, "DELETE FROM texts WHERE body LIKE '%moon%'")
        assert ("store", "2 memories but 1 in the text index") in faults(await jay.examine())
        assert ("words", "2 memories but 1 in the text index") in fixed(await jay.examine(fix=True))
        assert [hit.memory.content for hit in await jay.recall("moon", mode="words")] == ["The moon"]


async def test_settings_that_lose_data_are_named(postgres_database):
    url = postgres_database()
    lost = "synchronous_commit is off: a crash may lose what was acknowledged last"
    for wanted, expected in (("off", [lost]), ("on", [])):
        database = Database(f"{url}?options=-c%20synchronous_commit%3D{wanted}")
        await migrate(database)
        found = [one for one in await SqlInspection(database).inspect() if "synchronous_commit" in one.said]
        assert [one.said for one in found] == expected
        assert not any(one.remedy for one in found)
        await database.shut()


async def test_a_part_of_pgvector_that_is_missing_is_made(postgres_database):
    url = postgres_database()
    async with opened({"records": url, "vectors": "pgvector:"}) as jay:
        [version] = [one for one in await jay.examine() if one.about == "pgvector"]
        assert "is made with the first vector" in version.said
        await jay.remember("One")
        await run_on(url, "DROP INDEX ix_vectors_g1_scope")
        assert any("ix_vectors_g1_scope" in said for _, said in faults(await jay.examine()))
        assert any("ix_vectors_g1_scope" in said for _, said in fixed(await jay.examine(fix=True)))
        assert faults(await jay.examine()) == []


async def test_an_older_pgvector_is_named(postgres_database, monkeypatch):
    url = postgres_database()
    await run_on(url, "CREATE EXTENSION vector")
    monkeypatch.setattr("scrubjay.backends.vectors.pgvector_tables.ITERATIVE_SINCE", (99, 0))
    database = Database(url)
    [found] = await PgInspection(database).inspect()
    assert "99.0 or newer" in found.remedy
    await database.shut()


async def test_an_index_of_qdrant_that_is_missing_is_made(tmp_path, qdrant_url):
    from qdrant_client import AsyncQdrantClient

    prefix = f"test{uuid4().hex}"
    vectors = f"{qdrant_url.replace('http', 'qdrant', 1)}?prefix={prefix}"
    client = AsyncQdrantClient(qdrant_url, check_compatibility=False)
    async with opened({"records": f"sqlite:///{tmp_path}/scrubjay.db", "vectors": vectors}) as jay:
        await jay.remember("One")
        await client.delete_payload_index(f"{prefix}-g1-1", "kind", wait=True)
        assert any("no index of kind" in said for _, said in faults(await jay.examine()))
        assert any("no index of kind" in said for _, said in fixed(await jay.examine(fix=True)))
        assert faults(await jay.examine()) == []
        await jay.parts.stores.vectors.drop(1)
    await client.close()


async def test_redis_says_its_version(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()  # Other tests of this process leave sessions there, which would be said, too.
    [found] = await RedisInspection(redis_url, "records").inspect()
    assert found.about in ("Redis", "Valkey")
    assert found.said[0].isdigit()
    assert found.remedy == ""


async def test_a_redis_that_is_away_says_so():
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:9"):
        await RedisInspection("redis://127.0.0.1:9").inspect()
