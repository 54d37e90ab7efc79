"""Credit: what came of using a memory, counted once for each receipt.

For every memory that was used there is one memory of kind `outcome` that holds the counts. Each use is a new version
of it, so its history tells what was reported when, and reading the counts is one look-up however often it was used. The
version's id follows from the receipt, and the counts are added up inside the store's transaction: a use that is
reported twice, or from two processes at once, counts once.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, cast
from uuid import NAMESPACE_URL, uuid5

from scrubjay.errors import Conflict
from scrubjay.model import Filter, Memory, Trust
from scrubjay.model.similar import OUTCOME_KIND, Credit, ReuseOutcome
from scrubjay.ports import Decision, Known, Records, Redactor
from scrubjay.write.prepare import prepare

USED_AGAIN: Final = "used again"

IMPORTANCE: Final = 0.1
"""A count answers no question by itself, and should not stand before what does."""

_CREDIT: Final = uuid5(NAMESPACE_URL, "scrubjay:credit")


def credit_key(memory: Memory) -> str:
    """The key of the counts about a memory. A corrected version of the memory keeps them, as it keeps its key."""
    return f"credit:{uuid5(_CREDIT, f'{memory.scope!r} {memory.key or memory.id}')}"


async def credits_of(memories: Sequence[Memory], records: Records, now: datetime) -> list[Credit]:
    """What was reported about each of these, in their order."""
    return list(await asyncio.gather(*(_credit_of(memory, records, now) for memory in memories)))


async def _credit_of(memory: Memory, records: Records, now: datetime) -> Credit:
    asked = Filter(scope=memory.scope, reach="holds", kinds=(OUTCOME_KIND,), key=credit_key(memory))
    found = await records.find(asked, now=now, limit=1)
    return Credit.of(found[0].data) if found else Credit()


def report(
    memory: Memory,
    receipt: str,
    outcome: ReuseOutcome,
    *,
    note: str | None,
    task_id: str | None,
    now: datetime,
    redactor: Redactor | None,
) -> Memory:
    """The draft of what is reported about one memory. Its counts are filled in by `counted`."""
    key = credit_key(memory)
    content = f"Used {memory.key or memory.id}: {outcome}"
    return prepare(
        {
            "id": uuid5(_CREDIT, f"{key} {receipt}"),
            "kind": OUTCOME_KIND,
            "key": key,
            "content": f"{content}. {note}" if note else content,
            "data": {"outcome": outcome, "used": str(memory.id), **({"task_id": task_id} if task_id else {})},
            "importance": IMPORTANCE,
            "trust": Trust.least([Trust.CONCLUDED, memory.trust]),
            "derived_from": [memory.id],
        },
        memory.scope,
        now=now,
        redactor=redactor,
    )


def counted(draft: Memory, known: Known) -> Decision:
    """Add one use to what was counted before. The same receipt again changes nothing, and must say the same."""
    if known.same_id is not None:
        if known.same_id.data.get("outcome") != draft.data["outcome"]:
            raise Conflict(
                f"this receipt was reported as {known.same_id.data.get('outcome')} before, and is "
                f"{draft.data['outcome']} now: a receipt counts once"
            )
        return Decision(outcome="unchanged", memory=known.same_id)
    before = known.same_key[-1] if known.same_key else None
    credit = (Credit.of(before.data) if before is not None else Credit()).plus(
        cast("ReuseOutcome", draft.data["outcome"])
    )
    counts = {"helped": credit.helped, "hurt": credit.hurt, "neutral": credit.neutral}
    memory = replace(draft, data={**draft.data, **counts})
    closes = (before.closed(draft.created_at, because=USED_AGAIN, by=memory.id),) if before is not None else ()
    return Decision(outcome="superseded" if closes else "stored", memory=memory, closes=closes, opens=(memory,))
