"""Task memory: executions with their outcome, past tasks like the one at hand, and what came of using them."""

from scrubjay.memories.tasks.verbs import Tasks

__all__ = ["Tasks"]
