"""Embedding generations that no longer answer: going back to the last one, and deleting their vectors."""

from collections.abc import Callable
from datetime import datetime

from scrubjay.errors import Conflict
from scrubjay.model import Generation
from scrubjay.ports import Generations, Vectors


async def go_back(generations: Generations, *, at: datetime) -> Generation:
    """Let the generation that was active before answer again, and return it. Raises Conflict when there is none."""
    known = await generations.generations()
    retired = [one for one in known if one.state == "retired" and one.switched_at is not None]
    if not retired:
        raise Conflict("there is no earlier embedding generation to go back to")
    last = max(retired, key=lambda one: (one.switched_at, one.number))
    await generations.switch(last.number, at=at, leaving="undone")
    return last


async def drop_unused(
    generations: Generations, vectors: Vectors, *, are_done_with: Callable[[Generation], bool]
) -> list[Generation]:
    """Delete the generations that no longer answer, with their vectors, and return them."""
    known = await generations.generations()
    gone = [one for one in known if one.state in ("retired", "undone") or are_done_with(one)]
    for one in gone:
        await vectors.drop(one.number)
        await generations.drop(one.number)
    return gone
