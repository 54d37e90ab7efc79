"""Whatever is derived from the records may be damaged in any way: nothing fails for it, and it can be made again."""

import os
import sqlite3
from contextlib import asynccontextmanager, closing
from functools import partial

import psycopg
import pytest

from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire

MANY = 30
EVERY_WAY = {"words", "meaning", "hybrid"}

left_to_the_full_form = partial(pytest.param, marks=pytest.mark.long)


@asynccontextmanager
async def opened(place):
    async with wire(read_settings(**place, background=False), embedder=ToyEmbedder()) as jay:
        yield jay


def told(number):
    return f"The moon and the tide, number{number}"


async def filled(place):
    """A store whose memories have words, vectors and lineage."""
    async with opened(place) as jay:
        first = await jay.remember(told(0))
        await jay.remember_many([told(number) for number in range(1, MANY)])
        await jay.remember("A summary of it", derived_from=[first.memory.id])
        return [line async for line in jay.export()]


async def found(jay, number):
    """By which ways a memory is found, and what the answers lack."""
    ways, lacking = set(), set()
    for mode in ("words", "meaning", "hybrid"):
        hits = await jay.recall(told(number), mode=mode, touch=False)
        lacking |= set(hits.degraded)
        if told(number) in [hit.memory.content for hit in hits]:
            ways.add(mode)
    return ways, lacking


async def survives(place, before, *, is_silent=False):
    """Nothing fails, the doctor names it and deletes nothing, and `reindex` makes everything again.

    What is damaged so that a search cannot know, such as words that lack some memories, is named by the doctor alone.
    """
    async with opened(place) as jay:
        new = await jay.remember(told(MANY))
        ways, lacking = await found(jay, 7)
        assert "hybrid" in ways
        assert ways == EVERY_WAY or lacking or is_silent
        assert [one for one in await jay.examine() if one.remedy]
        await jay.examine(fix=True)
        assert len([line async for line in jay.export()]) == len(before) + 1
    async with opened(place) as jay:
        await jay.reindex(rebuild=True)
        assert [one for one in await jay.examine() if one.remedy] == []
        for number in (0, 7, MANY):
            assert await found(jay, number) == (EVERY_WAY, set())
        after = [line async for line in jay.export()]
        assert [line for line in after if str(new.memory.id) not in line] == before
        # Lineage too: what is made from a memory goes with it.
        [first] = [memory for memory in await jay.list(limit=100) if memory.content == told(0)]
        await jay.forget(first.id)
        assert "A summary of it" not in [memory.content for memory in await jay.list(limit=100)]


ON_SQLITE = {
    "texts dropped": "DROP TABLE texts",
    "texts of another shape": "DROP TABLE texts; CREATE TABLE texts (body, other)",
    "texts emptied": "DELETE FROM texts",
    "texts half written": "DELETE FROM texts WHERE rowid > 10",
    "words half written": "DELETE FROM texts_content WHERE id > 10",
    "words of another memory": "UPDATE texts_content SET c0 = 'nothing of it' WHERE id = 8",
    **{f"texts_{part} dropped": f"DROP TABLE texts_{part}" for part in ("data", "idx", "content", "docsize", "config")},
    **{f"texts_{part} emptied": f"DELETE FROM texts_{part}" for part in ("data", "docsize", "config")},
    "texts_data garbage": "UPDATE texts_data SET block = randomblob(60)",
    "texts_data structure garbage": "UPDATE texts_data SET block = randomblob(60) WHERE id = 10",
    "text_changes dropped": "DROP TABLE text_changes",
    "trigger dropped": "DROP TRIGGER memories_changed",
    "lineage dropped": "DROP TABLE lineage",
    "vectors dropped": "DROP TABLE vectors",
    "vectors emptied": "DELETE FROM vectors",
    "vectors half written": "DELETE FROM vectors WHERE row > 10",
    "a vector cut": "UPDATE vectors SET vector = substr(vector, 1, 40) WHERE row = 8",
    "a vector of odd length": "UPDATE vectors SET vector = substr(vector, 1, 41) WHERE row = 8",
    "all vectors of another size": "UPDATE vectors SET vector = substr(vector, 1, 64)",
    "counters emptied": "DELETE FROM counters WHERE name LIKE 'vector%'",
    "an index dropped": "DROP INDEX ix_memories_scope",
}  # fmt: skip


SILENT = {"an index dropped", "trigger dropped", "index dropped", "lineage dropped"}
ALWAYS = {
    "texts dropped",
    "texts_data garbage",
    "vectors dropped",
    "a vector cut",
    "counters emptied",
    "texts half written",
    "text_changes dropped",
}
"""Kinds of damage that the short form tries, of those on SQLite."""


def is_silent(damage):
    return damage in SILENT or any(sign in damage for sign in ("emptied", "half written", "another memory"))


@pytest.mark.parametrize("damage", [one if one in ALWAYS else left_to_the_full_form(one) for one in ON_SQLITE])
async def test_on_sqlite(tmp_path, damage):
    path = tmp_path / "scrubjay.db"
    place = {"records": f"sqlite:///{path}"}
    before = await filled(place)
    with closing(sqlite3.connect(path)) as file, file:
        file.executescript(ON_SQLITE[damage])
    await survives(place, before, is_silent=is_silent(damage))


def write_garbage(path, name):
    """Overwrite the page with which a table begins."""
    with closing(sqlite3.connect(path)) as file:
        page = file.execute("PRAGMA page_size").fetchone()[0]
        (root,) = file.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek((root - 1) * page)
        file.write(os.urandom(page))


PARTS = [f"texts_{part}" for part in ("data", "content", "idx", "docsize", "config")]


@pytest.mark.parametrize("name", ["vectors", *map(left_to_the_full_form, [*PARTS, "text_changes", "lineage"])])
async def test_garbage_in_the_pages_of_a_file(tmp_path, name):
    path = tmp_path / "scrubjay.db"
    place = {"records": f"sqlite:///{path}"}
    before = await filled(place)
    write_garbage(path, name)
    await survives(place, before, is_silent=True)


async def test_the_doctor_deletes_nothing_because_of_a_damaged_index(tmp_path):
    """By an index that lacks some rows, their memories look as if they were gone, and their vectors as orphans."""
    path = tmp_path / "scrubjay.db"
    place = {"records": f"sqlite:///{path}"}
    await filled(place)
    with closing(sqlite3.connect(path)) as file, file:
        # An index that is said to have no row of some memories.
        file.execute("CREATE UNIQUE INDEX uq_memories_id_again ON memories (id) WHERE seq > 10")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA writable_schema = ON")
        (root,) = file.execute("SELECT rootpage FROM sqlite_master WHERE name = 'uq_memories_id_again'").fetchone()
        file.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = 'sqlite_autoindex_memories_1'", (root,))
        file.execute("DELETE FROM sqlite_master WHERE name = 'uq_memories_id_again'")
    async with opened(place) as jay:
        assert len(await jay.parts.stores.records.missing(await jay.parts.stores.vectors.ids(1, limit=100))) == 10
        fixed = await jay.examine(fix=True)
        assert not [one for one in fixed if "deleted" in one.fixed]
        assert await jay.parts.stores.vectors.count(1) == MANY + 1


ON_POSTGRESQL = {
    "texts dropped": "DROP TABLE texts",
    "texts of another shape": "DROP TABLE texts; CREATE TABLE texts (seq bigint, body text)",
    "texts emptied": "DELETE FROM texts",
    "texts half written": "DELETE FROM texts WHERE seq > 10",
    "words dropped": "ALTER TABLE texts DROP COLUMN words",
    "index dropped": "DROP INDEX ix_texts_words",
    "configuration dropped": "DROP TABLE texts; DROP TEXT SEARCH DICTIONARY scrubjay_words CASCADE",
    "lineage dropped": "DROP TABLE lineage",
    "vectors dropped": "DROP TABLE vectors",
    "vectors emptied": "DELETE FROM vectors",
    "a vector cut": "UPDATE vectors SET vector = substr(vector, 1, 40) WHERE row = 8",
}  # fmt: skip

IN_PGVECTOR = {
    "dropped": "DROP TABLE vectors_g1",
    "emptied": "DELETE FROM vectors_g1",
    "half written": "DELETE FROM vectors_g1 WHERE ctid > '(0,10)'",
    "of another size": "ALTER TABLE vectors_g1 DROP embedding; ALTER TABLE vectors_g1 ADD embedding halfvec(8)",
}  # fmt: skip


FEW = {"texts dropped", "words dropped", "texts half written", "vectors dropped"}


@pytest.mark.parametrize("damage", [one if one in FEW else left_to_the_full_form(one) for one in ON_POSTGRESQL])
async def test_on_postgresql(postgres_database, damage):
    place = {"records": postgres_database()}
    before = await filled(place)
    with psycopg.connect(place["records"]) as connection:
        connection.execute(ON_POSTGRESQL[damage])
    await survives(place, before, is_silent=is_silent(damage))


@pytest.mark.parametrize("damage", IN_PGVECTOR)
async def test_in_pgvector(postgres_database, damage):
    place = {"records": postgres_database(), "vectors": "pgvector:"}
    before = await filled(place)
    with psycopg.connect(place["records"]) as connection:
        connection.execute(IN_PGVECTOR[damage])
    await survives(place, before, is_silent=is_silent(damage))
