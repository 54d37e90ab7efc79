"""Episodes: what happened, in order."""

from scrubjay.memories.episodes.verbs import Episodes

__all__ = ["Episodes"]
