"""Nearest: ask the vector engine, or its mirror while the engine cannot answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from scrubjay.errors import InvalidInput, StoreDamaged, StoreUnavailable
from scrubjay.model import Filter
from scrubjay.ports import Match, Serving, Vectors
from scrubjay.ports.mirror import Mirror, Mirrored

if TYPE_CHECKING:
    from scrubjay.ports import Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """What is nearest in meaning, best first, and who found it."""

    matches: list[Match]
    is_whole: bool = True
    """Whether the engine itself answered, and had everything to answer from."""


async def nearest(
    serving: Serving,
    vector: "Matrix",
    filter: Filter,
    *,
    vectors: Vectors,
    now: datetime,
    limit: int,
    among: Sequence[UUID] | None = None,
) -> Nearest:
    """Find what is nearest. While the engine is down or lacks something, its mirror answers, if it has one.

    Raises StoreUnavailable when nobody can.
    """
    number, mirror = serving.generation.number, _mirror_of(vectors)
    if mirror is None or serving.is_complete:
        try:
            found = await _searched(vectors, number, vector, filter, now=now, limit=limit, among=among)
        except StoreUnavailable:
            if mirror is None:
                raise
        else:
            is_whole = serving.is_complete
            if is_whole and serving.check is not None:
                is_whole = await serving.check(found="full" if len(found) >= limit else "short" if found else "empty")
            if is_whole or mirror is None:
                return Nearest(matches=found, is_whole=is_whole)
    found = await _searched(mirror, number, vector, filter, now=now, limit=limit, among=among)
    return Nearest(matches=found, is_whole=False)


async def _searched(
    engine: Vectors,
    number: int,
    vector: "Matrix",
    filter: Filter,
    *,
    now: datetime,
    limit: int,
    among: Sequence[UUID] | None,
) -> list[Match]:
    try:
        return await engine.search(number, vector, filter, now=now, limit=limit, among=among)
    except InvalidInput as error:
        # The question was embedded with the model of this generation: what is stored is of another size.
        raise StoreDamaged(f"the vectors of generation {number}: {error}. Run `scrubjay doctor`") from error


def _mirror_of(vectors: Vectors) -> Mirror | None:
    # Most have none, and have no such name; to ask whether they are `Mirrored` takes many times as long.
    return vectors.mirror if hasattr(vectors, "mirror") and isinstance(vectors, Mirrored) else None
