"""On one SQLite file a memory and its vectors are written in one transaction, whatever comes of its draft."""

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.errors import StoreUnavailable
from scrubjay.model import AsOf, Scope
from scrubjay.ports import Decision
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.testing.values import a_memory, told
from scrubjay.wiring import wire
from scrubjay.write.reconcile import reconcile


class Counting(ToyEmbedder):
    """Says which texts it was asked for, and takes its time."""

    def __init__(self, *, seconds=0.0):
        super().__init__()
        self.texts = []
        self._seconds = seconds

    async def embed(self, texts, *, question=False):
        self.texts += texts
        await asyncio.sleep(self._seconds * len(texts))
        return await super().embed(texts, question=question)


@pytest.fixture
async def opened(tmp_path):
    jays = []

    async def started(embedder=None, **settings):
        jay = wire(read_settings(home=tmp_path, background=False, **settings), embedder=embedder or ToyEmbedder())
        jays.append(jay)
        return await jay.start()

    yield started
    for jay in jays:
        await jay.close()


async def transactions(jay, work):
    """How many transactions this takes, counted where they happen."""
    begun = []

    def count(connection):
        driver_of(connection).set_trace_callback(lambda statement: begun.append(statement[:6] == "BEGIN "))

    database = jay.parts.stores.generations._database
    await database.write(count)
    begun.clear()
    answer = await work
    return answer, sum(begun)


async def test_one_memory_takes_one_transaction(opened):
    jay = await opened()
    await jay.remember("The kettle is on the left")
    told, taken = await transactions(jay, jay.remember("The toaster is on the right", user="u-1"))
    assert taken == 1
    assert (await jay.get(told.id, user="u-1")).generation == 1
    [hit] = await jay.recall("where is the toaster", mode="meaning", user="u-1", limit=1)
    assert hit.memory.id == told.id
    assert (await jay.stats()).pending == 0


async def test_a_new_value_leaves_only_itself_to_be_found(opened):
    jay = await opened()
    now = jay.parts.clock()
    await jay.remember("Deploys happen on Friday", key="deploy", valid_from=now - timedelta(days=9))
    await jay.remember("Deploys happen on Monday", key="deploy", valid_from=now - timedelta(days=2))
    # Between the two: it ends where the next one begins, whatever its draft said.
    between = await jay.remember("Deploys happen on Sunday", key="deploy", valid_from=now - timedelta(days=5))
    assert between.memory.valid_to == now - timedelta(days=2)
    hits = await jay.recall("when do deploys happen", mode="meaning")
    assert [hit.memory.content for hit in hits] == ["Deploys happen on Monday"]
    past = await jay.recall("when do deploys happen", mode="meaning", as_of=AsOf(valid_at=now - timedelta(days=3)))
    assert [hit.memory.content for hit in past] == ["Deploys happen on Sunday"]
    assert (await jay.stats()).pending == 0
    assert await jay.check() == []


async def test_a_slow_model_is_not_asked_for_what_is_known(opened):
    embedder = Counting(seconds=0.002)
    jay = await opened(embedder)
    texts = [f"Fact number {place} holds" for place in range(5)]
    await jay.remember_many(texts)
    first = len(embedder.texts)
    assert first == 5
    told = await jay.remember_many([*texts, "Fact of another day"])
    assert [one.outcome for one in told] == ["unchanged"] * 5 + ["stored"]
    assert embedder.texts[first:] == ["Fact of another day"]
    # Once forgotten it is told anew, and is to be found again.
    await jay.forget(told[0].id)
    again = await jay.remember(texts[0])
    assert again.outcome == "stored"
    assert (await jay.recall(texts[0], mode="meaning", limit=1))[0].memory.id == again.id


async def test_many_are_stored_while_the_vectors_of_the_next_are_made(opened, monkeypatch):
    monkeypatch.setattr("scrubjay.write.remember.BATCH", 10)
    jay = await opened()
    steps = []
    told = await jay.remember_many([f"Fact number {place} holds" for place in range(35)], progress=steps.append)
    assert steps == [10, 20, 30, 35]
    assert len({one.id for one in told}) == 35
    assert (await jay.stats()).pending == 0
    assert (await jay.recall("Fact number 34 holds", mode="meaning", limit=1))[0].memory.id == told[-1].id


async def test_what_fails_in_the_middle_keeps_the_batches_before_it(opened, monkeypatch):
    monkeypatch.setattr("scrubjay.write.remember.BATCH", 2)
    jay = await opened()
    taken = await jay.remember("Somebody else's", id="theirs", user="other")
    items = [{"content": f"Fact {place}"} for place in range(6)]
    items[3]["id"] = taken.id
    with pytest.raises(Exception, match="names another memory"):
        await jay.remember_many(items)
    assert sorted(one.content for one in await jay.list() if one.content.startswith("Fact")) == ["Fact 0", "Fact 1"]


async def test_a_purged_id_that_is_told_again_has_only_its_new_vectors(opened):
    jay = await opened()
    long = " ".join(f"Sentence {place} about kettles and other things." for place in range(120))
    first = await jay.remember(long, id="note-1")
    await jay.forget(first.id, purge=True)
    again = await jay.remember("Short now", id="note-1")
    assert again.id == first.id
    vectors = jay.parts.stores.vectors
    [entry] = await vectors.entries(1, [again.id])
    assert entry.spans == ((0, len("Short now")),)


async def test_vectors_without_a_record_give_way_to_those_of_the_new_one(opened):
    jay = await opened()
    first = await jay.remember(" ".join(f"Sentence {place} about kettles." for place in range(120)), id="note-1")
    assert len((await jay.parts.stores.vectors.entries(1, [first.id]))[0].spans) > 1
    database = jay.parts.stores.generations._database
    await database.write(lambda connection: driver_of(connection).execute("DELETE FROM memories"))
    again = await jay.remember("Short now", id="note-1")
    [entry] = await jay.parts.stores.vectors.entries(1, [again.id])
    assert entry.spans == ((0, len("Short now")),)


async def test_what_is_decided_to_read_otherwise_is_indexed_as_it_reads(opened):
    jay = await opened()
    [draft] = await jay.parts.writer.drafts(["The kettle is red"], Scope())

    def decide(draft, known):
        changed = replace(draft, content="Buses leave at noon")
        return Decision(outcome="stored", memory=changed, opens=(changed,))

    [told] = await jay.parts.writer.write([draft], decide)
    [hit] = await jay.recall("Buses leave at noon", mode="meaning")
    assert hit.memory.id == told.id
    assert hit.similarity == pytest.approx(1.0, abs=0.01)
    assert (await jay.stats()).pending == 0


@pytest.mark.parametrize("encrypt", ["none", "all"])
async def test_many_at_once_are_told_what_each_would_be_told_alone(opened, encrypt):
    keys = {"encryption_key": "0f" * 32} if encrypt == "all" else {}
    jay = await opened(encrypt=encrypt, **keys)
    taken = await jay.remember("Somebody else's", id="taken", user="other")
    items = [{"content": f"Fact number {place} holds", "user": f"u-{place % 3}"} for place in range(40)]
    items[5] |= {"key": "deploy"}
    items[9] = {**items[5], "content": "Deploys happen on Monday"}
    items[20] = dict(items[1])
    items[30] |= {"id": taken.id}
    items[35] |= {"content": ""}
    told = await asyncio.gather(*(jay.remember(**item) for item in items), return_exceptions=True)
    assert {place for place, one in enumerate(told) if isinstance(one, Exception)} == {30, 35}
    assert "names another memory" in str(told[30])
    outcomes = {place: one.outcome for place, one in enumerate(told) if not isinstance(one, Exception)}
    # Nobody promises those who ask at once an order: one of the two came second, and is told so.
    late, again = (9 if outcomes[5] == "stored" else 5), (20 if outcomes[1] == "stored" else 1)
    assert {place: outcome for place, outcome in outcomes.items() if outcome != "stored"} == {
        late: "superseded",
        again: "unchanged",
    }
    assert told[late].replaced == told[14 - late].id
    assert told[20].id == told[1].id
    assert (await jay.stats()).pending == 0
    assert await jay.check() == []
    for place in (0, late, 31):
        [hit] = await jay.recall(items[place]["content"], mode="meaning", user=items[place]["user"], limit=1)
        assert hit.memory.content == items[place]["content"]


async def test_a_scope_whose_number_was_undone_and_given_to_another_is_not_taken_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.sql.scribe.GROUP_SECONDS", 60)
    database = Database(f"sqlite:///{tmp_path}/scrubjay.db")
    await migrate(database)
    records, go = SqlRecords(database), threading.Event()
    theirs, ours = Scope(tenant="acme", user="anna"), Scope(tenant="zeta", user="zoe")
    waiting = [
        database.write(lambda _: go.wait(60)),
        # The second finds what the first has just told, in one transaction.
        records.write([a_memory(scope=theirs)], reconcile),
        records.write([a_memory(scope=theirs)], reconcile),
        # As SQLite does by itself when the disk is full.
        database.write(lambda connection: driver_of(connection).execute("ROLLBACK")),
    ]
    tasks = [asyncio.create_task(one) for one in waiting]
    await asyncio.sleep(0)
    go.set()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in ended] == [StoreUnavailable] * 4
    [stored] = await told(records, a_memory(scope=ours))
    assert await records.get(theirs, [stored.id]) == []
    assert [one.scope for one in await records.get(ours, [stored.id])] == [ours]
    await database.shut()
