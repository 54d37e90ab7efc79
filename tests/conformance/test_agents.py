"""Agents on the reference, on SQLite and on a real PostgreSQL."""

from scrubjay.testing import AgentsSuite


class TestAgents(AgentsSuite):
    """With the `jay` of conftest."""
