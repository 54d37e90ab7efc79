"""What one recall asks of a file is asked in one place: one thread, one connection, one state of the file."""

import asyncio
import sqlite3
import threading
from dataclasses import replace

import pytest

import scrubjay
from scrubjay.backends.sql.database import Database
from scrubjay.errors import StoreUnavailable
from scrubjay.ports import Habit, Pace, watch
from scrubjay.read.retrieve import QUICK
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire


@pytest.fixture
async def database(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'some.db'}")
    await database.write(lambda connection: connection.exec_driver_sql("CREATE TABLE things (name TEXT)"))
    yield database
    await database.shut()


@pytest.fixture
def other(tmp_path, database):
    """Another process, as far as SQLite can tell."""
    connection = sqlite3.connect(tmp_path / "some.db", isolation_level=None, check_same_thread=False)
    yield connection
    connection.close()


def counted(connection):
    return connection.exec_driver_sql("SELECT count(*) FROM things").scalar_one()


async def test_reads_see_one_state_of_the_file(database, other):
    async def twice():
        before = await database.read(counted)
        other.execute("INSERT INTO things VALUES ('late')")
        return before, await database.read(counted)

    assert await database.together(twice) == (0, 0)
    assert await database.read(counted) == 1


async def test_what_others_wrote_is_seen_by_the_next_read(database, other):
    for many in range(1, 4):
        other.execute("INSERT INTO things VALUES ('new')")
        assert await database.read(counted) == many


async def test_all_of_it_runs_on_one_thread(database):
    async def threads():
        return {await database.read(lambda _: threading.get_ident()) for _ in range(3)}

    assert len(await database.together(threads)) == 1


async def test_one_inside_another_leaves_the_other_its_place(database, other):
    async def outer():
        inner = await database.together(lambda: database.read(counted))
        other.execute("INSERT INTO things VALUES ('late')")
        return inner, await database.read(counted)

    assert await database.together(outer) == (0, 0)


async def test_waiting_for_something_else_is_refused(database):
    with pytest.raises(RuntimeError, match="waits for something else"):
        await database.together(lambda: asyncio.sleep(0))
    assert await database.read(counted) == 0


async def test_a_failed_read_is_told_in_our_words_and_the_next_one_works(database):
    async def failing():
        return await database.read(lambda connection: connection.exec_driver_sql("SELECT * FROM nowhere").all())

    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="no such table: nowhere"):
            await database.together(failing)
        assert await database.read(counted) == 0


async def test_a_read_leaves_no_snapshot_behind(database, other):
    assert await database.read(counted) == 0
    other.execute("INSERT INTO things VALUES ('new')")
    busy, _, _ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert busy == 0


class Calls:
    """How often the store was asked."""

    def __init__(self):
        self.reads = 0
        self.asked = asyncio.Event()

    def began(self, stage):
        if stage.name == "store" and stage.facts["operation"] == "read":
            self.reads += 1
            self.asked.set()

    def ended(self, stage, state):
        pass


@pytest.fixture
def known_for_long(monkeypatch):
    """Which model answers is not asked again while a test lasts, however slow the machine is."""
    monkeypatch.setattr("scrubjay.write.index._FRESH_SECONDS", 3_600)


async def test_a_recall_goes_to_the_file_once(tmp_path, known_for_long):
    async with wire(read_settings(home=tmp_path, background=False), embedder=ToyEmbedder()) as jay:
        await jay.remember_many([f"The {name} sings" for name in ("canary", "finch", "wren")], user="anna")
        await jay.remember_many(["Where did you go?", "To Lisbon!"], user="anna", session="s1")
        await jay.recall("who sings?", user="anna")
        calls = Calls()
        stop = watch(calls)
        hits = await jay.recall("where did you go?", user="anna")
        stop()
        assert {"Where did you go?", "To Lisbon!"} <= {hit.memory.content for hit in hits}
        assert calls.reads == 1


class Computing(ToyEmbedder):
    """A model that lets others work for a moment."""

    async def embed(self, texts, *, question=False):
        await asyncio.sleep(0)
        return await super().embed(texts, question=question)


class Slow:
    """Words that are looked up only once somebody else has asked the store."""

    def __init__(self, texts, asked):
        self._texts = texts
        self._asked = asked

    async def match(self, *question, **limits):
        async with asyncio.timeout(60):
            await self._asked.wait()
        return await self._texts.match(*question, **limits)


async def test_meaning_does_not_wait_for_words_that_take_longer_than_the_model(tmp_path, known_for_long):
    said = [f"The {name} sings {how}" for name in ("canary", "finch", "wren") for how in ("early", "late", "alone")]
    found = {}
    for name, model in (("at once", ToyEmbedder()), ("computed", Computing())):
        async with wire(read_settings(home=tmp_path / name, background=False), embedder=model) as jay:
            await jay.remember_many(said, user="anna")
            calls = Calls()
            stop = watch(calls)
            if name == "computed":
                stores = jay.parts.stores
                slow = replace(stores, texts=Slow(stores.texts, calls.asked), words=Pace(0.1))
                jay.parts = replace(jay.parts, stores=slow)
            hits = await jay.recall("who sings early?", user="anna", explain=True)
            stop()
            found[name] = [(hit.memory.content, hit.score, hit.signals) for hit in hits]
            # Words, meaning and the rest, each by itself, or all of it together.
            assert calls.reads == (1 if name == "at once" else 3)
    assert [one[0] for one in found["computed"]] == [one[0] for one in found["at once"]]
    assert [one[2].keys() for one in found["computed"]] == [one[2].keys() for one in found["at once"]]


async def test_quick_words_wait_for_the_model_and_slow_ones_are_tried_again(tmp_path):
    async def reads(pace):
        jay.parts = replace(jay.parts, stores=replace(jay.parts.stores, words=pace))
        calls = Calls()
        stop = watch(calls)
        assert await jay.recall("who sings early?", user="anna")
        stop()
        return calls.reads

    async with wire(read_settings(home=tmp_path, background=False), embedder=Computing()) as jay:
        await jay.remember("The canary sings", user="anna")
        unknown, slow = Pace(), Pace(QUICK * 1.01)
        assert await reads(unknown) == 1
        assert unknown.seconds > 0
        assert await reads(slow) > 1
        assert slow.seconds < QUICK


def test_a_habit_follows_what_is_lower_at_once_and_what_is_higher_slowly():
    habit = Habit()
    habit.note(0.8)
    assert 0 < habit.value < 0.4
    for _ in range(100):
        habit.note(0.8)
    assert habit.value > 0.7
    habit.note(0.2)
    assert habit.value == 0.2


async def test_a_recall_sees_what_another_program_just_wrote(tmp_path):
    async with (
        scrubjay.open_async(tmp_path, embedder="none", background=False) as one,
        scrubjay.open_async(tmp_path, embedder="none", background=False) as another,
    ):
        for name in ("canary", "finch"):
            await one.remember(f"The {name} sings")
            assert [hit.memory.content for hit in await another.recall(name)] == [f"The {name} sings"]


async def test_a_place_that_is_added_later_is_searched_by_those_who_asked_before(tmp_path):
    async with scrubjay.open_async(tmp_path, embedder="none") as jay:
        await jay.remember("The harbour crane is yellow", user="anna")
        for user in ("bert", "carl"):
            assert not await jay.recall("harbour", user=user)
            told = await jay.remember("The harbour crane is green", user=user)
            assert [hit.memory.id for hit in await jay.recall("harbour", user=user)] == [told.id]
            assert len(await jay.recall("harbour")) >= 2
