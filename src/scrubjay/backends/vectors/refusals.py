"""What vector engines on servers refuse for the same reason."""

from scrubjay.errors import StoreDamaged


def another_size(engine: str, collection: str, size: int, dimensions: int) -> StoreDamaged:
    """The error for a collection that was made for vectors of another size."""
    return StoreDamaged(
        f"{engine}: the collection {collection} has vectors of {size} dimensions, and those of the model {dimensions}: "
        "run `scrubjay reindex`, which makes it again"
    )
