"""A whole installation is moved from store to store: nothing is lost, nothing is made again, nothing comes twice."""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from whole_store import CountingEmbedder, blocking, filled, told_by

from lengths import sized
from scrubjay.backends.sql.carry import SqlPortable
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.schema import metadata
from scrubjay.backends.vectors.chroma import ChromaVectors
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.backends.vectors.pgvector import PgVectors
from scrubjay.backends.vectors.qdrant import QdrantVectors
from scrubjay.errors import Conflict, InvalidInput, Misconfigured, SchemaOutdated, StoreDamaged, StoreUnavailable
from scrubjay.model import Scope, new_id
from scrubjay.ports import Blob
from scrubjay.testing import ToyEmbedder
from scrubjay.testing.vectors import directions, entries_of
from scrubjay.wiring import move_stores


def path_of(setup):
    return Path(setup.url.removeprefix("sqlite:///"))


def alike(seen):
    """What has to be the same on any kind of store: two engines do not weigh words alike, nor does one before and after
    it has read them into memory."""
    return {name: sorted(one for _, one in answer) if name[-1] == "hybrid" else answer for name, answer in seen.items()}


async def contents(url, made=EmbeddedVectors):
    """Every row, every vector, every blob and every session, to the last bit."""
    database = Database(url)
    engine = made(database)
    async with SqlPortable(database).still() as still:
        pieces = [piece async for piece in still.pieces()]
        outline = await still.outline()
    rows = [memory for piece in pieces for memory in piece.memories]
    entries = {
        generation.number: [
            (entry, entry.vectors.tobytes())
            for entry in await engine.entries(generation.number, [memory.id for memory in rows])
        ]
        for generation in outline.generations
    }
    await engine.shut()
    await database.shut()
    blobs = [whole for piece in pieces for whole in piece.blobs]
    sessions = [whole for piece in pieces for whole in piece.sessions]
    return rows, outline, entries, blobs, sessions


async def test_there_and_back_is_the_same(new_setup):
    old, server, back = new_setup("sqlite"), new_setup("postgresql"), new_setup("sqlite")
    await filled(old, more=700)
    for setup in (server, back):
        setup.clock.now = old.clock.now
    before = await told_by(old)
    everything = await contents(old.url)
    there = await blocking(move_stores, source=old.url, target=server.url)
    assert alike(await told_by(server)) == alike(before)
    assert await contents(server.url) == everything
    again = await blocking(move_stores, source=server.url, target=back.url)
    assert alike(await told_by(back)) == alike(before)
    assert await contents(back.url) == everything
    assert there.carried == again.carried
    assert there.carried.memories == len(everything[0])
    assert dict(there.carried.tenants) == everything[1].tenants
    assert dict(there.carried.blobs) == everything[1].blobs == {"default": 9, "other": 9}
    assert dict(there.carried.sessions) == everything[1].sessions == {"default": 2, "other": 2}
    assert there.carried.vectors == {1: len(everything[2][1]), 2: len(everything[2][2])}
    assert len(everything[2][1]) > 1400


async def test_there_and_back_by_pgvector_is_the_same(new_setup):
    """Both engines keep half floats, so nothing is rounded on the way."""
    old, server, back = new_setup("sqlite"), new_setup("postgresql"), new_setup("sqlite")
    await filled(old, more=600)
    back.clock.now = old.clock.now
    before = await told_by(old)
    everything = await contents(old.url)
    there = await blocking(move_stores, source=old.url, target=server.url, target_vectors="pgvector:")
    assert await contents(server.url, PgVectors) == everything
    again = await blocking(move_stores, source=server.url, source_vectors="pgvector:", target=back.url)
    assert alike(await told_by(back)) == alike(before)
    assert await contents(back.url) == everything
    assert there.carried == again.carried
    assert there.carried.vectors == {1: len(everything[2][1]), 2: len(everything[2][2])}


async def test_pgvector_that_holds_something_is_refused(new_setup):
    old, server = new_setup("sqlite"), new_setup("postgresql")
    await filled(old)
    database = Database(server.url)
    await migrate(database)
    engine = PgVectors(database)
    await engine.upsert(2, entries_of(directions(3)))
    with pytest.raises(Conflict, match="holds 3 memories in generation 2"):
        await blocking(move_stores, source=old.url, target=server.url, target_vectors="pgvector:")
    await engine.shut()
    await database.shut()


@pytest.mark.parametrize("kind", ["qdrant", "chroma"])
async def test_vectors_go_to_a_server_of_their_own_and_back(new_setup, server_url, kind):
    old, new, back = (new_setup("sqlite") for _ in range(3))
    await filled(old, more=600)
    back.clock.now = old.clock.now
    engine = f"{server_url(kind).replace('http', kind, 1)}?prefix=test{uuid4().hex}"
    there = await blocking(move_stores, source=old.url, target=new.url, target_vectors=engine)
    again = await blocking(move_stores, source=new.url, source_vectors=engine, target=back.url)
    cleaning = (QdrantVectors if kind == "qdrant" else ChromaVectors)(engine)
    for number in (1, 2):
        await cleaning.drop(number)
    await cleaning.shut()
    assert again.carried == there.carried
    assert (await contents(back.url))[0] == (await contents(old.url))[0]
    assert alike(await told_by(back)) == alike(await told_by(old))


async def test_what_was_moved_goes_on_by_itself(new_setup):
    old, new = new_setup("sqlite"), new_setup("postgresql")
    await filled(old)
    new.clock.now = old.clock.now
    await blocking(move_stores, source=old.url, target=new.url)
    model = CountingEmbedder(version="2")
    jay = await new.open(embedder=model, models=[ToyEmbedder()])
    assert await jay.reindex() == 1
    assert model.kept == 1  # what waited already, and nothing that had vectors
    told = await jay.remember("turn 3", kind="message", user="anna", session="s", workflow="w")
    assert told.memory.position == 3
    assert (await jay.remember("Lives in Bern", key="city", user="anna")).outcome == "superseded"
    assert await jay.check() == []
    assert (await jay.rollback()).number == 1
    assert await jay.recall("turn", mode="meaning", user="anna")


async def test_the_source_is_only_read(new_setup):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await filled(old)
    with closing(sqlite3.connect(path_of(old))) as connection:
        before = list(connection.iterdump())
    await blocking(move_stores, source=old.url, target=new.url)
    with closing(sqlite3.connect(path_of(old))) as connection:
        assert list(connection.iterdump()) == before


async def test_a_target_with_something_in_it_is_refused(new_setup):
    old, new = new_setup("sqlite"), new_setup("postgresql")
    await filled(old)
    jay = await new.open()
    await jay.remember("Mine")
    with pytest.raises(Conflict, match=r"holds 1 memory and.*name an empty store"):
        await blocking(move_stores, source=old.url, target=new.url)
    assert await jay.count() == 1


async def test_a_target_that_was_only_opened_is_empty(new_setup):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await filled(old)
    await (await new.open(embedder=ToyEmbedder(version="made by opening"))).recall("anything")
    await blocking(move_stores, source=old.url, target=new.url)
    assert await contents(new.url) == await contents(old.url)


async def test_an_empty_store_moves_too(new_setup):
    old, new = new_setup("sqlite"), new_setup("postgresql")
    await old.open()
    done = await blocking(move_stores, source=old.url, target=new.url)
    assert done.carried.memories == 0


async def test_moving_twice_is_refused(new_setup):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await filled(old)
    await blocking(move_stores, source=old.url, target=new.url)
    with pytest.raises(Conflict):
        await blocking(move_stores, source=old.url, target=new.url)


async def test_a_store_is_not_moved_onto_itself(new_setup):
    old = new_setup("sqlite")
    await filled(old)
    folder, name = path_of(old).parent, path_of(old).name
    same = f"sqlite:///{folder}/../{folder.name}/{name}"
    with pytest.raises(InvalidInput, match="two stores"):
        await blocking(move_stores, source=old.url, target=same)


async def test_a_source_that_is_not_there_makes_nothing(tmp_path):
    with pytest.raises(StoreUnavailable, match="not there"):
        await blocking(move_stores, source=f"sqlite:///{tmp_path}/none.db", target=f"sqlite:///{tmp_path}/new.db")
    assert list(tmp_path.iterdir()) == []


async def test_a_source_of_another_schema_is_left_alone(new_setup, tmp_path):
    old = new_setup("sqlite")
    await filled(old)
    with closing(sqlite3.connect(path_of(old))) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    with pytest.raises(SchemaOutdated, match="scrubjay migrate"):
        await blocking(move_stores, source=old.url, target=f"sqlite:///{tmp_path}/new.db")
    assert not (tmp_path / "new.db").exists()


async def test_an_unknown_engine_is_named(new_setup):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await filled(old)
    with pytest.raises(Misconfigured, match="magic"):
        await blocking(move_stores, source=old.url, target=new.url, target_vectors="magic:")


@pytest.mark.parametrize(
    ("what", "error", "said"),
    [
        ("content = 'Another'", StoreDamaged, "not what was stored"),
        ("importance = 0.25", Conflict, "not the same on both sides"),  # Which no checksum guards.
    ],
)
async def test_a_row_that_was_changed_on_the_way_is_found(new_setup, what, error, said):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await filled(old, more=20)

    def meddle(done, total):
        if done == total // 2:
            with closing(sqlite3.connect(path_of(new))) as connection, connection:
                connection.execute(f"UPDATE memories SET {what} WHERE content LIKE 'The moon%' AND seq > 20")

    with pytest.raises(error, match=said):
        await blocking(move_stores, source=old.url, target=new.url, progress=meddle)


@pytest.mark.parametrize("what", ["DELETE FROM vectors WHERE part = 0 AND row % 7 = 0", "UPDATE vectors SET start = 3"])
async def test_vectors_that_were_changed_on_the_way_are_found(new_setup, what):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await filled(old, more=20)

    def meddle(done, total):
        if done == total // 2:
            with closing(sqlite3.connect(path_of(new))) as connection, connection:
                connection.execute(what)

    with pytest.raises(Conflict, match="vectors"):
        await blocking(move_stores, source=old.url, target=new.url, progress=meddle)


@pytest.mark.parametrize(
    "what",
    [
        "UPDATE blobs SET body = x'00', way = 'plain' WHERE number = 2",
        "DELETE FROM blob_holders WHERE blob = 3",
        "DELETE FROM blobs WHERE number = 3",
        "UPDATE working_sessions SET ended_at = NULL",
        "UPDATE working_messages SET body = replace(body, 'Message', 'Massage') WHERE position = 2",
        "DELETE FROM working_scratch WHERE name = 'plan'",
    ],
)
async def test_a_file_or_a_session_that_was_changed_on_the_way_is_found(new_setup, what):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await filled(old)

    def meddle(done, total):
        if done == total // 2:
            with closing(sqlite3.connect(path_of(new))) as connection, connection:
                assert connection.execute(what).rowcount > 0

    with pytest.raises((Conflict, StoreDamaged), match=r"not the same on both sides|not what was stored"):
        await blocking(move_stores, source=old.url, target=new.url, progress=meddle)


@pytest.mark.parametrize("kind", ["file", "session"])
async def test_a_target_with_a_file_or_a_session_is_refused(new_setup, kind):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await filled(old)
    jay = await new.open()
    if kind == "file":
        await jay.parts.stores.blobs.keep(Scope(), new_id(), [Blob(b"mine")])
    else:
        await jay.working.append("Hello", session="mine")
    with pytest.raises(Conflict, match=f"holds 1 {kind} and"):
        await blocking(move_stores, source=old.url, target=new.url)


async def test_a_file_that_is_damaged_is_not_carried(new_setup):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await filled(old)
    with closing(sqlite3.connect(path_of(old))) as connection, connection:
        connection.execute("UPDATE blobs SET body = x'00', way = 'plain' WHERE number = 2")
    with pytest.raises(StoreDamaged, match="not what was stored"):
        await blocking(move_stores, source=old.url, target=new.url)


def test_every_table_is_carried_or_made_again():
    """A new table is truth or it is not: whoever adds one has to say which."""
    carried = {"memories", "lineage", "scopes", "generations", "vectors", "blobs", "blob_holders"}
    carried |= {"working_sessions", "working_messages", "working_scratch"}
    carried |= {"work_troubles", "work_marks", "data_keys", "api_keys", "audit_log", "kept_elsewhere"}
    left = {"counters", "work_leases", "work_runs", "kept_answers", "leftovers", "shared_leftovers"}
    assert set(metadata.tables) == carried | left


async def test_what_is_written_meanwhile_stays_behind(new_setup):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await filled(old, more=1100)
    rows, *_ = await contents(old.url)

    def meddle(done, total):
        if done == 500:
            with closing(sqlite3.connect(path_of(old))) as connection, connection:
                connection.execute("UPDATE memories SET uses = uses + 1, content = 'Changed'")

    done = await blocking(move_stores, source=old.url, target=new.url, progress=meddle)
    assert done.carried.memories == len(rows)
    assert (await contents(new.url))[0] == rows


async def test_a_mark_without_vectors_is_not_carried(new_setup):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await filled(old)
    with closing(sqlite3.connect(path_of(old))) as connection, connection:
        connection.execute("DELETE FROM vectors WHERE memory_id = (SELECT id FROM memories WHERE content = 'turn 1')")
    await blocking(move_stores, source=old.url, target=new.url)
    rows, *_ = await contents(new.url)
    assert next(row.generation for row in rows if row.content == "turn 1") is None
    assert {row.generation for row in rows if row.content == "turn 2"} == {2}


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
async def test_a_move_goes_on_from_any_piece(new_setup, target):
    """Stopped after each piece in turn, of whatever kind, it carries on behind it and nothing comes twice."""
    old, new = new_setup("sqlite"), new_setup(target)
    await filled(old, more=480)

    class Stop(BaseException):
        pass

    seen = []

    def stop(done, total):
        seen.append(done)
        if len(seen) == 2 and done < total // 2:
            seen.clear()
            raise Stop

    stops = 0
    while True:
        seen.clear()
        try:
            await blocking(move_stores, source=old.url, target=new.url, progress=stop)
            break
        except Stop:
            stops += 1
    assert stops == 4
    assert await contents(new.url) == await contents(old.url)


MOVER = """
import signal, sys
from scrubjay.wiring import move_stores

def pause_there(done, total):
    if done >= total * float(sys.argv[3]):
        signal.pause()

move_stores(source=sys.argv[1], target=sys.argv[2], progress=pause_there)
"""
"""Moves, and waits to be killed once it has done so much: who kills it may be late."""


def rows_in(url):
    """How many rows have arrived; 0 while there are no tables."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        if not path.exists():
            return 0
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'memories'").fetchone()
            return connection.execute("SELECT count(*) FROM memories").fetchone()[0] if there else 0
    with psycopg.connect(url, autocommit=True) as connection:
        [there] = connection.execute("SELECT to_regclass('memories')").fetchone()
        return connection.execute("SELECT count(*) FROM memories").fetchone()[0] if there else 0


def killed(source, target, share, chance):
    """Let a move begin, kill it a moment after its first rows have arrived, and say how many are there.

    It gets no further than this share of its work.
    """
    had = rows_in(target)
    until = time.monotonic() + 60
    with subprocess.Popen([sys.executable, "-c", MOVER, source, target, str(share)]) as mover:
        while rows_in(target) == had and mover.poll() is None:
            assert time.monotonic() < until, "nothing arrives"
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.1))
        mover.send_signal(signal.SIGKILL)
    return rows_in(target)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_a_move_that_is_killed_goes_on(new_setup, kind):
    old, new = new_setup("sqlite"), new_setup(kind)
    await filled(old, more=sized(short=1_000, long=2_000))
    new.clock.now = old.clock.now
    before = await told_by(old)
    everything = await contents(old.url)
    total = len(everything[0])
    chance = random.Random(20261115)
    # Half of its work is to compare what has arrived.
    shares = sized(short=(0.15, 0.35), long=(0.1, 0.2, 0.3, 0.4))
    seen = [await blocking(killed, old.url, new.url, share, chance) for share in shares]
    assert seen == sorted(seen)
    assert 0 < seen[0] < total
    done = await blocking(move_stores, source=old.url, target=new.url)
    assert done.carried.before == seen[-1]
    assert await contents(new.url) == everything
    assert alike(await told_by(new)) == alike(before)


async def test_another_source_does_not_go_on_with_it(new_setup):
    old, other, new = new_setup("sqlite"), new_setup("sqlite"), new_setup("sqlite")
    await filled(old, more=1200)
    await filled(other)

    class Stop(BaseException):
        pass

    def stop(done, total):
        if done >= 500:
            raise Stop

    with pytest.raises(Stop):
        await blocking(move_stores, source=old.url, target=new.url, progress=stop)
    with pytest.raises(Conflict, match="holds 500 memories"):
        await blocking(move_stores, source=other.url, target=new.url)
    done = await blocking(move_stores, source=old.url, target=new.url)
    assert done.carried.before == 500
    assert await contents(new.url) == await contents(old.url)
