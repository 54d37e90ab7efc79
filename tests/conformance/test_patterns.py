"""Pattern memory on the reference, on SQLite and on a real PostgreSQL."""

from scrubjay.testing import PatternsSuite


class TestPatterns(PatternsSuite):
    """With the `jay` of conftest."""
