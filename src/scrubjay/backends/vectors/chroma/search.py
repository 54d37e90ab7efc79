"""How the nearest memories are found without listing all that a filter admits.

Chroma reads every record that fulfils a condition from its tables before it searches its graph: of 30,000 records,
a condition that half of them fulfil takes 120 ms, and the search without it 4. So the graph is asked first, for more
than is wanted, and what comes is filtered here. Only when hardly any of it is admitted, Chroma gets the condition:
then few records fulfil it, and there is little to list.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from scrubjay.backends.vectors.chroma.connection import Connection
from scrubjay.backends.vectors.chroma.records import Fields, Where, best_parts
from scrubjay.ports import Match

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

SPARE: Final = 2
"""How many times as many records as memories are asked for at first."""

LEAST: Final = 50
"""So many are always asked for: it takes no longer, and some will not be admitted."""

GROWTH: Final = 4
MOST: Final = 500
"""When more than this would have to be asked for, a condition is the quicker way."""


async def nearest(
    connection: Connection,
    name: str,
    vector: "Matrix",
    admits: Callable[[Fields], bool],
    *,
    limit: int,
    broad: bool,
    where: Where,
) -> list[Match]:
    """The nearest memories that are admitted, best first, each once with its best part.

    Whatever is admitted has to fulfil the condition. `broad` says to try without it first.
    """
    asked, condition = max(limit * SPARE, LEAST), None if broad else where
    while True:
        found = await connection.nearest(name, vector, limit=asked, where=condition)
        best = best_parts(found, admits)
        if len(best) >= limit or len(found) < asked:
            return best[:limit]
        share = sum(map(admits, found.fields)) / asked
        if condition is None and share * MOST < limit:
            condition = where
        else:
            asked *= GROWTH
