"""Pattern memory: what went with success and failure, and what that says about the task at hand."""

from scrubjay.memories.patterns.verbs import Patterns

__all__ = ["Patterns"]
