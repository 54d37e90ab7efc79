"""Episodes on the reference, on SQLite and on a real PostgreSQL."""

from scrubjay.testing import EpisodesSuite


class TestEpisodes(EpisodesSuite):
    """With the `jay` of conftest."""
