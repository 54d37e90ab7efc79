"""Whoever is cancelled while a memory with files is being stored leaves both, or neither."""

import asyncio
import os
from dataclasses import replace

import pytest

from scrubjay.backends.sql.blob_inspection import BlobInspection
from scrubjay.backends.sql.database import Database
from scrubjay.memories.frameworks.transcript import Transcript
from scrubjay.model import Scope
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire
from scrubjay.write.holding import undisturbed

LONG = "a long saying " * 1_000


class Dawdling(ToyEmbedder):
    """A model that takes its time once it is told to: by then the memory is stored, and its writer waits."""

    def __init__(self):
        super().__init__()
        self.asked, self.may = asyncio.Event(), asyncio.Event()
        self.may.set()

    async def embed(self, texts, *, question=False):
        self.asked.set()
        await self.may.wait()
        return await super().embed(texts, question=question)


@pytest.fixture
def embedder():
    return Dawdling()


@pytest.fixture
async def jay(tmp_path, embedder):
    async with wire(read_settings(home=tmp_path / "store", background=False), embedder=embedder) as jay:
        yield jay


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_text(LONG)
    return tmp_path / "files"


async def cancelled_while_it_is_indexed(work, embedder):
    """Cancel this, twice, once its memory is stored."""
    embedder.asked.clear()
    embedder.may.clear()
    doing = asyncio.ensure_future(work)
    await asyncio.wait_for(embedder.asked.wait(), 60)
    for _ in range(2):
        doing.cancel()
        await asyncio.sleep(0.05)
    embedder.may.set()
    with pytest.raises(asyncio.CancelledError):
        await doing


async def test_an_item_of_a_transcript_keeps_its_files(jay, embedder):
    transcript = Transcript(jay, user="anna", session="s")
    item = {"role": "user", "content": LONG}
    await cancelled_while_it_is_indexed(transcript.add([item]), embedder)
    assert await transcript.tail() == [item]


async def test_a_completion_keeps_its_files(jay, embedder, folder):
    work = jay.workspace.store_completion(goal="Say it at length", repo_path=folder, files=["a.txt"])
    await cancelled_while_it_is_indexed(work, embedder)
    assert (await jay.parts.stores.blobs.room(Scope(tenant=jay.tenant))).blobs == 1


async def test_a_snapshot_that_is_cancelled_at_any_moment_is_whole_or_not_there(jay, folder, tmp_path):
    await jay.agents.create("writer")
    for moment in range(12):
        (folder / "a.txt").write_text(f"{LONG} {moment}")
        doing = asyncio.ensure_future(jay.agents.snapshot("writer", folder))
        await asyncio.sleep(0.002 * moment)
        doing.cancel()
        await asyncio.wait([doing])
    for snapshot in await jay.agents.snapshots("writer"):
        await jay.agents.restore("writer", tmp_path / f"new-{snapshot.number}", snapshot=snapshot.number)


async def test_a_restore_that_is_cancelled_at_any_moment_leaves_nothing_beside_its_folder(jay, folder, tmp_path):
    await jay.agents.create("writer")
    for number in range(20):
        (folder / f"{number}.txt").write_text(str(number))
    await jay.agents.snapshot("writer", folder)
    (tmp_path / "new").mkdir()
    for moment in range(12):
        doing = asyncio.ensure_future(jay.agents.restore("writer", tmp_path / "new" / str(moment)))
        await asyncio.sleep(0.002 * moment)
        doing.cancel()
        await asyncio.wait([doing])
    assert all(len(list(one.iterdir())) == 21 for one in (tmp_path / "new").iterdir())


class Halting:
    """Blobs that halt as soon as the first of them are kept, until they are told to go on."""

    def __init__(self, blobs):
        self._blobs = blobs
        self.kept, self.may = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name):
        return getattr(self._blobs, name)

    async def keep(self, *given):
        stored = await self._blobs.keep(*given)
        self.kept.set()
        await self.may.wait()
        return stored


async def test_files_that_are_tidied_away_before_their_snapshot_is_there_are_kept_again(jay, folder, tmp_path):
    for number in range(3):
        (folder / f"large-{number}").write_bytes(os.urandom(9 * 1024 * 1024))
    await jay.agents.create("writer")
    stores = jay.parts.stores
    blobs = Halting(stores.blobs)
    jay.parts = replace(jay.parts, stores=replace(stores, blobs=blobs))
    doing = asyncio.ensure_future(jay.agents.snapshot("writer", folder))
    await asyncio.wait_for(blobs.kept.wait(), 60)
    # As after the patience that it usually has.
    database = Database(f"sqlite:///{tmp_path}/store/scrubjay.db")
    [found] = await BlobInspection(database, patience=0).inspect(fix=True)
    assert found.fixed
    await database.shut()
    blobs.may.set()
    await doing
    done = await jay.agents.restore("writer", tmp_path / "new")
    assert done.written == 4


async def test_what_fails_after_it_was_cancelled_says_that_it_was_cancelled():
    async def failing():
        await asyncio.sleep(0.02)
        message = "a fault of its own"
        raise ValueError(message)

    doing = asyncio.ensure_future(undisturbed(failing()))
    await asyncio.sleep(0)
    doing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await doing
    with pytest.raises(ValueError, match="of its own"):
        await undisturbed(failing())
