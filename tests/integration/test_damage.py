"""Damage is noticed: a row that was changed, a file that lost commits, a bit that flipped. Or it does no harm."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime

import psycopg
import pytest
from whole_store import blocking

from lengths import sized
from scrubjay.backends.sql import checksums
from scrubjay.backends.sql.database import Database
from scrubjay.errors import ScrubjayError, StoreDamaged
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import accept_records, back_up, restore_from, wire


@pytest.fixture(params=["sqlite", "postgresql"])
def records(request, tmp_path):
    sqlite = request.param == "sqlite"
    return f"sqlite:///{tmp_path}/scrubjay.db" if sqlite else request.getfixturevalue("postgres_database")()


@asynccontextmanager
async def opened(records, **more):
    async with wire(read_settings(records=records, background=False, **more), embedder=ToyEmbedder()) as jay:
        yield jay


def changed(records, statement):
    """Change a store behind the back of Scrubjay."""
    if records.startswith("sqlite"):
        with closing(sqlite3.connect(records.partition(":///")[2])) as file, file:
            file.executescript(statement)
    else:
        with psycopg.connect(records) as connection:
            connection.execute(statement)


async def problems(records):
    async with opened(records) as jay:
        return [f"{one.said}: {one.remedy}" for one in await jay.examine() if one.remedy]


async def filled(records, *, many=20):
    async with opened(records) as jay:
        done = await jay.remember_many(
            [{"content": f"The tide, number{one}", "data": {"n": one}} for one in range(many)]
        )
        return [one.memory.id for one in done]


COLUMNS = {
    "content": "content || 'x'",
    "kind": "'event'",
    "key": "'other'",
    "data": """'{"n": 4}'""",
    "trust": "'observed'",
    "source": "'elsewhere'",
    "author": "'somebody'",
    "reason": "'because'",
    "redacted": """'["other"]'""",
    "created_at": "created_at - {second}",
    "valid_from": "valid_from - {second}",
    "position": "7",
}


@pytest.mark.parametrize("column", COLUMNS)
async def test_a_row_that_was_changed_is_named_and_not_backed_up(records, tmp_path, column):
    ids = await filled(records)
    second = "1000000" if records.startswith("sqlite") else "interval '1 second'"
    changed(records, f"UPDATE memories SET {column} = {COLUMNS[column].replace('{second}', second)} WHERE seq = 8")
    found = await problems(records)
    assert any(str(ids[7]) in one and "not what was stored" in one for one in found), found
    settings = read_settings(records=records)
    with pytest.raises(StoreDamaged, match=str(ids[7])):
        await blocking(back_up, settings, tmp_path / "it.backup")
    assert not (tmp_path / "it.backup").exists()
    # Whoever looked at it may take it as it is.
    assert await blocking(accept_records, settings) == 1
    assert not any("not what was stored" in one for one in await problems(records))
    await blocking(back_up, settings, tmp_path / "it.backup")


async def test_a_place_whose_name_was_changed_is_named(records):
    async with opened(records) as jay:
        told = await jay.remember("The tide", user="anna")
    changed(records, """UPDATE scopes SET "user" = 'anne' WHERE "user" = 'anna'""")
    assert any(str(told.memory.id) in one for one in await problems(records))


UNREADABLE = {
    "data": "'{\"n\": '",
    "derived_from": "'[\"no id\"]'",
    "trust": "'nobody'",
    "content": "CAST(x'ff41' AS TEXT)",
}


@pytest.mark.parametrize("column", UNREADABLE)
async def test_a_row_that_is_no_memory_any_more_is_said_to_be_damaged(tmp_path, column):
    records = f"sqlite:///{tmp_path}/scrubjay.db"
    ids = await filled(records)
    changed(records, f"UPDATE memories SET {column} = {UNREADABLE[column]} WHERE seq = 8")
    async with opened(records) as jay:
        with pytest.raises(StoreDamaged, match="scrubjay doctor"):
            await jay.get(ids[7])
        with pytest.raises(StoreDamaged, match="scrubjay doctor"):
            await jay.list(limit=50)
        assert (await jay.get(ids[6])).id == ids[6]
    found = await problems(records)
    assert any("1 memory is not what was stored (row 8)" in one for one in found), found


async def test_every_writer_of_rows_makes_their_checksums(records):
    """Told, told again, corrected, closed, forgotten, faded, used, made from others, and purged."""
    async with opened(records) as jay:
        await jay.remember("The tide", user="anna", key="what", data={"deep": {"x": [1, None, 1e22]}})
        await jay.remember("The moon", user="anna", key="what")
        log = await jay.remember("A log with ünïcode 🐦 and\nlines", source="here", author="me", session="s")
        made = await jay.remember("A summary", derived_from=[log.memory.id], importance=0.123456789)
        await jay.update(made.memory.id, content="A better one", reason="it was wrong")
        gone = await jay.remember("A rumour", expires_at=datetime(2100, 1, 1, tzinfo=UTC))
        await jay.update(gone.memory.id, expires_at=datetime(2099, 1, 1, tzinfo=UTC))
        await jay.forget(gone.memory.id, reason="not true")
        await jay.recall("tide")
        await jay.forget((await jay.remember("Never say this")).memory.id, purge=True)
    await look_sound(records)


async def look_sound(records):
    database = Database(records)
    assert await database.read(checksums.faults_of) == []
    assert await database.read(checksums.unknown) == 0
    await database.shut()


async def test_rows_of_an_older_version_get_their_checksums_from_the_doctor(records):
    await filled(records)
    changed(records, "UPDATE memories SET checksum = NULL WHERE seq < 8")
    async with opened(records) as jay:
        said = "7 memories of an older version have no checksum"
        assert [one.remedy for one in await jay.examine() if said in one.said] == [""]
        assert [one.fixed for one in await jay.examine(fix=True) if said in one.said] == ["they have one now"]
    assert await problems(records) == []
    await look_sound(records)


# What a file holds, and what its mark says


@pytest.fixture
def path(tmp_path):
    return tmp_path / "scrubjay.db"


async def refused(path):
    with pytest.raises(StoreDamaged, match=r"commits, and scrubjay.db.mark says \d+ were acknowledged.*--accept"):
        async with opened(f"sqlite:///{path}"):
            pass


async def test_a_file_that_was_emptied_is_refused_and_left_as_it_is(path):
    records = f"sqlite:///{path}"
    await filled(records)
    os.truncate(path, 0)
    await refused(path)
    assert path.read_bytes() == b""
    path.unlink()
    await refused(path)
    await blocking(accept_records, read_settings(records=records))
    assert len(await filled(records)) == 20


async def test_an_older_state_is_refused_until_it_is_accepted(path, tmp_path):
    records = f"sqlite:///{path}"
    await filled(records)
    shutil.copy(path, tmp_path / "older")
    async with opened(records) as jay:
        await jay.remember("Told since")
    shutil.copy(tmp_path / "older", path)
    await refused(path)
    await blocking(accept_records, read_settings(records=records))
    assert await problems(records) == []
    # From then on it is marked again.
    async with opened(records) as jay:
        await jay.remember("Told since, again")
    shutil.copy(tmp_path / "older", path)
    await refused(path)


CRASHED = """
import asyncio, os, sys
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire

async def main():
    async with wire(read_settings(records=sys.argv[1], background=False), embedder=ToyEmbedder()) as jay:
        for number in range(int(sys.argv[2])):
            await jay.remember(f"The moon and the tide, number{number}", data={"n": number})
        os._exit(0)

asyncio.run(main())
"""


def crashed(path, many):
    """A store whose writer died, so that most of it is in its log."""
    subprocess.run([sys.executable, "-c", CRASHED, f"sqlite:///{path}", str(many)], check=True, timeout=300)
    assert path.with_name("scrubjay.db-wal").stat().st_size > 100_000


async def test_a_log_that_lost_commits_is_refused(path):
    crashed(path, 30)
    log = path.with_name("scrubjay.db-wal")
    whole = log.read_bytes()
    for damage in (b"", whole[: len(whole) // 2], whole[:50_000] + b"?" + whole[50_001:]):
        for beside in path.parent.glob("scrubjay.db-shm"):
            beside.unlink()
        aside = path.parent / "aside"
        shutil.copytree(path.parent, aside)
        (aside / log.name).write_bytes(damage)
        await refused(aside / path.name)
        shutil.rmtree(aside)
    async with opened(f"sqlite:///{path}") as jay:
        assert len(await jay.list(limit=100)) == 30


async def test_what_changes_a_file_rightly_is_no_damage(path, tmp_path):
    """A copy without its mark, a VACUUM, a restore of our own, many openings, and a mark that is damaged itself."""
    records = f"sqlite:///{path}"
    await filled(records)
    (tmp_path / "there").mkdir()
    shutil.copy(path, tmp_path / "there" / "scrubjay.db")
    assert await problems(f"sqlite:///{tmp_path}/there/scrubjay.db") == []
    changed(records, "VACUUM")
    assert await problems(records) == []
    settings = read_settings(records=records)
    await blocking(back_up, settings, tmp_path / "it.backup")
    async with opened(records) as jay:
        await jay.remember_many([f"Told since, {number}" for number in range(5)])
    await blocking(restore_from, settings, tmp_path / "it.backup", force=True)
    assert await problems(records) == []
    async with opened(records) as jay:
        await jay.remember("Told after it")
    mark = path.with_name("scrubjay.db.mark")
    for damage in (b"", b"nonsense", b"9" * 20 + b" 00000000\n", mark.read_bytes()[:-1]):
        mark.write_bytes(damage)
        assert await problems(records) == []
    async with opened(records) as jay:
        await jay.remember("It is written again")
    os.truncate(path, 0)
    await refused(path)


UNGUARDED = (
    "importance",
    "uses",
    "used_at",
    "valid_to",
    "expires_at",
    "superseded_at",
    "superseded_by",
    "closed_because",
)
"""What later writes change of a row, which its checksum does not guard: docs/howto/back-up-and-move.md says so."""


async def exported(path):
    async with opened(f"sqlite:///{path}") as jay:
        lines = [json.loads(line) async for line in jay.export()]
    return [{name: value for name, value in line.items() if name not in UNGUARDED} for line in lines]


async def test_no_bit_that_flips_anywhere_is_silently_wrong(path, tmp_path):
    """Opening, the doctor or a backup notices it, or it does no harm: what is exported is the same."""
    crashed(path, 60)
    source = path.parent / "source"
    source.mkdir()
    for one in path.parent.glob("scrubjay.db*"):
        if one.is_file() and not one.name.endswith("-shm"):
            shutil.copy(one, source)
    whole = path.parent / "whole"
    shutil.copytree(source, whole)
    before = await exported(whole / path.name)
    chance = random.Random(int(os.environ.get("SCRUBJAY_TEST_SEED", "7")))
    checkpointed = path.parent / "checkpointed"
    shutil.copytree(whole, checkpointed)
    silent = []
    for round_ in range(sized(short=16, long=300)):
        place = tmp_path / f"round{round_}"
        origin = source if round_ % 2 else checkpointed
        shutil.copytree(origin, place)
        files = [one for one in place.iterdir() if one.is_file() and one.stat().st_size]
        victim = chance.choices(files, weights=[max(one.stat().st_size, 5_000) for one in files])[0]
        content = bytearray(victim.read_bytes())
        at, bit = chance.randrange(len(content)), chance.randrange(8)
        content[at] ^= 1 << bit
        victim.write_bytes(content)
        try:
            named = await problems(f"sqlite:///{place / path.name}")
            after = await exported(place / path.name)
        except ScrubjayError:
            continue
        if not named and after != before:
            silent.append((victim.name, at, bit, [line for line in after if line not in before][:1]))
        shutil.rmtree(place)
    assert silent == []


LIMITED = """
import asyncio, resource, signal, sys
from pathlib import Path
from scrubjay.backends.sql import database
from scrubjay.errors import StoreUnavailable
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire

database.TRIAL_SECONDS = 0.0

async def main():
    async with wire(read_settings(records=sys.argv[1], background=False), embedder=ToyEmbedder()) as jay:
        await jay.remember("The moon and the tide")
        assert (await jay.health()).state == "ready"
        size = Path(sys.argv[1].partition(":///")[2] + "-wal").stat().st_size
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        for _ in range(2):
            try:
                await jay.remember("There is no room for this")
            except StoreUnavailable:
                pass
            else:
                raise AssertionError("it was stored")
            found = await jay.health()
            assert found.stores["records"].state == "down", found
            assert [hit.memory.content for hit in await jay.recall("tide")] == ["The moon and the tide"]
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert (await jay.health()).state == "ready"
        await jay.remember("There is room again")
    # Closed, it cannot even be read, and nobody takes it for damaged.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        async with wire(read_settings(records=sys.argv[1], background=False), embedder=ToyEmbedder()):
            raise AssertionError("it was opened")
    except StoreUnavailable as error:
        assert type(error) is StoreUnavailable, error

asyncio.run(main())
"""


def test_a_memory_that_cannot_be_written_is_not_ready(path):
    subprocess.run([sys.executable, "-c", LIMITED, f"sqlite:///{path}"], check=True, timeout=300)
