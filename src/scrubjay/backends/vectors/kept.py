"""The signs of large tenants as files beside the database: they say what to read of a tenant that is not in memory.

A file begins with a line of JSON that says what it was made from; the numbers of the rows follow, and their signs by
columns. It is renamed into place when it is whole. One that does not fit is ignored, one that is damaged deleted, and
either way the next that is kept takes its place.
"""

import hashlib
import json
import os
import time
import uuid
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from scrubjay.backends.vectors.coded import Question
from scrubjay.backends.vectors.signs import WORD, Columns, likeliest, likely, words_of

FORMAT: Final = 3

LONGEST: Final = 4_096
"""More bytes than a first line has."""

COUNTED: Final = 5
"""How many times as many rows are chosen by counting signs as are then chosen among these by a closer look."""

ABANDONED_SECONDS: Final = 3_600
"""A file that is being written for so long belongs to a process that died."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What signs are taken from: the rows of a generation and tenant, at a change number of an epoch of a store."""

    generation: int
    tenant: str
    dimensions: int
    history: int
    epoch: int
    change: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a file says of itself."""

    format: int
    generation: int
    tenant: str
    dimensions: int
    history: int
    epoch: int
    change: int
    count: int
    checksum: int

    def __post_init__(self) -> None:
        if not all(isinstance(number, int) and number >= 0 for number in (self.count, self.dimensions, self.change)):
            raise ValueError("a file of signs has a first line that makes no sense")

    @property
    def width(self) -> int:
        """The bytes that the signs of a row take."""
        return words_of(self.dimensions) * WORD // 8

    @property
    def size(self) -> int:
        """The bytes that follow: for each row its number and its signs."""
        return self.count * (8 + self.width)


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows by their numbers, with their signs, as they were at a change number."""

    change: int
    numbers: NDArray[np.int64]
    signs: Columns

    def likely(self, asked: Question, many: int) -> list[int]:
        """The numbers of so many rows or a few more: those that are likely to hold the nearest."""
        slots = likely(asked, self.signs, np.arange(len(self.numbers)), COUNTED * many)
        numbers: list[int] = self.numbers[likeliest(asked, self.signs, slots, many)].tolist()
        return numbers


class Files:
    """The files in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def header(self, origin: Origin) -> Header | None:
        """What the file of this origin says of itself; None when there is none that fits. It may be older."""
        with suppress(OSError), self._path(origin).open("rb") as file:
            header = _header(file)
            left = os.fstat(file.fileno()).st_size - file.tell()
            if header is not None and header.size == left and _fits(header, origin):
                return header
        return None

    def find(self, origin: Origin) -> Kept | None:
        """What is kept of this origin; None when nothing is that fits and is whole. It may be older."""
        path = self._path(origin)
        with suppress(OSError):
            with path.open("rb") as file:
                header, content = _header(file), file.read()
            if header is None or len(content) != header.size or zlib.crc32(content) != header.checksum:
                path.unlink(missing_ok=True)
            elif _fits(header, origin):
                numbers = np.frombuffer(content, dtype="<i8", count=header.count)
                signs = np.frombuffer(content, dtype=np.uint64, offset=numbers.nbytes)
                return Kept(header.change, numbers, list(signs.reshape(words_of(header.dimensions), header.count)))
        return None

    def keep(self, origin: Origin, numbers: NDArray[np.int64], signs: Columns) -> None:
        """Put this in the place of what was kept before. Raises OSError when it cannot be written."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sweep()
        place = self._path(origin)
        parts = [numbers.astype("<i8").tobytes(), *(column.tobytes() for column in signs)]
        header = Header(
            format=FORMAT,
            generation=origin.generation,
            tenant=_digest(origin.tenant),
            dimensions=origin.dimensions,
            history=origin.history,
            epoch=origin.epoch,
            change=origin.change,
            count=len(numbers),
            checksum=reduce(lambda checksum, part: zlib.crc32(part, checksum), parts, 0),
        )
        new = place.with_name(f"{place.stem}-{uuid.uuid4().hex}.new")
        try:
            with open(new, "xb", opener=_private) as file:
                file.writelines((json.dumps(asdict(header)).encode(), b"\n", *parts))
            new.replace(place)
        finally:
            new.unlink(missing_ok=True)

    def forget(self, *, tenants: Iterable[str] = (), generation: int | None = None) -> None:
        """Delete what is kept of these tenants, in every generation, or of this generation."""
        for tenant in tenants:
            self._delete(f"*-{_digest(tenant)}*")
        if generation is not None:
            self._delete(f"{generation}-*")

    def _delete(self, pattern: str) -> None:
        for path in self._folder.glob(pattern):
            path.unlink(missing_ok=True)

    def _sweep(self) -> None:
        for path in self._folder.glob("*.new"):
            with suppress(OSError):
                if path.stat().st_mtime < time.time() - ABANDONED_SECONDS:
                    path.unlink()

    def _path(self, origin: Origin) -> Path:
        return self._folder / f"{origin.generation}-{_digest(origin.tenant)}.signs"


def _fits(header: Header, origin: Origin) -> bool:
    told = (header.format, header.generation, header.tenant, header.dimensions, header.history, header.epoch)
    wanted = (FORMAT, origin.generation, _digest(origin.tenant), origin.dimensions, origin.history, origin.epoch)
    # One from the future was made from another copy of the database, of which this one is a backup.
    return told == wanted and header.change <= origin.change


def _header(file: BinaryIO) -> Header | None:
    with suppress(ValueError, TypeError):  # not JSON, other fields
        return Header(**json.loads(file.readline(LONGEST)))
    return None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _digest(tenant: str) -> str:
    """A tenant as part of a file name, whatever its characters."""
    return hashlib.blake2b(tenant.encode(), digest_size=8).hexdigest()
