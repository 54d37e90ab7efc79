"""Follow: the turn after a good match joins the candidates, for it may answer without any of the words."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from scrubjay.model import Memory, Query
from scrubjay.ports import Records
from scrubjay.read.fuse import Candidate
from scrubjay.read.rerank import by_assistant
from scrubjay.read.understand import Question

FOLLOWED: Final = 5
"""The candidates that are followed. On LoCoMo, R@10 is 0.715 with none, 0.739 with five, 0.741 with 20."""

UNSEEN: Final = -0.5
"""The relevance of a turn that no search found: less than an ordinary one's. Its neighbours lend the rest.

Measured on LoCoMo, R@10: 0.739 with -1 and with -0.5, 0.734 with 0.5.
"""


async def follow(
    found: Sequence[tuple[Candidate, Memory]], *, question: Question, query: Query, records: Records, now: datetime
) -> list[tuple[Candidate, Memory]]:
    """Return the candidates, and with them the turns that follow the best of these and that no search found.

    "Where did you go?" has the words of the question, and "To Lisbon!" has none. What follows an assistant's turn is
    left out: it begins something new. So is everything when the caller drew a line that a turn nobody compared must
    not cross: words only, meaning only, or a least similarity.
    """
    if question.is_empty or query.mode != "hybrid" or query.least_similarity is not None:
        return list(found)
    turns = {(memory.scope, memory.position) for _, memory in found}
    ends = [
        memory.id
        for _, memory in found[:FOLLOWED]
        if memory.position is not None
        and memory.scope.session is not None
        and not by_assistant(memory)
        and (memory.scope, memory.position + 1) not in turns
    ]
    if not ends:
        return list(found)
    next_ones = await records.following(query.filter.scope, ends)
    admitted = [memory for memory in next_ones if query.filter.matches(memory, now)]
    return [*found, *((Candidate(memory.id, UNSEEN, {}), memory) for memory in admitted)]
