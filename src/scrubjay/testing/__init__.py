"""The conformance suites, shipped so that a stranger's backend can prove itself, and values to test with.

Derive a class from a suite, name it `Test…`, and give it a fixture that yields a fresh, empty store:

    class TestMyRecords(RecordsSuite):
        @pytest.fixture
        async def store(self):
            store = MyRecords()
            yield store
            await store.shut()

The suites need pytest, and pytest-asyncio in its auto mode to run them.
"""

import pytest

# Before the suites are imported, so that a failed assertion shows both sides.
pytest.register_assert_rewrite(
    "scrubjay.testing.congruence",
    "scrubjay.testing.embedder",
    "scrubjay.testing.generations",
    "scrubjay.testing.portable",
    "scrubjay.testing.records",
    "scrubjay.testing.texts",
    "scrubjay.testing.vectors",
)

from scrubjay.testing.congruence import congruence  # noqa: E402 -- see above
from scrubjay.testing.embedder import EmbedderSuite  # noqa: E402 -- see above
from scrubjay.testing.generations import GenerationsSuite  # noqa: E402 -- see above
from scrubjay.testing.portable import PortableSuite, PortableVectorsSuite  # noqa: E402 -- see above
from scrubjay.testing.records import RecordsSuite  # noqa: E402 -- see above
from scrubjay.testing.texts import TextsSuite, TextStore  # noqa: E402 -- see above
from scrubjay.testing.toy import ToyEmbedder  # noqa: E402 -- see above
from scrubjay.testing.values import (  # noqa: E402 -- see above
    NOW,
    Ticking,
    a_memory,
    a_scope,
    keep_all,
    replace_by_key,
    some_memories,
)
from scrubjay.testing.vectors import VectorsSuite  # noqa: E402 -- see above

__all__ = [
    "NOW",
    "EmbedderSuite",
    "GenerationsSuite",
    "PortableSuite",
    "PortableVectorsSuite",
    "RecordsSuite",
    "TextStore",
    "TextsSuite",
    "Ticking",
    "ToyEmbedder",
    "VectorsSuite",
    "a_memory",
    "a_scope",
    "congruence",
    "keep_all",
    "replace_by_key",
    "some_memories",
]
