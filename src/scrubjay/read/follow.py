"""Follow: what no search found joins: the turn after a good match, what was at a named time, and what is the latest."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from scrubjay.model import Filter, Memory, Query
from scrubjay.model.memory import EVENT_KINDS, MESSAGE_KIND
from scrubjay.ports import Records
from scrubjay.read.fuse import Candidate
from scrubjay.read.latest import asks_latest, newest_alike
from scrubjay.read.named_times import times_in
from scrubjay.read.sessions import by_assistant
from scrubjay.read.times import Time
from scrubjay.read.understand import Question

FOLLOWED: Final = 10
"""The candidates that are followed. Measured on the dev part of LoCoMo, R@10: five 0.811, ten 0.815, twenty 0.812."""

UNSEEN: Final = -0.5
"""The relevance of a turn that no search found: less than an ordinary one's. Its neighbours lend the rest.

Measured on LoCoMo, R@10: 0.739 with -1 and with -0.5, 0.734 with 0.5.
"""


OF_A_TIME: Final = 100
"""The turns and events of one named time that join, the newest first.

"What did she do on 25 May?" has no word of the answer, and a day's turns are few. Measured on the 51 dated questions of
the dev part of LoCoMo, R@10: 0.784 with none of them, 0.928 with up to a hundred.
"""

MOST_TIMES: Final = 3
"""Times that are looked up. Who names more writes a report."""

_SAY_WHEN: Final = EVENT_KINDS - {MESSAGE_KIND}
"""Kinds of what happened when it says."""


async def follow(
    found: Sequence[tuple[Candidate, Memory]], *, question: Question, query: Query, records: Records, now: datetime
) -> list[tuple[Candidate, Memory]]:
    """Return the candidates, and with them the turns that no search found and that may answer all the same.

    "Where did you go?" has the words of the question, and "To Lisbon!" has none: so the turns that follow the best
    join, unless an assistant spoke, for what follows that begins something new. When the question names a time, the
    turns and events of that time join, and when it asks for the latest, the newest that answer alike. Nothing does
    when the caller drew a line that a turn nobody compared must not cross: words only, meaning only, or a least
    similarity.
    """
    if question.is_empty or query.mode != "hybrid" or query.least_similarity is not None:
        return list(found)
    joining = await _after(found, query, records)
    for time in times_in(question.text, now)[:MOST_TIMES]:
        joining += await _of_a_time(time, query.filter, records, now)
    joining = [memory for memory in joining if _is_turn(memory) or memory.is_event]
    if asks_latest(question):
        joining += newest_alike(found, await records.find(query.filter, now=now, limit=OF_A_TIME), question)
    if not joining:
        return list(found)
    known = {memory.id for _, memory in found}
    new = {memory.id: memory for memory in joining if memory.id not in known}
    admitted = [memory for memory in new.values() if query.filter.matches(memory, now)]
    return [*found, *((Candidate(memory.id, UNSEEN, {}), memory) for memory in admitted)]


async def _after(found: Sequence[tuple[Candidate, Memory]], query: Query, records: Records) -> list[Memory]:
    """The turns that follow the best, as far as these are turns."""
    turns = {(memory.scope, memory.position) for _, memory in found if _is_turn(memory)}
    if not turns:
        return []
    assistants = by_assistant(found)
    after = [
        memory.id
        for _, memory in found[:FOLLOWED]
        if _is_turn(memory) and memory.id not in assistants and (memory.scope, (memory.position or 0) + 1) not in turns
    ]
    return await records.following(query.filter.scope, after) if after else []


def _is_turn(memory: Memory) -> bool:
    return memory.position is not None and memory.scope.session is not None


async def _of_a_time(time: Time, filter: Filter, records: Records, now: datetime) -> list[Memory]:
    """What was told around a time, and what happened when the question means; of any year, those of the last."""
    last = time.until(now)
    around = _within(filter, last.start, last.end)
    joining = [] if around is None else await records.find(around, now=now, limit=OF_A_TIME)
    meant = time.happened(now)
    then = _within(filter, meant.start, meant.end)
    kinds = _SAY_WHEN.intersection(filter.kinds) if filter.kinds else _SAY_WHEN
    # Among many notes and turns of a day, what happened then would have no place.
    if then is not None and kinds and (then != around or len(joining) == OF_A_TIME):
        joining += await records.find(replace(then, kinds=tuple(sorted(kinds))), now=now, limit=OF_A_TIME)
    return joining


def _within(filter: Filter, start: datetime, end: datetime) -> Filter | None:
    """The filter, narrowed to a time; None when it admits nothing of it."""
    since, until = _later(start, filter.since), _earlier(end, filter.until)
    return replace(filter, since=since, until=until) if since < until else None


def _later(start: datetime, since: datetime | None) -> datetime:
    return start if since is None else max(start, since)


def _earlier(end: datetime, until: datetime | None) -> datetime:
    return end if until is None else min(end, until)
