"""Workspace memory on the reference, on SQLite and on a real PostgreSQL."""

from scrubjay.testing import WorkspaceSuite


class TestWorkspace(WorkspaceSuite):
    """With the `jay` of conftest."""
