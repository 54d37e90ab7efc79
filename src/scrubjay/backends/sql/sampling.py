"""Which memories are indexed: of some, and some at random, without reading the others."""

import random
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import Connection, func, select, union_all

from scrubjay.backends.sql.kinship import pages
from scrubjay.backends.sql.schema import memories

RUNS: Final = 8
"""Places from which a few neighbours each are taken. What is lost together was often stored together."""

_SEQ: Final = memories.c.seq


def sampled(connection: Connection, generation: int, limit: int) -> list[UUID]:
    """Return up to so many ids of memories that are marked with this generation, in a few runs from random places."""
    here = memories.c.generation == generation
    # Each end by itself: SQLite finds one without reading all that lies between.
    ends = [select(end(_SEQ)).where(here).scalar_subquery() for end in (func.min, func.max)]
    first, last = connection.execute(select(*ends)).one()
    if first is None:
        return []
    few = max(1, limit // RUNS)
    places = [random.randint(first, last) for _ in range(RUNS)]  # noqa: S311 -- not for secrecy
    runs = (
        select(select(memories.c.id).where(here, place <= _SEQ).order_by(_SEQ).limit(few).subquery().c.id)
        for place in places
    )
    return list(dict.fromkeys(connection.execute(union_all(*runs)).scalars()))


def marked_of(connection: Connection, generation: int, ids: Sequence[UUID]) -> list[UUID]:
    """Return those of these that are marked with this generation, in the order asked."""
    marked: set[UUID] = set()
    for page in pages(list(ids)):
        named = select(memories.c.id).where(memories.c.id.in_(page), memories.c.generation == generation)
        marked.update(connection.execute(named).scalars())
    return [one for one in ids if one in marked]
