"""Compare: does the code still stand as memories say? Stale advice has to say that it is stale."""

from collections.abc import Sequence
from uuid import UUID

from scrubjay.model import Memory, Scope
from scrubjay.model.citations import CheckedCitation, citations_of
from scrubjay.ports import Trees


async def compared(
    memories: Sequence[Memory], scope: Scope, trees: Trees | None
) -> dict[UUID, tuple[CheckedCitation, ...]]:
    """The citations of those memories that have some, checked. Costs nothing where nobody cites code."""
    citing = [memory for memory in memories if citations_of(memory)] if trees is not None else []
    if trees is None or not citing:
        return {}
    checked = await trees.compare(scope, citing)
    return {memory.id: cited for memory, cited in zip(citing, checked, strict=True) if cited}
