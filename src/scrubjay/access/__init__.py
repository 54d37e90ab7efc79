"""Access: who may come in, and what is written down about it."""

from scrubjay.access.once import Once
from scrubjay.access.verbs import Access

__all__ = ["Access", "Once"]
