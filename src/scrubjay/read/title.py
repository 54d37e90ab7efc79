"""Title: what was found for a long question is compared with its first line as well."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from scrubjay.model import Filter
from scrubjay.ports import Match, Serving, Vectors, stage
from scrubjay.read.nearest import nearest

if TYPE_CHECKING:
    from scrubjay.ports import Matrix


async def compare_title(
    by_meaning: Sequence[Match],
    by_words: Sequence[Match],
    filter: Filter,
    *,
    serving: Serving,
    opening: "Matrix",
    title: "Matrix",
    vectors: Vectors,
    now: datetime,
) -> dict[str, Sequence[Match]]:
    """Return the rankings `meaning` and `title`: everything that either search found, by the one and by the other.

    What only the words found is compared with the opening too, so that nothing is guessed about it. What has no vector
    is in neither. Raises StoreUnavailable.
    """
    known = {match.id for match in by_meaning}
    unseen = [match.id for match in by_words if match.id not in known]

    async def among(ids: Sequence[UUID], vector: "Matrix") -> list[Match]:
        found = await nearest(serving, vector, filter, vectors=vectors, now=now, limit=len(ids), among=ids)
        return found.matches

    with stage("title"):
        compared = [*by_meaning, *(await among(unseen, opening) if unseen else ())]
        compared.sort(key=lambda match: match.score, reverse=True)
        titles = await among([match.id for match in compared], title) if compared else []
    return {"meaning": compared, "title": titles}
