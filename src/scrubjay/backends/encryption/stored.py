"""Memories as they are stored: which keys they need, and the same sealed with the newest one."""

from dataclasses import replace
from typing import Final

from scrubjay.backends.encryption.ring import Ring
from scrubjay.backends.encryption.vault import Rules
from scrubjay.model import Memory
from scrubjay.model.sealed import is_sealed, key_in

PLAIN: Final = 0
"""Stands for the key of what is not encrypted and should be."""


def keys_of(memory: Memory, rules: Rules) -> list[int]:
    """The numbers of the keys that a stored memory needs; `PLAIN` when it should be encrypted and is not."""
    found = numbers_in([memory.content], is_secret=rules.cover(memory.kind))
    return found + numbers_in([memory.closed_because or ""], is_secret=False)


def resealed_memory(ring: Ring, memory: Memory, rules: Rules) -> Memory:
    """A stored memory, sealed with the newest key: all of it, or of one in plain why it is closed."""
    opened = ring.open(memory)
    if is_sealed(memory.content) or rules.cover(memory.kind):
        return ring.seal(opened, searchable=rules.search == "words")
    return replace(memory, closed_because=ring.seal_reason(opened.closed_because))


def numbers_in(texts: list[str], *, is_secret: bool) -> list[int]:
    """The number of the key of each text that is encrypted; `PLAIN` for each that is not and should be."""
    return [key_in(text) or PLAIN for text in texts if is_sealed(text) or is_secret]
