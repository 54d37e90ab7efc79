"""Import: streamed, in batches, and exact about the line that is wrong."""

import json
import random
from dataclasses import replace

import pytest

from scrubjay.backends.events import LocalEvents
from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.errors import Conflict, InvalidInput
from scrubjay.model import Filter, Scope
from scrubjay.model.portable import header, to_json
from scrubjay.ports import Stores
from scrubjay.testing import NOW, Ticking, ToyEmbedder, a_memory, some_memories
from scrubjay.testing.values import DAY, HOUR
from scrubjay.write import transfer
from scrubjay.write.index import Index
from scrubjay.write.reconcile import reconcile
from scrubjay.write.redact import SecretRedactor
from scrubjay.write.transfer import export_lines, import_lines

EVERYTHING = Filter(scope=Scope(), reach="holds", history=True)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(transfer, "BATCH", 3)


@pytest.fixture
def stores():
    store = MemoryStore()
    return Stores(records=store, generations=store, texts=store, vectors=MemoryVectors(), blobs=MemoryBlobs())


def lines_of(memories):
    return [json.dumps(header()), *(json.dumps(to_json(memory)) for memory in memories)]


async def imported(stores, lines, **options):
    index = Index(
        stores=stores, embedder=ToyEmbedder(), reopen=lambda identity: None, events=LocalEvents(), clock=Ticking()
    )
    given = {"scope": Scope(), "redactor": None, "clock": Ticking(), **options}
    return await import_lines(lines, records=stores.records, index=index, events=LocalEvents(), **given)


async def test_what_was_told_long_after_now_is_refused_with_its_line(stores):
    one, other = a_memory("soon", created_at=NOW + DAY), a_memory("late", created_at=NOW + 367 * DAY)
    with pytest.raises(InvalidInput, match=r"line 3: created_at is .* more than a year ahead .*Nothing was imported"):
        await imported(stores, lines_of([one, other]))
    assert await imported(stores, lines_of([one])) == (1, 0)


async def count(stores):
    return (await stores.records.count(Filter(scope=Scope(), reach="holds", history=True), now=NOW)).versions


async def test_all_lines_are_read_before_any_is_stored(stores):
    asked = []

    def lines():
        for place, line in enumerate(lines_of(some_memories(10))):
            asked.append(place)
            yield line
            yield "   "

    seen = []
    assert await imported(stores, lines(), progress=lambda done: seen.append((done, len(asked)))) == (10, 0)
    assert seen == [(3, 11), (6, 11), (9, 11), (10, 11)]
    assert await stores.vectors.count(1) == 10


async def test_a_file_may_begin_with_the_mark_of_its_encoding(stores):
    first, *rest = lines_of(some_memories(2))
    assert await imported(stores, [f"\ufeff{first}", *rest]) == (2, 0)


async def test_a_faulty_line_leaves_the_store_as_it_was(stores):
    lines = lines_of(some_memories(7))
    broken = [*lines[:6], lines[6].replace('"content"', '"contents"'), lines[7]]
    with pytest.raises(InvalidInput, match="line 7: contents is not a field"):
        await imported(stores, broken)
    assert await count(stores) == 0
    assert await imported(stores, lines) == (7, 0)


async def test_secrets_in_a_file_made_by_hand_are_taken_out(stores):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    memory = a_memory(f"the token {token}", redacted=("password",))
    await imported(stores, lines_of([memory]), redactor=SecretRedactor())
    [stored] = await stores.records.get(Scope(), [memory.id])
    assert token not in stored.content
    assert stored.redacted == ("github-token", "password")


async def test_no_secret_passes_as_the_kind_of_one(stores):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    memory = a_memory("harmless", redacted=("password", token))
    await imported(stores, lines_of([memory]), redactor=SecretRedactor())
    [stored] = await stores.records.get(Scope(), [memory.id])
    assert stored.redacted == ("[redacted:github-token]", "github-token", "password")


async def test_what_was_redacted_before_comes_back_as_it_is(stores):
    memory = a_memory("the token [redacted:github-token]", redacted=("github-token",))
    lines = lines_of([memory])
    await imported(stores, lines, redactor=SecretRedactor())
    exported = [
        json.loads(line)
        async for line in export_lines(Filter(scope=Scope(), reach="holds"), records=stores.records, now=NOW)
    ]
    assert exported == [json.loads(line) for line in lines]


def replaced(old, content, **fields):
    """The memory once another has taken its place, and that other one."""
    new = a_memory(content, scope=Scope(), key=old.key, created_at=NOW + HOUR, **fields)
    return old.closed(NOW + HOUR, because="replaced", by=new.id), new


def fillers(many, name):
    return [a_memory(f"{name} {place}", scope=Scope()) for place in range(many)]


class Watched:
    """A record store that notes, after each load, what is believed under a key."""

    def __init__(self, records):
        self._records = records
        self.seen = []

    def __getattr__(self, verb):
        return getattr(self._records, verb)

    async def load(self, memories):
        loaded = await self._records.load(memories)
        found = await self._records.find(Filter(scope=Scope(), key="k"), now=NOW + DAY, limit=9)
        self.seen.append([one.content for one in found])
        return loaded


@pytest.mark.parametrize("apart", [0, 1, 2, 3, 7])
async def test_a_key_has_a_value_also_between_the_batches_of_a_newer_file(stores, apart):
    old = a_memory("Tabs", scope=Scope(), key="k")
    closed, between = replaced(old, "Two")
    middle, new = replaced(between, "Spaces")
    await imported(stores, lines_of([old]))
    watched = Watched(stores.records)
    newer = lines_of([closed, *fillers(apart, "a"), middle, *fillers(apart, "b"), new])
    assert await imported(replace(stores, records=watched), newer) == (2 * apart + 2, 1)
    assert all(len(believed) == 1 for believed in watched.seen)
    assert watched.seen[-1] == ["Spaces"]
    assert await stores.records.versions(Scope(), key="k") == [
        replace(one, generation=1) for one in (closed, middle, new)
    ]


async def test_what_took_the_place_may_be_missing_from_the_file(stores):
    told = [a_memory(f"Fact {place}", scope=Scope(), key=f"k{place}") for place in range(5)]
    await imported(stores, lines_of(told))
    assert await imported(stores, lines_of([replaced(one, "Elsewhere")[0] for one in told])) == (0, 5)
    assert await stores.records.find(Filter(scope=Scope()), now=NOW + DAY, limit=9) == []


async def test_a_version_between_may_be_missing_from_the_file(stores):
    old = a_memory("Tabs", scope=Scope(), key="k")
    closed, between = replaced(old, "Two", kind="fact")
    _, new = replaced(between, "Spaces")
    await imported(stores, lines_of([old]))
    assert await imported(stores, lines_of([closed, *fillers(4, "a"), new])) == (5, 1)
    assert [one.content for one in await stores.records.versions(Scope(), key="k")] == ["Tabs", "Spaces"]


async def test_one_that_was_corrected_without_a_key_goes_when_its_successor_comes(stores):
    old = a_memory("A typpo", scope=Scope())
    new = a_memory("A typo", scope=Scope(), created_at=NOW + HOUR)
    await imported(stores, lines_of([old]))
    closed = old.closed(NOW + HOUR, because="corrected", by=new.id)
    assert await imported(stores, lines_of([closed, *fillers(5, "a"), new])) == (6, 1)
    assert await stores.records.get(Scope(), [old.id]) == [replace(closed, generation=1)]


@pytest.mark.parametrize("is_heir_first", [False, True])
async def test_many_may_wait_for_what_takes_their_place(stores, is_heir_first):
    told = [a_memory(f"Fact {place}", scope=Scope(), key=f"k{place}") for place in range(9)]
    pairs = [replaced(one, f"New {one.content}") for one in told]
    await imported(stores, lines_of(told))
    halves = [[old for old, _ in pairs], [new for _, new in pairs]]
    newer = lines_of([one for half in (reversed(halves) if is_heir_first else halves) for one in half])
    assert await imported(stores, newer) == (9, 9)
    found = await stores.records.find(Filter(scope=Scope()), now=NOW + DAY, limit=99, order="oldest")
    assert [one.content for one in found] == [new.content for _, new in pairs]
    assert await imported(stores, newer) == (0, 18)


async def a_history(*told):
    """The rows of a key that was told these, an hour apart: what each left of the one before it among them."""
    store = MemoryStore()
    for place, memory in enumerate(told):
        await store.write([replace(memory, scope=Scope(), key="k", created_at=NOW + place * HOUR)], reconcile)
    return [one async for batch in store.scan(EVERYTHING, now=NOW) for one in batch]


@pytest.mark.parametrize("apart", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "since",
    [
        [a_memory("Wien", valid_from=NOW + HOUR), a_memory("Graz", valid_from=NOW + 2 * HOUR)],
        [a_memory("Oslo", valid_from=NOW + HOUR, valid_to=NOW + 2 * HOUR)],
    ],
    ids=["replaced twice", "another for an hour"],
)
async def test_what_has_ended_leaves_the_key_a_value_between_batches(stores, since, apart):
    first, *_ = old = await a_history(a_memory("Rome"))
    closed, *rest = newer = await a_history(first, *since)
    await imported(stores, lines_of(old))
    watched = Watched(stores.records)
    spread = [one for row in rest for one in (*fillers(apart, str(row.id)), row)]
    await imported(replace(stores, records=watched), lines_of([closed, *spread]))
    assert [len(believed) for believed in watched.seen] == [1] * len(watched.seen)
    assert {one.id: one for one in await stores.records.versions(Scope(), key="k")} == {
        one.id: replace(one, generation=1) for one in newer
    }


async def a_busy_store(chance, *, many):
    """A store in which a few keys were told again and again, also of the past, and some words with an end."""
    store = MemoryStore()
    for place in range(many):
        began = NOW + chance.randrange(-20, place + 1) * HOUR
        told = a_memory(
            f"Value {chance.randrange(6)}",
            scope=Scope(),
            key=chance.choice(["a", "b", "c", None]),
            created_at=NOW + place * HOUR,
            valid_from=began,
            valid_to=chance.choice([None, None, began + chance.randrange(1, 9) * HOUR]),
        )
        await store.write([told], reconcile)
        if place == many // 2:
            older = await rows_of(store)
    return older, await rows_of(store)


async def rows_of(store):
    return [one async for batch in store.scan(EVERYTHING, now=NOW) for one in batch]


@pytest.mark.parametrize("seed", range(40))
async def test_the_lines_may_stand_in_any_order(stores, seed):
    chance = random.Random(seed)
    older, newer = await a_busy_store(chance, many=30)
    await imported(stores, lines_of(older))
    told = [*newer, *(one for one in older if chance.random() < 0.2)]
    chance.shuffle(told)
    new, known = await imported(stores, lines_of(told))
    assert (new, new + known) == (len(newer) - len(older), len(told))
    stored = {one.id: replace(one, generation=None) for one in await rows_of(stores.records)}
    assert stored == {one.id: one for one in newer}


async def test_a_successor_far_before_what_it_replaced_waits_for_it(stores):
    old = a_memory("Tabs", scope=Scope(), key="k")
    closed, new = replaced(old, "Spaces")
    await imported(stores, lines_of([old]))
    watched = Watched(stores.records)
    told = lines_of([new, *fillers(7, "a"), closed, *fillers(3, "b")])
    assert await imported(replace(stores, records=watched), told) == (11, 1)
    assert all(len(believed) == 1 for believed in watched.seen)
    assert watched.seen[-1] == ["Spaces"]


async def test_what_nothing_in_the_file_makes_room_for_is_refused_with_its_line(stores):
    await imported(stores, lines_of([a_memory("Tabs", scope=Scope(), key="k")]))
    rival = a_memory("Spaces", scope=Scope(), key="k")
    with pytest.raises(Conflict, match=rf"line 3: key 'k' has two current values .*{rival.id}, which is not"):
        await imported(stores, lines_of([*fillers(1, "a"), rival, *fillers(8, "b")]))
    with pytest.raises(Conflict, match=r"line 2: key 'k' .* Nothing was imported"):
        await imported(stores, lines_of([rival, *fillers(2, "c")]))
    assert await count(stores) == 1


async def test_two_values_of_a_key_for_the_same_past_are_refused_with_both(stores):
    [mine], [theirs] = [
        await a_history(a_memory(city, valid_from=NOW - 5 * HOUR, valid_to=NOW - hours * HOUR))
        for city, hours in (("Rome", 1), ("Oslo", 2))
    ]
    await imported(stores, lines_of([mine]))
    with pytest.raises(Conflict) as refused:
        await imported(stores, lines_of([theirs]))
    ends = [f"to {one.valid_to.isoformat()}" for one in (mine, theirs)]
    for named in ("line 2: key 'k' has two values for the same time", str(mine.id), str(theirs.id), *ends, "Forget"):
        assert named in str(refused.value)
    assert await count(stores) == 1


@pytest.mark.parametrize("after", [0, 4])
@pytest.mark.parametrize("is_heir_first", [False, True])
async def test_what_is_replaced_by_one_that_cannot_be_stored_stays_believed(stores, is_heir_first, after):
    old = a_memory("Rome", scope=Scope(), key="k")
    past = a_memory("Oslo", scope=Scope(), key="k", valid_from=NOW - 4 * HOUR, valid_to=NOW - 3 * HOUR)
    closed, new = replaced(old, "Paris", valid_from=NOW - 5 * HOUR)
    await imported(stores, lines_of([old, past]))
    told = lines_of([*[closed, *fillers(4, "a"), new][:: -1 if is_heir_first else 1], *fillers(after, "b")])
    with pytest.raises(Conflict, match=f"key 'k' has two values for the same time .*{past.id}.*{new.id}, which is not"):
        await imported(stores, told)
    found = await stores.records.find(Filter(scope=Scope(), key="k"), now=NOW + DAY, limit=9)
    assert [one.content for one in found] == ["Rome"]
    await stores.records.close(Scope(), [past.id], at=NOW, because="not true")
    await imported(stores, told)
    found = await stores.records.find(Filter(scope=Scope(), key="k"), now=NOW + DAY, limit=9)
    assert [one.content for one in found] == ["Paris"]
