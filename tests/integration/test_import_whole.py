"""An import is whole or not at all: what is refused leaves the store as it was, on every set-up."""

import asyncio
import json
import threading
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from patience import LONG
from scrubjay.errors import Conflict, InvalidInput, StoreUnavailable
from scrubjay.model import Filter, Scope
from scrubjay.ports import Decision
from scrubjay.testing import NOW
from scrubjay.write import judging, transfer
from scrubjay.write.staging import Staging

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(transfer, "BATCH", 4)


async def exported(jay, **narrow):
    return [line async for line in jay.export(**narrow)]


def changed(line, **fields):
    return json.dumps({name: value for name, value in {**json.loads(line), **fields}.items() if value is not ...})


async def a_file(setup, many=10):
    """A store with a few keys that were told again, what was made of others, and as many notes; and its export."""
    jay = await setup.open()
    for city in "Bonn", "Rome", "Oslo":
        setup.clock.advance(DAY)
        await jay.remember(f"Lives in {city}", key="city", user="anna")
    log = await jay.remember("A log of the build", user="anna")
    await jay.remember("A summary", derived_from=[log.id], data={"evidence": [str(log.id), "7"]}, user="anna")
    await jay.update(log.id, content="A better log of the build", user="anna")
    await jay.remember_many([f"note {place}" for place in range(many)], user="anna", session="s")
    return jay, await exported(jay)


async def refused_lines(lines):
    """Files that are wrong in their last lines only, each with what is said of them."""
    [oslo] = [line for line in lines if "Lives in Oslo" in line]
    note = lines[-1]
    other = "0199aaaa-0000-7000-8000-00000000000a"
    line = len(lines) + 1
    return [
        ([*lines, "{"], InvalidInput, f"line {line} is not JSON"),
        ([*lines, changed(note, content="")], InvalidInput, f"line {line}: content"),
        ([*lines, changed(note, content="Something else")], Conflict, f"line {line}: id .* in line {line - 1}"),
        ([*lines, changed(note, user="bob")], Conflict, f"line {line}: id .* in line {line - 1}"),
        (
            [*lines, changed(oslo, id=other, content="Lives in Wien")],
            Conflict,
            rf"line {line}: key 'city' has two current values .* in line \d+, and {other}, in this one.*mend",
        ),
        (
            [*lines, changed(oslo, id=other, content="Was in Wien", valid_from="2020-01-01T00:00:00Z")],
            Conflict,
            f"line {line}: key 'city'",
        ),
        ([*lines, changed(note, id=other, position=...)], Conflict, f"line {line}: the same is remembered twice"),
    ]


async def test_a_file_that_is_refused_leaves_the_store_as_it_was(setup, new_setup):
    _, lines = await a_file(new_setup(setup.name))
    jay = await setup.open()
    await jay.remember("Was here before", user="anna")
    before, heard = await exported(jay), []
    stop = jay.subscribe("memory.*", heard.append)
    vectors = await jay.parts.stores.vectors.count(1)
    for told, error, message in await refused_lines(lines):
        seen = []
        with pytest.raises(error, match=message):
            await jay.import_lines(told, progress=seen.append)
        assert (seen, heard) == ([], [])
        assert await exported(jay) == before
    stop()
    assert await jay.parts.stores.vectors.count(1) == vectors
    assert (await jay.import_lines(lines))[0] == len(lines) - 1
    assert await jay.check() == []


async def test_what_contradicts_the_store_at_the_end_of_a_file_leaves_it_as_it_was(setup, new_setup):
    _, lines = await a_file(new_setup(setup.name))
    jay = await setup.open()
    await jay.remember("Lives in Wien", key="city", user="anna")
    before = await exported(jay)
    last_first = [lines[0], *reversed(lines[1:])]
    for told in lines, last_first:
        with pytest.raises(Conflict, match=r"key 'city' has two .*Nothing was imported"):
            await jay.import_lines(told)
        assert await exported(jay) == before
    [note] = [line for line in before if "Wien" in line]
    with pytest.raises(Conflict, match=rf"line {len(lines) + 1}: id .* names something else here"):
        await jay.import_lines([*lines, changed(note, content="Lives in Graz")])
    assert await exported(jay) == before


class Meddling:
    """Lets somebody else write, or a store fail, right before the batch of this number is stored."""

    def __init__(self, records, at, meddle):
        self._load, self._left, self._meddle = records.load, at, meddle

    async def __call__(self, memories):
        if self._left == 0:
            self._left = -1
            await self._meddle()
        self._left -= 1
        return await self._load(memories)


async def test_what_somebody_wrote_meanwhile_is_named_with_how_far_it_came(setup, new_setup, monkeypatch):
    _, lines = await a_file(new_setup(setup.name))
    jay = await setup.open()
    records = jay.parts.stores.records

    async def note():
        await jay.remember("note 6", id="0199aaaa-0000-7000-8000-00000000000b", user="anna", session="s")

    monkeypatch.setattr(records, "load", Meddling(records, 2, note))
    far = rf"12 of the file's {len(lines) - 1} memories are stored, 12 of them new\. Import the same file again"
    with pytest.raises(Conflict, match=f"the same is remembered twice.*{far}"):
        await jay.import_lines(lines)
    assert len(await exported(jay)) == 1 + 12 + 1
    await jay.forget("0199aaaa-0000-7000-8000-00000000000b", user="anna", session="s", purge=True)
    assert await jay.import_lines(lines) == (len(lines) - 1 - 12, 12)
    assert await exported(jay) == lines


@pytest.mark.parametrize("at", [0, 1, 3])
async def test_an_import_that_was_interrupted_ends_with_the_same_store_when_it_is_repeated(
    setup, new_setup, monkeypatch, at
):
    source, older = await a_file(new_setup(setup.name))
    await source.remember("Lives in Wien", key="city", user="anna")
    lines = await exported(source)
    jay, whole = await setup.open(), await new_setup(setup.name).open()
    for one in jay, whole:
        await one.import_lines(older[:7])
    records = jay.parts.stores.records

    async def fail():
        raise StoreUnavailable("the database went away")

    monkeypatch.setattr(records, "load", Meddling(records, at, fail))
    with pytest.raises(StoreUnavailable, match=r"went away\. This came up while storing"):
        await jay.import_lines(lines)
    await jay.import_lines(lines)
    await whole.import_lines(lines)
    assert await exported(jay) == await exported(whole)
    assert set(await exported(jay)) == set(lines)


# Another tenant of the same store


@pytest.mark.parametrize("what", ["put", "index_marks", "arrange"])
async def test_an_import_that_is_cancelled_closes_nothing_that_is_in_use(setup, new_setup, monkeypatch, what):
    _, lines = await a_file(new_setup(setup.name))
    jay = await setup.open()
    work, begun, ended = getattr(Staging, what), threading.Event(), []

    def slowly(self, *given):
        begun.set()
        time.sleep(0.1)
        ended.append(work(self, *given))

    monkeypatch.setattr(Staging, what, slowly)
    importing = asyncio.create_task(jay.import_lines(lines))
    assert await asyncio.to_thread(begun.wait, LONG)
    importing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await importing
    assert ended == [None]
    assert await jay.list(user="anna") == []


async def test_another_tenant_of_the_same_store_gets_all_of_it(setup):
    ours, lines = await a_file(setup)
    theirs = ours.for_tenant("acme")
    assert await theirs.import_lines(lines) == (len(lines) - 1, 0)
    assert await exported(ours) == lines, "nothing of the other tenant was changed"
    copied = [json.loads(line) for line in (await exported(theirs))[1:]]
    originals = [json.loads(line) for line in lines[1:]]
    anew = {old["id"]: new["id"] for old, new in zip(originals, copied, strict=True)}
    assert not anew.keys() & set(anew.values())
    text = json.dumps(originals)
    for old, new in anew.items():
        text = text.replace(old, new)
    assert json.loads(text) == copied, "every link names the copy"
    assert await theirs.import_lines(lines) == (0, len(lines) - 1)
    assert len(await exported(theirs)) == len(lines)
    for mode in "words", "meaning":
        [hit] = await theirs.recall("where does anna live, Oslo", mode=mode, user="anna", limit=1)
        assert str(hit.memory.id) in anew.values()
    assert [one.content for one in await theirs.history(key="city", user="anna")] == [
        one.content for one in await ours.history(key="city", user="anna")
    ]
    [summary] = [one for one in await theirs.list(user="anna") if one.content == "A summary"]
    receipt = await theirs.forget(summary.derived_from[0], user="anna", purge=True)
    assert summary.id in receipt.derived
    assert await exported(ours) == lines
    assert await ours.check() == []


async def test_what_looks_like_the_id_of_a_memory_is_told_apart_like_everything_else(setup):
    jay = await setup.open()
    theirs = jay.for_tenant("acme")
    orders = ["6f9619ff-8b86-4011-b42d-00cf4fc964ff", "6f9619ff-8b86-4011-b42d-00cf4fc964f0"]
    await jay.remember("An order came in", data={"order": orders[0], "all": [orders[0]]}, user="anna")
    header, line = await exported(jay)
    other = changed(line, data={"order": orders[1], "all": [orders[0]]})
    with pytest.raises(Conflict, match=r"line 2: id .* names something else here"):
        await jay.import_lines([header, other])
    with pytest.raises(Conflict, match=r"line 3: id .* names something else in line 2"):
        await theirs.import_lines([header, line, other])
    assert await theirs.import_lines([header, line]) == (1, 0)
    assert await theirs.import_lines([header, line]) == (0, 1)
    [copied] = await theirs.list(user="anna")
    assert copied.data == {"order": orders[0], "all": [orders[0]]}


async def test_what_another_tenant_got_stays_its_own_when_the_first_one_goes(setup):
    ours, lines = await a_file(setup)
    theirs = ours.for_tenant("acme")
    await theirs.import_lines(lines)
    before = await exported(theirs)
    await ours.forget(everything=True, purge=True)
    assert await theirs.import_lines(lines) == (0, len(lines) - 1)
    assert await exported(theirs) == before
    assert (await ours.import_lines(lines))[0] == len(lines) - 1
    assert await exported(ours) == lines


async def test_a_newer_export_brings_another_tenant_up_to_date(setup):
    ours, lines = await a_file(setup)
    theirs = ours.for_tenant("acme")
    await theirs.import_lines(lines)
    await ours.remember("Lives in Wien", key="city", user="anna")
    await theirs.import_lines(await exported(ours))
    for jay in ours, theirs:
        assert [one.content for one in await jay.history(key="city", user="anna")][-1] == "Lives in Wien"
    assert (await theirs.list(user="anna", key="city"))[0].content == "Lives in Wien"


async def test_parts_of_an_export_find_each_other_in_another_tenant(setup):
    ours, lines = await a_file(setup)
    theirs = ours.for_tenant("acme")
    source = [line for line in lines if "A log of the build" in line]
    rest = [line for line in lines if line not in source]
    await theirs.import_lines(rest)
    await theirs.import_lines([lines[0], *source])
    [summary] = [one for one in await theirs.list(user="anna") if one.content == "A summary"]
    found = await theirs.get(summary.derived_from[0], user="anna")
    assert found.content == "A log of the build"
    assert summary.data["evidence"] == [str(found.id), "7"]


# Stretches that overlap


async def overlapping(jay):
    """Three values of a key whose stretches overlap, as older versions stored them; they are told a day apart."""
    for place, (city, since, until) in enumerate([("Rome", 0, 10), ("Oslo", 5, 15), ("Bonn", 7, 8)]):
        told = await jay.remember(f"Lived in {city}", key=f"city {place}", valid_from=NOW - 100 * DAY)
        draft = _moved(told.memory, place, since, until)
        await jay.forget(told.id, purge=True)
        await jay.parts.stores.records.write(
            [draft], lambda one, _: Decision(outcome="stored", memory=one, opens=(one,))
        )


def _moved(memory, place, since, until):
    return replace(
        memory,
        key="city",
        created_at=NOW + place * DAY,
        valid_from=NOW - (100 - since) * DAY,
        valid_to=NOW - (100 - until) * DAY,
        generation=None,
    )


async def believed(jay):
    found = await jay.parts.stores.records.versions(Scope(tenant=jay.tenant), key="city")
    current = sorted((one for one in found if one.superseded_at is None), key=lambda one: one.valid_from)
    return [(one.content, (one.valid_from - NOW).days + 100, (one.valid_to - NOW).days + 100) for one in current]


CITIES = ("Rome", "Oslo", "Bonn")

MENDED = [
    ("Lived in Rome", 0, 5),
    ("Lived in Oslo", 5, 7),
    ("Lived in Bonn", 7, 8),
    ("Lived in Oslo", 8, 15),
]


async def test_the_export_of_a_store_whose_stretches_overlap_can_be_mended(setup, new_setup):
    source = await setup.open()
    await overlapping(source)
    lines = await exported(source)
    jay = await new_setup(setup.name).open()
    with pytest.raises(Conflict, match=r"line 3: key 'city' has two values for the same time .* import it with `mend`"):
        await jay.import_lines(lines)
    assert await exported(jay) == lines[:1]
    await jay.import_lines(lines, mend=True)
    assert await believed(jay) == MENDED
    after = await exported(jay)
    for again in {"mend": True}, {}:
        assert (await jay.import_lines(lines, **again))[0] == 0
        assert await exported(jay) == after
    assert await source.import_lines(lines) == (0, 3), "what it holds is known to it"
    fresh = await new_setup(setup.name).open()
    await fresh.import_lines(after)
    assert await exported(fresh) == after, "what was mended needs no mending"


async def test_stretches_that_overlap_are_reported_with_a_remedy(setup):
    jay = await setup.open()
    assert await jay.check() == []
    await jay.remember("Lives in Kiel", key="city")
    await jay.for_tenant("other").remember("Lived in Rome", key="city", valid_from=NOW - 99 * DAY, valid_to=NOW)
    await jay.remember("Lived in Turin", key="city", valid_from=NOW - 99 * DAY, valid_to=NOW, user="anna")
    await overlapping(jay)
    found = await jay.parts.stores.records.versions(Scope(tenant=jay.tenant), key="city")
    rome, oslo, bonn = (next(one for one in found if city in one.content and one.valid_to) for city in CITIES)
    await jay.parts.index.drain()
    [fault] = await jay.check()
    assert fault.startswith("2 believed memories speak of a time for which their key has another value, as ")
    assert f"as {oslo.id} does beside {rome.id}: forget the one that is wrong" in fault
    assert "`--mend`" in fault
    await jay.forget(rome.id)
    assert [f"as {bonn.id} does beside {oslo.id}" in fault for fault in await jay.check()] == [True]
    await jay.forget(oslo.id)
    assert await jay.check() == []


async def test_a_write_into_stretches_that_overlap_leaves_none_where_it_speaks(setup):
    jay = await setup.open()
    await overlapping(jay)
    await jay.remember("Lived in Kiel", key="city", valid_from=NOW - 94 * DAY, valid_to=NOW - 91 * DAY)
    found = await believed(jay)
    assert ("Lived in Kiel", 6, 9) in found
    ends = [until for _, _, until in found]
    assert all(until <= since for until, (_, since, _) in zip(ends, found[1:], strict=False))


async def test_with_mend_what_was_told_later_stands_also_beside_the_store(setup, new_setup):
    elsewhere = new_setup(setup.name)
    source = await elsewhere.open()
    elsewhere.clock.now = setup.clock.now
    await source.remember("Tabs", key="indent")
    elsewhere.clock.advance(3 * DAY)
    await source.remember("Ruff", key="linter")
    await source.remember("Said by both")
    jay = await setup.open()
    await jay.remember("Flake8", key="linter")
    setup.clock.advance(2 * DAY)
    await jay.remember("Spaces", key="indent")
    await jay.remember("Said by both")
    lines = await exported(source)
    with pytest.raises(Conflict):
        await jay.import_lines(lines)
    await jay.import_lines(lines, mend=True)
    setup.clock.advance(9 * DAY)
    assert sorted(one.content for one in await jay.list()) == ["Ruff", "Said by both", "Spaces"]
    assert [one.content for one in await jay.history(key="indent")].count("Tabs") >= 1
    assert [one.content for one in await jay.history(key="linter")].count("Flake8") >= 1
    assert (await jay.import_lines(lines))[0] == 0
    assert await jay.check() == []
    asked = Filter(scope=Scope(), reach="holds")
    [vector] = await jay.parts.index.embedder.embed(["Flake8"], question=True)
    found = await jay.parts.stores.vectors.search(1, vector, asked, now=setup.clock(), limit=9)
    assert len(found) == 3


@pytest.mark.parametrize("mend", [False, True])
async def test_a_key_with_thousands_of_values_on_both_sides_is_refused_before_all_are_compared(
    setup, monkeypatch, mend
):
    monkeypatch.setattr(judging, "MOST_NEAR", 10)
    jay = await setup.open()
    for number in range(5):
        setup.clock.advance(DAY)
        await jay.remember(f"Lives in house {number}", key="home", user="anna")
    before = await exported(jay)
    [line, *_] = [line for line in before if "house 0" in line]
    told = [
        changed(
            line,
            id=f"0199aaaa-0000-7000-8000-00000000000{number}",
            content=f"Lives in flat {number}",
            valid_from=(NOW + number * DAY).isoformat(),
            superseded_at=...,
            superseded_by=...,
            closed_because=...,
            valid_to=...,
        )
        for number in range(4)
    ]
    with pytest.raises(Conflict, match="import fewer lines of this key"):
        await jay.import_lines([before[0], *told], mend=mend)
    assert await exported(jay) == before
