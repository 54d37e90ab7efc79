"""The same code, other URLs: one story told to every combination of stores, on real servers."""

import uuid

import pytest

import scrubjay


@pytest.fixture(
    params=[
        "sqlite",
        "postgresql",
        "postgresql + pgvector",
        "postgresql + qdrant",
        "sqlite + qdrant",
        "postgresql + chroma",
        "sqlite + chroma in process",
    ]
)
def stores(request, tmp_path, postgres_database, server_url):
    records, _, vectors = request.param.partition(" + ")
    urls = {"records": postgres_database() if records == "postgresql" else f"sqlite:///{tmp_path}/scrubjay.db"}
    if vectors == "pgvector":
        urls["vectors"] = "pgvector:"
    if vectors in ("qdrant", "chroma"):
        address = server_url(vectors).removeprefix("http://")
        urls["vectors"] = f"{vectors}://{address}?prefix=test-{uuid.uuid4().hex}"
    if vectors == "chroma in process":
        request.getfixturevalue("chroma_packages")
        urls["vectors"] = "chroma:"
    return urls


def test_one_story_on_every_combination_of_stores(stores, tmp_path):
    with scrubjay.open(tmp_path, embedder="static", background=False, **stores) as jay:
        jay.remember("Prefers tabs over spaces", user="ada", kind="preference", key="pref:indent")
        jay.remember("The shop runs on PostgreSQL", project="shop", kind="fact")
        jay.remember("Bob indents with two spaces", user="bob", kind="preference", key="pref:indent")
        changed = jay.remember("Prefers four spaces", user="ada", kind="preference", key="pref:indent")
        assert changed.outcome == "superseded"
        hits = jay.recall("which database does the shop use?", user="ada", project="shop", mode="meaning")
        assert hits[0].memory.content == "The shop runs on PostgreSQL"
        assert hits.degraded == ()
        indenting = [hit.memory.content for hit in jay.recall("tabs or spaces to indent?", user="ada")]
        assert indenting[0] == "Prefers four spaces"
        assert "Bob indents with two spaces" not in indenting
        assert "Prefers tabs over spaces" not in indenting
        assert len(jay.history(key="pref:indent", user="ada")) == 3

    with scrubjay.open(tmp_path, embedder="static", background=False, **stores) as jay:
        assert jay.check() == []
        assert jay.recall("indent", user="bob")[0].memory.content == "Bob indents with two spaces"
        receipt = jay.forget(everything=True, purge=True)
        assert receipt.remaining == {"records": 0, "vectors": 0, "blobs": 0, "sessions": 0}
        assert len(jay.recall("indent with spaces")) == 0
