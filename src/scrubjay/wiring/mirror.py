"""Which vector engines have a mirror in the record store, and what it is."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrubjay.ports import Vectors

if TYPE_CHECKING:
    from scrubjay.backends.sql.database import Database


def mirrored(vectors: Vectors, url: str, database: "Database", choice: str) -> Vectors:
    """The same engine, with its mirror where it is to have one. The embedded engine is in the record store already."""
    if not is_mirrored(url, choice):
        return vectors
    from scrubjay.backends.vectors.embedded import EmbeddedVectors
    from scrubjay.backends.vectors.mirrored import MirroredVectors

    return MirroredVectors(vectors, EmbeddedVectors(database))


def is_mirrored(url: str, choice: str) -> bool:
    """Whether the engine of this URL has a mirror: `on` for all but the embedded one, `auto` for those on a server."""
    if choice == "off" or url.partition(":")[0] == "embedded":
        return False
    return choice == "on" or bool(urlsplit(url).netloc)
