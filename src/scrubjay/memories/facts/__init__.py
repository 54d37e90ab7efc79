"""Facts: keyed semantic memory that knows what is true, for whom, and since when."""

from scrubjay.memories.facts.verbs import Facts

__all__ = ["Facts"]
