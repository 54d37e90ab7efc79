"""Task memory on the reference, on SQLite and on a real PostgreSQL."""

from scrubjay.testing import TasksSuite


class TestTasks(TasksSuite):
    """With the `jay` of conftest."""
