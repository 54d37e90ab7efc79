"""Rotation that leaves nothing behind: everything reads as before, and nothing needs the older key any more."""

import asyncio
import gzip
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
import redis

from scrubjay import elapsed
from scrubjay.backends.encryption import census, rotation, vault
from scrubjay.backends.encryption.masters import new_master
from scrubjay.backends.encryption.records import EncryptedRecords
from scrubjay.backends.sql import at_rest, key_census, resealing, writing_postgresql
from scrubjay.errors import Conflict, InvalidInput, KeyMissing
from scrubjay.model import Filter, Scope, new_id
from scrubjay.model.access import Answer
from scrubjay.model.sealed import fingerprint_in, key_in
from scrubjay.model.work import Policy
from scrubjay.ports import Blob
from scrubjay.ports.access import Claim
from scrubjay.ports.encryption import KeyReplaced
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import back_up, restore_from, wire

KEY, ANOTHER = new_master(), new_master()
BOTH = f"{ANOTHER},{KEY}"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
AWAY = "redis://127.0.0.1:1/0?timeout=0.2"
BLOB = Blob(b"a kept file\n" * 50)
CLAIM = Claim(tenant="default", name=b"name", request=b"request")
BODY = "kept \u2618".encode() + bytes(range(256))
ROTATOR = Path(__file__).with_name("kill_rotator.py")
NO_REDIS = {"working": "", "working_durability": "records"}
COUNTED = {"archived episodes": 3, "failed pieces of work": 1, "files": 1, "kept answers": 1}


def sessions_in(url):
    """Settings by which Redis keeps the sessions."""
    return {"working": url, "working_durability": "redis"}


@pytest.fixture(params=["embedded", "production"])
def place(request, tmp_path):
    """Where records and sessions are: one SQLite file, or PostgreSQL and a Redis that keeps sessions."""
    if request.param == "embedded":
        return {"home": tmp_path, "records": f"sqlite:///{tmp_path}/scrubjay.db", **NO_REDIS}
    url = request.getfixturevalue("redis_url")
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return {"home": tmp_path, "records": request.getfixturevalue("postgres_database")(), **sessions_in(url)}


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Nobody else writes in most of these tests, and so nobody has to be waited for."""
    monkeypatch.setattr(rotation, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(rotation, "ARRIVAL_SECONDS", 0.01)
    monkeypatch.setattr(rotation, "SETTLED_SECONDS", 0.01)


def memory(place, **given):
    given = {"encrypt": "all", "encryption_key": KEY, "background": False, **place, **given}
    return wire(read_settings(**given), embedder=ToyEmbedder(dimensions=16))


async def archived(jay, said):
    """Say this in a session of its own, and let it be archived."""
    for one in said:
        await jay.working.append([{"role": "user", "content": one}], session="old")
    await jay.working.end(session="old")
    await jay.consolidate(steps=["drain", "distill"])
    await jay.consolidate(steps="archive", policy=Policy(archive_after=timedelta(microseconds=1)))


async def tell_everything(jay):
    """Store something wherever something is stored."""
    await archived(jay, [f"The linter of shop {number} is ruff." for number in range(3)])
    await jay.remember("Under the geranium", data={"deep": [1]}, author="Anna", user="anna", key="spare")
    gone = await jay.remember("To be forgotten", user="anna")
    await jay.forget(gone.memory.id, reason="because of the neighbours", user="anna")
    await jay.for_tenant("other").remember("Theirs")
    await jay.parts.stores.blobs.keep(Scope(agent="gardener"), new_id(), [BLOB])
    await jay.working.append([{"role": "user", "content": f"live {number}"} for number in range(3)], session="live")
    await jay.working.set("plan", {"next": "geranium"}, session="live")
    await jay.working.append([{"role": "user", "content": "ended"}], session="ended")
    await jay.working.end(session="ended")
    now = jay.parts.clock()
    assert await jay.parts.access.answers.begin(CLAIM, now=now, until=now + DAY) is None
    await jay.parts.access.answers.finish(CLAIM, Answer(status=200, body=BODY), until=now + DAY)
    scope = Scope(session="broken")
    await jay.parts.works.log.failed("drain", "it", scope, error="no", at=now, tries=5, pause=HOUR, body="could not be")


async def everything(jay):
    """All that was told, as it reads now."""
    now = jay.parts.clock()
    scratch = await jay.working.get("plan", session="live")
    found = await jay.parts.access.answers.begin(CLAIM, now=now, until=now + DAY)
    [trouble] = await jay.work.parked()
    rows = await jay.list(history=True, user="anna", order="oldest")
    return {
        "rows": [(one.content, one.data, one.author, one.closed_because) for one in rows],
        "others": [one.content for one in await jay.for_tenant("other").list()],
        "file": await jay.parts.stores.blobs.get(Scope(), [BLOB.hash]),
        "live": [one.content for one in await jay.working.recent(session="live")],
        "expires": (await jay.parts.working.session(Scope(session="live"), now=now)).expires_at,
        "ended": [one.content for one in await jay.parts.working.take(Scope(session="ended"), limit=9)],
        "scratch": scratch.value,
        "answer": (found.answer.status, found.answer.body),
        "trouble": trouble.body,
    }


def whole_store(place):
    """Every byte that is stored: of the database, of Redis, and of archives."""
    found = [path.read_bytes() for path in place["home"].rglob("*") if path.is_file() and path.suffix != ".gz"]
    found += [gzip.decompress(path.read_bytes()) for path in place["home"].rglob("*.gz")]
    if place["records"].startswith("postgresql"):
        with psycopg.connect(place["records"]) as connection:
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            for (table,) in tables:
                found.append(str(connection.execute(f'SELECT t::text FROM "{table}" t').fetchall()).encode())
    if place["working"] and place["working"] != AWAY:
        with redis.Redis.from_url(place["working"]) as client:
            for key in client.keys("scrubjay:*:working:messages:*"):
                found += client.lrange(key, 0, -1)
            for key in client.keys("scrubjay:*:working:scratch:*"):
                found += client.hvals(key)
    return b"\n".join(found)


def seals(stored, number):
    """How often something is sealed with this data key, as text or as bytes that PostgreSQL shows in hexadecimal."""
    seal = f"scrubjay-sealed:1:{number:08x}".encode()
    return stored.count(seal) + stored.count(seal.hex().encode())


def run_sql(place, statement):
    if place["records"].startswith("postgresql"):
        with psycopg.connect(place["records"]) as connection:
            connection.execute(statement)
        return
    with closing(sqlite3.connect(place["home"] / "scrubjay.db")) as file, file:
        file.execute(statement)


async def test_the_old_keys_can_be_thrown_away_and_everything_is_read(place):
    async with memory(place) as jay:
        await tell_everything(jay)
        before = await everything(jay)
        [key] = (await jay.encryption.status()).keys
        sessions = key.others["messages and scratch values"]
        assert (key.others, sessions) == (COUNTED | {"messages and scratch values": 5}, 5)
    assert seals(whole_store(place), 1) > 10
    steps = []
    async with memory(place, encryption_key=BOTH) as jay:
        assert not (await jay.encryption.rotate(data_keys=True)).is_complete, "nothing was counted"
        done = await jay.encryption.rotate(lambda *step: steps.append(step), rows=True)
        assert done.is_complete
        assert (done.left, done.unread) == ({}, ())
        assert (done.files, done.others) == (
            1,
            {name: count for name, count in key.others.items() if name != "files"},
        )
        assert all(made <= total for made, total in steps)
        assert steps[-1][0] == steps[-1][1]
        again = await jay.encryption.rotate(rows=True)
        assert (again.rows, again.files, again.others, again.is_complete) == (0, 0, {}, True)
        old, new = (await jay.encryption.status()).keys
        assert (old.is_needed, new.is_needed, new.others) == (False, True, key.others)
        assert await jay.check() == []
    run_sql(place, "DELETE FROM data_keys WHERE number = 1")
    assert seals(whole_store(place), 1) == 0
    # With the new master key alone, and without the older data key in any form.
    async with memory(place, encryption_key=ANOTHER) as jay:
        assert await everything(jay) == before
        [file] = await jay.work.archives()
        assert await jay.work.restore_archive(file.file) == 3
        said = [one.content for one in await jay.list(kinds=["message"], session="old", order="oldest")]
        assert said == [f"The linter of shop {number} is ruff." for number in range(3)]
        await jay.consolidate(steps=["drain"])
        assert [one.content for one in await jay.list(kinds=["message"], session="ended")] == ["ended"]


async def test_what_was_told_in_plain_is_encrypted_wherever_it_lies(place):
    async with memory(place, encrypt="none", encryption_key="") as jay:
        await tell_everything(jay)
        before = await everything(jay)
    for word in (b"Under the geranium", b"live 1", b"The linter of shop", b"could not be"):
        assert word in whole_store(place), "what is looked for below would be found"
    async with memory(place) as jay:
        assert (await jay.encryption.rotate(rows=True)).is_complete
        assert await everything(jay) == before
        assert (await jay.encryption.status()).plain == 0
    if place["working"]:
        with psycopg.connect(place["records"], autocommit=True) as connection:
            connection.execute("VACUUM FULL")
    stored = whole_store(place)
    for word in (b"Under the geranium", b"live 1", b"The linter of shop", b"could not be"):
        assert word not in stored
        assert word.hex().encode() not in stored


@pytest.fixture
def rotator(place):
    """Says how a rotation with the second master key ended that may make so many calls."""
    given = [place["records"], place["working"], str(place["home"]), ANOTHER]
    command = [sys.executable, str(ROTATOR), *given]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:

        def ended(calls):
            running.stdin.write(f"{calls}\n")
            running.stdin.flush()
            return running.stdout.readline().strip()

        yield ended
        running.stdin.close()


async def test_a_rotation_that_is_killed_anywhere_loses_nothing_and_goes_on(place, rotator):
    async with memory(place) as jay:
        await tell_everything(jay)
        before = await everything(jay)
    async with memory(place, encryption_key=BOTH) as jay:
        await jay.encryption.rotate(data_keys=True)
    killed, ended = 0, ""
    # Each goes a little further than the one before, whose work it finds done.
    while (ended := await asyncio.to_thread(rotator, killed + 1)) == "killed":
        killed += 1
        if killed % 4 == 1:
            async with memory(place, encryption_key=ANOTHER) as jay:
                assert await everything(jay) == before
    assert ended == "finished"
    assert killed > 8
    assert seals(whole_store(place), 1) == 0
    assert not list(place["home"].rglob("archive/*/.*")), "nothing is left of a file that was being written"
    async with memory(place, encryption_key=ANOTHER) as jay:
        assert await everything(jay) == before
        assert [key.is_needed for key in (await jay.encryption.status()).keys] == [False, True]


async def test_sessions_go_on_while_keys_are_exchanged(place, monkeypatch):
    monkeypatch.setattr(rotation, "FRESH_SECONDS", vault.FRESH_SECONDS)
    monkeypatch.setattr(rotation, "ARRIVAL_SECONDS", 1.0)
    async with memory(place) as one, memory(place) as other:
        await other.working.append([{"role": "user", "content": "first"}], session="live")
        stop = asyncio.Event()

        async def talk():
            number = 0
            while not stop.is_set():
                await other.working.append([{"role": "user", "content": f"said {number}"}], session="live")
                await other.working.set("count", number, session="live")
                await other.remember(f"noted {number}")
                number += 1
                await asyncio.sleep(0.02)
            return number

        talking = asyncio.create_task(talk())
        done = await one.encryption.rotate(data_keys=True, rows=True)
        stop.set()
        told = await talking
        # A machine that stands still may let a write of before arrive after the last look; the next run finds it.
        assert done.is_complete or (await one.encryption.rotate(rows=True)).is_complete
        recent = await one.working.recent(2_000, session="live")
        assert [message.content for message in recent] == ["first", *(f"said {number}" for number in range(told))]
        assert (await one.working.get("count", session="live")).value == told - 1
        assert await one.count() == told
        assert not (await one.encryption.status()).keys[0].is_needed


async def test_where_nothing_more_is_encrypted_what_is_in_plain_stays_so(place):
    async with memory(place) as jay:
        await jay.working.append([{"role": "user", "content": "in secret"}], session="live")
    async with memory(place, encrypt="none") as jay:
        await jay.working.append([{"role": "user", "content": "in plain"}], session="live")
        await jay.working.set("plan", "in plain", session="live")
        done = await jay.encryption.rotate(data_keys=True, rows=True)
        assert (done.others, done.is_complete) == ({"messages and scratch values": 1}, True)
        assert [one.content for one in await jay.working.recent(session="live")] == ["in secret", "in plain"]
    assert seals(whole_store(place), 1) == 0
    assert whole_store(place).count(b"in plain") >= 2


async def test_two_rotations_at_once_do_the_work_once(place):
    async with memory(place) as one, memory(place) as other:
        await tell_everything(one)
        before = await everything(one)
        await one.encryption.rotate(data_keys=True)
        first, second = await asyncio.gather(one.encryption.rotate(rows=True), other.encryption.rotate(rows=True))
        assert first.is_complete
        assert second.is_complete
        assert first.others.get("archived episodes", 0) + second.others.get("archived episodes", 0) == 3
        assert await everything(other) == before


# What stays, and what is said of it


async def test_a_process_without_the_new_master_key_reads_on_and_seals_nothing_with_the_older_one(place, monkeypatch):
    async with memory(place) as old:
        await old.remember("Before", user="anna")
        await old.working.append([{"role": "user", "content": "before"}], session="s")
        monkeypatch.setattr(vault, "FRESH_SECONDS", 0.0)
        async with memory(place, encryption_key=BOTH) as new:
            await new.encryption.rotate()
            assert (await old.remember("Between", user="anna")).memory.encrypted, "there is no newer data key yet"
            await new.encryption.rotate(data_keys=True)
        for write in (
            old.remember("After", user="anna"),
            old.working.append([{"role": "user", "content": "after"}], session="s"),
        ):
            with pytest.raises(KeyMissing, match="data keys are wrapped with the master key"):
                await write
        answers, now = old.parts.access.answers, old.parts.clock()
        await answers.begin(CLAIM, now=now, until=now + DAY)
        await answers.finish(CLAIM, Answer(status=200, body=BODY), until=now + DAY)
        found = await answers.begin(CLAIM, now=now, until=now + DAY)
        assert (found.done, found.answer) == (True, None), "a request that was done is not done again"
        assert [one.content for one in await old.list(user="anna")] == ["Between", "Before"]
        assert [one.content for one in await old.working.recent(session="s")] == ["before"]


async def test_keys_are_destroyed_that_nothing_needs(place, monkeypatch):
    async with memory(place, encryption_key=BOTH) as jay:
        await tell_everything(jay)
        before = await everything(jay)
        await jay.encryption.rotate(data_keys=True)
        await jay.encryption.rotate(data_keys=True)
        with monkeypatch.context() as patched:
            patched.setattr(rotation, "UNUSED_FOR", timedelta(0))
            done = await jay.encryption.destroy()
        # Of this tenant, and of the other one: nothing was ever sealed with the second key.
        assert (done.keys, done.needed, done.recent) == (2, 2, 0)
        assert [key.number for key in (await jay.encryption.status()).keys] == [1, 3]
        assert (await jay.encryption.rotate(rows=True)).is_complete
        done = await jay.encryption.destroy()
        assert (done.keys, done.needed, done.recent) == (0, 0, 2)
        monkeypatch.setattr(rotation, "UNUSED_FOR", timedelta(0))
        assert (await jay.encryption.destroy()).keys == 2
        assert [key.number for key in (await jay.encryption.status()).keys] == [3]
        assert await everything(jay) == before
        assert (
            await jay.remember("Under the geranium", data={"deep": [1]}, author="Anna", user="anna", key="spare")
        ).outcome == "unchanged"
    async with memory(place, encryption_key=ANOTHER) as jay:
        assert await everything(jay) == before
        assert (await jay.encryption.rotate(data_keys=True, rows=True)).is_complete
        assert [key.number for key in (await jay.encryption.status()).keys] == [3, 4]


async def test_an_archive_that_cannot_be_read_is_named_and_keeps_the_keys(tmp_path, monkeypatch):
    monkeypatch.setattr(rotation, "UNUSED_FOR", timedelta(0))
    async with memory({"home": tmp_path}) as jay:
        await archived(jay, ["The linter is ruff."])
        [archive] = await jay.work.archives()
        whole = archive.file.read_bytes()
        archive.file.write_bytes(whole[:-20])
        (archive.file.parent / f".{archive.file.name}.99").write_bytes(whole)
        stranger = archive.file.parent.parent / "nobody" / archive.file.name
        stranger.parent.mkdir()
        stranger.write_bytes(whole)
        done = await jay.encryption.rotate(data_keys=True, rows=True)
        assert (done.is_complete, done.left) == (False, {})
        assert len(done.unread) == 2
        assert f"{archive.file}" in "".join(done.unread)
        assert "no tenant here has the folder nobody" in "".join(done.unread)
        assert not list(archive.file.parent.glob(".*")), "what a killed worker left is gone"
        with pytest.raises(Conflict, match=r"cannot be read and may need any of them.*Mend or remove"):
            await jay.encryption.destroy()
        archive.file.write_bytes(whole)
        stranger.unlink()
        assert (await jay.encryption.rotate(rows=True)).is_complete
        # Of the first key, a copy may ask later: it says which key is gone.
        assert (await jay.encryption.destroy()).keys == 1
        archive.file.write_bytes(whole)
        with pytest.raises(KeyMissing, match="data key 1 of tenant default, which is not in the store"):
            await jay.work.restore_archive(archive.file)
        assert "data key 1" in "".join((await jay.encryption.rotate(rows=True)).unread)


async def test_a_redis_that_is_away_is_named_and_what_is_in_the_record_store_is_sealed_anew(tmp_path, redis_url):
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
    there, away = {"home": tmp_path, **sessions_in(redis_url)}, {"home": tmp_path, **NO_REDIS, "working": AWAY}
    async with memory(there) as jay:
        await jay.working.append([{"role": "user", "content": "before"}], session="s")
    async with memory(away) as jay:
        await jay.working.append([{"role": "user", "content": "meanwhile"}], session="s")
        await jay.working.set("plan", "meanwhile", session="s")
        done = await jay.encryption.rotate(data_keys=True, rows=True)
        assert (done.left, done.others) == ({}, {"messages and scratch values": 2})
        unread, noted = done.unread
        assert unread.startswith("messages and scratch values: ")
        assert noted.startswith(f"sessions are kept in {redis_url}")
        assert not done.is_complete
        # In how many seconds it is tried again is said, too.
        assert (await jay.encryption.status()).unread[1:] == done.unread[1:]
        with pytest.raises(Conflict, match="messages and scratch values"):
            await jay.encryption.destroy()
    assert seals((tmp_path / "scrubjay.db").read_bytes(), 1) == 0
    async with memory({**there, "working_durability": "records"}) as jay:
        assert (await jay.encryption.destroy()).needed == 1, "what is left in Redis counts, whoever keeps sessions now"
        await jay.consolidate(steps="drain")
        assert [one.content for one in await jay.working.recent(session="s")] == ["before", "meanwhile"]
        assert (await jay.working.get("plan", session="s")).value == "meanwhile"
        assert (await jay.encryption.rotate(rows=True)).is_complete


async def test_why_a_plain_memory_was_forgotten_is_sealed_anew(place):
    async with memory(place, encrypt="none") as jay:
        told = [await jay.remember("In plain"), await jay.remember("In secret", encrypt=True)]
        scope, ids = Scope(), [one.memory.id for one in told]
        await jay.parts.stores.records.close(scope, ids, at=jay.parts.clock(), because="forgotten: the neighbours")
        done = await jay.encryption.rotate(data_keys=True, rows=True)
        assert (done.rows, done.is_complete) == (2, True)
        assert seals(whole_store(place), 1) == 0
        plain, secret = await jay.parts.stores.records.get(scope, ids)
        assert (plain.content, plain.encrypted, secret.encrypted) == ("In plain", False, True)
        assert plain.closed_because == secret.closed_because == "forgotten: the neighbours"


async def test_an_answer_is_not_taken_for_damaged_when_another_request_has_its_name(tmp_path):
    async with memory({"home": tmp_path}) as jay:
        await jay.remember("A secret")
        answers, now = jay.parts.access.answers, jay.parts.clock()
        await answers.begin(CLAIM, now=now, until=now + DAY)
        await answers.finish(CLAIM, Answer(status=200, body=BODY), until=now + DAY)
        another = Claim(tenant=CLAIM.tenant, name=CLAIM.name, request=b"another")
        found = await answers.begin(another, now=now, until=now + DAY)
        assert (found.request, found.answer.body) == (CLAIM.request, BODY)


# Told in plain, and again as a secret


@pytest.mark.parametrize("search", ["none", "meaning", "words"])
async def test_what_was_told_in_plain_and_is_told_again_as_a_secret_stays_one_memory(place, search):
    async with memory(place, encrypt="none", encryption_key="") as jay:
        now = jay.parts.clock()
        stretch = {"valid_from": now - DAY, "valid_to": now}
        tellings = [
            {"content": "Tulips in the cellar", "user": "anna"},
            {"content": "The spare key is there", "key": "spare", "user": "anna"},
            {"content": "Was in Bonn", "user": "anna", **stretch},
        ]
        first = [await jay.remember(**told) for told in tellings]
        await jay.remember("Tulips in the cellar", user="bob")
    async with memory(place, encrypted_search=search) as jay:
        again = [await jay.remember(**told) for told in tellings]
        assert [one.memory.id for one in again] == [one.memory.id for one in first]
        assert [(one.outcome, one.memory.encrypted) for one in again] == [("unchanged", True)] * 3
        assert await jay.count(history=True) == 4
        assert (await jay.encryption.status()).plain == 1, "what bob said is his"
        assert [one.outcome for one in [await jay.remember(**told) for told in tellings]] == ["unchanged"] * 3
        assert len(await jay.recall("cellar", mode="words", user="anna")) == (search == "words")
        found = await jay.recall("Tulips in the cellar", mode="meaning", least_similarity=0.5, user="anna")
        assert len(found) == (search != "none")
        assert (await jay.stats()).pending == 0
        assert await jay.check() == []


async def test_a_batch_told_again_as_secrets_is_known(place, monkeypatch):
    monkeypatch.setattr(key_census, "SLICE", 100)
    async with memory(place, encrypt="none", encryption_key="") as jay:
        await jay.remember_many([f"number {number}" for number in range(450)])
    async with memory(place) as jay:
        again = await jay.remember_many([f"number {number}" for number in range(500)])
        assert [one.outcome for one in again] == ["unchanged"] * 450 + ["stored"] * 50
        assert await jay.count(history=True) == 500
        assert (await jay.encryption.status()).plain == 0


async def test_an_archive_that_lies_elsewhere_keeps_its_keys(place, tmp_path, monkeypatch):
    monkeypatch.setattr(rotation, "UNUSED_FOR", timedelta(0))
    async with memory(place) as jay:
        await archived(jay, ["The linter is ruff."])
        [archive] = await jay.work.archives()
        await jay.encryption.rotate(data_keys=True)
    # As on a machine that has the database and not the folder.
    async with memory(place, archive=str(tmp_path / "elsewhere")) as jay:
        done = await jay.encryption.rotate(rows=True)
        assert not done.is_complete
        assert f"{archive.file.name} of tenant default, which 1 records name" in "".join(done.unread)
        assert archive.file.name in "".join((await jay.encryption.status()).unread)
        assert not (await jay.for_tenant("other").encryption.status()).unread
        with pytest.raises(Conflict, match=r"is not in the folder that SCRUBJAY_ARCHIVE names here"):
            await jay.encryption.destroy()
    async with memory(place) as jay:
        assert (await jay.encryption.rotate(rows=True)).is_complete
        assert (await jay.encryption.destroy()).keys == 1
        assert await jay.work.restore_archive(archive.file) == 1


@pytest.mark.parametrize("head", [b"scrubjay-sealed:1:zzzzzzzz", b"scrubjay-sealed:1:00000001 is how it begins"])
async def test_a_file_that_only_begins_like_ciphertext_needs_no_key(place, head):
    file = Blob(head + b" and goes on\n" * 50)
    async with memory(place, encrypt="none") as jay:
        await jay.remember("Under the geranium", encrypt=True)
        await jay.parts.stores.blobs.keep(Scope(), new_id(), [file])
        assert (await jay.encryption.rotate(data_keys=True, rows=True)).is_complete
        assert [key.others for key in (await jay.encryption.status()).keys] == [{}, {}]
        assert await jay.parts.stores.blobs.get(Scope(), [file.hash]) == {file.hash: file.content}
        whole = Blob(b"scrubjay-sealed:1:00000001" + b"0" * 128 + b" without its ciphertext")
        with pytest.raises(InvalidInput, match="looks like one that Scrubjay has encrypted"):
            await jay.parts.stores.blobs.keep(Scope(), new_id(), [whole])


async def test_a_machine_that_slept_seals_with_the_newest_key(place, monkeypatch):
    async with memory(place) as asleep, memory(place) as awake:
        await asleep.remember("Before", user="anna")
        await awake.encryption.rotate(data_keys=True)
        # Its monotonic clock stood still meanwhile.
        slept, stood = time.time() + HOUR.total_seconds(), elapsed.moment()
        monkeypatch.setattr(elapsed, "time", SimpleNamespace(time=lambda: slept))
        monkeypatch.setattr(elapsed, "moment", lambda: stood)
        assert (await asleep.parts.stores.records._vault.ring("default")).newest == 2
        await asleep.remember("After", user="anna")
        assert [key.rows for key in (await asleep.encryption.status()).keys] == [1, 1]


async def fall_behind(jay, first):
    """Let it seal with its first data key, as somebody does who stands still from here on and goes on later."""
    held = jay.parts.stores.records._vault
    ring = await held.ring("default")
    held._held["default"].ring = replace(ring, keys={0: ring.keys[0], 1: first})


async def first_key(jay):
    """Its first data key, which is about to be replaced."""
    return (await jay.parts.stores.records._vault.ring("default")).keys[1]


async def test_what_is_stored_in_redis_between_two_counts_keeps_its_key(tmp_path, redis_url, monkeypatch):
    monkeypatch.setattr(rotation, "UNUSED_FOR", timedelta(0))
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
    place = {"home": tmp_path, "records": f"sqlite:///{tmp_path}/scrubjay.db", **sessions_in(redis_url)}
    async with memory(place) as late, memory(place) as jay:
        await late.working.append("Before", role="user", session="s")
        first = await first_key(late)
        await jay.encryption.rotate(data_keys=True, rows=True)
        sleep = asyncio.sleep

        async def arriving(seconds):
            if seconds == rotation.SETTLED_SECONDS:
                await fall_behind(late, first)
                await late.working.append("Late", role="user", session="s")
            await sleep(seconds)

        monkeypatch.setattr(rotation.asyncio, "sleep", arriving)
        done = await jay.encryption.destroy()
        assert (done.keys, done.needed) == (0, 1)
        assert [one.content for one in await jay.working.recent(session="s")] == ["Before", "Late"]


async def test_what_was_sealed_with_an_older_key_is_sealed_anew_before_it_is_stored(place, monkeypatch):
    """Whoever hangs between sealing and storing must not store what nobody can open any more."""
    monkeypatch.setattr(rotation, "UNUSED_FOR", timedelta(0))
    place = {**place, **NO_REDIS}
    async with memory(place) as late, memory(place) as jay:
        here, now = {"user": "anna"}, late.parts.clock()
        known = (await late.remember("Known", key="k", **here)).memory
        gone = (await late.remember("To be forgotten", **here)).memory
        first = await first_key(late)
        await late.encryption.rotate(data_keys=True, rows=True)
        assert (await jay.encryption.destroy()).keys == 1
        stores, log, scope = late.parts.stores, late.parts.works.log, Scope(session="s")
        answers = late.parts.access.answers
        await answers.begin(CLAIM, now=now, until=now + DAY)

        def storing():
            """Whatever stores something that is sealed."""
            yield late.remember("A fact", **here)
            yield late.remember_many([f"number {number}" for number in range(100)], **here)
            yield late.remember("Known better", key="k", **here)
            yield late.forget(gone.id, reason="because of: the neighbours", **here)
            yield stores.records.load([replace(known, id=new_id(), key="k2", content="Loaded")])
            yield stores.blobs.keep(Scope(), new_id(), [BLOB])
            yield late.working.append("Said", role="user", session="s")
            yield late.working.set("plan", {"next": 1}, session="s")
            yield answers.finish(CLAIM, Answer(status=200, body=BODY), until=now + DAY)
            yield log.failed("drain", "it", scope, error="no", at=now, tries=5, pause=HOUR, body="could not be")

        for work in storing():
            await fall_behind(late, first)
            await work
            counted = await census.taken(stores.vault._vault, stores.vault._stored, stores.vault._places)
            assert {number for _, number, _ in counted.needed} == {2}
        assert await jay.count(**here) == 103
        assert {one.content for one in await jay.history(key="k", **here)} == {"Known", "Known better"}
        assert [one.content for one in await jay.working.recent(session="s")] == ["Said"]


async def test_what_comes_out_of_an_archive_late_is_sealed_with_the_newest_key(place):
    async with memory({**place, **NO_REDIS}) as jay:
        await archived(jay, ["The linter is ruff."])
        [archive] = await jay.work.archives()
        first = await first_key(jay)
        await jay.encryption.rotate(data_keys=True)
        await fall_behind(jay, first)
        assert await jay.work.restore_archive(archive.file) == 1
        [said] = await jay.parts.stores.records._records.find(
            Filter(scope=Scope(session="old"), kinds=("message",)), now=jay.parts.clock(), limit=9
        )
        assert key_in(said.content) == 2


@pytest.mark.parametrize(
    ("store", "verb"),
    [
        (resealing.SqlResealed, "replace_rows"),
        (resealing.SqlResealed, "replace_file"),
        (at_rest.SqlSessions, "replace"),
        (at_rest.SqlKeptAnswers, "replace"),
        (at_rest.SqlTroubles, "replace"),
    ],
)
async def test_a_rotation_that_stood_still_stores_nothing_with_an_older_key(place, monkeypatch, store, verb):
    place = {**place, **NO_REDIS}
    async with memory(place) as late, memory(place) as quick:
        await tell_everything(late)
        before = await everything(late)
        known = getattr(store, verb)

        async def standing_still(self, *given):
            """What is to be stored is sealed; meanwhile somebody else makes another key."""
            monkeypatch.setattr(store, verb, known)
            await quick.encryption.rotate(data_keys=True)
            with pytest.raises(KeyReplaced):
                await known(self, *given)
            return await known(self, *given)

        monkeypatch.setattr(store, verb, standing_still)
        assert (await late.encryption.rotate(data_keys=True, rows=True)).is_complete
        assert await everything(late) == before
        assert seals(whole_store(place), 1) == seals(whole_store(place), 2) == 0


async def test_sessions_in_a_redis_that_is_not_configured_here_keep_the_keys(tmp_path, redis_url, monkeypatch):
    monkeypatch.setattr(rotation, "UNUSED_FOR", timedelta(0))
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
    place = {"home": tmp_path, "records": f"sqlite:///{tmp_path}/scrubjay.db", **sessions_in(redis_url)}
    without = {**place, **NO_REDIS}
    async with memory(place) as jay:
        await jay.working.append("Said", role="user", session="s")
    async with memory(without) as jay:
        assert (await jay.encryption.status()).unread == (), "with one key there is nothing to lose"
        done = await jay.encryption.rotate(data_keys=True, rows=True)
        assert not done.is_complete
        [why] = done.unread
        assert f"sessions are kept in {redis_url}" in why
        assert "Set it as where the service runs" in why
        assert (await jay.encryption.status()).unread == done.unread
        assert (await jay.for_tenant("other").encryption.status()).unread == ()
        with pytest.raises(Conflict, match="SCRUBJAY_WORKING is not set here"):
            await jay.encryption.destroy()
    async with memory(place) as jay:
        assert (await jay.encryption.destroy()).needed == 1
        assert [one.content for one in await jay.working.recent(session="s")] == ["Said"]
    async with memory(without) as jay:
        assert (await jay.encryption.destroy(sessions_gone=True)).keys == 1
        assert (await jay.encryption.rotate(rows=True)).is_complete


async def test_a_restored_store_knows_where_sessions_are_kept(tmp_path, redis_url, monkeypatch):
    monkeypatch.setattr(rotation, "UNUSED_FOR", timedelta(0))
    place = {"home": tmp_path, "records": f"sqlite:///{tmp_path}/scrubjay.db", **sessions_in(redis_url)}
    other = {"home": tmp_path / "other", "records": f"sqlite:///{tmp_path}/other.db", **NO_REDIS}
    async with memory(place) as jay:
        await jay.working.append("Said", role="user", session="s")
    await asyncio.to_thread(back_up, read_settings(**place), tmp_path / "all.backup")
    await asyncio.to_thread(restore_from, read_settings(**other), tmp_path / "all.backup")
    async with memory(other) as jay:
        await jay.encryption.rotate(data_keys=True, rows=True)
        with pytest.raises(Conflict, match=f"sessions are kept in {redis_url}"):
            await jay.encryption.destroy()


async def test_sessions_in_another_redis_than_is_configured_here_keep_the_keys(tmp_path, redis_url, monkeypatch):
    """As in a shell with the settings of another service: what was noted is not forgotten for it."""
    monkeypatch.setattr(rotation, "UNUSED_FOR", timedelta(0))
    other = redis_url.rpartition("/")[0] + "/9"
    for url in (redis_url, other):
        with redis.Redis.from_url(url) as client:
            client.flushdb()
    place = {"home": tmp_path, "records": f"sqlite:///{tmp_path}/scrubjay.db", **sessions_in(redis_url)}
    async with memory(place) as jay:
        await jay.working.append("Said", role="user", session="s")
    async with memory({**place, "working": other}) as jay:
        done = await jay.encryption.rotate(data_keys=True, rows=True)
        assert [f"sessions are kept in {redis_url}" in why for why in done.unread] == [True]
        with pytest.raises(Conflict, match=f"SCRUBJAY_WORKING is {other} here"):
            await jay.encryption.destroy()
    async with memory(place) as jay:
        with pytest.raises(Conflict, match=f"sessions are kept in {other}"):
            await jay.encryption.destroy()
        assert (await jay.encryption.destroy(sessions_gone=True)).needed == 1, "those in the one that is set here count"
        assert [one.content for one in await jay.working.recent(session="s")] == ["Said"]


async def test_who_begins_a_new_tenant_has_other_fingerprints(place):
    async with memory(place) as jay:
        await jay.remember("Prefers tabs", user="anna")
        lines = [line async for line in jay.export(user="anna")]
        await jay.for_tenant("anew").import_lines(lines, user="anna")
        stored = [
            await jay.parts.stores.records._records.find(
                Filter(scope=Scope(tenant=tenant, user="anna")), now=now, limit=9
            )
            for tenant in ("default", "anew")
            for now in [jay.parts.clock()]
        ]
        [[first], [second]] = stored
        assert fingerprint_in(first.content) != fingerprint_in(second.content)
        [again] = await jay.for_tenant("anew").list(user="anna")
        assert again.content == "Prefers tabs"


async def test_keys_wait_for_a_transaction_that_holds_one(postgres_database, tmp_path, monkeypatch):
    """On a server a write may hang behind its check: its key is not destroyed before it has come to an end."""
    monkeypatch.setattr(rotation, "UNUSED_FOR", timedelta(0))
    place = {"home": tmp_path, "records": postgres_database(), **NO_REDIS}
    async with memory(place) as jay, memory(place) as late:
        await late.remember("Before", user="anna")
        stored, loop, go_on = asyncio.Event(), asyncio.get_running_loop(), threading.Event()
        insert = writing_postgresql.insert

        def hanging(*given):
            """Behind the check, and before the commit."""
            insert(*given)
            loop.call_soon_threadsafe(stored.set)
            go_on.wait(30)

        monkeypatch.setattr(writing_postgresql, "insert", hanging)
        writing = asyncio.create_task(late.remember("Late", user="anna"))
        await stored.wait()
        monkeypatch.setattr(writing_postgresql, "insert", insert)
        assert (await jay.encryption.rotate(data_keys=True, rows=True)).is_complete, "it cannot see what is under way"
        destroying = asyncio.create_task(jay.encryption.destroy())
        await asyncio.sleep(0.5)
        assert not destroying.done()
        go_on.set()
        await writing
        done = await destroying
        assert (done.keys, done.needed) == (0, 1)
        assert [one.content for one in await jay.list(user="anna", order="oldest")] == ["Before", "Late"]


async def test_keys_do_not_wait_for_those_who_write_with_the_newest(postgres_database, tmp_path, monkeypatch):
    """A busy tenant always has somebody who holds that one: nobody could destroy an older key for as long."""
    monkeypatch.setattr(rotation, "UNUSED_FOR", timedelta(0))
    place = {"home": tmp_path, "records": postgres_database(), **NO_REDIS}
    async with memory(place) as jay:
        await jay.remember("Before", user="anna")
        await jay.encryption.rotate(data_keys=True, rows=True)
        with psycopg.connect(place["records"]) as busy:
            busy.execute("SELECT number FROM data_keys ORDER BY number DESC LIMIT 1 FOR KEY SHARE")
            async with asyncio.timeout(10):
                assert (await jay.encryption.destroy()).keys == 1
        assert [one.content for one in await jay.list(user="anna")] == ["Before"]


async def test_a_worker_that_stood_still_leaves_an_archive_as_it_was_sealed_since(place, monkeypatch):
    async with memory(place) as jay:
        await archived(jay, ["The linter is ruff.", "The formatter is ruff, too."])
        [archive] = await jay.work.archives()
        [first, _] = await jay.list(kinds=["message"], session="old", history=True)
        await jay.forget(first.id, purge=True, session="old")
        known = EncryptedRecords.missing

        async def late(records, ids):
            """Its lease lapses, and somebody else changes the keys, while it looks what was purged."""
            run_sql(place, "DELETE FROM work_leases")
            moment = elapsed.moment
            monkeypatch.setattr(elapsed, "moment", lambda: moment() + 3_600)
            monkeypatch.setattr(EncryptedRecords, "missing", known)
            assert (await jay.encryption.rotate(data_keys=True, rows=True)).is_complete
            return await known(records, ids)

        monkeypatch.setattr(EncryptedRecords, "missing", late)
        [step] = (await jay.consolidate(steps="archive")).steps
        assert "another worker has taken over" in step.error
        assert seals(gzip.decompress(archive.file.read_bytes()), 1) == 0
        await jay.consolidate(steps="archive")
        assert [one.episodes for one in await jay.work.archives()] == [1]
