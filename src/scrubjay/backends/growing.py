"""An array that grows: the columns of what is held in memory."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


class Growing(Generic[Scalar]):
    """An array that rows are appended to. What was taken from it stays valid when it moves."""

    def __init__(self, kind: type[Scalar], *width: int, room: int = 0) -> None:
        self._room: NDArray[Scalar] = np.empty((room, *width), dtype=kind)
        self.all: NDArray[Scalar] = self._room[:0]
        """The rows that are there."""

    def extend(self, values: Sequence[Any] | NDArray[Any]) -> None:
        """Append these rows."""
        start, stop = len(self.all), len(self.all) + len(values)
        if stop > len(self._room):
            # By a quarter each time: appending stays cheap, and little is wasted.
            room = np.empty((max(stop, len(self._room) * 5 // 4), *self._room.shape[1:]), dtype=self._room.dtype)
            room[:start] = self.all
            self._room = room
        self._room[start:stop] = values
        self.all = self._room[:stop]

    @property
    def size(self) -> int:
        """The bytes it takes."""
        return self._room.nbytes
