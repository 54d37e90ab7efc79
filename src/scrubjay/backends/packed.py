"""Many ids at once, as the bytes that they are stored as."""

from collections.abc import Iterator, Sequence
from typing import overload
from uuid import UUID


class PackedIds(Sequence[UUID]):
    """A sequence of ids, each of which is made when it is looked at.

    To make a UUID takes a microsecond, and whoever wants the bytes of it takes it apart again.
    """

    def __init__(self, packed: Sequence[bytes]) -> None:
        self.packed = packed

    def __len__(self) -> int:
        return len(self.packed)

    @overload
    def __getitem__(self, at: int) -> UUID: ...

    @overload
    def __getitem__(self, at: slice) -> "PackedIds": ...

    def __getitem__(self, at: int | slice) -> "UUID | PackedIds":
        return PackedIds(self.packed[at]) if isinstance(at, slice) else UUID(bytes=self.packed[at])

    def __iter__(self) -> Iterator[UUID]:
        return (UUID(bytes=one) for one in self.packed)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PackedIds):
            return list(self.packed) == list(other.packed)
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # what is equal to a list cannot be hashed

    def __repr__(self) -> str:
        return f"PackedIds({list(self)!r})"


def packed_of(ids: Sequence[UUID]) -> Sequence[bytes]:
    """The bytes of each of these."""
    return ids.packed if isinstance(ids, PackedIds) else [one.bytes for one in ids]
