"""Workspace memory on the reference, on SQLite and on a real PostgreSQL."""

from functools import partial
from uuid import uuid4

import pytest

from scrubjay.backends.events import LocalEvents
from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.backends.memory.working import MemoryWorking
from scrubjay.core import Parts
from scrubjay.models.tokens import tokens_of
from scrubjay.ports import Stores
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder, WorkspaceSuite
from scrubjay.wiring import utc_now, wire
from scrubjay.write.index import Index
from scrubjay.write.redact import SecretRedactor


async def _nothing():
    """There is no schema in a dict."""


def in_memory(embedder):
    store, events = MemoryStore(), LocalEvents()
    stores = Stores(records=store, generations=store, texts=store, vectors=MemoryVectors(), blobs=MemoryBlobs())
    parts = Parts(
        stores=stores,
        index=Index(stores=stores, embedder=embedder, reopen=lambda _: None, events=events, clock=utc_now),
        events=events,
        redactor=SecretRedactor(),
        tokens=partial(tokens_of, "wordpiece"),
        clock=utc_now,
        working=MemoryWorking(),
        names={"records": "memory", "embedder": "toy"},
    )
    return Scrubjay(parts=parts, tenant="default", prepare=_nothing, background=False)


class TestWorkspaceInMemory(WorkspaceSuite):
    @pytest.fixture
    async def jay(self):
        async with in_memory(ToyEmbedder()) as jay:
            yield jay


class TestWorkspaceOnSqlite(WorkspaceSuite):
    @pytest.fixture
    async def jay(self, tmp_path_factory):
        home = tmp_path_factory.mktemp("home")
        async with wire(read_settings(home=home, background=False), embedder=ToyEmbedder()) as jay:
            yield jay


class TestWorkspaceOnPostgres(WorkspaceSuite):
    @pytest.fixture
    async def jay(self, postgres_url):
        # A tenant of its own is as good as a database of its own, and much quicker to make.
        settings = read_settings(records=postgres_url, tenant=f"workspace-{uuid4()}", background=False)
        async with wire(settings, embedder=ToyEmbedder()) as jay:
            yield jay
