"""Import: streamed, in batches, and exact about the line that is wrong."""

import json

import pytest

from scrubjay.backends.events import LocalEvents
from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.errors import InvalidInput
from scrubjay.model import Filter, Scope
from scrubjay.model.portable import header, to_json
from scrubjay.ports import Stores
from scrubjay.testing import NOW, Ticking, ToyEmbedder, a_memory, some_memories
from scrubjay.write import transfer
from scrubjay.write.index import Index
from scrubjay.write.redact import SecretRedactor
from scrubjay.write.transfer import export_lines, import_lines


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
    given = {"scope": Scope(), "redactor": None, **options}
    return await import_lines(
        lines, records=stores.records, index=index, events=LocalEvents(), clock=Ticking(), **given
    )


async def count(stores):
    return (await stores.records.count(Filter(scope=Scope(), reach="holds", history=True), now=NOW)).versions


async def test_lines_are_read_as_they_are_needed(stores):
    asked = []

    def lines():
        for place, line in enumerate(lines_of(some_memories(10))):
            asked.append(place)
            yield line
            yield "   "

    seen = []
    assert await imported(stores, lines(), progress=lambda done: seen.append((done, len(asked)))) == (10, 0)
    assert seen[0] == (3, 4)
    assert [done for done, _ in seen] == [3, 6, 9, 10]
    assert await stores.vectors.count(1) == 10


async def test_a_file_may_begin_with_the_mark_of_its_encoding(stores):
    first, *rest = lines_of(some_memories(2))
    assert await imported(stores, [f"\ufeff{first}", *rest]) == (2, 0)


async def test_batches_before_a_faulty_line_are_kept_and_mending_it_is_enough(stores):
    lines = lines_of(some_memories(7))
    broken = [*lines[:6], lines[6].replace('"content"', '"contents"'), lines[7]]
    with pytest.raises(InvalidInput, match="line 7: contents is not a field"):
        await imported(stores, broken)
    assert await count(stores) == 3
    assert await imported(stores, lines) == (4, 3)


async def test_secrets_in_a_file_made_by_hand_are_taken_out(stores):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    memory = a_memory(f"the token {token}", redacted=("password",))
    await imported(stores, lines_of([memory]), redactor=SecretRedactor())
    [stored] = await stores.records.get(Scope(), [memory.id])
    assert token not in stored.content
    assert stored.redacted == ("github-token", "password")


async def test_what_was_redacted_before_comes_back_as_it_is(stores):
    memory = a_memory("the token [redacted:github-token]", redacted=("github-token",))
    lines = lines_of([memory])
    await imported(stores, lines, redactor=SecretRedactor())
    exported = [
        json.loads(line)
        async for line in export_lines(Filter(scope=Scope(), reach="holds"), records=stores.records, now=NOW)
    ]
    assert exported == [json.loads(line) for line in lines]
