"""The data keys of tenants on dicts: the reference."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from scrubjay.ports.encryption import WrappedKey


class MemoryDataKeys:
    """The `DataKeys` port. Nothing outlives the process."""

    def __init__(self) -> None:
        self._keys: dict[tuple[str, int], WrappedKey] = {}

    async def of(self, tenant: str) -> list[WrappedKey]:
        """Return the keys of this tenant, by their numbers."""
        return sorted((key for key in self._keys.values() if key.tenant == tenant), key=lambda key: key.number)

    async def add(self, keys: Sequence[WrappedKey]) -> None:
        """Add these; a number that the tenant has already keeps the key that is there."""
        for key in keys:
            self._keys.setdefault((key.tenant, key.number), key)

    async def masters(self) -> dict[str, int]:
        """Say which master keys wrap something, and how many data keys each."""
        return dict(sorted(Counter(key.master for key in self._keys.values()).items()))

    async def tenants(self) -> list[str]:
        """Return the tenants that have keys, sorted."""
        return sorted({tenant for tenant, _ in self._keys})

    async def wrapped_otherwise(self, master: str, *, limit: int) -> list[WrappedKey]:
        """Return keys of any tenant that another master key wraps."""
        others = [key for key in self._keys.values() if key.master != master]
        return sorted(others, key=lambda key: (key.tenant, key.number))[:limit]

    async def settled(self, tenant: str) -> None:
        """Nothing is ever on its way."""

    async def remove(self, tenant: str, numbers: Sequence[int]) -> int:
        """Delete these keys of a tenant for good."""
        gone = [(tenant, number) for number in numbers if (tenant, number) in self._keys]
        for key in gone:
            del self._keys[key]
        return len(gone)

    async def rewrap(self, keys: Sequence[WrappedKey]) -> int:
        """Store these, which are the same keys wrapped anew, in place of what is there."""
        there = [key for key in keys if (key.tenant, key.number) in self._keys]
        for key in there:
            stored = self._keys[key.tenant, key.number]
            self._keys[key.tenant, key.number] = replace(stored, master=key.master, wrapped=key.wrapped)
        return len(there)
