"""A store that is put in the place of another one below a running process: nothing that was held is taken for its own.

Numbers of scopes and rows mean something else there, so that what is remembered of them would show a memory to the
wrong tenant.
"""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import psycopg
import pytest
from whole_store import blocking

from scrubjay.backends.sql import onefile, readership
from scrubjay.errors import NotFound, StoreUnavailable
from scrubjay.settings import read_settings
from scrubjay.testing.events import eventually
from scrubjay.wiring import back_up, restore_from

TENANTS = ("ann", "bob", "cleo", "dan")


@pytest.fixture
def held_soon(monkeypatch):
    """Everything that can be held in memory is, after the second search."""
    monkeypatch.setattr(readership, "PATIENCE", 0)


@pytest.fixture
def looked_at_always(monkeypatch):
    monkeypatch.setattr(onefile, "LOOK_SECONDS", 0.0)


def path_of(setup):
    return Path(setup.url.removeprefix("sqlite:///"))


async def told(setup, tenants, *, many=3, word="note"):
    """A store in which each tenant has told a few things, in this order, so that scopes are numbered in this order."""
    for tenant in tenants:
        jay = await setup.open(tenant=tenant)
        for number in range(many):
            await jay.remember(f"{word} {number} of {tenant}", user="me")
        await jay.close()


def restored(source, target):
    """Write one store into the file of another, as SQLite's own tools do."""
    with closing(sqlite3.connect(source)) as here, closing(sqlite3.connect(target)) as there:
        here.backup(there)
    # As `scrubjay doctor --accept` does, without which an older state is refused.
    Path(f"{target}.mark").unlink(missing_ok=True)


async def everything(jay, word="note"):
    """What this tenant sees, by every way of looking."""
    found = {hit.memory.content for hit in await jay.recall(word, user="me", limit=50)}
    found |= {hit.memory.content for hit in await jay.recall(word, limit=50, mode="words")}
    found |= {hit.memory.content for hit in await jay.recall(word, limit=50, mode="meaning")}
    listed = await jay.list(limit=50)
    assert {memory.scope.tenant for memory in listed} <= {jay.tenant}
    return found | {memory.content for memory in listed}


def of(tenant, *, many=3, word="note"):
    return {f"{word} {number} of {tenant}" for number in range(many)}


async def a_process_that_holds_everything(setup, tenants, **said):
    """A memory for each tenant, on one set of stores, that has been asked often enough to hold what it can."""
    jay = await setup.open(tenant=tenants[0])
    jays = {tenant: jay.for_tenant(tenant) for tenant in tenants}
    for _ in range(4):
        for tenant, one in jays.items():
            assert await everything(one) == of(tenant, **said)
    texts = jay.parts.stores.texts
    await eventually(lambda: all(texts._shelf._tenants[tenant].book is not None for tenant in tenants))
    return jays


@pytest.mark.parametrize("many", [3, 7])
async def test_another_store_in_the_same_file_shows_each_tenant_its_own(new_setup, held_soon, many):
    here, there = new_setup("sqlite"), new_setup("sqlite")
    await told(here, TENANTS)
    await told(there, TENANTS[::-1], many=many, word="note again")
    jays = await a_process_that_holds_everything(here, TENANTS)
    ids = {tenant: [one.id for one in await jay.list(limit=50)] for tenant, jay in jays.items()}
    restored(path_of(there), path_of(here))
    for tenant, jay in jays.items():
        assert await everything(jay) == of(tenant, many=many, word="note again")
        for other in TENANTS:
            for one in ids[other]:
                with pytest.raises(NotFound):
                    await jay.get(one)


async def test_an_older_copy_that_has_grown_since_shows_each_tenant_its_own(new_setup, held_soon, tmp_path):
    """Everything counts on from where the copy was made: by its numbers alone it could be the same store."""
    here = new_setup("sqlite")
    await told(here, TENANTS[:2])
    shutil.copy(path_of(here), tmp_path / "older.db")
    await told(here, TENANTS[2:])
    jays = await a_process_that_holds_everything(here, TENANTS)
    restored(tmp_path / "older.db", path_of(here))
    await told(here, TENANTS[:1:-1])
    for tenant, jay in jays.items():
        assert await everything(jay) == of(tenant)


async def test_what_is_written_after_it_belongs_to_who_wrote_it(new_setup, held_soon):
    here, there = new_setup("sqlite"), new_setup("sqlite")
    await told(here, TENANTS)
    await told(there, TENANTS[::-1])
    jays = await a_process_that_holds_everything(here, TENANTS)
    restored(path_of(there), path_of(here))
    for tenant, jay in jays.items():
        await jay.remember(f"note 3 of {tenant}", user="me")
    for tenant, jay in jays.items():
        assert await everything(jay) == of(tenant, many=4)
    for tenant in TENANTS:
        afresh = await here.open(tenant=tenant)
        assert await everything(afresh) == of(tenant, many=4)


async def test_who_is_reading_words_meanwhile_reads_them_again(new_setup, held_soon, monkeypatch):
    """A book is read in many transactions: it may not be half of one store and half of another."""
    here, there = new_setup("sqlite"), new_setup("sqlite")
    await told(here, ("ann", "bob"), many=30)
    await told(there, ("bob", "ann"), many=30, word="note again")
    jay = await here.open(tenant="ann")
    await jay.recall("note", mode="words")
    from scrubjay.backends.sql import shelf

    monkeypatch.setattr(shelf, "CHUNK", 2)
    slept = shelf.time.sleep
    gone_on = []

    def slowly(seconds):
        if len(gone_on) == 3:
            restored(path_of(there), path_of(here))
        gone_on.append(seconds)
        slept(seconds)

    monkeypatch.setattr(shelf.time, "sleep", slowly)
    await jay.recall("note", mode="words")
    texts = jay.parts.stores.texts
    await eventually(lambda: len(gone_on) > 3 and not texts._shelf._tenants["ann"].reading)
    for _ in range(3):
        hits = await jay.recall("note", limit=50, mode="words")
        assert {hit.memory.content for hit in hits} == of("ann", many=30, word="note again")
    await eventually(lambda: texts._shelf._tenants["ann"].book is not None)
    hits = await jay.recall("note", limit=50, mode="words")
    assert {hit.memory.content for hit in hits} == of("ann", many=30, word="note again")


async def test_reads_of_a_file_that_was_replaced_are_refused(new_setup, held_soon, looked_at_always):
    here, there = new_setup("sqlite"), new_setup("sqlite")
    await told(here, TENANTS)
    await told(there, TENANTS[::-1])
    jays = await a_process_that_holds_everything(here, TENANTS)
    path_of(there).replace(path_of(here))
    for jay in jays.values():
        with pytest.raises(StoreUnavailable, match=r"removed or replaced while it was open: nothing was read. Open"):
            await jay.recall("note")
        with pytest.raises(StoreUnavailable, match=r"removed or replaced"):
            await jay.remember("note")
    afresh = await here.open(tenant="ann")
    assert await everything(afresh) == of("ann")


async def test_nobody_reads_half_from_the_old_file_and_half_from_the_new_one(new_setup, held_soon, monkeypatch):
    """Between two looks at the name, who needs another connection would open another file than the others have."""
    monkeypatch.setattr(onefile, "LOOK_SECONDS", 3_600.0)
    here, there = new_setup("sqlite"), new_setup("sqlite")
    await told(here, TENANTS)
    await told(there, TENANTS[::-1])
    jays = await a_process_that_holds_everything(here, TENANTS)
    path_of(there).replace(path_of(here))
    asked = [partial(jay.list, limit=50) for jay in jays.values() for _ in range(8)]
    answers = await asyncio.gather(*(ask() for ask in asked), return_exceptions=True)
    for answer, jay in zip(answers, [one for one in jays.values() for _ in range(8)], strict=True):
        if isinstance(answer, BaseException):
            assert isinstance(answer, StoreUnavailable)
        else:
            assert {memory.content for memory in answer} == of(jay.tenant)


async def test_tables_that_are_restored_below_a_process_show_each_tenant_its_own(new_setup, tmp_path):
    """On PostgreSQL: whoever is connected is cut off, and lets go of the numbers of scopes when it comes again."""
    here, there = new_setup("postgresql"), new_setup("sqlite")
    await told(here, TENANTS)
    await told(there, TENANTS[::-1], many=4, word="note again")
    jay = await here.open(tenant="ann")
    jays = {tenant: jay.for_tenant(tenant) for tenant in TENANTS}
    for tenant, one in jays.items():
        assert await everything(one) == of(tenant)
    file = tmp_path / "all.backup"
    await blocking(back_up, read_settings(records=there.url), file)
    done = await blocking(restore_from, read_settings(records=here.url), file, force=True)
    for tenant, one in jays.items():
        assert await everything(one) == of(tenant, many=4, word="note again")
        await one.remember(f"note again 4 of {tenant}", user="me")
    for tenant, one in jays.items():
        assert await everything(one) == of(tenant, many=5, word="note again")
    with psycopg.connect(here.url) as connection:
        connection.execute(f"DROP SCHEMA {done.aside.removeprefix('schema ')} CASCADE")
