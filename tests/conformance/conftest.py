"""A whole memory on each kind of store, for the suites of the memories that are made of the core."""

from functools import partial
from uuid import uuid4

import pytest

from scrubjay.backends.events import LocalEvents
from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.backends.memory.working import MemoryWorking
from scrubjay.core import Parts
from scrubjay.memories.workspace.code.roots import WorkingTrees
from scrubjay.models.tokens import tokens_of
from scrubjay.ports import Stores
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import utc_now, wire
from scrubjay.write.index import Index
from scrubjay.write.redact import SecretRedactor


@pytest.fixture(params=["memory", *(pytest.param(name, marks=pytest.mark.long) for name in ("sqlite", "postgresql"))])
async def jay(request, tmp_path_factory):
    """The reference, SQLite, or a real PostgreSQL: opened, empty, and closed after the test.

    What a memory does with its ports is the same on every store, and the ports have suites of their own. So `make test`
    runs these suites on the reference, and walks through each memory on SQLite and the servers: test_walks.py.
    """
    if request.param == "memory":
        whole = in_memory(ToyEmbedder())
    elif request.param == "sqlite":
        settings = read_settings(home=tmp_path_factory.mktemp("home"), background=False)
        whole = wire(settings, embedder=ToyEmbedder())
    else:
        # A tenant of its own is as good as a database of its own, and much quicker to make.
        records = request.getfixturevalue("postgres_url")
        settings = read_settings(records=records, tenant=f"suite-{uuid4()}", background=False)
        whole = wire(settings, embedder=ToyEmbedder())
    async with whole as jay:
        yield jay


def in_memory(embedder):
    store, events = MemoryStore(), LocalEvents()
    stores = Stores(records=store, generations=store, texts=store, vectors=MemoryVectors(), blobs=MemoryBlobs())
    parts = Parts(
        stores=stores,
        index=Index(stores=stores, embedder=embedder, reopen=lambda _: None, events=events, clock=utc_now),
        events=events,
        redactor=SecretRedactor(),
        trees=WorkingTrees(store, SecretRedactor(), utc_now),
        tokens=partial(tokens_of, "wordpiece"),
        clock=utc_now,
        working=MemoryWorking(),
        names={"records": "memory", "embedder": "toy"},
    )
    return Scrubjay(parts=parts, tenant="default", prepare=_nothing, background=False)


async def _nothing():
    """There is no schema in a dict."""
