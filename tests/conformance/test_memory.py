"""The reference meets its own contracts."""

import pytest

from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.testing import (
    EmbedderSuite,
    GenerationsSuite,
    KeepingSuite,
    RecordsSuite,
    TextsSuite,
    ToyEmbedder,
    VectorsSuite,
)


class InMemory:
    @pytest.fixture
    async def store(self):
        return MemoryStore()


class TestMemoryRecords(InMemory, RecordsSuite):
    pass


class TestMemoryGenerations(InMemory, GenerationsSuite, KeepingSuite):
    pass


class TestMemoryTexts(InMemory, TextsSuite):
    pass


class TestMemoryVectors(VectorsSuite):
    @pytest.fixture
    async def vectors(self):
        return MemoryVectors()


class TestToyEmbedder(EmbedderSuite):
    @pytest.fixture
    async def embedder(self):
        return ToyEmbedder()
