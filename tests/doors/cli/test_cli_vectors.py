"""vectors status, rebuild and mirror."""

import asyncio
from uuid import uuid4

import pytest

from scrubjay.backends.vectors.qdrant import QdrantVectors


@pytest.fixture
def qdrant(qdrant_url, monkeypatch):
    """An empty Qdrant is configured; what is in it goes after the test. Gives what empties it."""
    url = f"{qdrant_url.replace('http', 'qdrant', 1)}?prefix=test{uuid4().hex}"
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "static")
    monkeypatch.setenv("SCRUBJAY_VECTORS", url)

    def empty():
        async def work():
            engine = QdrantVectors(url)
            await engine.drop(1)
            await engine.shut()

        asyncio.run(work())

    yield empty
    empty()


def test_an_engine_that_was_emptied_is_rebuilt(run, qdrant):
    run("remember", "The moon and the tide")
    found = run("vectors", "status", "--json").json
    assert (found["state"], found["mirrored"], found["waiting"], found["advice"]) == ("up", True, 0, None)
    [generation] = found["generations"]
    assert [generation[name] for name in ("indexed", "engine", "mirror", "unmirrored")] == [1, 1, 1, 0]
    qdrant()
    done = run("vectors", "status")
    rows = dict(done.rows)
    assert rows["mirror"] == "in the record store"
    assert rows["generation 1"].endswith("1 indexed, 0 in the engine, 1 in the mirror")
    assert "vectors rebuild" in done.err
    assert run("vectors", "rebuild", "--json").json == {"generations": [1], "memories": 1, "embedded": 0}
    assert run("vectors", "mirror").rows == [["0"]]


def test_without_a_mirror_it_is_said_what_to_do(run, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "static")
    run("remember", "The moon and the tide")
    assert dict(run("vectors", "status").rows)["mirror"] == "none"
    for verb in ("rebuild", "mirror"):
        assert "reindex --rebuild" in run("vectors", verb, code=1).err


def test_an_engine_that_is_down_is_said(run, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "static")
    monkeypatch.setenv("SCRUBJAY_VECTORS", "qdrant://127.0.0.1:9?timeout=1")
    run("remember", "The moon and the tide")
    found = run("vectors", "status", "--json").json
    assert (found["state"], found["waiting"]) == ("down", 1)
    [generation] = found["generations"]
    assert (generation["engine"], generation["mirror"]) == (None, 1)
    done = run("vectors", "status")
    assert "unknown in the engine, 1 in the mirror" in done.out
    assert "bring the engine back" in done.err
