"""Sealing and opening of memories for one call, with what a store knows of them and decides."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scrubjay.backends.encryption.ring import Ring
from scrubjay.backends.encryption.vault import KeyVault, Rings
from scrubjay.model import Memory
from scrubjay.ports import Decision, Known


@dataclass(frozen=True, slots=True)
class Sealing:
    """Seals and opens for one call: what has to be encrypted is, with the keys of its tenant."""

    vault: KeyVault
    rings: Rings

    def seal(self, memory: Memory) -> Memory:
        """The memory as it is stored, if it is to be encrypted."""
        if not memory.encrypted:
            return memory
        return self._ring(memory).seal(memory, searchable=self.vault.rules.search == "words")

    def seal_opened(self, memory: Memory) -> Memory:
        """The same for a new row, which may be of a kind that is always encrypted."""
        return self.seal(to_be_sealed(memory) if self.vault.rules.cover(memory.kind) else memory)

    def open(self, memory: Memory) -> Memory:
        """The memory as it was told."""
        return self._ring(memory).open(memory)

    def known(self, known: Known) -> Known:
        """What the store knows, as it was told."""
        if known.same_id is None and known.same_words is None and not known.same_key:
            return known
        return replace(
            known,
            same_id=self.open(known.same_id) if known.same_id is not None else None,
            same_key=tuple(map(self.open, known.same_key)),
            same_words=self.open(known.same_words) if known.same_words is not None else None,
        )

    def decision(self, decision: Decision, opens: Sequence[Memory]) -> Decision:
        """What was decided, as it is stored, with these new rows."""
        closes = [self.seal(memory) for memory in decision.closes]
        keeps = [self.seal(memory) for memory in decision.keeps]
        named = {memory.id: memory for memory in (*keeps, *closes, *opens)}
        stands = named.get(decision.memory.id) or self.seal(decision.memory)
        return replace(decision, memory=stands, keeps=tuple(keeps), closes=tuple(closes), opens=tuple(opens))

    def _ring(self, memory: Memory) -> Ring:
        return self.rings[memory.scope.tenant]


def to_be_sealed(memory: Memory) -> Memory:
    """The memory, to be encrypted."""
    return memory if memory.encrypted else replace(memory, encrypted=True)
