"""Export and import, on every set-up and between them: what goes out comes back exactly the same."""

import json
from datetime import timedelta

import pytest

from scrubjay.errors import Conflict, InvalidInput, Unsupported
from scrubjay.model import Filter, Scope
from scrubjay.testing import NOW

HEADER = '{"format":"scrubjay-memories","version":1}'


async def exported(jay, **narrow):
    return [line async for line in jay.export(**narrow)]


async def filled(setup):
    """A memory with every field in use, several versions, positions, and uses."""
    jay = await setup.open()
    clock = setup.clock
    log = await jay.remember("A log with ünïcode, 🐦 and\nlines", user="anna", trust="observed", source="build 7")
    await jay.remember("A summary", derived_from=[log.id], user="anna", reason="asked to", importance=0.123456789)
    for place, city in enumerate(("Bonn", "Rome", "Oslo")):
        clock.advance(timedelta(days=1, microseconds=place))
        await jay.remember(f"Lives in {city}", key="city", user="anna", data={"n": 1e22, "deep": {"x": [1, None, "é"]}})
    await jay.remember("Lived in Kiel", key="city", user="anna", valid_from=NOW - timedelta(days=900))
    for turn in range(3):
        await jay.remember(f"turn {turn}", kind="message", author="anna", user="anna", session="s", workflow="w")
    gone = await jay.remember("A rumour", expires_at=NOW + timedelta(days=90), agent="a", project="p")
    await jay.forget(gone.id, reason="not true")
    await jay.update(log.id, content="A better log", user="anna")
    await jay.recall("lives")
    await jay.recall("lives turn")
    await jay.close()  # Uses are written at the latest when it closes.
    return await setup.open()


async def test_what_goes_out_comes_back_byte_for_byte(setup, new_setup):
    jay = await filled(setup)
    lines = await exported(jay)
    assert lines[0] == HEADER
    assert any('"uses":2' in line for line in lines)
    assert any('"superseded_by"' in line for line in lines)
    assert any('"position":2' in line for line in lines)
    elsewhere = new_setup(setup.name)
    elsewhere.clock.now = setup.clock.now
    fresh = await elsewhere.open()
    seen = []
    assert await fresh.import_lines(lines, progress=seen.append) == (len(lines) - 1, 0)
    assert seen == [len(lines) - 1]
    assert await exported(fresh) == lines
    assert await fresh.import_lines(lines) == (0, len(lines) - 1)
    assert await exported(fresh) == lines
    assert await fresh.check() == []
    for question in "lives", "log", "turn":
        for mode in "words", "meaning":
            before, after = await jay.recall(question, mode=mode), await fresh.recall(question, mode=mode)
            assert {hit.memory.id for hit in before} == {hit.memory.id for hit in after}
    told = await fresh.remember("turn 3", kind="message", user="anna", session="s", workflow="w")
    assert told.memory.position == 3


ROADS = [("sqlite", "postgresql"), ("postgresql", "memory"), ("memory", "sqlite")]


@pytest.mark.parametrize(("here", "there"), ROADS)
async def test_every_store_exports_the_same(new_setup, here, there):
    lines = await exported(await filled(new_setup(here)))
    other = await new_setup(there).open()
    await other.import_lines(lines)
    assert await exported(other) == lines


async def test_an_export_can_be_narrowed(setup):
    jay = await filled(setup)
    everything = await exported(jay)
    assert len(await exported(jay, user="anna", session="s")) == 1 + 3
    assert len(await exported(jay, kinds=["message"])) == 1 + 3
    current = await exported(jay, history=False)
    assert len(current) == 1 + await jay.count() < len(everything)
    assert await exported(jay, user="nobody") == [HEADER]


async def test_an_import_goes_to_the_importers_tenant_and_stays_in_its_scope(setup, new_setup):
    lines = await exported(await filled(setup))
    other = (await new_setup(setup.name).open()).for_tenant("acme")
    with pytest.raises(InvalidInput, match="line 2: the memory belongs to user=anna, which is outside user=bob"):
        await other.import_lines(lines, user="bob")
    await other.import_lines(lines)
    assert await exported(other) == lines
    assert await exported(other.for_tenant("default")) == [HEADER]


async def test_what_is_no_export_is_refused_with_its_line(jay):
    told = await jay.remember("x")
    line = json.loads((await exported(jay))[1])
    await jay.forget(told.id, purge=True)
    good = json.dumps(line)

    def changed(**fields):
        return json.dumps({name: value for name, value in {**line, **fields}.items() if value is not ...})

    wrong = (
        ([], Unsupported, "empty"),
        (["", "  "], Unsupported, "empty"),
        (["not json"], Unsupported, "line 1 is not JSON"),
        (["[1]"], Unsupported, "line 1 is not a JSON object"),
        ([good], Unsupported, "expected the header"),
        (['{"format":"other","version":1}'], Unsupported, "expected the header"),
        (['{"format":"scrubjay-memories","version":2}'], Unsupported, "use a newer one"),
        (['{"format":"scrubjay-memories"}'], Unsupported, "version None"),
        ([HEADER, good[:-5]], Unsupported, "line 2 is not JSON"),
        ([HEADER, good, "3"], Unsupported, "line 3 is not a JSON object"),
        ([HEADER, good, changed(id="x")], InvalidInput, "line 3: id is 'x'"),
        ([HEADER, changed(content="")], InvalidInput, "line 2: content"),
        ([HEADER, changed(content=...)], InvalidInput, "line 2: content is missing"),
        ([HEADER, changed(colour="blue")], InvalidInput, "line 2: colour is not a field"),
        ([HEADER, changed(created_at="today")], InvalidInput, "line 2: created_at"),
        ([HEADER, changed(created_at="2026-01-01T00:00:00")], InvalidInput, "line 2: created_at .* time zone"),
        ([HEADER, changed(valid_to=line["valid_from"])], InvalidInput, "line 2: valid_to"),
        ([HEADER, changed(trust="blind")], InvalidInput, "line 2: trust"),
        ([HEADER, changed(importance="high")], InvalidInput, "line 2: importance"),
        ([HEADER, changed(user=7)], InvalidInput, "line 2: user"),
        ([HEADER, changed(derived_from="x")], InvalidInput, "line 2: derived_from"),
        ([HEADER, changed(derived_from=["x"])], InvalidInput, "line 2: derived_from"),
        ([HEADER, changed(created_at="0001-01-01T00:00:00+14:00")], InvalidInput, "line 2: created_at"),
        ([HEADER, changed(redacted=7)], InvalidInput, "line 2: redacted"),
        ([HEADER, changed(uses="many")], InvalidInput, "line 2: uses"),
        ([HEADER, changed(uses=-1)], InvalidInput, "line 2: uses"),
        ([HEADER, changed(closed_because=7)], InvalidInput, "line 2: closed_because"),
        ([HEADER, changed(position=-1)], InvalidInput, "line 2: position"),
    )
    for lines, error, message in wrong:
        with pytest.raises(error, match=message):
            await jay.import_lines(lines)
        assert await jay.count() == 0


async def test_a_file_that_contradicts_what_is_believed_changes_nothing(setup, new_setup):
    source = await new_setup(setup.name).open()
    await source.remember("Lives in Rome", key="city")
    lines = await exported(source)
    jay = await setup.open()
    await jay.remember("Lives in Bonn", key="city")
    with pytest.raises(Conflict, match="city"):
        await jay.import_lines(lines)
    assert [one.content for one in await jay.list()] == ["Lives in Bonn"]


async def test_a_large_store_goes_through_in_batches(new_setup):
    source = await new_setup("sqlite").open(words_only=True)
    await source.remember_many([f"fact {place}" for place in range(2_500)])
    lines = await exported(source)
    seen = []
    target = await new_setup("sqlite").open(words_only=True)
    assert await target.import_lines(iter(lines), progress=seen.append) == (2_500, 0)
    assert seen == [1_000, 2_000, 2_500]
    assert await exported(target) == lines


async def found_by_meaning(jay, question):
    """The ids that the vector engine takes for current, whatever the records say."""
    [asked] = await jay.parts.index.embedder.embed([question], question=True)
    wanted = Filter(scope=Scope(), reach="holds")
    found = await jay.parts.stores.vectors.search(1, asked, wanted, now=jay.parts.clock(), limit=50)
    return {match.id for match in found}


async def test_a_newer_export_brings_a_store_up_to_date(setup, new_setup):
    here = await filled(setup)
    elsewhere = new_setup(setup.name)
    elsewhere.clock.now = setup.clock.now
    there = await elsewhere.open()
    older = await exported(here)
    await there.import_lines(older)
    setup.clock.advance(timedelta(days=1))
    elsewhere.clock.now = setup.clock.now
    await here.remember("Lives in Wien", key="city", user="anna")
    await here.remember("Lives in Graz", key="city", user="anna")
    [log] = [one for one in await here.list(user="anna") if one.content == "A better log"]
    await here.update(log.id, content="The best log", user="anna")
    [turn, *_] = await here.list(user="anna", session="s", workflow="w", kinds=["message"])
    await here.forget(turn.id, reason="asked: not meant", user="anna", session="s", workflow="w")
    newer = await exported(here)
    assert newer != older
    assert (await there.import_lines(newer))[0] == len(newer) - len(older)
    assert await exported(there) == newer
    assert await there.import_lines(newer) == (0, len(newer) - 1)
    assert await there.import_lines(older) == (0, len(older) - 1)
    assert await exported(there) == newer
    assert await there.check() == []
    assert await found_by_meaning(there, "lives") == await found_by_meaning(here, "lives")
    assert turn.id not in await found_by_meaning(there, "turn")
    for question in "lives Oslo Wien Graz", "the best log", turn.content:
        for mode in "words", "meaning":
            before, after = await here.recall(question, mode=mode), await there.recall(question, mode=mode)
            assert {hit.memory.id for hit in before} == {hit.memory.id for hit in after}
    told = await there.remember("Lives in Linz", key="city", user="anna")
    assert (await there.get(told.replaced)).content == "Lives in Graz"


@pytest.mark.parametrize("at", [2, 1_200], ids=["told before", "told after"])
async def test_what_is_replaced_while_an_export_is_made_has_one_value_in_it(setup, new_setup, at):
    jay = await setup.open()
    told = ["Tabs", *(f"fact {number}" for number in range(1_500))]
    items = [{"content": one, "key": "indent"} if one == "Tabs" else {"content": one} for one in told]
    noted = (await jay.remember_many([*items[1:at], items[0], *items[at:], {"content": "The port is 80"}]))[-1]
    lines = []

    async for line in jay.export():
        lines.append(line)
        if len(lines) == 1_000:
            await jay.remember("Spaces", key="indent")
            await jay.update(noted.id, content="The port is 8080")
    elsewhere = await new_setup(setup.name).open()

    new, _ = await elsewhere.import_lines(lines)

    assert new == len(told) + 3
    assert await elsewhere.import_lines(lines) == (0, len(lines) - 1)
    versions = await elsewhere.history(key="indent")
    assert [(one.content, one.superseded_at is None) for one in versions] == [("Tabs", False), ("Spaces", True)]
    assert await elsewhere.count() == len(told) + 1
    assert (await elsewhere.recall("The port is", mode="words", limit=1))[0].memory.content == "The port is 8080"


async def test_what_an_import_closes_is_announced(setup, new_setup):
    here = await setup.open()
    there = await new_setup(setup.name).open()
    gone = await here.remember("A rumour")
    old = await here.remember("Tabs", key="k")
    await there.import_lines(await exported(here))
    await here.forget(gone.id)
    new = await here.remember("Spaces", key="k")
    await there.import_lines(await exported(here))
    said = [(one.name, one.data["ids"]) for one in await there.missed("memory.*", after="")]
    assert said == [
        ("memory.stored", [str(gone.id), str(old.id)]),
        ("memory.stored", [str(new.id)]),
        ("memory.forgotten", [str(gone.id)]),
    ]
    last = await here.remember("Both", key="k")
    before = await there.missed("memory.*", after="")
    await there.import_lines([line for line in await exported(here) if f'"id":"{last.id}"' not in line])
    said = [(one.name, one.data["ids"]) for one in await there.missed("memory.*", after=before[-1].id)]
    assert ("memory.forgotten", [str(new.id)]) in said, "nobody speaks for what replaced it elsewhere"


async def test_a_key_that_was_replaced_on_both_sides_is_refused_by_name(setup, new_setup):
    here = await setup.open()
    there = await new_setup(setup.name).open()
    await here.remember("Tabs", key="indent", project="p")
    await here.remember("Rome", key="city", project="p")
    await there.import_lines(await exported(here))
    mine = await here.remember("Spaces", key="indent", project="p")
    await here.remember("Oslo", key="city", project="p")
    theirs = await there.remember("Both", key="indent", project="p")
    before = await exported(there)
    with pytest.raises(Conflict) as refused:
        await there.import_lines(await exported(here))
    for named in ("key 'indent' has two current values", "project=p", str(mine.id), str(theirs.id), "Forget"):
        assert named in str(refused.value)
    assert await exported(there) == before
    await there.forget(theirs.id, project="p")
    await there.import_lines(await exported(here))
    assert {one.content for one in await there.list(project="p")} == {"Spaces", "Oslo"}


async def test_an_index_that_is_away_hears_later_what_an_import_closed(setup, new_setup, moody_vectors):
    here = await setup.open()
    there = await new_setup(setup.name).open(vectors=moody_vectors)
    old = await here.remember("Tabs", key="k")
    await there.import_lines(await exported(here))
    new = await here.remember("Spaces", key="k")
    moody_vectors.made[0].down = True
    assert await there.import_lines(await exported(here)) == (1, 1)
    moody_vectors.made[0].down = False
    assert await there.parts.index.drain() == 2
    found = await found_by_meaning(there, "Tabs or Spaces")
    assert new.id in found
    assert old.id not in found
