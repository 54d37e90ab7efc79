"""Follow: what no search found joins the candidates: the turn after a good match, and those of a time that is named."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from scrubjay.model import Filter, Memory, Query
from scrubjay.ports import Records
from scrubjay.read.fuse import Candidate
from scrubjay.read.sessions import by_assistant
from scrubjay.read.times import times_in
from scrubjay.read.understand import Question

FOLLOWED: Final = 10
"""The candidates that are followed. Measured on the dev part of LoCoMo, R@10: five 0.811, ten 0.815, twenty 0.812."""

UNSEEN: Final = -0.5
"""The relevance of a turn that no search found: less than an ordinary one's. Its neighbours lend the rest.

Measured on LoCoMo, R@10: 0.739 with -1 and with -0.5, 0.734 with 0.5.
"""


OF_A_TIME: Final = 100
"""The turns of one named time that join, the newest first.

"What did she do on 25 May?" has no word of the answer, and a day's turns are few. Measured on the 51 dated questions of
the dev part of LoCoMo, R@10: 0.784 with none of them, 0.928 with up to a hundred.
"""

MOST_TIMES: Final = 3
"""Times that are looked up. Who names more writes a report."""


async def follow(
    found: Sequence[tuple[Candidate, Memory]], *, question: Question, query: Query, records: Records, now: datetime
) -> list[tuple[Candidate, Memory]]:
    """Return the candidates, and with them the turns that no search found and that may answer all the same.

    "Where did you go?" has the words of the question, and "To Lisbon!" has none: so the turns that follow the best
    join, unless an assistant spoke, for what follows that begins something new. When the question names a time, the
    turns of that time join. Nothing does when the caller drew a line that a turn nobody compared must not cross:
    words only, meaning only, or a least similarity.
    """
    if question.is_empty or query.mode != "hybrid" or query.least_similarity is not None:
        return list(found)
    turns = {(memory.scope, memory.position) for _, memory in found if _is_turn(memory)}
    if not turns:
        return list(found)
    assistants = by_assistant(found)
    after = [
        memory.id
        for _, memory in found[:FOLLOWED]
        if _is_turn(memory) and memory.id not in assistants and (memory.scope, (memory.position or 0) + 1) not in turns
    ]
    joining = await records.following(query.filter.scope, after) if after else []
    for span in _spans(question, query.filter, now):
        joining += await records.find(span, now=now, limit=OF_A_TIME)
    known = {memory.id for _, memory in found}
    new = {memory.id: memory for memory in joining if memory.id not in known and _is_turn(memory)}
    admitted = [memory for memory in new.values() if query.filter.matches(memory, now)]
    return [*found, *((Candidate(memory.id, UNSEEN, {}), memory) for memory in admitted)]


def _is_turn(memory: Memory) -> bool:
    return memory.position is not None and memory.scope.session is not None


def _spans(question: Question, filter: Filter, now: datetime) -> list[Filter]:
    """The filter, narrowed to each of the times that the question names; one of any year cannot be looked up."""
    named = [time for time in times_in(question.text, now) if not time.yearly][:MOST_TIMES]
    spans = [(_later(time.start, filter.since), _earlier(time.end, filter.until)) for time in named]
    return [replace(filter, since=since, until=until) for since, until in spans if since < until]


def _later(start: datetime, since: datetime | None) -> datetime:
    return start if since is None else max(start, since)


def _earlier(end: datetime, until: datetime | None) -> datetime:
    return end if until is None else min(end, until)
