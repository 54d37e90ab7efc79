"""What holds of episodes, whatever store they are on."""

from scrubjay.testing.episodes.reading import Reading
from scrubjay.testing.episodes.recent import RecentContexts
from scrubjay.testing.episodes.storing import Storing

__all__ = ["EpisodesSuite"]


class EpisodesSuite(Storing, Reading, RecentContexts):
    """Episodes on one store. Give it a fixture `jay`: an open, empty `Scrubjay` with a `ToyEmbedder`."""
