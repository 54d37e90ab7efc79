"""Whereabouts: in which slots of a matrix the vectors of a memory are.

Of few memories a dictionary tells it, which is quick to change. Of many that would take more room than all that a
filter asks for, 230 bytes each; so these are settled, as sorted numbers made of their ids, 12 bytes each.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrubjay.backends.growing import Growing
from scrubjay.backends.roll import Slots

SETTLED: Final = 16_384
"""Memories that are noted one by one before they are settled: 4 MB. To settle them takes longer than to note them."""

_HIGH: Final = np.uint64(0x9E3779B97F4A7C15)
_LOW: Final = np.uint64(0xC2B2AE3D27D4EB4F)


class Whereabouts:
    """Finds the slots of memories by their ids. Those of a row that is not present any more are not found.

    It reads the columns of its matrix. Not safe for threads.
    """

    def __init__(self, ids: Growing[np.uint8], present: Growing[np.bool_]) -> None:
        self._ids = ids
        self._present = present
        self._recent: dict[bytes, tuple[int, ...]] = {}
        self._keys = np.empty(0, np.uint64)
        self._slots = np.empty(0, np.int32)

    @property
    def size(self) -> int:
        """The bytes it takes, about."""
        return self._keys.nbytes + self._slots.nbytes + 230 * len(self._recent)

    def enter(self, ids: Sequence[bytes], first: int) -> list[int]:
        """Note that these are in the slots from this one on; returns the first slot of each one's memory."""
        recent = self._recent
        owners: list[int] = []
        settled = self._first_settled(ids)
        for slot, memory in enumerate(ids, first):
            before = recent.get(memory)
            recent[memory] = (slot,) if before is None else (*before, slot)
            owners.append(settled.get(memory, slot if before is None else before[0]))
        return owners

    def leave(self, ids: Iterable[bytes], *, before: int) -> list[int]:
        """The slots of these before this one, which the caller marks as not present; they are not found again."""
        some = list(set(ids))
        gone: list[int] = [slot for slot in self._settled(some)[1].tolist() if slot < before]
        for memory in some:
            slots = self._recent.get(memory, ())
            if slots and slots[0] < before:
                gone += [slot for slot in slots if slot < before]
                self._recent.pop(memory)
                if kept := tuple(slot for slot in slots if slot >= before):
                    self._recent[memory] = kept
        return gone

    def of(self, ids: Sequence[bytes]) -> Slots:
        """Where these are, as far as they are anywhere, in the order of the slots."""
        recent = self._recent
        found = np.array([slot for memory in ids for slot in recent.get(memory, ())], dtype=np.intp)
        if len(self._keys):
            found = np.concatenate((found, self._settled(ids)[1]))
        found.sort()
        return found

    def settle(self) -> None:
        """Give up the dictionary once it is large. All that it names is in the columns by now."""
        if len(self._recent) > SETTLED:
            slots = np.sort(np.fromiter((slot for some in self._recent.values() for slot in some), np.int32))
            self._add(slots)
            self._recent = {}

    def settle_all(self) -> None:
        """Begin anew with every row of the columns."""
        self._recent, self._keys, self._slots = {}, self._keys[:0], self._slots[:0]
        self._add(np.arange(len(self._ids.all), dtype=np.int32))

    def _add(self, slots: NDArray[np.int32]) -> None:
        """Settle these slots, which come after all that are settled."""
        keys = _keys(self._ids.all[slots])
        order = keys.argsort(kind="stable")
        keys, slots = keys[order], slots[order]
        # Behind its equals: those of one memory stay in the order of their slots.
        at = self._keys.searchsorted(keys, side="right")
        self._keys, self._slots = np.insert(self._keys, at, keys), np.insert(self._slots, at, slots)

    def _first_settled(self, ids: Sequence[bytes]) -> dict[bytes, int]:
        """The first slot of each of these that is settled."""
        which, slots = self._settled(ids)
        return {ids[place]: slot for place, slot in zip(which[::-1].tolist(), slots[::-1].tolist(), strict=True)}

    def _settled(self, ids: Sequence[bytes]) -> tuple[Slots, Slots]:
        """Which of these are settled, by their places, and in which slots; in the order of both."""
        if not len(self._keys) or not ids:
            return np.empty(0, np.intp), np.empty(0, np.intp)
        wanted = np.frombuffer(b"".join(ids), np.uint8).reshape(-1, 16)
        keys = _keys(wanted)
        first = self._keys.searchsorted(keys)
        many = self._keys.searchsorted(keys, side="right") - first
        which = np.repeat(np.arange(len(ids)), many)
        at = np.arange(len(which)) + np.repeat(first - (np.cumsum(many) - many), many)
        slots = self._slots[at].astype(np.intp)
        # Two ids may make the same number.
        same = self._present.all[slots] & (self._ids.all[slots] == wanted[which]).all(axis=1)
        return which[same], slots[same]


def _keys(ids: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """A number for each id, as good as at random: ids of one moment, or of one machine, have much in common."""
    halves = np.ascontiguousarray(ids).view(np.uint64)
    return halves[:, 0] * _HIGH ^ halves[:, 1] * _LOW
