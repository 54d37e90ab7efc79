"""Graphs as files beside the database, so that not every process has to build its own.

A snapshot is two files: the graph under a name of its own, and a small JSON file that names it and says what it was
made from. The JSON file is renamed into place last, so a reader finds the old pair or the new one. Whatever does not
fit together is ignored, and replaced by the next that is kept.
"""

import hashlib
import json
import uuid
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from usearch.index import Index

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a snapshot says of itself."""

    format: int
    generation: int
    tenant: str
    dimensions: int
    epoch: int
    change: int
    count: int
    file: str
    size: int
    checksum: int


class Snapshots:
    """The snapshots in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, generation: int, tenant: str, *, dimensions: int, epoch: int) -> "tuple[Index, int] | None":
        """The graph kept for this generation and tenant, and its change number; None when none is whole and fits."""
        header = self._header(self._path(generation, tenant))
        wanted = (FORMAT, generation, _digest(tenant), dimensions, epoch)
        if header is None or wanted != (
            header.format,
            header.generation,
            header.tenant,
            header.dimensions,
            header.epoch,
        ):
            return None
        from usearch.index import Index  # noqa: PLC0415 -- loaded by those who have outgrown exact search

        path = self._file(header)
        try:
            # The checksum comes first: usearch does not survive every damage.
            if path.stat().st_size != header.size or _checksum(path) != header.checksum:
                return None
            # Mapped, not read: quick to open, and shared by processes. The file is never written to again.
            index = Index.restore(path, view=True)
        except (OSError, ValueError, RuntimeError):  # gone meanwhile, or made by a usearch that this one cannot read
            return None
        return (index, header.change) if index is not None and len(index) == header.count else None

    def keep(self, index: "Index", generation: int, tenant: str, *, epoch: int, change: int) -> None:
        """Put this graph in the place of the one that was kept before."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = self._path(generation, tenant)
        before = self._header(place)
        path = self._folder / f"{place.stem}-{uuid.uuid4().hex}.usearch"
        index.save(path)
        header = Header(
            format=FORMAT,
            generation=generation,
            tenant=_digest(tenant),
            dimensions=index.ndim,
            epoch=epoch,
            change=change,
            count=len(index),
            file=path.name,
            size=path.stat().st_size,
            checksum=_checksum(path),
        )
        temporary = path.with_suffix(".json.new")
        temporary.write_text(json.dumps(asdict(header), indent=2), encoding="utf-8")
        temporary.replace(place)
        if before is not None:
            self._file(before).unlink(missing_ok=True)

    def forget_generation(self, generation: int) -> None:
        """Delete what was kept of a generation."""
        self._delete(f"{generation}-*")

    def forget_tenant(self, tenant: str) -> None:
        """Delete what was kept of a tenant, in every generation."""
        self._delete(f"*-{_digest(tenant)}*")

    def _delete(self, pattern: str) -> None:
        for path in self._folder.glob(pattern):
            path.unlink(missing_ok=True)

    def _path(self, generation: int, tenant: str) -> Path:
        return self._folder / f"{generation}-{_digest(tenant)}.json"

    def _file(self, header: Header) -> Path:
        return self._folder / Path(str(header.file)).name

    def _header(self, path: Path) -> Header | None:
        with suppress(OSError, ValueError, TypeError):  # missing, not JSON, other fields: all the same as none
            return Header(**json.loads(path.read_text(encoding="utf-8")))
        return None


def _digest(tenant: str) -> str:
    """A tenant as part of a file name, whatever its characters."""
    return hashlib.blake2b(tenant.encode(), digest_size=8).hexdigest()


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return checksum
