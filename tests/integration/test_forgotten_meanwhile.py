"""Forgetting and purging while somebody else writes: what is about the same thing goes too, or its writer is told."""

import asyncio

import pytest

from scrubjay.errors import Conflict, InvalidInput, NotFound
from scrubjay.memories.tasks.receipts import receipt_for
from scrubjay.write.forget import ROUNDS


class Meanwhile:
    """Stands for a method, and lets something else happen right before each call of it, or right after."""

    def __init__(self, method, happens, *, after=False, times=1):
        self._method = method
        self._happens = happens
        self._after = after
        self._times = times

    async def __call__(self, *given, **named):
        if not self._after:
            await self._happening()
        answer = await self._method(*given, **named)
        if self._after:
            await self._happening()
        return answer

    async def _happening(self):
        if self._times:
            self._times -= 1
            await self._happens()


def meanwhile(monkeypatch, jay, name, happens, **how):
    records = jay.parts.stores.records
    monkeypatch.setattr(records, name, Meanwhile(getattr(records, name), happens, **how))


async def test_a_purge_takes_the_version_that_somebody_just_wrote(setup, monkeypatch):
    jay = await setup.open()
    old = await jay.remember("The secret", user="anna")
    new, heard = [], asyncio.Queue()
    jay.subscribe("memory.purged", heard.put_nowait)

    async def updated():
        setup.clock.advance()
        new.append((await jay.update(old.id, content="The secret, corrected", user="anna")).id)

    meanwhile(monkeypatch, jay, "purge", updated)
    receipt = await jay.forget(old.id, user="anna", purge=True)
    assert (receipt.ids, receipt.derived) == ((old.id,), tuple(new))
    assert set(receipt.remaining.values()) == {0}
    assert await jay.parts.stores.records.missing([old.id, *new]) == [old.id, *new]
    assert await jay.parts.stores.vectors.traces([old.id, *new]) == 0
    assert (await heard.get()).data["ids"] == [str(old.id), *map(str, new)]
    assert await jay.check() == []


async def test_a_purge_of_everything_takes_what_is_told_and_changed_meanwhile(setup, monkeypatch):
    jay = await setup.open()
    old = await jay.remember("The secret", user="anna")
    derived = []

    async def written():
        setup.clock.advance()
        new = await jay.update(old.id, content="The secret, corrected", user="anna")
        await jay.remember("Another secret", user="anna")
        derived.append((await jay.remember("A summary for all", derived_from=[new.id])).id)

    meanwhile(monkeypatch, jay, "purge", written)
    receipt = await jay.forget(everything=True, user="anna", purge=True)
    assert (len(receipt.ids), receipt.derived) == (3, tuple(derived))
    assert set(receipt.remaining.values()) == {0}
    assert await jay.count() == 0
    audit = await jay.access.audit()
    assert {one for entry in audit for one in entry.ids} == set(receipt.ids)


async def test_the_receipt_counts_what_others_go_on_telling(setup, monkeypatch):
    jay = await setup.open()
    await jay.remember("The first", user="anna")

    async def told():
        setup.clock.advance()
        await jay.remember(f"It is {setup.clock.now}", user="anna")

    meanwhile(monkeypatch, jay, "purge", told, after=True, times=99)
    receipt = await jay.forget(everything=True, user="anna", purge=True)
    assert (len(receipt.ids), receipt.remaining["records"]) == (ROUNDS + 1, 1)
    assert await jay.count(user="anna") == 1


async def test_who_forgets_what_is_replaced_at_that_moment_is_told(setup, monkeypatch):
    jay = await setup.open()
    old = await jay.remember("tabs", user="anna")

    async def updated():
        setup.clock.advance()
        await jay.update(old.id, content="spaces", user="anna")

    meanwhile(monkeypatch, jay, "forget", updated)
    with pytest.raises(Conflict, match=str(old.id)):
        await jay.forget(old.id, user="anna")
    assert [one.content for one in await jay.list(user="anna")] == ["spaces"]


@pytest.mark.parametrize("what", [{"key": "indent"}, {"everything": True}])
async def test_by_key_or_with_everything_the_version_that_was_just_written_is_meant(setup, monkeypatch, what):
    jay = await setup.open()
    await jay.remember("tabs", user="anna", key="indent")

    async def replaced():
        setup.clock.advance()
        await jay.remember("spaces", user="anna", key="indent")

    meanwhile(monkeypatch, jay, "forget", replaced)
    receipt = await jay.forget(**what, user="anna")
    assert len(receipt.ids) == 2, "what holds now, and what held before"
    assert await jay.count(user="anna") == 0


async def test_who_is_too_late_to_forget_is_told(setup, monkeypatch):
    jay, other = await setup.open(), await setup.open()
    told = await jay.remember("tabs", user="anna")

    async def forgotten():
        monkeypatch.undo()
        await other.forget(told.id, user="anna")

    meanwhile(monkeypatch, jay, "forget", forgotten)
    with pytest.raises(NotFound, match="quicker"):
        await jay.forget(told.id, user="anna")


@pytest.mark.parametrize("purge", [False, True])
async def test_nothing_is_made_from_what_is_forgotten_after_it_was_looked_up(setup, monkeypatch, purge):
    jay, other = await setup.open(), await setup.open()
    source = await jay.remember("The secret", user="anna")

    async def forgotten():
        await other.forget(source.id, user="anna", purge=purge)

    meanwhile(monkeypatch, jay, "get", forgotten, after=True)
    for _ in range(2):  # Once in between, and once when it is over.
        with pytest.raises(InvalidInput, match=f"derived_from names {source.id}, which "):
            await jay.remember("Made from the secret", derived_from=[source.id], user="anna")
    assert await jay.count() == 0


@pytest.mark.parametrize("purge", [False, True])
async def test_a_fact_is_told_though_what_it_contradicts_is_just_forgotten(setup, monkeypatch, purge):
    jay = await setup.open()
    there = (await jay.facts.store("The office is open on Sundays", user="anna")).fact
    writer = jay.parts.writer

    async def forgotten():
        await jay.forget(there.id, user="anna", purge=purge)

    monkeypatch.setattr(writer, "write", Meanwhile(writer.write, forgotten))
    stored = await jay.facts.store("The office is not open on Sundays", user="anna")
    assert (stored.outcome, stored.conflicts) == ("stored", ())
    assert [one.id for one in await jay.list(user="anna")] == [stored.id]


@pytest.mark.parametrize("purge", [False, True])
async def test_a_fact_is_refused_whose_source_is_forgotten_while_it_is_compared(setup, monkeypatch, purge):
    jay, other = await setup.open(), await setup.open()
    source = await jay.remember("What was said", user="anna")
    told = [{"content": "The build server is staging", "derived_from": [source.id]}, "The build server is production"]
    writer = jay.parts.writer

    async def forgotten():
        await other.forget(source.id, user="anna", purge=purge)

    monkeypatch.setattr(writer, "write", Meanwhile(writer.write, forgotten))
    with pytest.raises(InvalidInput, match=f"derived_from names {source.id}, which "):
        await jay.facts.store_many(told, user="anna")
    assert await jay.count(user="anna") == 0


async def test_learning_in_a_hurry_goes_on_where_executions_were_forgotten(setup):
    jay, other = await setup.open(), await setup.open()

    async def stored(number):
        setup.clock.advance()
        done = "rolled out with kubectl" if number % 2 else "copied by hand with ssh"
        return await jay.tasks.store_execution(
            f"T-{number}", done, bool(number % 2), task_description="deploy the web service", user="anna"
        )

    told = [(await stored(number)).memory for number in range(20)]
    assert await jay.patterns.learn(user="anna")
    await other.forget([one.id for one in told[-6:]], user="anna")
    for number in range(20, 24):
        await stored(number)
    learned = await jay.patterns.learn(user="anna", quick=True)
    assert {one.id for one in told[-6:]}.isdisjoint(one for pattern in learned for one in pattern.evidence)
    assert await jay.patterns.learn(user="anna") == []


async def test_a_restored_fact_can_be_told_anew_and_corrected(setup):
    jay = await setup.open()
    source = await jay.remember("What was said", user="anna")
    fact = (await jay.facts.store("Prefers tabs", derived_from=[source.id], user="anna")).fact
    setup.clock.advance()
    await jay.forget(source.id, user="anna")
    setup.clock.advance()
    [restored] = await jay.facts.restore(fact.id, user="anna")
    setup.clock.advance()
    newer = await jay.update(restored.id, content="Prefers spaces", user="anna")
    assert newer.memory.derived_from == (source.id, fact.id)


async def test_no_use_is_reported_of_what_was_forgotten(setup):
    jay = await setup.open()
    kept, gone = await jay.remember_many(["How to deploy", "How to roll back"], user="anna")
    receipt = receipt_for([kept.id, gone.id], "default")
    await jay.forget(gone.id, user="anna")
    used = await jay.tasks.used(receipt, "helped", user="anna")
    assert used.memories == (kept.id,)


async def test_a_purge_that_is_stopped_leaves_nothing_of_what_came_meanwhile(setup, monkeypatch):
    jay = await setup.open()
    old, new = await jay.remember("The secret", user="anna"), []
    heard = asyncio.Queue()
    jay.subscribe("memory.purged", heard.put_nowait)

    async def updated():
        setup.clock.advance()
        new.append((await jay.update(old.id, content="The secret, corrected", user="anna")).id)

    async def stopped():
        purging.cancel()

    meanwhile(monkeypatch, jay, "purge", updated)
    meanwhile(monkeypatch, jay, "purge", stopped, after=True)
    purging = asyncio.create_task(jay.forget(old.id, user="anna", purge=True))
    with pytest.raises(asyncio.CancelledError):
        await purging
    assert (await heard.get()).data["ids"] == [str(old.id), *map(str, new)]
    await jay.parts.index.drain()
    assert await jay.parts.stores.records.missing([old.id, *new]) == [old.id, *new]
    assert await jay.parts.stores.vectors.traces([old.id, *new]) == 0
    assert await jay.check() == []
