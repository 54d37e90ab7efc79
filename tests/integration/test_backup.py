"""One file holds a whole installation: taken while others write, checked before it is used, restored on any profile."""

import asyncio
import gzip
import json
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest
from test_move import alike, contents, path_of
from whole_store import blocking, filled, told_by

from scrubjay.backends.sql import carry, engines
from scrubjay.backends.sql.carry import SqlPortable
from scrubjay.backends.sql.database import Database
from scrubjay.backends.vectors.pgvector import PgVectors
from scrubjay.errors import Conflict, InvalidInput, StoreUnavailable, Unsupported
from scrubjay.jobs import backup
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.testing.events import eventually
from scrubjay.testing.vectors import directions, entries_of
from scrubjay.wiring import back_up, move_stores, restore_from


@pytest.fixture
def file(tmp_path):
    return tmp_path / "all.backup"


def settings(setup, **given):
    return read_settings(records=setup.url, **given)


async def taken(setup, file, **options):
    await filled(setup, **options)
    return await blocking(back_up, settings(setup), file)


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
@pytest.mark.parametrize("source", ["sqlite", "postgresql"])
async def test_a_backup_of_one_profile_restores_on_the_other(new_setup, file, source, target):
    old, new = new_setup(source), new_setup(target)
    done = await taken(old, file, more=600)
    new.clock.now = old.clock.now
    restored = await blocking(restore_from, settings(new), file)
    assert await contents(new.url) == await contents(old.url)
    assert alike(await told_by(new)) == alike(await told_by(old))
    assert dict(restored.carried.tenants) == done.manifest.outline.tenants
    assert dict(restored.carried.vectors) == done.manifest.vectors
    assert dict(restored.carried.blobs) == done.manifest.outline.blobs == {"default": 9, "other": 9}
    assert dict(restored.carried.sessions) == done.manifest.outline.sessions == {"default": 2, "other": 2}
    assert restored.aside is None


async def test_a_backup_of_pgvector_restores_on_pgvector_and_on_a_file(new_setup, file):
    old, server, copy, back = (new_setup(name) for name in ("sqlite", "postgresql", "postgresql", "sqlite"))
    await filled(old, more=600)
    everything = await contents(old.url)
    await blocking(move_stores, source=old.url, target=server.url, target_vectors="pgvector:")
    done = await blocking(back_up, settings(server, vectors="pgvector:"), file)
    assert done.manifest.vectors == {number: len(entries) for number, entries in everything[2].items()}
    await blocking(restore_from, settings(copy, vectors="pgvector:"), file)
    assert await contents(copy.url, PgVectors) == everything
    await blocking(restore_from, settings(back), file)
    assert await contents(back.url) == everything


async def test_a_backup_of_pgvector_while_others_write_and_purge_is_one_moment(new_setup, file):
    """Vectors are read a little later than the rows: what lost them meanwhile waits to be indexed, and says so."""
    old, new = new_setup("postgresql"), new_setup("sqlite")
    jay = await old.open(vectors=lambda engine: PgVectors(engine._database))
    told = await jay.remember_many([f"The moon and the tide, {number}" for number in range(1_200)])
    purged = told[-1].memory

    def meddle(done, total):
        if done == 500:
            with psycopg.connect(old.url) as connection:
                connection.execute("DELETE FROM vectors_g1 WHERE memory_id = %s", [purged.id])
                connection.execute("DELETE FROM memories WHERE id = %s", [purged.id])

    await blocking(back_up, settings(old, vectors="pgvector:"), file, meddle)
    await blocking(restore_from, settings(new), file)
    rows, _, entries, *_ = await contents(new.url)
    assert len(rows) == 1_200
    assert [row.id for row in rows if row.generation is None] == [purged.id]
    assert {entry.id for entry, _ in entries[1]} == {row.id for row in rows} - {purged.id}


async def test_force_keeps_the_tables_of_pgvector_aside(new_setup, file):
    """Also those of generations that the backup does not have: their rows would be of other scopes."""
    old, new = new_setup("sqlite"), new_setup("postgresql")
    await taken(old, file)
    jay = await new.open(vectors=lambda engine: PgVectors(engine._database))
    await jay.remember("Mine")
    await jay.parts.stores.vectors.upsert(7, entries_of(directions(2)))
    await jay.close()
    done = await blocking(restore_from, settings(new, vectors="pgvector:"), file, force=True)
    assert await contents(new.url, PgVectors) == await contents(old.url)
    schema = done.aside.removeprefix("schema ")
    with psycopg.connect(new.url) as connection:
        assert connection.execute("SELECT to_regclass('vectors_g7')").fetchone() == (None,)
        assert connection.execute(f"SELECT count(*) FROM {schema}.vectors_g1").fetchone() == (1,)
        assert connection.execute(f"SELECT count(*) FROM {schema}.vectors_g7").fetchone() == (2,)
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


async def test_the_file_says_what_is_in_it(new_setup, file):
    done = await taken(new_setup("sqlite"), file)
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        header, *rows, seal = [json.loads(line) for line in lines]
    assert (header["format"], header["version"], header["schema"]) == ("scrubjay-backup", 4, done.manifest.schema)
    assert header["tenants"] == done.manifest.outline.tenants
    assert header["memories"] == sum("memory" in row for row in rows)
    assert header["blobs"] == Counter(row["tenant"] for row in rows if "blob" in row)
    assert header["sessions"] == Counter(row["tenant"] for row in rows if "session" in row)
    assert seal["lines"] == len(rows)
    assert seal["vectors"] == {str(number): count for number, count in done.manifest.vectors.items()}
    body = gzip.decompress(file.read_bytes())
    assert seal["sha256"] == sha256(body[: body.rindex(b"\n", 0, -1) + 1]).hexdigest()
    assert oct(file.stat().st_mode & 0o777) == "0o600"


async def test_nothing_lies_beside_it(new_setup, file):
    await taken(new_setup("sqlite"), file)
    await blocking(restore_from, read_settings(home=file.parent / "new"), file)
    assert [path.name for path in file.parent.iterdir() if path.is_file()] == [file.name]
    beside = sorted(path.name for path in (file.parent / "new").iterdir())
    assert beside == ["scrubjay.db", "scrubjay.db.mark"]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_a_backup_is_one_moment_while_others_write(new_setup, file, kind):
    """Each write replaces a value and counts up: at any moment exactly one is current, and none is skipped."""
    old, new = new_setup(kind), new_setup("sqlite")
    await filled(old, more=1200)
    jay = await old.open(embedder=ToyEmbedder(version="2"))
    stop, written = asyncio.Event(), 0

    async def write():
        nonlocal written
        while not stop.is_set():
            await jay.remember(f"The counter is {written}", key="counter")
            written += 1
            await asyncio.sleep(0.01)

    writer = asyncio.create_task(write())
    await eventually(lambda: written > 3)
    await blocking(back_up, settings(old), file)
    by_then = written
    await eventually(lambda: written > by_then + 1)
    stop.set()
    await writer
    new.clock.now = old.clock.now
    await blocking(restore_from, settings(new), file)
    rows, *_ = await contents(new.url)
    counted = [row for row in rows if row.key == "counter"]
    assert 0 < len(counted) < written
    assert [row.content for row in counted] == [f"The counter is {number}" for number in range(len(counted))]
    assert [row.superseded_at is None for row in counted] == [False] * (len(counted) - 1) + [True]
    assert [one.superseded_by for one in counted[:-1]] == [one.id for one in counted[1:]]
    restored = await new.open(embedder=ToyEmbedder(version="2"))
    await restored.reindex()
    assert await restored.check() == []


async def test_a_backup_that_is_cancelled_closes_nothing_that_is_read(sqlite):
    begun, ended = threading.Event(), []

    def slowly(connection):
        begun.set()
        time.sleep(0.1)
        ended.append(connection.exec_driver_sql("SELECT count(*) FROM memories").scalar())

    async def carried():
        async with SqlPortable(sqlite).still() as still:
            await still._read(slowly)

    carrying = asyncio.create_task(carried())
    assert await asyncio.to_thread(begun.wait, 60)
    carrying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await carrying
    assert ended == [0]


async def test_a_backup_that_is_cancelled_while_it_opens_the_store_lets_go_of_it(sqlite, monkeypatch):
    opening, go_on, frozen, held = threading.Event(), threading.Event(), sqlite.frozen, []

    @contextmanager
    def slowly():
        opening.set()
        go_on.wait(60)
        with frozen() as connection:
            held.append(connection)
            yield connection

    monkeypatch.setattr(sqlite, "frozen", slowly)

    async def carried():
        async with SqlPortable(sqlite).still():
            raise AssertionError("it was cancelled before")

    carrying = asyncio.create_task(carried())
    assert await asyncio.to_thread(opening.wait, 60)
    for _ in range(2):
        carrying.cancel()
        await asyncio.sleep(0.01)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await carrying
    assert [connection.closed for connection in held] == [True]


async def test_a_copy_that_is_cancelled_leaves_no_folder_behind(sqlite, monkeypatch):
    opening, go_on, make = threading.Event(), threading.Event(), tempfile.TemporaryDirectory

    def slowly(**options):
        opening.set()
        go_on.wait(60)
        return make(**options)

    monkeypatch.setattr(carry.tempfile, "TemporaryDirectory", slowly)

    async def copying():
        async with carry.copied(sqlite):
            raise AssertionError("it was cancelled before")

    waiting = asyncio.create_task(copying())
    assert await asyncio.to_thread(opening.wait, 60)
    waiting.cancel()
    await asyncio.sleep(0.01)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert list(sqlite.path.parent.glob(".scrubjay-*")) == []


async def test_a_purge_does_not_wait_for_a_backup(new_setup, file):
    old = new_setup("sqlite")
    await filled(old, more=600)
    emptied = []

    def look(done, total):
        with closing(sqlite3.connect(path_of(old), timeout=0, isolation_level=None)) as connection:
            emptied.append(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])

    await blocking(back_up, settings(old), file, look)
    assert len(emptied) > 1
    assert not any(emptied)
    assert [path.name for path in path_of(old).parent.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_a_store_that_is_not_empty_is_refused(new_setup, file, kind):
    old, new = new_setup("sqlite"), new_setup(kind)
    await taken(old, file)
    jay = await new.open()
    await jay.remember("Mine")
    await jay.close()
    with pytest.raises(Conflict, match=r"holds 1 memory already.*--force"):
        await blocking(restore_from, settings(new), file)
    jay = await new.open()
    assert [memory.content for memory in await jay.list()] == ["Mine"]


async def test_force_keeps_the_old_file_aside(new_setup, file):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await taken(old, file)
    jay = await new.open()
    await jay.remember("Mine")
    await jay.close()
    done = await blocking(restore_from, settings(new), file, force=True)
    assert await contents(new.url) == await contents(old.url)
    rows, _, entries, *_ = await contents(f"sqlite:///{done.aside}")
    assert [row.content for row in rows] == ["Mine"]
    assert len(entries[1]) == 1
    assert Path(done.aside).name.startswith("scrubjay.db.backup-")


async def test_force_keeps_the_old_tables_aside(new_setup, file):
    old, new = new_setup("sqlite"), new_setup("postgresql")
    await taken(old, file)
    jay = await new.open()
    await jay.remember("Mine")
    await jay.close()
    done = await blocking(restore_from, settings(new), file, force=True)
    assert await contents(new.url) == await contents(old.url)
    schema = done.aside.removeprefix("schema ")
    with psycopg.connect(new.url, options=f"-c search_path={schema}") as connection:
        assert connection.execute("SELECT content FROM memories").fetchall() == [("Mine",)]
        assert connection.execute("SELECT count(*) FROM texts WHERE words @@ 'mine'::tsquery").fetchone() == (1,)
    new.clock.now = old.clock.now
    assert alike(await told_by(new)) == alike(await told_by(old))
    with psycopg.connect(new.url) as connection:
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


async def test_a_damaged_store_is_kept_aside_and_replaced(new_setup, file):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await taken(old, file)
    path_of(new).parent.mkdir()
    path_of(new).write_bytes(b"this was a store once" * 1000)
    with pytest.raises(Conflict, match="damaged store"):
        await blocking(restore_from, settings(new), file)
    done = await blocking(restore_from, settings(new), file, force=True)
    [aside] = path_of(new).parent.glob("scrubjay.db.backup-*")
    assert str(aside) == done.aside
    assert aside.read_bytes() == b"this was a store once" * 1000
    assert await contents(new.url) == await contents(old.url)


async def test_a_store_in_use_is_left_alone(new_setup, file):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await taken(old, file)
    jay = await new.open()
    await jay.remember("Mine")
    with pytest.raises(Conflict, match="in use"):
        await blocking(restore_from, settings(new), file, force=True)
    assert [memory.content for memory in await jay.list()] == ["Mine"]
    assert [path.name for path in path_of(new).parent.iterdir() if "restoring" in path.name] == []


async def test_a_store_that_was_only_opened_is_empty(new_setup, file):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await taken(old, file)
    await (await new.open()).close()
    done = await blocking(restore_from, settings(new), file)
    assert done.aside is None
    assert await contents(new.url) == await contents(old.url)


def while_restoring(setup, content):
    """A progress that tells the store something, as another process would, while the restore is under way."""
    told = []

    async def tell():
        jay = await setup.open()
        await jay.remember(content)
        await jay.close()

    def progress(_done, _total):
        if not told:
            told.append(content)
            thread = threading.Thread(target=asyncio.run, args=(tell(),))
            thread.start()
            thread.join()

    return progress


async def test_what_is_told_while_an_empty_store_is_restored_is_not_replaced(new_setup, file):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await taken(old, file)
    with pytest.raises(Conflict, match=r"holds 1 memory already.*--force"):
        await blocking(restore_from, settings(new), file, progress=while_restoring(new, "Mine"))
    jay = await new.open()
    assert [memory.content for memory in await jay.list()] == ["Mine"]
    assert [path.name for path in path_of(new).parent.iterdir() if "restoring" in path.name] == []


async def test_what_is_told_while_an_empty_store_is_restored_by_force_is_kept_aside(new_setup, file):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await taken(old, file)
    done = await blocking(restore_from, settings(new), file, force=True, progress=while_restoring(new, "Mine"))
    assert await contents(new.url) == await contents(old.url)
    rows, *_ = await contents(f"sqlite:///{done.aside}")
    assert [row.content for row in rows] == ["Mine"]


@pytest.mark.parametrize("was_there", [True, False])
async def test_nobody_writes_to_a_file_that_is_about_to_be_replaced(new_setup, file, monkeypatch, was_there):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await taken(old, file)
    if was_there:
        await (await new.open()).close()
    tried = []
    replace = Path.replace

    def tried_before(source, target):
        if source.name.endswith(".restoring"):
            attempt = (
                "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('PRAGMA journal_mode = WAL')"
            )
            ran = subprocess.run([sys.executable, "-c", attempt, str(target)], check=False, capture_output=True)
            tried.append(b"database is locked" in ran.stderr)
        return replace(source, target)

    monkeypatch.setattr(Path, "replace", tried_before)
    await blocking(restore_from, settings(new), file)
    assert tried == [True]
    assert await contents(new.url) == await contents(old.url)


async def test_who_waited_for_a_file_that_was_replaced_meanwhile_writes_nothing(new_setup, monkeypatch):
    new = new_setup("sqlite")
    await (await new.open()).close()
    waited = engines._write_ahead

    def replaced_meanwhile(cursor):
        waited(cursor)
        path_of(new).with_name("another").write_bytes(path_of(new).read_bytes())
        path_of(new).with_name("another").replace(path_of(new))

    monkeypatch.setattr(engines, "_write_ahead", replaced_meanwhile)
    database = Database(new.url)
    with pytest.raises(StoreUnavailable, match="replaced while it was open"):
        await database.write(lambda connection: connection.exec_driver_sql("UPDATE counters SET value = 0").rowcount)
    await database.shut()


OLDER = Path(__file__).with_name("version-1.backup")
"""Written by the release before files and sessions were carried, of what `filled` made then."""


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
async def test_a_backup_of_the_first_format_still_restores(new_setup, target):
    new = new_setup(target)
    done = await blocking(restore_from, settings(new), OLDER)
    assert done.manifest.version == 1
    assert dict(done.carried.tenants) == {"default": 14, "other": 12}
    assert dict(done.carried.vectors) == {1: 24, 2: 25}
    rows, outline, entries, blobs, sessions = await contents(new.url)
    assert [row.content for row in rows[:4]] == [
        "A log of default with ünïcode, 🐦 and\nlines",
        "A summary",
        "Lives in Bonn",
        "Lives in Rome",
    ]
    assert {number: len(some) for number, some in entries.items()} == {1: 24, 2: 25}
    assert (blobs, sessions, outline.blobs, outline.sessions) == ([], [], {}, {})
    jay = await new.open(embedder=ToyEmbedder(version="2"))
    assert await jay.reindex() == 1
    assert await jay.check() == []


async def test_a_backup_with_changes_that_waited_for_redis_is_refused(new_setup, file, monkeypatch):
    header = backup._header
    monkeypatch.setattr(backup, "_header", lambda *given, **more: {**header(*given, **more), "last_detour": 3})
    await taken(new_setup("sqlite"), file)
    new = new_setup("sqlite")
    with pytest.raises(Unsupported, match="noted while it was away: restore it with that version"):
        await blocking(restore_from, settings(new), file)
    assert not path_of(new).exists(), "nothing was made before it was refused"


async def test_a_restored_session_goes_on(new_setup, file):
    old, new = new_setup("sqlite"), new_setup("postgresql")
    await taken(old, file)
    new.clock.now = old.clock.now
    await blocking(restore_from, settings(new), file)
    before, after = await old.open(), await new.open()
    for jay in (before, after):
        await jay.working.append("And on", session="live", user="anna")
    assert [one.content for one in await after.working.recent(session="live", user="anna")] == [
        one.content for one in await before.working.recent(session="live", user="anna")
    ]


def truncated(content):
    return content[: len(content) // 2]


def without_its_seal(content):
    lines = gzip.decompress(content).splitlines(keepends=True)
    return gzip.compress(b"".join(lines[:-1]))


def with_a_row_changed(content):
    return gzip.compress(gzip.decompress(content).replace(b"Lives in Bonn", b"Lives in Kiel", 1))


def with_a_row_less(content):
    lines = gzip.decompress(content).splitlines(keepends=True)
    return gzip.compress(b"".join(lines[:2] + lines[3:]))


def with_a_byte_flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]


def with_more_behind_it(content):
    return content + b"more"


def newer(content):
    return gzip.compress(gzip.decompress(content).replace(b'"version":4', b'"version":5', 1))


def an_export(content):
    return b'{"format":"scrubjay-memories","version":1}\n'


def a_packed_export(content):
    return gzip.compress(an_export(content))


def nothing(content):
    return b""


DAMAGE = {
    truncated: "damaged",
    without_its_seal: "damaged",
    with_a_row_changed: "damaged",
    with_a_row_less: "damaged",
    with_a_byte_flipped: "damaged",
    with_more_behind_it: "damaged",
    newer: "reads up to 4",
    an_export: "no backup",
    a_packed_export: "no backup",
    nothing: "no backup",
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A backup, as bytes."""
    import scrubjay

    home = tmp_path_factory.mktemp("sound")
    with scrubjay.open(home, embedder="none") as jay:
        jay.remember_many([f"Lives in {city}" for city in ("Bonn", "Rome", "Oslo")])
        jay.working.append("Hello", session="s")
    back_up(read_settings(home=home), home / "all.backup")
    return (home / "all.backup").read_bytes()


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("force", [False, True])
def test_what_is_no_sound_backup_changes_nothing(sound, file, damage, force):
    import scrubjay

    file.write_bytes(damage(sound))
    home = file.parent / "home"
    with scrubjay.open(home, embedder="none") as jay:
        jay.remember("Mine")
    before = (home / "scrubjay.db").read_bytes()
    with pytest.raises(InvalidInput, match=DAMAGE[damage]) as raised:
        restore_from(read_settings(home=home), file, force=force)
    assert isinstance(raised.value, Unsupported) == (DAMAGE[damage] != "damaged")
    assert str(file) in str(raised.value)
    assert sorted(path.name for path in home.iterdir()) == ["scrubjay.db", "scrubjay.db.mark"]
    assert (home / "scrubjay.db").read_bytes() == before


def test_any_byte_that_is_flipped_is_noticed(sound, file):
    """But for what changes no content: bytes of the gzip header, and a reference back to another copy of a text."""
    content = gzip.decompress(sound)
    unnoticed = 0
    for place in range(0, len(sound), 3):
        damaged = sound[:place] + bytes([sound[place] ^ 0x55]) + sound[place + 1 :]
        file.write_bytes(damaged)
        try:
            restore_from(read_settings(home=file.parent / "none"), file)
        except InvalidInput:
            continue
        assert gzip.decompress(damaged) == content
        unnoticed += 1
        for left in (file.parent / "none").iterdir():
            left.unlink()
    assert unnoticed < len(sound) // 30


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        restore_from(read_settings(home=tmp_path / "home"), tmp_path / "none")
    assert not (tmp_path / "home").exists()


def test_there_is_nothing_to_back_up(tmp_path):
    with pytest.raises(StoreUnavailable, match="not there"):
        back_up(read_settings(home=tmp_path / "home"), tmp_path / "file")
    assert not (tmp_path / "file").exists()


async def test_a_place_that_cannot_be_written(new_setup, tmp_path):
    old = new_setup("sqlite")
    await filled(old)
    with pytest.raises(InvalidInput, match="cannot be written"):
        await blocking(back_up, settings(old), tmp_path / "no" / "such" / "folder")


async def test_a_backup_that_fails_leaves_the_one_before(new_setup, file):
    old = new_setup("sqlite")
    await taken(old, file, more=600)
    before = file.read_bytes()

    def fail(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await blocking(back_up, settings(old), file, fail)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir() if path.is_file()] == [file.name]


async def test_the_same_content_makes_the_same_rows(new_setup, file):
    old, new = new_setup("sqlite"), new_setup("postgresql")
    await taken(old, file)
    await blocking(restore_from, settings(new), file)
    again = file.with_suffix(".again")
    await blocking(back_up, settings(new), again)

    def rows(path):
        return gzip.decompress(path.read_bytes()).splitlines()[1:-1]

    assert rows(again) == rows(file)


async def test_a_restore_on_a_server_that_was_cut_short_goes_on(new_setup, file):
    old, new = new_setup("sqlite"), new_setup("postgresql")
    await taken(old, file, more=600)

    def fail(done, total):
        if done >= 500:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await blocking(restore_from, settings(new), file, progress=fail)
    done = await blocking(restore_from, settings(new), file)
    assert done.carried.before == 500
    assert await contents(new.url) == await contents(old.url)


async def test_a_restore_of_a_file_that_was_cut_short_leaves_nothing(new_setup, file):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await taken(old, file, more=600)

    def fail(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await blocking(restore_from, settings(new), file, progress=fail)
    assert list(path_of(new).parent.iterdir()) == []


async def test_a_disk_that_writes_something_else_is_noticed(new_setup, file):
    old, new = new_setup("sqlite"), new_setup("sqlite")
    await taken(old, file, more=20)

    def meddle(done, total):
        if done == total // 2:
            with closing(sqlite3.connect(f"{path_of(new)}.restoring")) as connection, connection:
                connection.execute("UPDATE memories SET uses = 7 WHERE seq = 3")

    with pytest.raises(Conflict, match="not the same on both sides"):
        await blocking(restore_from, settings(new), file, progress=meddle)
    assert not path_of(new).exists()
