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
    "scrubjay.testing.access",
    "scrubjay.testing.agents",
    "scrubjay.testing.congruence",
    "scrubjay.testing.elsewhere",
    "scrubjay.testing.embedder",
    "scrubjay.testing.episodes",
    "scrubjay.testing.facts",
    "scrubjay.testing.events",
    "scrubjay.testing.generations",
    "scrubjay.testing.leases",
    "scrubjay.testing.patterns",
    "scrubjay.testing.portable",
    "scrubjay.testing.records",
    "scrubjay.testing.tasks",
    "scrubjay.testing.texts",
    "scrubjay.testing.upkeep",
    "scrubjay.testing.vector_congruence",
    "scrubjay.testing.vectors",
    "scrubjay.testing.working",
    "scrubjay.testing.worklog",
    "scrubjay.testing.workspace",
)

from scrubjay.testing.access import AnswersSuite, AuditSuite, KeysSuite  # noqa: E402 -- see above
from scrubjay.testing.agents import AgentsSuite  # noqa: E402 -- see above
from scrubjay.testing.congruence import congruence  # noqa: E402 -- see above
from scrubjay.testing.elsewhere import ElsewhereSuite  # noqa: E402 -- see above
from scrubjay.testing.embedder import EmbedderSuite  # noqa: E402 -- see above
from scrubjay.testing.episodes import EpisodesSuite  # noqa: E402 -- see above
from scrubjay.testing.events import EventsSuite, ReplayedSuite  # noqa: E402 -- see above
from scrubjay.testing.facts import FactsSuite  # noqa: E402 -- see above
from scrubjay.testing.generations import GenerationsSuite, KeepingSuite  # noqa: E402 -- see above
from scrubjay.testing.leases import LeasesSuite  # noqa: E402 -- see above
from scrubjay.testing.patterns import PatternsSuite  # noqa: E402 -- see above
from scrubjay.testing.portable import ListedSuite, PortableSuite, PortableVectorsSuite  # noqa: E402 -- see above
from scrubjay.testing.records import RecordsSuite  # noqa: E402 -- see above
from scrubjay.testing.tasks import TasksSuite  # noqa: E402 -- see above
from scrubjay.testing.texts import TextsSuite, TextStore  # noqa: E402 -- see above
from scrubjay.testing.toy import ToyEmbedder  # noqa: E402 -- see above
from scrubjay.testing.upkeep import UpkeepSuite  # noqa: E402 -- see above
from scrubjay.testing.values import (  # noqa: E402 -- see above
    NOW,
    Ticking,
    a_memory,
    a_scope,
    keep_all,
    replace_by_key,
    some_memories,
)
from scrubjay.testing.vector_congruence import congruence_of_vectors  # noqa: E402 -- see above
from scrubjay.testing.vectors import VectorsSuite  # noqa: E402 -- see above
from scrubjay.testing.working import WorkingSuite  # noqa: E402 -- see above
from scrubjay.testing.worklog import WorklogSuite  # noqa: E402 -- see above
from scrubjay.testing.workspace import WorkspaceSuite  # noqa: E402 -- see above

__all__ = [
    "NOW",
    "AgentsSuite",
    "AnswersSuite",
    "AuditSuite",
    "ElsewhereSuite",
    "EmbedderSuite",
    "EpisodesSuite",
    "EventsSuite",
    "FactsSuite",
    "GenerationsSuite",
    "KeepingSuite",
    "KeysSuite",
    "LeasesSuite",
    "ListedSuite",
    "PatternsSuite",
    "PortableSuite",
    "PortableVectorsSuite",
    "RecordsSuite",
    "ReplayedSuite",
    "TasksSuite",
    "TextStore",
    "TextsSuite",
    "Ticking",
    "ToyEmbedder",
    "UpkeepSuite",
    "VectorsSuite",
    "WorkingSuite",
    "WorklogSuite",
    "WorkspaceSuite",
    "a_memory",
    "a_scope",
    "congruence",
    "congruence_of_vectors",
    "keep_all",
    "replace_by_key",
    "some_memories",
]
