"""Every port on dicts: the reference that the other backends are compared with. Nothing outlives the process."""

from scrubjay.backends.memory.portable import PortableMemoryStore
from scrubjay.backends.memory.store import MemoryStore
from scrubjay.backends.memory.vectors import MemoryVectors

__all__ = ["MemoryStore", "MemoryVectors", "PortableMemoryStore"]
