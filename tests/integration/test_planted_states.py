"""States of LangGraph's threads are made into objects again, so nobody who can merely write may plant one."""

import json

import pytest

from scrubjay.errors import Forbidden, InvalidInput
from scrubjay.model.access import Caller
from scrubjay.model.memory import STATE_KINDS
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire


@pytest.fixture
async def jay(tmp_path):
    async with wire(read_settings(home=tmp_path, background=False), embedder=ToyEmbedder(dimensions=16)) as opened:
        yield opened


@pytest.mark.parametrize("kind", sorted(STATE_KINDS))
async def test_a_state_cannot_be_told(jay, kind):
    with pytest.raises(InvalidInput, match=rf"kind is '{kind}'.*checkpointer keeps: use another one"):
        await jay.remember("step 1", kind=kind, workflow="thread")
    with pytest.raises(InvalidInput, match="item 1: kind is"):
        await jay.remember_many(["a note", {"content": "step 1", "kind": kind}])
    assert await jay.count() == 0


@pytest.mark.parametrize("kind", sorted(STATE_KINDS))
async def test_a_state_cannot_be_imported_with_a_key(jay, kind):
    await jay.remember("step 1", workflow="thread")
    header, line = [line async for line in jay.export()]
    await jay.forget(everything=True, purge=True, workflow="thread")
    lines = [header, json.dumps({**json.loads(line), "kind": kind})]
    with pytest.raises(Forbidden, match=rf"line 2: kind is '{kind}'.*scrubjay import.*Nothing was imported"):
        await jay.for_caller(Caller(key="k")).import_lines(lines)
    # Whoever has the files may: it is how a store is moved.
    assert await jay.import_lines(lines) == (1, 0)
    [state] = await jay.list(kinds=[kind], workflow="thread")
    with pytest.raises(InvalidInput, match="use another one"):
        await jay.update(state.id, data={"metadata": {}}, workflow="thread")
